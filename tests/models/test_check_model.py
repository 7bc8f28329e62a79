"""``check_model``: silent about good models, and a message for every mistake, in Python or in kernels."""

from __future__ import annotations

import re

import numpy as np
import pytest

import bcfw
from bcfw.models import Multiclass
from problems import CASES, Bits, Pairs
from small_data import X2, Y2


def test_check_model_accepts_good_models(case):
    remarks = bcfw.check_model(case.model, case.X, case.y)
    assert all(case.name.startswith("matching") and "the truth is not among" in remark for remark in remarks)


class NotMaximal(Pairs):
    """The second label is chosen first: a greedy decoder."""

    def oracle(self, w, x, y_true=None):
        if y_true is None:
            return super().oracle(w, x)
        return max(((0, b) for b in range(self.K)), key=lambda y: w @ self.features(x, y) + self.loss(y_true, y))


class PlainNotMaximal(Pairs):
    """Only plain decoding is wrong."""

    def oracle(self, w, x, y_true=None):
        return super().oracle(w if y_true is not None else -w, x, y_true)


class ForgetsTheLoss(Pairs):
    def oracle(self, w, x, y_true=None):
        return super().oracle(w, x)


class LossOnTheTruth(Pairs):
    def loss(self, y_true, y):
        return 0.25 + super().loss(y_true, y)


class NegativeLoss(Pairs):
    def loss(self, y_true, y):
        return -super().loss(y_true, y)


class OtherSizes(Pairs):
    def features(self, x, y):
        return super().features(x, y)[: 10 + y[0]]

    def oracle(self, w, x, y_true=None):
        return (2, 2)


class NotFinite(Pairs):
    def features(self, x, y):
        return super().features(x, y) / (0.0 if y[0] == y[1] else 1.0)


class Crashing(Pairs):
    def loss(self, y_true, y):
        raise KeyError("lost")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (NotMaximal, r"oracle\(w, x, y_true\) is not maximal"),
        (PlainNotMaximal, r"oracle\(w, x\) is not maximal"),
        (ForgetsTheLoss, r"oracle\(w, x, y_true\) is not maximal"),
        (LossOnTheTruth, r"loss\(y, y\) = 0.25"),
        (NegativeLoss, r"loss\(y_true, y\) = -"),
        (OtherSizes, "features.*numbers, but dim"),
        (NotFinite, "NaN or an infinity"),
        (Crashing, "KeyError.*lost"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_check_model_finds_mistakes(kind, message):
    case = CASES["dense-features"]
    with pytest.raises(bcfw.ModelError, match=rf"(?s){kind.__name__}.*example \d+: .*{message}"):
        bcfw.check_model(kind(case.model.K, case.model.cost), case.X, case.y)


class WithoutTruth(Pairs):
    def outputs(self):
        return [(a, b) for a, b in super().outputs() if a != b]


def test_check_model_remarks_a_truth_outside_the_outputs():
    case = CASES["dense-features"]
    y = [(0, 1), (1, 1), (1, 2), (2, 2), (0, 2), (2, 0)]
    remarks = bcfw.check_model(WithoutTruth(case.model.K, case.model.cost), case.X, y)
    about_truths = [remark for remark in remarks if "not among the oracle's outputs" in remark]
    assert {int(re.match(r"example (\d+): ", remark)[1]) for remark in about_truths} == {1, 3}


def test_check_model_finds_mistakes_in_a_compiled_model():
    case = CASES["user-compiled"]

    class Wrong(Bits):
        @staticmethod
        def decode(data, i, w, loss_weight, y):
            for bit in range(y.shape[0]):
                y[bit] = 1 - data.y[data.y_off[i] + bit]

    with pytest.raises(bcfw.ModelError, match="not maximal"):
        bcfw.check_model(Wrong(case.model.cost, 3), case.X, case.y)


class LossOfTruth(Bits):
    @staticmethod
    def labeling_loss(data, i, y):
        return 1.0


class OtherLoss(Bits):
    def loss(self, y_true, y):
        return 3.0 * super().loss(y_true, y)


class NegativeKernelLoss(Bits):
    @staticmethod
    def labeling_loss(data, i, y):
        return -1.0 * np.sum(y != data.y[data.y_off[i] : data.y_off[i + 1]])


class WritesOutside(Bits):
    @staticmethod
    def add_features(data, i, y, s, out):
        out[out.shape[0] + y[0]] += s


class Misspelt(Bits):
    @staticmethod
    def decode(data, i, w, loss_weight, y):
        y[0] = undefined_name  # noqa: F821


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (LossOfTruth, r"loss\(y, y\) = 1 on the truth"),
        (OtherLoss, r"labeling_loss gives .* and loss\(y_true, y\)"),
        (NegativeKernelLoss, r"loss\(y_true, y\) = -"),
        (WritesOutside, "IndexError"),
        (Misspelt, "NameError.*undefined_name"),
    ],
)
def test_check_model_runs_the_kernels(kind, message):
    case = CASES["user-compiled"]
    model = kind(case.model.cost, case.X[0].shape[0])
    with pytest.raises(bcfw.ModelError, match=rf"(?s)example \d+: .*{message}"):
        bcfw.check_model(model, case.X, case.y)
    with pytest.raises(bcfw.ModelError, match="example"):
        bcfw.StructuralSVM(model).fit(case.X, case.y)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (LossOfTruth, "example 0: labeling_loss is 1 on the truth; it must be 0"),
        (Misspelt, "Misspelt: numba cannot compile its kernels.*bcfw.check_model"),
    ],
)
def test_training_finds_mistakes_in_kernels(kind, message):
    case = CASES["user-compiled"]
    with pytest.raises(bcfw.ModelError, match=message):
        bcfw.train(kind(case.model.cost, case.X[0].shape[0]), case.X, case.y)


@pytest.mark.parametrize(("model", "options"), [(Multiclass, {}), (None, {}), (Multiclass(), {"n_examples": 0})])
def test_arguments_of_check_model(model, options):
    with pytest.raises(bcfw.OptionError, match="n_examples" if options else "model must be an instance"):
        bcfw.check_model(model, X2, Y2, **options)
