"""The labeling store: mass stays a probability vector, and the rest takes what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.dual.certify import certify_state
from bcfw.solvers import BCFW, MultiPlane
from bcfw.solvers.counted_run import CountedRun
from problems import CASES, drift

STORE_SOLVERS = [
    BCFW(step="pairwise", sampling="gap", cache="gap"),
    BCFW(step="away", sampling="uniform"),
    BCFW(step="best", cache="gap"),
    MultiPlane(clock="count"),
]


def run_passes(problem, solver, passes):
    solver.prepare(problem)
    return solver.solve(problem, CountedRun(problem, 0.0, passes), np.random.default_rng(0))


@pytest.mark.parametrize("solver", STORE_SOLVERS, ids=repr)
def test_weights_stay_a_probability_vector_over_many_steps(solver):
    problem = CASES["multiclass-wide"].problem(lam=0.01)
    while problem.counters[0] < 1e5:
        before = problem.counters[0]
        run_passes(problem, solver, 500)
        if problem.counters[0] == before:
            break
        problem.state.w[:] *= 1.0 + 1e-3 * np.sin(before)  # keeps the steps from dying out
        problem.rebuild()
    store = problem.store
    mass = store.folded_mass + store.alpha.sum(axis=1)
    np.testing.assert_allclose(mass, 1.0, rtol=0, atol=1e-12)
    assert store.alpha.min() >= 0.0
    assert store.folded_mass.min() >= 0.0


@pytest.mark.parametrize("seed", range(40))
def test_away_steps_do_not_multiply_rounding(seed):
    """Tiny problems, where a step often drops nearly all of a block's mass: the others grow by large factors."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((8, 1)), rng.integers(3, size=8)
    for sampling in ("uniform", "permuted", "gap"):
        problem = bcfw.dual.open_problem(bcfw.models.Multiclass(n_labels=3), X, y, 1e-3)
        run_passes(problem, BCFW(step="away", sampling=sampling), 300)
        mass = problem.store.folded_mass + problem.store.alpha.sum(axis=1)
        np.testing.assert_allclose(mass, 1.0, rtol=0, atol=1e-13)


@pytest.mark.parametrize("step", ["pairwise", "away", "best"])
@pytest.mark.parametrize("name", ["chain-cost", "multiclass-wide", "dense-features", "user-compiled"])
def test_a_full_store_folds_into_the_rest_and_still_converges(name, step):
    case = CASES[name]
    problem = case.problem()
    outcome = run_passes(problem, BCFW(step=step, max_labelings=2, sampling="gap"), 400)
    assert problem.store.folded_mass.max() > 0.0, "two slots were enough: the case does not test what it should"
    np.testing.assert_allclose(problem.store.folded_mass + problem.store.alpha.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    deviation = drift(problem)
    assert max(deviation.values()) < 1e-9
    best = case.enumerated().optimum.primal
    assert outcome.certificate.dual <= best + 1e-9
    assert outcome.certificate.primal - best <= outcome.certificate.gap + 1e-9
    assert outcome.certificate.gap < 0.05


@pytest.mark.parametrize("name", ["chain-cost", "multiclass-cost", "sparse-features", "user-compiled"])
def test_closing_the_store_keeps_the_point(name):
    problem = CASES[name].problem()
    run_passes(problem, BCFW(step="pairwise"), 5)
    w, ell, before = problem.state.w.copy(), problem.state.ell.copy(), certify_state(problem)
    problem.close_store()
    np.testing.assert_array_equal(problem.state.w, w)
    np.testing.assert_array_equal(problem.state.ell, ell)
    np.testing.assert_allclose(certify_state(problem), before, rtol=0, atol=1e-12)
    assert max(drift(problem).values()) < 1e-12


def test_the_truth_never_leaves_its_slot_and_unused_labelings_do():
    case = CASES["chain-cost"]
    problem = case.problem()
    run_passes(problem, MultiPlane(clock="count", inactive=1), 30)
    store = problem.store
    slots = store.labels.shape[0] // len(problem.data.y)
    for i, truth in enumerate(case.y):
        start = slots * problem.data.y_off[i]
        np.testing.assert_array_equal(store.labels[start : start + len(truth)], truth)
        idle = (store.alpha[i, 1 : store.size[i]] == 0.0) & (store.used[i, 1 : store.size[i]] < store.used.max() - 2)
        assert not idle.any()


def test_cache_and_store_need_fewer_calls():
    case = CASES["chain-wide"]
    plain = case.train(solver=BCFW(), tol=0.02, max_passes=5000)
    cached = case.train(solver=BCFW(step="pairwise", sampling="gap", cache="gap"), tol=0.02, max_passes=5000)
    planes = case.train(solver=MultiPlane(clock="count"), tol=0.02, max_passes=5000)
    assert cached.n_passes < plain.n_passes
    assert planes.n_passes < plain.n_passes


def test_count_clock_is_reproducible():
    case = CASES["chain-cost"]
    first, second = (case.few_passes(7, solver=MultiPlane(clock="count")) for _ in range(2))
    np.testing.assert_array_equal(first.w, second.w)


def test_warm_start_across_kinds_of_solvers():
    case = CASES["chain-cost"]
    first = case.few_passes(5, solver=BCFW(step="pairwise"))
    second = case.few_passes(5, solver=BCFW(), warm_start=first)
    third = case.few_passes(5, solver=MultiPlane(clock="count"), warm_start=second)
    assert first.dual <= second.dual + 1e-12
    assert second.dual <= third.dual + 1e-12
    assert second.history["dual"][0] == pytest.approx(first.dual, abs=1e-12)
    assert isinstance(third, bcfw.Result)
