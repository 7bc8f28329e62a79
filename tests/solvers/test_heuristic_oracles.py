"""Heuristic oracles: steps work, the gap is an estimate, and only an upper bound can certify it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import bcfw
from bcfw.dual import Certificate
from bcfw.solvers import BCFW, BatchFW, MultiPlane
from bcfw.solvers.counted_run import CountedRun
from problems import CASES, Bits, Pairs

CASE = CASES["dense-features"]


class Greedy(Pairs):
    """Chooses the first label as if it were alone, then the second one."""

    exact_oracle = False

    def oracle(self, w, x, y_true=None):
        def value(y):
            return w @ self.features(x, y) + (0.0 if y_true is None else self.loss(y_true, y))

        unary = np.array(
            [max(value((a, b)) - w[-(self.K**2) :][a * self.K + b] for b in range(self.K)) for a in range(self.K)]
        )
        first = int(np.argmax(unary))
        return max(((first, b) for b in range(self.K)), key=value)


class Bounded(Greedy):
    """Knows the maximum, which it adds a slack to, but not where it is taken."""

    slack = 0.0

    def upper_bound(self, w, x, y_true):
        best = Pairs.oracle(self, w, x, y_true)
        return w @ self.features(x, best) + self.loss(y_true, best) + self.slack


@pytest.mark.parametrize(
    ("gap", "bound", "status"),
    [(0.9, 0.9, "converged"), (0.9, np.inf, "converged"), (0.9, 1.1, None), (0.05, 1.1, "converged"), (1.1, 1.1, None)],
)
def test_a_bound_is_waited_for_unless_the_estimate_is_far_below(gap, bound, status):
    run = bcfw.run.Run(1.0, 100)
    certificate = Certificate(primal=2.0, dual=2.0 - gap, gap=gap, gap_bound=bound)
    run.record(certificate.reaches(run.gap_target), passes=1.0, **certificate._asdict())
    assert run.status == status


@pytest.mark.parametrize(
    ("gap", "bound", "target", "status", "certified"),
    [
        (0.9, 0.9, 1.0, "converged", True),
        (0.9, 0.95, 1.0, "converged", True),
        (0.05, 1.1, 1.0, "estimated", False),
        (0.9, np.inf, 1.0, "estimated", False),
        (0.0, np.inf, 1.0, "estimated", False),
        (0.9, 1.1, 1.0, None, False),
        (0.5, 0.5 + 1e-12, 0.0, None, True),
    ],
)
def test_only_a_proof_is_called_one(gap, bound, target, status, certified):
    """Whatever the estimate; and a bound that is as good as the value found is a proof of the gap that it has."""
    problem = CASE.problem()
    run = CountedRun(problem, 1.0, 100)
    run.gap_target = target
    found = Certificate(primal=2.0, dual=2.0 - gap, gap=gap, gap_bound=bound)
    run.record_certificate(problem, 1.0, found)
    reported, proved = found.proven(target)
    assert (run.status, proved) == (status, certified)
    assert reported.gap == (bound if certified else gap)
    assert (run.rows[-1]["gap"], run.rows[-1]["gap_bound"]) == (gap, bound)


@pytest.mark.parametrize("bound", [-1e9, np.nan, 0.5])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("solver", [BCFW(), BCFW(step="pairwise"), BatchFW(), MultiPlane(acceleration=10)], ids=repr)
def test_a_bound_below_a_known_output_certifies_nothing(bound, solver, late):
    """Neither at once nor when it is right at w = 0."""

    class Low(Greedy):
        def upper_bound(self, w, x, y_true):
            if late and not w.any():
                return np.inf
            return bound + (w @ self.features(x, y_true) if bound == 0.5 else 0.0)

    with pytest.raises(bcfw.OracleError, match=r"example \d+: the model's upper bound says"):
        heuristic(Low).train(solver=solver)


class BitsBoundedBy(Bits):
    """Compiled, with a bound that is far too low."""

    exact_oracle = False

    @staticmethod
    def decode_bound(data, i, w):
        return -1e9


def test_a_compiled_bound_that_is_too_low_is_found():
    case = CASES["user-compiled"]
    model = BitsBoundedBy(case.model.cost, case.X[0].shape[0])
    with pytest.raises(bcfw.ModelError, match=r"upper_bound\(w, x, y_true\) = -1e\+09"):
        bcfw.check_model(model, case.X, case.y)


def heuristic(kind, **attributes):
    model = kind(CASE.model.K, CASE.model.cost)
    vars(model).update(attributes)
    return dataclasses.replace(CASE, model=model)


@pytest.mark.certified
@pytest.mark.handles("heuristic oracle")
def test_the_gap_is_an_estimate(solver):
    result = heuristic(Greedy).few_passes(30, solver=solver)
    objective = CASE.enumerated()
    assert not result.certified
    assert result.dual <= objective.optimum.primal + 1e-9
    assert result.primal <= objective.primal(result.w) + 1e-9  # found by a heuristic: at most the true value
    assert result.gap >= -1e-12
    assert np.all(result.history["gap_bound"] == np.inf)


@pytest.mark.certified
@pytest.mark.handles("heuristic oracle")
def test_the_dual_never_decreases(exact_solver):
    dual = heuristic(Greedy).few_passes(15, solver=exact_solver).history["dual"]
    assert np.all(np.diff(dual) >= -1e-13)


def test_the_heuristic_is_one():
    """Otherwise these tests would test nothing: an oracle that is said to be exact fails here."""

    class Wrong(Greedy):
        exact_oracle = True

    with pytest.raises(bcfw.OracleError, match="not maximal"):
        heuristic(Wrong).few_passes(50, solver=BCFW())
    with pytest.raises(bcfw.ModelError, match="not maximal"):
        bcfw.check_model(heuristic(Wrong).model, CASE.X, CASE.y)


@pytest.mark.certified
@pytest.mark.handles("heuristic oracle")
def test_an_upper_bound_proves_what_is_proved(solver):
    result = heuristic(Bounded).few_passes(30, solver=solver)
    objective = CASE.enumerated()
    bound = result.history["gap_bound"][-1]
    assert result.dual + bound == pytest.approx(objective.primal(result.w), abs=1e-9)
    assert bound >= result.history["gap"][-1] - 1e-12


def test_a_bound_that_closes_the_gap_certifies():
    result = heuristic(Bounded).train(tol=0.5)
    assert (result.status, result.certified) == ("converged", True)
    assert result.gap == result.history["gap_bound"][-1]
    assert result.primal == pytest.approx(CASE.enumerated().primal(result.w), abs=1e-9)
    found = result.history["primal"][-1] - result.history["dual"][-1]  # the estimate is kept beside the bound
    assert result.history["gap"][-1] == pytest.approx(found, abs=1e-12)
    assert result.history["gap"][-1] <= result.gap
    loose = heuristic(Bounded, slack=100.0).train(tol=0.5)
    assert (loose.status, loose.certified) == ("estimated", False)
    assert loose.gap < loose.history["gap_bound"][-1]


def test_stored_labelings_make_up_for_a_bad_answer():
    """After exact steps, an oracle that has become stupid is outvoted by what it returned before."""

    class Tired(Pairs):
        exact_oracle = False
        calls = 0

        def oracle(self, w, x, y_true=None):
            type(self).calls += 1
            return Pairs.oracle(self, w, x, y_true) if type(self).calls < 200 or y_true is None else y_true

    solver = BCFW(step="pairwise")
    rested = CASE.few_passes(60, solver=solver)
    tired = heuristic(Tired).few_passes(60, solver=solver)
    few = CASE.few_passes(200 / len(CASE.y) - 2, solver=solver)
    assert few.dual < tired.dual <= rested.dual + 1e-12


class HalfBits(Bits):
    """Decodes only the first half of the bits; the others keep the truth (or zero)."""

    exact_oracle = False

    @staticmethod
    def decode(data, i, w, loss_weight, y):
        F = data.x.shape[1]
        for bit in range(y.shape[0]):
            score = loss_weight * data.cost[bit] * (1.0 - 2.0 * data.y[data.y_off[i] + bit])
            for j in range(F):
                score += w[bit * F + j] * data.x[i, j]
            y[bit] = 1 if score > 0.0 else 0
            if 2 * bit >= y.shape[0]:
                y[bit] = data.y[data.y_off[i] + bit]

    @staticmethod
    def decode_bound(data, i, w):
        F = data.x.shape[1]
        total = 0.0
        for bit in range(data.y_off[i + 1] - data.y_off[i]):
            truth = data.y[data.y_off[i] + bit]
            on = data.cost[bit] * (1.0 - truth)
            off = data.cost[bit] * truth
            for j in range(F):
                on += w[bit * F + j] * data.x[i, j]
            total += max(on, off)
        return total


@pytest.mark.parametrize("solver", ["bcfw", "multi-plane", "batch-fw", "auto"])
def test_compiled_heuristics(solver):
    case = CASES["user-compiled"]
    model = HalfBits(case.model.cost, case.model.dim // len(case.model.cost))
    result = dataclasses.replace(case, model=model).few_passes(20, solver=solver)
    assert not result.certified
    truly = case.enumerated().primal(result.w)
    assert result.dual + result.history["gap_bound"][-1] == pytest.approx(truly, abs=1e-9)
    assert result.primal < truly


def test_check_model_tests_the_bound():
    assert bcfw.check_model(heuristic(Greedy).model, CASE.X, CASE.y) == []
    assert bcfw.check_model(heuristic(Bounded).model, CASE.X, CASE.y) == []
    with pytest.raises(bcfw.ModelError, match="upper_bound"):
        bcfw.check_model(heuristic(Bounded, slack=-5.0).model, CASE.X, CASE.y)


def test_batch_steps_leave_blocks_alone_whose_answer_is_worse_than_their_average():
    class Noisy(Pairs):
        exact_oracle = False
        rng = np.random.default_rng(0)

        def oracle(self, w, x, y_true=None):
            answers = self.outputs()
            return answers[self.rng.integers(len(answers))] if self.rng.random() < 0.5 else super().oracle(w, x, y_true)

    dual = heuristic(Noisy).few_passes(40, solver="batch-fw").history["dual"]
    assert np.all(np.diff(dual) >= -1e-13)
