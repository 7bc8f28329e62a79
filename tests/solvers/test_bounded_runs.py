"""Runs with bounds on w: steps, oracles within the box, warm starts into it and out of it, averages, checkpoints."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import bcfw
from bcfw.models import KernelModel, Multiclass, PictorialTree
from bcfw.passes import contract
from bcfw.passes.contract import Data, Work, apply, load_truth, touched
from bcfw.passes.oracle import direction_from_average
from bcfw.passes.records import State
from bcfw.solvers import BCFW, BatchFW, MultiPlane
from problems import BOUNDED_CASES, CASES, COMPILED_CASES, continue_with, first_row, interpreted

INF = np.inf


@pytest.mark.parametrize("name", BOUNDED_CASES)
def test_exact_steps_need_no_more_passes_than_short_ones(name):
    """Counted in passes until the same certificate, averaged over a few orders."""
    case = BOUNDED_CASES[name]

    def passes(step_size):
        solver = BCFW(step_size=step_size, gap_every=1)
        runs = [case.train(solver=solver, tol=0.03, max_passes=20_000, seed=seed) for seed in range(4)]
        return sum(run.n_passes for run in runs)

    assert passes("exact") <= passes("short")


def test_short_steps_are_exact_without_bounds():
    case = CASES["chain-cost"]
    short, exact = (case.few_passes(5, solver=BCFW(step_size=word)) for word in ("short", "exact"))
    np.testing.assert_array_equal(short.w, exact.w)


def test_cases_reach_their_bounds_and_leave_others_free():
    """What the bounded cases must have, for the common tests to mean anything."""
    seen = {"all bounded": 0, "some free": 0, "lower only": 0, "upper only": 0, "zero excluded": 0, "at a bound": 0}
    for case in BOUNDED_CASES.values():
        lower, upper = case.box
        free = np.isinf(lower) & np.isinf(upper)
        w = case.enumerated().optimum.w
        seen["all bounded"] += not free.any()
        seen["some free"] += free.any()
        seen["lower only"] += (np.isfinite(lower) & np.isinf(upper)).any()
        seen["upper only"] += (np.isinf(lower) & np.isfinite(upper)).any()
        seen["zero excluded"] += ((lower > 0) | (upper < 0)).any()
        seen["at a bound"] += ((w == lower) | (w == upper)).any() and ((w > lower) & (w < upper) & ~free).any()
    assert min(seen.values()) >= 1, seen


class Cautious(type(CASES["dense-features"].model)):
    """The Python model, which cannot use its last weights unless they are in [-0.1, 0.05]."""

    def bounds(self):
        lower, upper = np.full(self.dim, -INF), np.full(self.dim, INF)
        lower[-9:], upper[-9:] = -0.1, 0.05
        return lower, upper

    def oracle(self, w, x, y_true=None):
        assert w[-9:].min() >= -0.1
        assert w[-9:].max() <= 0.05
        return super().oracle(w, x, y_true)


@pytest.mark.certified
@pytest.mark.handles("bounds")
def test_oracle_never_sees_weights_outside_the_models_bounds(solver):
    base = CASES["dense-features"]
    model = Cautious(base.model.K, base.model.cost)
    needs = np.repeat([-INF, -0.1], [base.dim - 9, 9]), np.repeat([INF, 0.05], [base.dim - 9, 9])
    case = dataclasses.replace(base, model=model, needs=needs)
    result = case.train(solver=solver, tol=0.03, max_passes=5000)
    assert result.primal - case.enumerated().optimum.primal <= result.gap + 1e-9
    result.predict(case.X)


PAIRS = [("bounded-multiclass-cost", "multiclass-cost"), ("bounded-chain-cost", "chain-cost")]

PAIRS += [("bounded-dense-features", "dense-features"), ("bounded-graph-cost", "graph-cost")]

MOVES = [BCFW(), BCFW(step="pairwise", cache="gap", sampling="gap"), BatchFW(), MultiPlane(clock="count")]


def check_start(result, case, snapshot):
    """The first certificate is that of the snapshot's dual point in the case's box."""
    primal, dual = first_row(case, snapshot)
    assert result.history["dual"][0] == pytest.approx(dual, abs=1e-10)
    assert result.history["primal"][0] == pytest.approx(primal, abs=1e-10)


@pytest.mark.parametrize("solver", MOVES, ids=repr)
@pytest.mark.parametrize(("bounded", "free"), PAIRS)
def test_warm_start_into_a_box_and_back(bounded, free, solver):
    """The dual variables know nothing of bounds: any of them start any other run."""
    inside, outside = CASES[bounded], CASES[free]
    first = outside.few_passes(4, solver=solver)
    second = inside.train(solver=solver, tol=0.03, max_passes=5000, warm_start=first)
    check_start(second, inside, first.snapshot)
    np.testing.assert_array_equal(second.w, inside.clip(second.w))
    assert second.primal - inside.enumerated().optimum.primal <= second.gap + 1e-9
    third = outside.train(solver=solver, tol=0.03, max_passes=5000, warm_start=second)
    check_start(third, outside, second.snapshot)
    assert third.primal - outside.enumerated().optimum.primal <= third.gap + 1e-9


@pytest.mark.parametrize("name", BOUNDED_CASES)
def test_checkpoint_of_a_bounded_run(name, tmp_path):
    """The file holds v, which the box cannot give back, and resumes in cyclic order as if never interrupted."""
    case, path = BOUNDED_CASES[name], tmp_path / "state.npz"
    solver = BCFW(sampling="cyclic")
    first = case.few_passes(3, solver=solver, checkpoint=path)
    with np.load(path) as saved:
        assert case.enumerated().dual(saved["w"], saved["ell"].sum()) == pytest.approx(first.dual, abs=1e-10)
    resumed = case.few_passes(3, solver=solver, warm_start=path)
    whole = case.few_passes(6, solver=solver)
    np.testing.assert_allclose(resumed.snapshot["w"], whole.snapshot["w"], rtol=0, atol=1e-10)
    assert resumed.dual == pytest.approx(whole.dual, abs=1e-10)


def test_checkpoints_of_the_cases_lie_outside_their_boxes():
    """Else the tests above would not see the difference of v and w."""
    outside = [case.few_passes(3) for case in BOUNDED_CASES.values()]
    assert sum(np.any(run.snapshot["w"] != run.w) for run in outside) >= 4


@pytest.mark.parametrize("solver", [BCFW(averaging=True), MultiPlane(clock="count", averaging=True)], ids=repr)
@pytest.mark.parametrize("name", BOUNDED_CASES)
def test_averages_lie_in_the_box_and_are_certified(name, solver):
    case = BOUNDED_CASES[name]
    result = case.train(solver=solver, tol=0.03, max_passes=5000)
    objective, best = case.enumerated(), case.enumerated().optimum
    for one in (result, result.last):
        np.testing.assert_array_equal(one.w, case.clip(one.w))
        assert one.primal == pytest.approx(objective.primal(one.w), abs=1e-11)
        assert one.dual <= best.primal + 1e-9
        assert one.primal - best.primal <= one.gap + 1e-9
    assert result.gap <= 0.03 * objective.primal(np.zeros(case.dim)) * (1 + 1e-12)


@pytest.mark.parametrize("name", BOUNDED_CASES)
def test_tight_tolerance_gives_the_optimal_weights(name):
    case = BOUNDED_CASES[name]
    result = case.train(tol=1e-6, max_passes=100_000, solver=BCFW(step="pairwise", sampling="gap"))
    best = case.enumerated().optimum
    assert result.status == "converged"
    assert result.primal == pytest.approx(best.primal, abs=result.gap + 1e-9)
    np.testing.assert_allclose(result.w, best.w, rtol=0, atol=np.sqrt(2 * (result.gap + 1e-9) / case.lam))


def changed_pass(data_fields, work_fields, state_fields, i, out, listed):
    """Template: the direction from the average to the truth, applied, and the coordinates that it touches."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    load_truth(data, i, work)
    direction_from_average(data, i, state.mu, work)
    apply(data, i, 1.0, work, out)
    return touched(data, i, work, listed)


@pytest.mark.parametrize("name", BOUNDED_CASES)
def test_touched_lists_all_that_a_direction_changes(name):
    problem = BOUNDED_CASES[name].problem()
    continue_with(problem, BCFW(), max_passes=2)
    for i in problem.blocks:
        change, room = np.zeros(problem.adapter.dim), np.full(10_000, -1)
        count = problem.call(changed_pass, i, change, room)
        if count < 0:  # dense features
            assert isinstance(problem.adapter.model, PictorialTree) or not isinstance(
                problem.adapter.model, KernelModel
            )
            continue
        assert set(np.flatnonzero(change)) <= set(room[:count].tolist())
        assert problem.call(changed_pass, i, change, room[: max(count - 1, 0)]) in (-1, 0)


@pytest.mark.parametrize("solver", [BCFW(), BCFW(step="best", sampling="cyclic")], ids=repr)
@pytest.mark.parametrize("name", [name for name in BOUNDED_CASES if name in COMPILED_CASES])
def test_steps_on_touched_coordinates_are_steps_on_all(name, solver):
    """The same run where nothing is listed; and w is always v clipped."""
    case = interpreted(BOUNDED_CASES[name])
    problem, other = case.problem(), case.problem()
    other.adapter.routines = other.adapter.routines.rebound(touched=contract.touched)
    for one in (problem, other):
        continue_with(one, solver, max_passes=3)
    np.testing.assert_allclose(problem.v, other.v, rtol=0, atol=1e-10)
    for one in (problem, other):
        np.testing.assert_array_equal(one.state.w, one.clip(one.v))


@pytest.mark.parametrize("seed", [5, 7, 9])
def test_the_best_weights_may_be_those_of_the_dual_point_again(seed):
    """An accelerated run may end where it began, at a bound: its state keeps no other weights than it returns."""
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(4, 30)), 3
    y = rng.integers(K, size=n)
    y[:3] = [0, 1, 2]
    X = np.eye(K)[y][:, :2] * rng.uniform(0, 1) + rng.standard_normal((n, 2))
    lam = 10 ** rng.uniform(-3, 0)
    bounds = (float(rng.uniform(0.01, 0.3)), np.inf)
    options = {"solver": MultiPlane(clock="count", acceleration=10), "tol": 1e-3, "bounds": bounds}
    result = bcfw.train(Multiclass(), X, y, lam=lam, **options)
    kept = result.snapshot.get("point", np.maximum(result.snapshot["w"], bounds[0]))
    np.testing.assert_array_equal(kept, result.w)
    again = bcfw.train(Multiclass(), X, y, lam=lam, warm_start=result, **options)
    assert again.history["primal"][0] == pytest.approx(result.primal, abs=1e-12)
    grid = bcfw.grid_path(Multiclass(), X, y, [lam, lam * 0.9999, lam * 0.999, lam * 0.99], **options)
    assert grid.certified
    for one, gap in zip(grid.lambdas, grid.gaps, strict=True):
        scores, w = X @ grid.weights(one).reshape(2, K), grid.weights(one)
        violations = 1.0 - np.eye(K)[y] + scores - scores[np.arange(n), y][:, None]
        primal = 0.5 * one * w @ w + violations.max(axis=1).mean()
        best = bcfw.train(Multiclass(), X, y, lam=float(one), solver="bcfw", tol=1e-6, bounds=bounds, max_passes=10_000)
        assert gap >= 0.0
        assert primal - best.dual <= gap + (best.primal - best.dual) + 1e-10
