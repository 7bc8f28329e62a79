"""Averages of multiclass blocks as lists of the labels that have mass: as dense ones, for a fraction of the memory."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bcfw
from bcfw.dual.certify import certify_state
from bcfw.models import Multiclass
from bcfw.models.multiclass.multiclass import LIST_ROUTINES, MANY_LABELS, ROUTINES
from bcfw.passes.order import in_order
from bcfw.solvers import AdaptiveBCFW, BlockSolves, ExponentiatedGradient, KernelBCFW, MultiPlane
from problems import CASES, VARIANTS, drift, interpreted, matches, repeats_visits, without_repeats

ROUNDING = 1e-12

#: Three labels that occur, of as many as one likes.
RNG = np.random.default_rng(0)
Y = RNG.integers(3, size=40)
X = RNG.standard_normal((40, 6))
X[np.arange(40), Y] += 1.0


def twins(name):
    """A case with dense averages, and with lists, which so few labels do not need; both interpreted."""
    dense = interpreted(CASES[name])
    model = copy.copy(dense.model)
    model.routines = LIST_ROUTINES[model.rescale].interpreted()
    return dense, dataclasses.replace(dense, model=model)


#: The cases with lists.
LISTED = {name: twins(name)[1] for name in ("multiclass-cost", "multiclass-cost-slack")}


def test_which_form_is_used_depends_on_the_number_of_labels():
    for labels, routines in ((MANY_LABELS - 1, ROUTINES), (MANY_LABELS, LIST_ROUTINES)):
        for rescale in ("margin", "slack"):
            assert Multiclass(labels, rescale=rescale).routines is routines[rescale]
    assert Multiclass.routines is Multiclass().routines is ROUTINES["margin"]

    class Rough(Multiclass):
        exact_oracle = False

    assert Rough(MANY_LABELS).routines.bindings["EXACT"] is False
    assert "LabelLists" in Rough(MANY_LABELS).routines.bindings


@pytest.mark.parametrize("solver", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("name", LISTED)
def test_lists_give_what_dense_averages_give(name, solver):
    if not matches(solver, CASES[name]):
        pytest.skip("this solver cannot train this model")
    dense, listed = [case.few_passes(4, solver=without_repeats(solver)) for case in twins(name)]
    if repeats_visits(without_repeats(solver)):
        assert abs(dense.primal - listed.primal) <= max(dense.gap, listed.gap) + ROUNDING
        return
    np.testing.assert_allclose(dense.w, listed.w, rtol=0, atol=1e-10)
    for key in ("primal", "dual", "gap"):
        np.testing.assert_allclose(dense.history[key], listed.history[key], rtol=0, atol=1e-10)


@pytest.mark.parametrize("solver", [BlockSolves(), MultiPlane(clock="count"), AdaptiveBCFW(), ExponentiatedGradient()])
def test_averages_have_the_same_mass(solver):
    masses = []
    for case in twins("multiclass-cost"):
        result = case.few_passes(6, solver=solver)
        problem = case.problem()
        bcfw.dual.snapshots.restore(problem, result.snapshot)
        problem.close_store()
        masses.append(result.model.marginals(problem.data, problem.state.mu))
    np.testing.assert_allclose(*masses, rtol=0, atol=1e-7)
    np.testing.assert_allclose(masses[1].sum(axis=1), 1.0, rtol=0, atol=ROUNDING)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from(["step", "solve"])), max_size=30), st.integers(1, 4))
def test_lists_are_consistent_after_any_steps(actions, width):
    case = LISTED["multiclass-cost"]
    problem = case.problem()
    for block, action in actions:
        if action == "solve" and problem.lists is None:
            problem.open_lists(0.1)
            problem.lists = problem.lists._replace(parts=np.zeros((problem.n_blocks, width), np.int32))
        elif action == "step":
            problem.lists = None
        problem.visit(in_order(np.array([block])), problem.rule())
        certify_state(problem)
    assert max(drift(problem).values()) <= ROUNDING
    average = problem.adapter.export_mu(problem.data, problem.state.mu)
    again = problem.adapter.import_mu(problem.data, average)
    marginals = problem.adapter.model.marginals
    np.testing.assert_array_equal(marginals(problem.data, problem.state.mu), marginals(problem.data, again))
    assert not any(np.any(work.place != -1) for work in problem._works)


@pytest.mark.parametrize("solver", ["auto", BlockSolves(acceleration=0)])
def test_the_mass_of_blocks_with_very_many_labels_stays_one(solver):
    """The rounding of a projection onto K labels grows with K^2 unless it is corrected."""
    result = bcfw.train(Multiclass(300_000), X, Y, lam=0.1, solver=solver)
    assert result.status == "converged"
    assert result.dual <= 0.823 <= result.primal


def test_a_projection_onto_many_equal_labels_has_mass_one():
    problem = bcfw.dual.open_problem(Multiclass(MANY_LABELS - 1), X, Y, 0.1)
    problem.open_lists(0.0)
    problem.visit(in_order(np.arange(40)), problem.rule())
    mass = problem.adapter.model.marginals(problem.data, problem.state.mu).sum(axis=1)
    np.testing.assert_allclose(mass, 1.0, rtol=0, atol=2e-12)


def test_memory_grows_with_the_labels_that_have_mass():
    n = 2000
    problem = bcfw.dual.open_problem(Multiclass(50_000), RNG.standard_normal((n, 2)), np.arange(n), 0.01)
    problem.open_lists(0.1)
    problem.visit(in_order(np.arange(20)), problem.rule())
    certify_state(problem)
    assert sum(array.nbytes for array in problem.state.mu) < 100 * 8 * n
    assert problem.lists.parts.nbytes <= 1 << 28
    assert max(drift(problem).values()) <= ROUNDING


def test_compiled_lists_are_the_interpreted_ones():
    case = LISTED["multiclass-cost"]
    model = Multiclass(case.model.n_labels, case.model.cost)
    model.routines = LIST_ROUTINES["margin"]
    compiled = dataclasses.replace(case, model=model)
    for solver in (BlockSolves(), "bcfw"):
        results = [one.few_passes(5, solver=solver) for one in (case, compiled)]
        np.testing.assert_allclose(results[0].w, results[1].w, rtol=0, atol=ROUNDING)


#: What is done to saved lists: the labels that examples have, which labels, their mass.
DAMAGES = {
    "mu_0": [lambda size: size + 1, lambda size: -size, lambda size: size[:-1], lambda size: size.astype(float)],
    "mu_1": [lambda label: label + 10, lambda label: label - 10, lambda label: 0 * label, lambda label: label[:-1]],
    "mu_2": [lambda mass: mass * np.nan, lambda mass: mass[:-1]],
}


def test_saved_lists_go_on_and_damaged_ones_are_refused(tmp_path):
    case = LISTED["multiclass-cost"]
    first = case.few_passes(3, solver=BlockSolves(acceleration=0), checkpoint=tmp_path / "state.npz")
    for start in (first, tmp_path / "state.npz"):
        assert case.train(warm_start=start, tol=1e-6).status == "converged"
    for name, changes in DAMAGES.items():
        for change in changes:
            snapshot = {**first.snapshot, name: change(first.snapshot[name])}
            with pytest.raises(bcfw.InputError, match="warm_start"):
                bcfw.dual.snapshots.restore(case.problem(), snapshot)
    dense = CASES["multiclass-cost"].few_passes(3)
    with pytest.raises(bcfw.InputError, match="mu_0"):
        bcfw.dual.snapshots.restore(case.problem(), dense.snapshot)


def test_paths_go_over_lists():
    dense, listed = [bcfw.regularization_path(one.model, one.X, one.y, eps=0.1) for one in twins("multiclass-cost")]
    np.testing.assert_allclose(dense.lambdas, listed.lambdas, rtol=1e-9)
    for lam in dense.lambdas:
        np.testing.assert_allclose(dense.weights(lam), listed.weights(lam), rtol=0, atol=1e-9)


@pytest.mark.parametrize("step", ["fw", "solve"])
def test_kernels_between_inputs_work_with_lists(step):
    solver = KernelBCFW(kernel="linear", step=step)
    dense, listed = [case.few_passes(6, solver=solver) for case in twins("multiclass-cost")]
    assert dense.gap == pytest.approx(listed.gap, abs=1e-10)
    assert dense.predict(CASES["multiclass-cost"].X).tolist() == listed.predict(CASES["multiclass-cost"].X).tolist()


def test_built_in_oracles_are_not_doubted():
    problem = CASES["multiclass-cost"].problem()
    assert "check_model" not in str(problem.adapter.not_maximal(0, -1.0))
    assert "check_model" in str(CASES["user-compiled"].problem().adapter.not_maximal(0, -1.0))
