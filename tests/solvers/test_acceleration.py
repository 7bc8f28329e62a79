"""The accelerated outer loop: it returns certified weights, keeps the state consistent and saves visits."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.dual.certify import certify_state
from bcfw.solvers import MultiPlane
from bcfw.solvers.acceleration import Acceleration
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.pass_runner import PassRunner
from problems import CASES, drift

NAMES = ["chain-cost", "multiclass-wide", "bounded-chain-cost", "graph-cost"]


@pytest.mark.parametrize("ratio", [3, 1000])
@pytest.mark.parametrize("name", NAMES)
def test_reaches_the_optimum_even_with_too_large_a_ratio(name, ratio):
    case = CASES[name]
    result = case.train(solver=MultiPlane(acceleration=ratio, clock="count"), tol=1e-4, max_passes=5000)
    best = case.enumerated().optimum.primal
    assert result.status == "converged"
    assert result.dual <= best + 1e-9
    assert -1e-9 <= result.primal - best <= result.gap + 1e-9


@pytest.mark.parametrize("passes", [1, 2.5, 7])
def test_whenever_it_stops_the_gap_is_that_of_the_returned_weights(passes):
    case = CASES["chain-cost"]
    result = case.few_passes(passes, solver=MultiPlane(acceleration=10, clock="count"))
    assert result.primal == pytest.approx(case.enumerated().primal(result.w), abs=1e-12)
    assert result.gap == pytest.approx(result.primal - result.dual, abs=1e-12)
    assert result.dual <= case.enumerated().optimum.primal + 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_state_is_that_of_the_problem_itself(name):
    problem = CASES[name].problem()
    solver = MultiPlane(acceleration=10, clock="count", gap_every=100)
    solver.prepare(problem)
    outcome = solver.solve(problem, CountedRun(problem, 0.0, 12), np.random.default_rng(0))
    assert max(drift(problem).values()) < 1e-12
    assert outcome.certificate.dual == pytest.approx(certify_state(problem).dual, abs=1e-12)


def test_warm_start_takes_the_dual_point():
    case = CASES["chain-cost"]
    first = case.few_passes(5, solver=MultiPlane(acceleration=3, clock="count"))
    second = case.few_passes(5, solver=MultiPlane(clock="count"), warm_start=first)
    assert second.history["dual"][0] == pytest.approx(first.dual, abs=1e-12)
    assert second.dual >= first.dual - 1e-12


def test_small_lam_needs_fewer_visits():
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=300)
    X = np.eye(5)[y] + 0.7 * rng.standard_normal((300, 5))

    def visits(acceleration):
        solver = MultiPlane(acceleration=acceleration, clock="count")
        result = bcfw.train(bcfw.models.Multiclass(), X, y, lam=1e-4, solver=solver, tol=0.01, max_passes=5000)
        assert result.status == "converged"
        return result.history["passes"][-1] + result.history["store_passes"][-1]

    assert visits(10) < 0.7 * visits(0)


def test_what_it_does_not_go_with():
    with pytest.raises(bcfw.OptionError, match="averaging"):
        MultiPlane(acceleration=3, averaging=True)


def test_after_an_error_the_weights_are_the_accelerated_ones():
    """Those of the dual point alone are far worse."""

    class Fails(type(CASES["dense-features"].model)):
        calls = 0

        def oracle(self, w, x, y_true=None):
            Fails.calls += 1
            if Fails.calls == 100:
                raise RuntimeError("no more")
            return super().oracle(w, x, y_true)

    case = CASES["dense-features"]
    model = Fails(case.model.K, case.model.cost)
    with pytest.raises(bcfw.OracleError) as caught:
        bcfw.train(model, case.X, case.y, lam=1e-3, tol=1e-9, solver=MultiPlane(acceleration=10, clock="count"))
    result, objective = caught.value.result, case.enumerated(lam=1e-3)
    dual_point = result.snapshot["w"]
    assert objective.primal(result.w) < objective.primal(dual_point)


def test_the_outer_loop_begins_at_the_best_certified_weights():
    """Not at those of a warm start that is far worse than w = 0: steps would be lost in the rounding of z."""
    problem = CASES["chain-cost"].problem()
    run = CountedRun(problem, 1e-3, 10)
    problem.point = np.full(problem.adapter.dim, 1e9)
    runner = PassRunner(problem, run)
    runner.begin()
    np.testing.assert_array_equal(Acceleration(runner, 10.0).prox_center, 0.0)
