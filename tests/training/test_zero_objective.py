"""An objective that is zero at w = 0: nothing to learn is a result, an oracle that overlooks the loss is an error."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from problems import CASES, Bits, Pairs

CASE = CASES["dense-features"]


class Flipped(Pairs):
    """Subtracts the loss where it should add it."""

    def oracle(self, w, x, y_true=None):
        def value(y):
            return w @ self.features(x, y) - (0.0 if y_true is None else self.loss(y_true, y))

        return max(self.outputs(), key=value)


def test_an_oracle_with_the_wrong_sign_certifies_nothing():
    with pytest.raises(
        bcfw.OracleError, match=r"example \d: at w = 0 .* without loss, but .*is the sign of the loss"
    ) as e:
        bcfw.train(Flipped(CASE.model.K, CASE.model.cost), CASE.X, CASE.y, lam=CASE.lam)
    assert e.value.example in range(len(CASE.y))


def test_compiled_routines_with_the_wrong_sign_certify_nothing():
    case = CASES["user-compiled"]

    class Flipped(Bits):
        @staticmethod
        def decode(data, i, w, loss_weight, y):
            F = data.x.shape[1]
            for bit in range(y.shape[0]):
                score = -loss_weight * data.cost[bit] * (1.0 - 2.0 * data.y[data.y_off[i] + bit])
                for f in range(F):
                    score += w[bit * F + f] * data.x[i, f]
                y[bit] = 1 if score > 0.0 else 0

    with pytest.raises(bcfw.OracleError, match="at w = 0 the oracle returned an output without loss"):
        bcfw.train(Flipped(case.model.cost, case.X[0].shape[0]), case.X, case.y, lam=case.lam)


def test_without_any_loss_there_is_nothing_to_learn():
    class Indifferent(Pairs):
        def loss(self, y_true, y):
            return 0.0

    result = bcfw.train(Indifferent(CASE.model.K, CASE.model.cost), CASE.X, CASE.y, lam=CASE.lam)
    assert (result.status, result.primal, result.gap) == ("converged", 0.0, 0.0)
    assert not np.any(result.w)
    graphs = [(np.ones((2, 1)), np.array([[0, 1]]), np.ones((1, 1)))]
    assert bcfw.train(bcfw.models.BinaryGraph(), graphs, [[-1, -1]], lam=1.0).status == "converged"


def test_loss_of_an_example_without_weight_is_not_overlooked():
    """The only example with a weight has nothing to lose."""
    X, y = [np.ones((1, 2, 1))] * 2, [np.array([[1, 0]]), np.array([[-1, -1]])]
    result = bcfw.train(bcfw.models.Matching(), X, y, sample_weight=[0.0, 1.0])
    assert (result.status, result.primal) == ("converged", 0.0)
