"""``check_model``: silent about good models, and a message for every mistake, in Python or in routines."""

from __future__ import annotations

import copy
import inspect
import re

import numpy as np
import pytest

import bcfw
from bcfw.models import KernelModel, Multiclass
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
    named = [re.findall(r"\d+", found) for remark in about_truths for found in re.findall(r"examples? [\d, ]+", remark)]
    assert {int(i) for examples in named for i in examples} == {1, 3}


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


class NegativeRoutineLoss(Bits):
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
        (NegativeRoutineLoss, r"loss\(y_true, y\) = -"),
        (WritesOutside, "IndexError"),
        (Misspelt, "NameError.*undefined_name"),
    ],
)
def test_check_model_runs_the_routines(kind, message):
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
        (Misspelt, "Misspelt: numba cannot compile its routines.*bcfw.check_model"),
    ],
)
def test_training_finds_mistakes_in_routines(kind, message):
    case = CASES["user-compiled"]
    with pytest.raises(bcfw.ModelError, match=message):
        bcfw.train(kind(case.model.cost, case.X[0].shape[0]), case.X, case.y)


@pytest.mark.parametrize(
    ("model", "options"),
    [(Multiclass, {}), (None, {}), (Multiclass(), {"n_examples": 0}), (Multiclass(), {"seed": "a"})],
)
def test_arguments_of_check_model(model, options):
    with pytest.raises(bcfw.OptionError, match=next(iter(options), "model must be an instance")):
        bcfw.check_model(model, X2, Y2, **options)


# --- what a message says -------------------------------------------------------------------------------------------


def message_about(model, case):
    with pytest.raises(bcfw.ModelError) as caught:
        bcfw.check_model(model, case.X, case.y)
    return str(caught.value)


def line_of(kind, statement):
    """File and line of a statement in a class of this module."""
    lines, begin = inspect.getsourcelines(kind)
    return f"{__file__}:{begin + next(i for i, line in enumerate(lines) if statement in line)}: {statement}"


def test_an_exception_is_said_once_with_its_line_and_examples():
    case = CASES["dense-features"]
    where = line_of(Crashing, 'raise KeyError("lost")')
    assert message_about(Crashing(case.model.K, case.model.cost), case).splitlines() == [
        "Crashing:",
        f"  example 0: KeyError: 'lost' (in Crashing.loss, {where}) (so for examples 0, 1, 2 and 3 more)",
    ]


class FailsInNumpy(Pairs):
    """The innermost line of the user's own is not the innermost of all."""

    def features(self, x, y):
        return np.linalg.inv(np.zeros((2, 2)))


@pytest.mark.parametrize("call", [bcfw.check_model, bcfw.train])
def test_the_line_is_the_users_own(call):
    case = CASES["dense-features"]
    with pytest.raises(bcfw.OracleError) as caught:
        call(FailsInNumpy(case.model.K, case.model.cost), case.X, case.y)
    assert line_of(FailsInNumpy, "return np.linalg.inv(np.zeros((2, 2)))") in str(caught.value)


def test_mistakes_that_differ_in_numbers_are_of_one_kind():
    case = CASES["dense-features"]
    message = message_about(ForgetsTheLoss(case.model.K, case.model.cost), case)
    assert message.count("oracle(w, x, y_true) is not maximal") == 1
    assert re.search(r"\(so for examples \d, \d, \d and \d more\)", message)


@pytest.mark.parametrize("missing", ["features", "loss", "oracle"])
def test_a_missing_method_is_said_once(missing):
    methods = {name: getattr(Pairs, name) for name in ("features", "loss", "oracle", "outputs") if name != missing}
    case = CASES["dense-features"]
    message = message_about(type("Incomplete", (bcfw.Model,), methods)(), case)
    assert re.fullmatch(rf"Incomplete needs a method {missing}\(.*\)", message)


class DifferentTypes(Bits):
    @staticmethod
    def add_features(data, i, y, s, out):
        out[0] += s * np.dot(y, data.x[i])


def test_numbas_message_is_cut_to_what_matters():
    """It has more than a hundred lines, in check_model and in training."""
    case = CASES["user-compiled"]
    model = DifferentTypes(case.model.cost, case.X[0].shape[0])
    where = line_of(DifferentTypes, "out[0] += s * np.dot(y, data.x[i])")
    expected = rf"DifferentTypes: numba cannot compile its routines: .*dot\(array.* same dtype \({re.escape(where)}\)"
    with pytest.raises(bcfw.ModelError, match=rf"^{expected}$"):
        bcfw.check_model(model, case.X, case.y)
    with pytest.raises(bcfw.ModelError, match=expected) as caught:
        bcfw.train(model, case.X, case.y)
    assert len(str(caught.value).splitlines()) == 1
    assert caught.value.__suppress_context__


def test_a_labeling_that_loss_or_features_do_not_take_is_no_mistake():
    class Listed(Pairs):
        def features(self, x, y):
            if y not in self.outputs():
                raise KeyError(y)
            return super().features(x, y)

        def outputs(self):
            return [(0, 1), (1, 0), (2, 2)]

    case = CASES["dense-features"]
    y = [(0, 1), (1, 0), (2, 2)] * 2
    assert bcfw.check_model(Listed(case.model.K, case.model.cost), case.X, y) == []


def test_negative_labels_of_a_compiled_model_are_remarked():
    case = CASES["user-compiled"]

    class Spins(Bits):
        """Bits that are -1 or 1; the features are those of the bits."""

        def pack(self, X, y=None):
            data = super().pack(X, y)
            return data._replace(y=np.where(data.y == 1, 1, -1))

        @staticmethod
        def decode(data, i, w, loss_weight, y):
            F = data.x.shape[1]
            for bit in range(y.shape[0]):
                score = -loss_weight * data.cost[bit] * data.y[data.y_off[i] + bit]
                for j in range(F):
                    score += w[bit * F + j] * data.x[i, j]
                y[bit] = 1 if score > 0.0 else -1

        @staticmethod
        def add_features(data, i, y, s, out):
            F = data.x.shape[1]
            for bit in range(y.shape[0]):
                for j in range(F):
                    out[bit * F + j] += s * max(y[bit], 0) * data.x[i, j]

        loss = bcfw.CompiledModel.loss

    (remark,) = bcfw.check_model(Spins(case.model.cost, case.X[0].shape[0]), case.X, case.y)
    assert remark.startswith("pack gives negative labels, such as -1")


# --- routines of a KernelModel's subclass --------------------------------------------------------------------------

ROUTINE_CASES = [case for case in CASES.values() if isinstance(case.model, KernelModel)]


def derived(case, **routines):
    """The case's model as one of a user's class, with some routines of its own."""
    base = type(case.model)
    model = copy.copy(case.model)
    model.__class__ = type("Own", (base,), {"routines": base.routines.rebound(**routines)})
    return model


@pytest.mark.parametrize("case", ROUTINE_CASES, ids=lambda case: case.name)
def test_routines_that_agree_are_accepted(case):
    assert bcfw.check_model(derived(case), case.X, case.y, n_weights=1) == []


def outside(data, i, w, work):
    return w[w.shape[0] + i]


def half_slope(data, i, w, work):
    return 0.25


def other_loss(data, i, work):
    return 7.0


@pytest.mark.parametrize(
    ("routines", "message"),
    [
        ({"labeling_value": outside}, r"IndexError: index \d+ .*\(in outside, .*: return w\[w.shape\[0\] \+ i\]\)"),
        ({"slope": half_slope}, "value of an output by its direction is not that of loss and features: 0.25 and"),
        ({"loss": other_loss}, r"the routine loss and loss\(y_true, y\) differ: 7 and"),
    ],
)
def test_routines_of_a_users_kernel_model_are_tried(routines, message):
    case = CASES["multiclass-cost"]
    assert re.search(rf"example \d+: .*{message}.*\(so for examples", message_about(derived(case, **routines), case))
