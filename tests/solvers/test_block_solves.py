"""Exact block solves: each is the best its block can do, certificates come in time, what cannot move is left out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import bcfw
from bcfw.dual.certify import certify_state, certify_weights
from bcfw.models import Multiclass, Multilabel
from bcfw.passes.block_solves import solve_pass
from bcfw.passes.order import in_order
from bcfw.passes.records import ALL_PARTS, STEP
from bcfw.solvers import BlockSolves
from bcfw.solvers.block_solves import MANY_BLOCKS, RUN_LENGTH, permuted_runs
from bcfw.solvers.schedule import MOST_SHARE
from problems import CASES, continue_with, drift

NAMES = [name for name, case in CASES.items() if "block solves" in case.problem().adapter.offers and case.box is None]


def test_which_models_offer_it():
    assert NAMES == ["multiclass-cost", "multiclass-csr", "multiclass-wide", "multilabel-independent"]
    with pytest.raises(bcfw.OptionError, match=r"BlockSolves needs the best average of a block.*Chain does not offer"):
        CASES["chain-cost"].train(solver="block-solves")
    with pytest.raises(bcfw.OptionError, match=r"BlockSolves needs.*Multilabel does not offer"):
        CASES["multilabel-tree"].train(solver="block-solves")
    with pytest.raises(bcfw.OptionError, match="BlockSolves cannot handle bounds"):
        CASES["bounded-multiclass-cost"].train(solver="block-solves")


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("lam", [0.01, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_a_solved_block_has_nothing_left_to_gain(name, lam, weighted):
    """After its own solve the gap of a block is zero, whatever the others are."""
    case = CASES[name]
    s = 0.2 + np.random.default_rng(1).random(len(case.y)) if weighted else None
    problem = case.problem(s, lam=lam)
    continue_with(problem, bcfw.solvers.BCFW(), 2)
    problem.open_lists(0.1)
    for i in range(len(case.y)):
        before = problem.dual_value()
        problem.visit(in_order(np.array([i])), problem.rule())
        assert problem.dual_value() >= before - 1e-14
        certify_state(problem)
        assert problem.state.gap[i] == pytest.approx(0.0, abs=1e-13)
        problem.open_lists(0.1)
    assert max(drift(problem).values()) < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_the_gain_of_a_visit_is_that_of_the_dual(name):
    problem = CASES[name].problem()
    problem.open_lists(0.1)
    before = problem.dual_value()
    problem.counters[:] = 0.0
    rule = problem.rule()
    problem.run_template(
        solve_pass, 5, tuple(in_order(np.arange(5))), tuple(rule), STEP, np.zeros((2, 0)), tuple(problem.lists)
    )
    assert problem.counters[1] == pytest.approx(problem.dual_value() - before, abs=1e-13)


@given(
    entries=st.lists(st.floats(-5, 5), min_size=1, max_size=12),
    scale=st.sampled_from([1e-12, 1e-3, 1.0, 1e3, 1e12]),
)
def test_projection_onto_the_simplex(entries, scale):
    """Against the definition by sorting; also where all but one entry are far below."""
    from bcfw.models.multiclass.multiclass_routines import MulticlassWork
    from bcfw.models.shared.block_solve_routines import project_listed

    v = scale * np.array(entries)
    n = len(v)
    work = MulticlassWork(None, None, v.copy(), np.arange(n), np.array([n]), None, None, None)
    project_listed(work)
    ordered = np.sort(v)[::-1]
    taus = (np.cumsum(ordered) - 1.0) / np.arange(1, n + 1)
    tau = taus[np.flatnonzero(ordered > taus)[-1]] if (ordered > taus).any() else taus[0]
    np.testing.assert_allclose(work.d, np.maximum(v - tau, 0.0), rtol=0, atol=1e-13 * max(1.0, scale))
    assert work.d.min() >= 0.0
    if scale <= 1e3:
        assert work.d.sum() == pytest.approx(1.0, abs=1e-10)


def test_examples_without_features_go_to_their_worst_output():
    cost = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [1.0, 1.5, 0.0]])
    X, y = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0], [-1.0, 0.5]]), np.array([0, 1, 2, 0])
    for X_given in (X, sp.csr_matrix(X)):
        result = bcfw.train(Multiclass(cost=cost), X_given, y, lam=0.1, tol=1e-8, solver="block-solves")
        assert result.status == "converged"
        assert result.primal >= (3.0 + 2.0) / 4
    zero = bcfw.train(Multiclass(), np.zeros((3, 2)), [0, 1, 2], solver="block-solves")
    assert (zero.status, zero.primal, zero.dual) == ("converged", 1.0, 1.0)
    labels = bcfw.train(Multilabel(), np.zeros((3, 2)), np.eye(3, dtype=int), solver="block-solves")
    assert (labels.status, labels.primal, labels.dual) == ("converged", 1.0, pytest.approx(1.0))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("acceleration", [0.0, 0.5, 10.0, 1000.0, "features"])
def test_tight_tolerances_are_reached(name, acceleration):
    case = CASES[name]
    result = case.train(solver=BlockSolves(acceleration=acceleration), tol=1e-7, max_passes=20_000)
    best = case.enumerated().optimum.primal
    assert result.status == "converged"
    assert -1e-9 <= result.primal - best <= result.gap + 1e-9


def test_a_run_that_cannot_gain_any_more_stalls_or_converges():
    for name in NAMES:
        result = CASES[name].few_passes(3000, solver=BlockSolves(acceleration=0), tol=0.0)
        assert result.status in ("rounding", "converged")
        assert result.gap <= 1e-9


def test_lists_leave_out_what_cannot_move():
    rng = np.random.default_rng(0)
    y = rng.integers(30, size=600)
    X = np.eye(30)[y] + 0.05 * rng.standard_normal((600, 30))
    X[:20] += 2.0 * np.eye(30)[(y[:20] + 1) % 30]
    problem = bcfw.dual.open_problem(Multiclass(), X, y, 0.001)
    assert len(problem.active_blocks) == 600
    continue_with(problem, BlockSolves(), 12)
    certify_state(problem)
    listed = problem.lists.size
    assert len(problem.active_blocks) < 600
    assert np.all(listed[listed != ALL_PARTS] <= problem.lists.parts.shape[1])
    mass = problem.adapter.model.marginals(problem.data, problem.state.mu)
    for i in np.flatnonzero(listed > 0):
        assert set(np.flatnonzero(mass[i])) <= set(problem.lists.parts[i, : listed[i]].tolist())
    assert problem.state.gap[listed == 0].max(initial=0.0) <= 1e-15


def test_lists_of_many_labels_are_short():
    X, y = np.ones((3, 1)), [0, 1, 2]
    problem = bcfw.dual.open_problem(Multiclass(n_labels=1000), X, y, 0.1)
    lists = problem.open_lists(0.1)
    assert lists.parts.nbytes * 8 <= 3 * 1000 * np.dtype(float).itemsize  # an eighth of dense averages
    result = bcfw.train(Multiclass(n_labels=1000), X, y, lam=0.1, tol=1e-6)
    assert result.status == "converged"


def test_passes_visit_every_block_once():
    rng = np.random.default_rng(0)
    for n in (5, MANY_BLOCKS - 1, MANY_BLOCKS, 3 * MANY_BLOCKS + 5):
        blocks = np.arange(0, 2 * n, 2)
        order = permuted_runs(rng, blocks)
        np.testing.assert_array_equal(np.sort(order), blocks)
    assert not np.array_equal(order, blocks)
    assert np.mean(np.diff(order) == 2) > 0.9 * (1 - 1 / RUN_LENGTH)


def test_certificates_are_taken_as_often_as_the_user_says():
    case = CASES["multiclass-cost"]
    every = case.few_passes(20, solver=BlockSolves(gap_every=1, passes=1), lam=0.003)
    assert len(every.history["gap"]) >= 20
    rare = case.few_passes(20, solver=BlockSolves(gap_every=1000), lam=0.003)
    assert len(rare.history["gap"]) == 2


def test_certificates_take_about_a_fifth():
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=400)
    X = np.eye(5)[y] + 0.7 * rng.standard_normal((400, 5))
    result = bcfw.train(Multiclass(), X, y, lam=1e-4, tol=1e-6, max_passes=5000)
    assert result.status == "converged"
    certificates = result.n_oracle_calls / len(y) - result.n_passes
    assert certificates <= 2 + 1.5 * MOST_SHARE * (result.n_passes + certificates)


def test_a_certificate_of_other_weights_notices_drift():
    """The gaps at any weights tell whether v has left its blocks; then it is rebuilt."""
    problem = CASES["multiclass-cost"].problem()
    continue_with(problem, BlockSolves(acceleration=0), 5)
    w = 0.7 * problem.state.w
    right = certify_weights(problem, w)
    problem.state.w[:] += 1e-3
    problem.state.ell[:] *= 1.001
    assert certify_weights(problem, w).dual == pytest.approx(right.dual, abs=1e-13)
    assert max(drift(problem).values()) < 1e-13


def test_callbacks_see_the_weights_of_the_problem_itself():
    """Not those of an iteration, which are in units of the features."""
    case = CASES["multiclass-cost"]
    seen = []
    solver = BlockSolves(acceleration="features", passes=3)
    case.few_passes(6, solver=solver, callbacks=[lambda info: seen.append(info.w)])
    objective = case.enumerated()
    values = [objective.primal(w) for w in seen]
    assert len(values) >= 3
    assert all(value <= objective.primal(np.zeros(case.dim)) for value in values)


def test_the_solution_of_a_general_optimiser():
    """A small problem against the primal, smoothed and minimised by someone else."""
    rng = np.random.default_rng(3)
    X, y, lam = rng.standard_normal((12, 2)), rng.integers(3, size=12), 0.1

    def primal(w):
        scores = X @ w.reshape(2, 3)
        margins = scores - scores[np.arange(12), y][:, None] + 1.0
        margins[np.arange(12), y] = 0.0
        return 0.5 * lam * w @ w + margins.max(axis=1).mean()

    result = bcfw.train(Multiclass(), X, y, lam=lam, tol=1e-8)
    best = min(minimize(primal, result.w + 0.1 * rng.standard_normal(6), method="Nelder-Mead").fun for _ in range(3))
    assert result.primal <= best + 1e-9
