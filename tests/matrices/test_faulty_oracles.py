"""Faulty oracles: with every solver an error that names the example and brings what was reached."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from problems import CASES, Pairs, in_turn, own_model


class Failing(Pairs):
    """Works for a number of calls, then does something wrong on one example."""

    fault = staticmethod(lambda model, w, x, y_true: None)

    def __init__(self, K, cost, example, after):
        super().__init__(K, cost)
        self.x = CASES["dense-features"].X[example]
        self.after = after
        self.calls = 0

    def oracle(self, w, x, y_true=None):
        self.calls += 1
        if self.calls > self.after and x is self.x:
            return self.fault(w, x, y_true)
        return super().oracle(w, x, y_true)


class Raising(Failing):
    def fault(self, w, x, y_true):
        raise ZeroDivisionError("no answer")


class NotMaximal(Failing):
    """Returns the worst labeling, which is below the block's average as soon as that has moved."""

    def fault(self, w, x, y_true):
        return min(self.outputs(), key=lambda y: self.loss(y_true, y) + w @ self.features(x, y))


class NegativeLoss(Failing):
    def fault(self, w, x, y_true):
        return "bad"

    def loss(self, y_true, y):
        return -1.0 if isinstance(y, str) else super().loss(y_true, y)


class NotANumber(Failing):
    def fault(self, w, x, y_true):
        return "bad"

    def loss(self, y_true, y):
        return 0.5 if isinstance(y, str) else super().loss(y_true, y)

    def features(self, x, y):
        if isinstance(y, str):
            return np.full(super().features(x, (0, 0)).size, np.nan)
        return super().features(x, y)


class WrongSize(NotANumber):
    def features(self, x, y):
        return np.zeros(2) if isinstance(y, str) else super().features(x, y)


FAULTS = [
    (Raising, "ZeroDivisionError.*no answer"),
    (NotMaximal, "not maximal"),
    (NegativeLoss, "loss"),
    (NotANumber, "NaN"),
    (WrongSize, "2 features"),
]


@pytest.mark.part(0, of=4)
@pytest.mark.parametrize("n_jobs", in_turn([1, 2]))
@pytest.mark.parametrize("example", in_turn([0, 4]))
@pytest.mark.parametrize(("kind", "message"), in_turn(FAULTS), ids=[kind.__name__ for kind, _ in FAULTS])
def test_faulty_oracle_is_an_error_that_names_the_example(kind, message, example, n_jobs, solver):
    """The first certificate and a few passes go well; what was reached comes with the error."""
    if kind is NotMaximal and not solver.certifies:
        pytest.skip("without a dual point no block has an average that would be better")
    n = len(CASES["dense-features"].y)
    case = own_model(kind, example, 5 * n)
    with pytest.raises(bcfw.OracleError, match=rf"(?s)example {example}\b.*{message}") as caught:
        case.train(solver=solver, tol=1e-9, n_jobs=n_jobs)
    assert caught.value.example == example
    reached = caught.value.result
    assert isinstance(reached, bcfw.Result)
    assert not reached.certified
    assert np.all(np.isfinite(reached.w))
    assert reached.w.any()
    assert len(reached.history["passes"]) >= 1


@pytest.mark.parametrize(("kind", "message"), FAULTS[:1] + FAULTS[2:], ids=["raising", "loss", "nan", "size"])
def test_oracle_that_fails_on_the_first_call_has_no_result(kind, message):
    case = own_model(kind, 2, 0)
    with pytest.raises(bcfw.OracleError, match=rf"(?s)example 2\b.*{message}") as caught:
        case.train()
    assert caught.value.result is None


def test_features_of_a_truth_that_are_not_finite():
    case = CASES["dense-features"]
    X = [x.copy() for x in case.X]
    X[3][0] = np.nan
    with pytest.raises(bcfw.OracleError, match=r"example 3\b.*NaN") as caught:
        bcfw.train(case.model, X, case.y)
    assert caught.value.example == 3


class Writing(Pairs):
    """An oracle that scribbles on the weights it is given."""

    def oracle(self, w, x, y_true=None):
        w[0] = 1.0
        return super().oracle(w, x, y_true)


def test_oracle_cannot_change_the_weights():
    with pytest.raises(bcfw.OracleError, match="read-only"):
        own_model(Writing).train()
