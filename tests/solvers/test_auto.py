"""``solver="auto"``: what it chooses, by costs that a test can set."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.solvers import BCFW, BlockSolves, MultiPlane, auto
from problems import CASES, own_model

CASE = CASES["dense-features"]

#: How the stopwatch judges the timings of a pass.
VISIT_SECONDS = auto.visit_seconds


class Counting(type(CASE.model)):
    """The Python model, with an oracle that counts its calls, and takes some time if it is given a clock."""

    calls = 0
    clock = None

    def oracle(self, w, x, y_true=None):
        type(self).calls += 1
        if self.clock is not None:
            self.clock.advance(1.0)
        return super().oracle(w, x, y_true)


class Measured:
    """Measurements in the place of the stopwatch's: seconds of a visit that asks the oracle, and of one to the store.

    ``auto`` measures one exact pass and then passes over the store. One visit of them may be interrupted for a second.
    """

    def __init__(self, oracle, store, interrupted=-1):
        self.oracle, self.store, self.interrupted = oracle, store, interrupted
        self.passes, self.visits = 0, 0

    def visit_seconds(self, timings):
        each, taken = self.store if self.passes else self.oracle, []
        for count, _ in timings:
            interrupted = self.visits <= self.interrupted < self.visits + count
            taken.append((count, count * each + float(interrupted)))
            self.visits += count
        self.passes += 1
        return VISIT_SECONDS(taken)


@pytest.fixture
def chosen(monkeypatch):
    """Function that trains with ``auto`` where visits cost what is said."""

    def train(oracle, store, interrupted=-1):
        measured = Measured(oracle, store, interrupted)
        monkeypatch.setattr(auto, "visit_seconds", measured.visit_seconds)
        return CASE.train(tol=1e-6), measured

    return train


def cost_of_class(k):
    """A cost of a visit to the store, in visits with the oracle, that lies in class k of ``STORE_COSTS``."""
    most = [most for most, _ in auto.STORE_COSTS]
    return 0.5 * most[k] if np.isfinite(most[k]) else 5.0 * most[k - 1]


@pytest.mark.parametrize("k", range(len(auto.STORE_COSTS)))
def test_cost_of_the_store_is_measured(chosen, k):
    result, _ = chosen(1.0, cost_of_class(k))
    charged = auto.STORE_COSTS[k][1]
    assert result.status == "converged"
    assert repr(result.solver) == repr(MultiPlane(clock="count", store_cost=charged, acceleration=auto.ACCELERATION))


def test_dearer_oracles_are_called_less(chosen):
    cheap, dear = cost_of_class(len(auto.STORE_COSTS) - 1), cost_of_class(0)
    assert chosen(1.0, dear)[0].n_passes < chosen(1.0, cheap)[0].n_passes


@pytest.mark.parametrize("visit", range(4 * len(CASE.y)))
def test_an_interruption_is_not_taken_for_a_costly_oracle(chosen, visit):
    """Nor for a costly store: the exact pass and three over the store are interrupted at any visit."""
    result, measured = chosen(1e-6, 1e-9, interrupted=visit)
    assert measured.visits == 4 * len(CASE.y)
    assert repr(result.solver) == repr(auto.multiplane_for_cost(auto.USUAL_STORE_COST))


@pytest.mark.parametrize("visit", range(4 * len(CASE.y)))
def test_an_interruption_does_not_change_what_is_measured(chosen, visit):
    """Also where oracles are costly enough to be measured."""
    seconds = auto.SMALL_PASS  # of a visit: a pass takes a few times as long
    for k in range(len(auto.STORE_COSTS)):
        result, _ = chosen(seconds, cost_of_class(k) * seconds, interrupted=visit)
        assert result.solver.store_cost == auto.STORE_COSTS[k][1]


@pytest.mark.parametrize("solver", [MultiPlane(passes=20, clock="count"), BCFW(step="pairwise")], ids=repr)
def test_limits_act_within_a_pass_of_a_costly_oracle(clock, solver):
    """One call takes a second, P(0) and the first pass n each; the limit lies in the middle of the second pass."""
    case = own_model(Counting)
    case.model.clock = clock
    with pytest.warns(bcfw.ConvergenceWarning, match="max_seconds"):
        result = case.train(tol=0.0, solver=solver, max_seconds=2.5 * len(case.y))
    assert 1.0 < result.n_passes < 2.0


@pytest.mark.usefixtures("steady_stopwatch")
def test_the_first_certificate_costs_one_pass(monkeypatch):
    monkeypatch.setattr(Counting, "calls", 0)
    result = own_model(Counting).train(tol=1e-6)
    assert result.history["oracle_calls"][0] == len(CASE.y)
    assert result.n_oracle_calls == Counting.calls


def test_a_tiny_problem_begins_with_plain_steps(monkeypatch):
    case = CASES["chain-cost"]
    result = case.train(tol=0.01)
    assert repr(result.solver) == "BCFW()"
    plain = case.train(tol=0.01, solver="bcfw")
    assert np.array_equal(result.w, plain.w)
    monkeypatch.setattr(auto, "PATIENCE", 2)
    result = case.train(tol=0.01)
    assert isinstance(result.solver, MultiPlane)
    assert result.status == "converged"
    assert 2 in result.history["passes"]
    assert result.history["passes"][-1] == result.n_passes


def test_a_longer_pass_gets_multi_plane_at_once(monkeypatch):
    case = CASES["chain-cost"]
    monkeypatch.setattr(auto, "TINY_PASS", 1e-12)
    result = case.train(tol=0.01)
    again = case.train(tol=0.01, solver=auto.multiplane_for_cost(auto.USUAL_STORE_COST))
    assert repr(result.solver) == repr(again.solver)
    assert np.array_equal(result.w, again.w)


@pytest.fixture
def no_clock(monkeypatch):
    """Whoever reads the clock fails."""

    def read(*_):
        raise AssertionError("the clock was read")

    monkeypatch.setattr(auto, "oracle_seconds", read)
    monkeypatch.setattr(auto, "visit_seconds", read)


@pytest.mark.usefixtures("no_clock")
@pytest.mark.parametrize("name", ["chain-cost", "bounded-multiclass-cost", "multilabel-tree", "graph-cost"])
def test_where_operations_are_counted_no_clock_is_read(name, monkeypatch):
    monkeypatch.setattr(auto, "PATIENCE", 2)
    assert isinstance(CASES[name].train(tol=1e-6).solver, MultiPlane)


@pytest.mark.usefixtures("no_clock")
@pytest.mark.parametrize("name", ["multiclass-cost", "multiclass-csr", "multilabel-independent"])
def test_blocks_with_a_closed_form_are_solved_exactly(name):
    result = CASES[name].train(tol=1e-6)
    assert isinstance(result.solver, BlockSolves)
    assert result.status == "converged"
    start = CASES[name].few_passes(3, solver=MultiPlane(clock="count"))  # with a store, which is folded
    assert isinstance(CASES[name].train(tol=1e-6, warm_start=start).solver, BlockSolves)


def test_the_ratio_follows_the_size_of_the_features_and_lam():
    case = CASES["multiclass-cost"]
    ratios = [auto.block_solves(case.problem(lam=lam)).acceleration for lam in (100.0, 1.0, 0.01, 1e-4)]
    assert ratios[0] == auto.LEAST_RATIO
    assert ratios == sorted(ratios)
    assert ratios[-1] == auto.ACCELERATION
    assert auto.block_solves(case.problem(lam=1e-9)).acceleration == "features"
    assert auto.block_solves(CASES["bounded-multiclass-cost"].problem()) is None


@pytest.mark.parametrize("costly", [False, True])
def test_where_operations_are_not_counted_the_oracle_is_measured(costly, monkeypatch):
    """A compiled oracle that is cheap gets plain steps first, a costly one does not."""
    case, asked = CASES["user-compiled"], []
    seconds = 2.0 * auto.SMALL_PASS if costly else 0.5 * auto.TINY_PASS / len(case.y)
    monkeypatch.setattr(auto, "oracle_seconds", lambda problem: asked.append(problem) or seconds)
    result = case.train(tol=0.01)
    assert len(asked) == 1
    assert isinstance(result.solver, MultiPlane if costly else BCFW)


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
