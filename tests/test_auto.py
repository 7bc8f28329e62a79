"""``solver="auto"``: what it chooses, by costs that a test can set."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.solvers import BCFW, MultiPlane, auto, stopwatch
from problems import CASES


@pytest.fixture(autouse=True)
def steady_clock():
    """None: these tests are about what is measured."""


@pytest.fixture
def clock(monkeypatch):
    """A clock that only oracle calls move, one of them by a second more, and visits to the store."""
    costs = {"oracle": 1.0, "now": 0.0, "calls": 0, "interrupted": -1}
    monkeypatch.setattr(bcfw.run, "now", lambda: costs["now"])
    return costs


class Counted(type(CASES["dense-features"].model)):
    """The Python model, with an oracle that moves the clock."""

    clock: dict

    def oracle(self, w, x, y_true=None):
        self.clock["now"] += self.clock["oracle"] + float(self.clock["calls"] == self.clock["interrupted"])
        self.clock["calls"] += 1
        return super().oracle(w, x, y_true)


def chosen(clock, store):
    """What is chosen when a visit to the store costs so many oracle calls."""
    case = CASES["dense-features"]
    model = Counted(case.model.K, case.model.cost)
    model.clock = clock
    plain = bcfw.dual.DualProblem.visit

    def visit(problem, visits, rule, plan=None):
        if plan is not None and plan.source == bcfw.records.STORE_ONLY:
            clock["now"] += store * visits.n_visits
        return plain(problem, visits, rule, plan)

    bcfw.dual.DualProblem.visit = visit
    try:
        return bcfw.train(model, case.X, case.y, lam=case.lam, tol=1e-6)
    finally:
        bcfw.dual.DualProblem.visit = plain


@pytest.mark.parametrize(("store", "charged"), [(0.5, 0.2), (0.05, 0.02), (0.001, 0.002)])
def test_cost_of_the_store_is_measured(clock, store, charged):
    result = chosen(clock, store)
    assert result.status == "converged"
    assert repr(result.solver) == repr(MultiPlane(clock="count", store_cost=charged, acceleration=10))


def test_dearer_oracles_are_called_less(clock):
    assert chosen(clock, 0.001).n_passes < chosen(clock, 0.5).n_passes


@pytest.mark.parametrize("call", range(4 * len(CASES["dense-features"].y)))
def test_an_interruption_is_not_taken_for_a_costly_oracle(clock, call):
    clock.update(oracle=1e-6, interrupted=call)
    assert chosen(clock, 0.001).solver.store_cost == 0.2


@pytest.mark.parametrize("solver", [MultiPlane(passes=20, clock="count"), BCFW(step="pairwise")], ids=repr)
def test_limits_act_within_a_pass_of_a_costly_oracle(clock, solver):
    """One call takes a second, P(0) and the first pass n each; the limit lies in the middle of the second pass."""
    n = len(CASES["dense-features"].y)
    model = Counted(CASES["dense-features"].model.K, CASES["dense-features"].model.cost)
    model.clock = clock
    case = CASES["dense-features"]
    with pytest.warns(bcfw.ConvergenceWarning, match="max_seconds"):
        result = bcfw.train(model, case.X, case.y, lam=case.lam, tol=0.0, solver=solver, max_seconds=2.5 * n)
    assert 1.0 < result.n_passes < 2.0


def test_the_first_certificate_costs_one_pass(clock):
    n = len(CASES["dense-features"].y)
    result = chosen(clock, 0.001)
    assert result.history["oracle_calls"][0] == n
    assert result.n_oracle_calls == clock["calls"]


def test_a_small_problem_begins_with_plain_steps(monkeypatch):
    case = CASES["chain-cost"]
    result = case.train(tol=0.01)
    assert repr(result.solver) == "BCFW()"
    plain = case.train(tol=0.01, solver="bcfw")
    assert np.array_equal(result.w, plain.w)
    monkeypatch.setattr(auto, "PATIENCE", 2)
    result = case.train(tol=1e-6)
    assert isinstance(result.solver, MultiPlane)
    assert result.status == "converged"
    assert result.history["passes"][-1] == result.n_passes


def test_plain_steps_have_a_limited_time(monkeypatch):
    case = CASES["chain-cost"]
    one_pass = case.model.bind(case.X, case.y)
    one_pass = one_pass.oracle_operations(one_pass.pack(case.X, case.y)) / auto.OPERATIONS
    monkeypatch.setattr(auto, "PATIENT_SECONDS", 3.5 * one_pass)
    first = case.train(tol=1e-6)
    assert isinstance(first.solver, MultiPlane)
    assert 3 in first.history["passes"]


@pytest.mark.parametrize("name", ["chain-cost", "multiclass-cost", "multilabel-independent", "graph-cost"])
def test_where_operations_are_counted_no_clock_is_read(name, monkeypatch):
    def no_clock(*_):
        raise AssertionError("the clock was read")

    monkeypatch.setattr(stopwatch, "oracle_seconds", no_clock)
    monkeypatch.setattr(auto.Auto, "_visit_seconds", no_clock)
    monkeypatch.setattr(auto, "PATIENCE", 2)
    assert isinstance(CASES[name].train(tol=1e-6).solver, MultiPlane)


def test_a_large_problem_uses_the_store(monkeypatch):
    monkeypatch.setattr(auto, "OPERATIONS", 1.0)
    result = CASES["chain-cost"].train(tol=0.01)
    assert isinstance(result.solver, MultiPlane)


def test_warm_start_keeps_the_labelings():
    case = CASES["chain-cost"]
    first = case.few_passes(3, solver=MultiPlane())
    result = case.train(tol=1e-6, warm_start=first)
    assert isinstance(result.solver, MultiPlane)
    assert result.history["dual"][0] == pytest.approx(first.dual, abs=1e-12)
    assert isinstance(case.train(tol=0.01, warm_start=case.few_passes(3, solver="bcfw")).solver, BCFW)
