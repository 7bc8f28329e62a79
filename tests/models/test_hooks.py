"""Hooks of a user's class: what solvers see of it, and attributes that are the user's own."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

import bcfw
from bcfw.models.base.hooks import HOOKS, hook
from problems import CASES, Bits, Pairs

#: Names that solvers use of the form of a model; a user's class may use them for anything.
ADAPTER_NAMES = [name for name in dir(bcfw.models.Chain) if not name.startswith("_") and not hasattr(bcfw.Model, name)]


def test_a_model_has_three_methods_to_write_and_few_hooks():
    public = {name for name in dir(bcfw.Model) if not name.startswith("_")}
    assert public == {"features", "loss", "oracle", "dim", "exact_oracle", "slack_rescaling", *HOOKS}


@pytest.mark.usefixtures("steady_stopwatch")
@pytest.mark.parametrize("value", [None, 3.5, "word", (0, 1)], ids=repr)
def test_attributes_with_the_names_of_hooks_are_the_users_own(value):
    """Set on the instance: results are those of the model without them."""
    case = CASES["dense-features"]
    model = Pairs(case.model.K, case.model.cost)
    for name in (*HOOKS, *ADAPTER_NAMES):
        setattr(model, name, value)
    result = bcfw.train(model, case.X, case.y, lam=case.lam, tol=0.01)
    expected = case.train(tol=0.01)
    np.testing.assert_array_equal(result.w, expected.w)
    assert result.predict(case.X) == expected.predict(case.X)
    remarks = bcfw.check_model(model, case.X, case.y)
    for name in HOOKS:
        assert any(remark.startswith(f"{name} is a hook") for remark in remarks), name


@pytest.mark.usefixtures("steady_stopwatch")
def test_class_attributes_that_are_no_methods_are_the_users_own():
    class Own(Pairs):
        bounds = (0.0, 1e-9)
        oracle_operations = property(lambda self: 1 / 0)
        fingerprint: ClassVar[dict] = {}
        routines, pack, name = "linear", [], "own"

        class upper_bound:
            """A class is no method either."""

    case = CASES["dense-features"]
    model = Own(case.model.K, case.model.cost)
    result = bcfw.train(model, case.X, case.y, lam=case.lam, tol=0.01)
    np.testing.assert_array_equal(result.w, case.train(tol=0.01).w)
    remarks = bcfw.check_model(model, case.X, case.y)
    assert [remark.split()[0] for remark in remarks] == ["bounds", "upper_bound", "oracle_operations", "fingerprint"]


@pytest.mark.parametrize("kind", ["plain", "static", "class", "inherited"])
def test_methods_of_every_kind_override_hooks(kind):
    lower = -0.01

    def limits(*_):
        return lower, 0.02

    decorate = {"static": staticmethod, "class": classmethod}.get(kind, lambda method: method)
    base = type("Limited", (Pairs,), {"bounds": decorate(limits)})
    own = type("Own", (base,), {}) if kind == "inherited" else base
    case = CASES["dense-features"]
    model = own(case.model.K, case.model.cost)
    model.bounds = "not this one"
    assert hook(model, "bounds")() == (lower, 0.02)
    result = bcfw.train(model, case.X, case.y, lam=case.lam, tol=0.1)
    assert lower <= result.w.min() < result.w.max() <= 0.02


def test_what_features_change_stays_in_the_bound_copy():
    class Remembers(Pairs):
        def features(self, x, y):
            self.seen = True
            return super().features(x, y)

    case = CASES["dense-features"]
    model = Remembers(case.model.K, case.model.cost)
    result = bcfw.train(model, case.X, case.y, lam=case.lam, tol=0.1)
    assert not hasattr(model, "seen")
    assert result.model.seen


@pytest.mark.usefixtures("steady_stopwatch")
def test_compiled_models_keep_their_attributes_too():
    case = CASES["user-compiled"]
    model = Bits(case.model.cost, len(case.X[0]))
    for name in (*HOOKS, "routines", "make_work", "initial_mu", "saves_labelings"):
        setattr(model, name, "own")
    result = bcfw.train(model, case.X, case.y, lam=case.lam, tol=0.01)
    np.testing.assert_array_equal(result.w, case.train(tol=0.01).w)
