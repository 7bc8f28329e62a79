"""``check_model`` on models whose outputs depend on the truth: pairwise rankings, whose truths may have ties."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import pytest

import bcfw

#: Items to rank, with their features, and the grades that say which item belongs before which.
RNG = np.random.default_rng(0)
X = [RNG.standard_normal((4, 3)) for _ in range(6)]
TIES = [np.array(grades) for grades in ([2, 1, 0, 0], [1, 1, 0, 0], [2, 2, 2, 0], [0, 1, 2, 3], [0, 0, 1, 0], [1] * 4)]
NO_TIES = [RNG.permutation(4) for _ in X]


def pairs(x):
    return list(itertools.combinations(range(len(x)), 2))


def signs(grades):
    """The truth: for each pair of items 1 if the first belongs before, -1 if the second does, 0 for equal grades."""
    return tuple(int(np.sign(grades[i] - grades[j])) for i, j in pairs(grades))


class Ranking(bcfw.Model):
    """An output orders the pairs that the truth orders; prediction orders all pairs."""

    def features(self, x, y):
        return sum((sign * (x[i] - x[j]) for sign, (i, j) in zip(y, pairs(x), strict=True)), np.zeros(x.shape[1]))

    def loss(self, y_true, y):
        return sum(a != b for a, b in zip(y_true, y, strict=True) if a != 0) / max(1, np.count_nonzero(y_true))

    def oracle(self, w, x, y_true=None):
        scores = x @ w
        if y_true is None:
            return tuple(1 if scores[i] > scores[j] else -1 for i, j in pairs(x))
        loss = 1.0 / max(1, np.count_nonzero(y_true))
        return tuple(
            sign and max((1, -1), key=lambda s, i=i, j=j, sign=sign: s * (scores[i] - scores[j]) + loss * (s != sign))
            for sign, (i, j) in zip(y_true, pairs(x), strict=True)
        )


class TruthsPairsOnly(Ranking):
    """Without a truth it orders nothing."""

    def oracle(self, w, x, y_true=None):
        return super().oracle(w, x, y_true) if y_true is not None else (0,) * len(pairs(x))


class ForgetsTheLoss(Ranking):
    def oracle(self, w, x, y_true=None):
        found = super().oracle(w, x)
        return found if y_true is None else tuple(abs(sign) * s for sign, s in zip(y_true, found, strict=True))


class AnswersTheTruth(Ranking):
    def oracle(self, w, x, y_true=None):
        return super().oracle(w, x) if y_true is None else tuple(y_true)


class Data(NamedTuple):
    y: np.ndarray
    y_off: np.ndarray
    x: np.ndarray


class CompiledRanking(bcfw.CompiledModel):
    """The same in compiled code, for four items each."""

    Data = Data
    dim = 3

    def pack(self, X, y=None):
        y = np.zeros((len(X), 6), np.int64) if y is None else np.array(y, np.int64)
        return Data(y.ravel(), 6 * np.arange(len(X) + 1), np.array(X, np.float64))

    @staticmethod
    def decode(data, i, w, loss_weight, y):
        truth = data.y[data.y_off[i] : data.y_off[i + 1]]
        ordered = 0.0
        for t in range(6):
            ordered += abs(truth[t])
        t = 0
        for a in range(4):
            for b in range(a + 1, 4):
                margin = 0.0
                for f in range(3):
                    margin += 2.0 * w[f] * (data.x[i, a, f] - data.x[i, b, f])
                if truth[t] != 0:
                    margin -= loss_weight * truth[t] / ordered
                y[t] = 1 if margin > 0.0 else -1
                if ordered > 0.0 and truth[t] == 0:
                    y[t] = 0
                t += 1

    @staticmethod
    def labeling_loss(data, i, y):
        wrong, ordered = 0.0, 0.0
        for t in range(6):
            sign = data.y[data.y_off[i] + t]
            ordered += abs(sign)
            if sign != 0 and y[t] != sign:
                wrong += 1.0
        return wrong / max(ordered, 1.0)

    @staticmethod
    def add_features(data, i, y, s, out):
        t = 0
        for a in range(4):
            for b in range(a + 1, 4):
                for f in range(3):
                    out[f] += s * y[t] * (data.x[i, a, f] - data.x[i, b, f])
                t += 1


UNDECIDED = r"the rival is the plain prediction and may be no output for this truth"


@pytest.mark.parametrize("kind", [Ranking, CompiledRanking])
def test_a_ranking_with_ties_is_accepted_with_a_remark(kind):
    y = [signs(grades) for grades in TIES[:5]]
    remarks = bcfw.check_model(kind(), X[:5], y)
    assert any("oracle(w, x, y_true) is maximal cannot be decided: it returned" in remark for remark in remarks)
    assert any(UNDECIDED in remark for remark in remarks)
    result = bcfw.train(kind(), X[:5], y, lam=0.1, tol=0.05, solver="bcfw")
    assert result.certified
    assert result.status == "converged"


def test_a_truth_that_orders_nothing_is_accepted():
    assert bcfw.check_model(Ranking(), X, [signs(grades) for grades in TIES])


def test_a_ranking_without_ties_needs_no_remark():
    assert bcfw.check_model(Ranking(), X, [signs(grades) for grades in NO_TIES]) == []


def test_prediction_may_have_other_outputs():
    remarks = bcfw.check_model(TruthsPairsOnly(), X, [signs(grades) for grades in NO_TIES])
    assert any(
        "oracle(w, x) is maximal cannot be decided" in remark and "may be no output without it" in remark
        for remark in remarks
    )


@pytest.mark.parametrize("grades", [TIES, NO_TIES], ids=["ties", "no ties"])
def test_mistakes_in_rankings_are_found(grades):
    y = [signs(one) for one in grades]
    with pytest.raises(bcfw.ModelError, match=r"oracle\(w, x, y_true\) is not maximal"):
        bcfw.check_model(ForgetsTheLoss(), X, y)
    with pytest.raises(bcfw.ModelError, match=r"oracle\(w, x, y_true\) is not maximal"):
        bcfw.check_model(AnswersTheTruth(), X, y)
