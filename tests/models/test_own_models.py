"""Models of a user's own: what is missing or wrong is said with the method and the example; features of any form."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import bcfw
from problems import CASES, Bits, Pairs
from small_data import read_only, strided


class Converting(Pairs):
    """Features as another form of array."""

    form = staticmethod(lambda vector: vector)

    def features(self, x, y):
        return self.form(super().features(x, y))


FEATURE_FORMS = {
    "float32": lambda v: v.astype(np.float32),
    "read-only": read_only,
    "strided": strided,
    "row": lambda v: v[None],
    "column": lambda v: v[:, None],
    "list": lambda v: v.tolist(),
    "csr": sp.csr_matrix,
    "csr of integers": lambda v: sp.csr_array(v[None].astype(int)),
    "lil column": lambda v: sp.lil_matrix(v[:, None]),
    "dok": lambda v: sp.dok_matrix(v[None]),
}


@pytest.mark.parametrize("form", FEATURE_FORMS.values(), ids=FEATURE_FORMS.keys())
def test_features_of_a_users_model_may_have_any_form(form):
    base = CASES["dense-features"]
    whole = dataclasses.replace(base, X=[np.round(2.0 * x) for x in base.X])
    model = Converting(base.model.K, base.model.cost)
    model.form = form
    got = dataclasses.replace(whole, model=model).few_passes(3, solver="bcfw")
    np.testing.assert_allclose(got.w, whole.few_passes(3, solver="bcfw").w, rtol=0, atol=1e-12)


class Reusing(Pairs):
    """Writes its features to the same array every time."""

    def features(self, x, y):
        vector = super().features(x, y)
        if not hasattr(self, "out"):
            self.out = np.empty_like(vector)
        self.out[:] = vector
        return self.out


@pytest.mark.usefixtures("steady_stopwatch")
def test_features_may_be_written_to_the_same_array_every_time():
    base = CASES["dense-features"]
    got = dataclasses.replace(base, model=Reusing(base.model.K, base.model.cost)).few_passes(3)
    np.testing.assert_array_equal(got.w, base.few_passes(3).w)


@pytest.mark.parametrize("missing", ["features", "loss", "oracle"])
def test_model_without_a_method_says_which(missing):
    methods = {name: getattr(Pairs, name) for name in ("features", "loss", "oracle", "outputs") if name != missing}
    incomplete = type("Incomplete", (bcfw.Model,), methods)()
    incomplete.K, incomplete.cost = 3, 1.0 - np.eye(3)
    case = CASES["dense-features"]
    with pytest.raises(bcfw.BcfwError, match=rf"Incomplete needs a method {missing}"):
        bcfw.train(incomplete, case.X, case.y)


@pytest.mark.parametrize("missing", ["Data", "decode", "labeling_loss", "add_features"])
def test_compiled_model_without_a_routine_says_which(missing):
    parts = {name: vars(Bits)[name] for name in ("Data", "decode", "labeling_loss", "add_features") if name != missing}
    with pytest.raises(bcfw.ModelError, match=rf"Incomplete must define {missing}"):
        type("Incomplete", (bcfw.CompiledModel,), parts)


def test_compiled_model_without_dim_asks_for_it():
    case = CASES["user-compiled"]
    model = Bits(case.model.cost, 3)
    model.dim = None
    with pytest.raises(bcfw.OptionError, match="dim"):
        bcfw.train(model, case.X, case.y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: tuple(data), "must return a Data, got tuple"),
        (lambda data: None, "must return a Data, got NoneType"),
        (lambda data: data._replace(y_off=data.y_off[:-1]), r"y_off must hold n \+ 1 = 9 offsets .* got 8"),
        (lambda data: data._replace(y_off=data.y_off + 1), "rise from 0"),
        (lambda data: data._replace(y_off=data.y_off[::-1].copy()), "rise from 0"),
        (lambda data: data._replace(y=data.y[:-1]), r"to len\(y\) = 23"),
        (lambda data: data._replace(y=data.y.astype(float)), "field y must be a 1-D array of whole numbers"),
        (lambda data: data._replace(y_off=data.y_off.tolist()), "field y_off must be a 1-D array of whole numbers"),
        (lambda data: data._replace(x=data.x.astype(object)), "field x is an array of Python objects"),
        (lambda data: data._replace(cost={"a": 1.0}), "field cost is nothing that numba can read .*dict"),
    ],
)
def test_packed_data_are_checked(change, message):
    case = CASES["user-compiled"]

    class Repacked(Bits):
        def pack(self, X, y=None):
            return change(super().pack(X, y))

    with pytest.raises(bcfw.ModelError, match=rf"Repacked\.pack.*{message}"):
        bcfw.train(Repacked(case.model.cost, case.X[0].shape[0]), case.X, case.y)


class Crashing(Pairs):
    def loss(self, y_true, y):
        raise KeyError("lost")


class ArrayLoss(Pairs):
    def loss(self, y_true, y):
        return np.zeros(2)


class ComplexLoss(Pairs):
    def loss(self, y_true, y):
        return np.complex128(super().loss(y_true, y))


class NoFeatures(Pairs):
    def features(self, x, y):
        raise ZeroDivisionError("no features")


class ComplexFeatures(Pairs):
    def features(self, x, y):
        return super().features(x, y) * 1j


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Crashing, r"example 0: KeyError in loss\(y, y\): 'lost'"),
        (ArrayLoss, r"example 0: TypeError in loss\(y, y\)"),
        (ComplexLoss, r"example 0: TypeError in loss\(y, y\): the loss is complex; it must be a real number"),
        (NoFeatures, r"example 0: features\(x, y\) failed: ZeroDivisionError: no features"),
        (ComplexFeatures, "example 0: .*they are complex"),
    ],
)
def test_mistakes_on_a_truth_name_the_example(kind, message):
    case = CASES["dense-features"]
    with pytest.raises(bcfw.OracleError, match=message):
        bcfw.train(kind(case.model.K, case.model.cost), case.X, case.y)


@pytest.mark.parametrize("dim", [3.0, "3", 0, -1])
def test_dim_is_a_positive_whole_number(dim):
    case = CASES["dense-features"]
    model = Pairs(case.model.K, case.model.cost)
    model.dim = dim
    with pytest.raises(bcfw.ModelError, match="Pairs: dim must be a whole number >= 1"):
        bcfw.train(model, case.X, case.y)


def without_field(missing):
    """The bits of the cases with a record that lacks one field."""
    whole = CASES["user-compiled"].model
    fields = [name for name in whole.Data._fields if name != missing]
    record = NamedTuple("Record", [(name, np.ndarray) for name in fields])

    class Without(Bits):
        Data = record

        def pack(self, X, y=None):
            return record(*(getattr(whole.pack(X, y), name) for name in fields))

    return Without(whole.cost, CASES["user-compiled"].X[0].shape[0])


@pytest.mark.parametrize("missing", ["y", "y_off"])
def test_fields_that_every_record_has_are_named(missing):
    X, y, model = CASES["user-compiled"].X, CASES["user-compiled"].y, without_field(missing)
    for call in (bcfw.check_model, bcfw.train, lambda model, X, y: bcfw.StructuralSVM(model).fit(X, y)):
        with pytest.raises(
            bcfw.ModelError, match=f"Without.pack: Record has no field {missing}; make it a named tuple"
        ):
            call(model, X, y)


def test_a_field_that_only_routines_miss_is_named():
    X, y, model = CASES["user-compiled"].X, CASES["user-compiled"].y, without_field("cost")
    for call in (bcfw.check_model, bcfw.train):
        with pytest.raises(bcfw.ModelError, match=r"Without: *\n? *.*[aA]ttribute 'cost'"):
            call(model, X, y)
