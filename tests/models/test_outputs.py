"""Outputs of any kind: one comparison decides which are the same, in check_model and in scores."""

from __future__ import annotations

import copy
import dataclasses
from typing import NamedTuple

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

import bcfw
from bcfw.models.check.outputs import same_output
from bcfw.solvers import BCFW, MultiPlane


@dataclasses.dataclass
class Box:
    corner: np.ndarray
    name: str


class Span(NamedTuple):
    begin: int
    end: int


#: Three different outputs of every kind.
KINDS = {
    "numbers": [0, 1, 2],
    "strings": ["ant", "bee", "cow"],
    "arrays": [np.array([0, 1]), np.array([1, 0]), np.array([1, 0, 1])],
    "arrays of floats": [np.array([0.5, 1.0]), np.array([[0.5, 1.0]]), np.array([])],
    "tuples": [(0, 1), (1, 0), (1,)],
    "lists": [[0, 1], [1, 0], []],
    "named tuples": [Span(0, 1), Span(0, 2), Span(1, 2)],
    "sets": [{"a", "b"}, {"a"}, frozenset({"c"})],
    "dicts": [{"a": 1}, {"a": 2}, {"b": 1}],
    "dicts of arrays": [{"a": np.arange(3)}, {"a": np.arange(4)}, {"b": np.arange(3)}],
    "tuples of arrays": [(np.arange(2), np.arange(3)), (np.arange(2), np.ones(3)), (np.arange(2),)],
    "tuples of equal arrays": [(np.zeros(2), np.zeros(2)), (np.zeros(2), np.ones(2)), (np.ones(2), np.ones(2))],
    "nested": [[{"a": (np.arange(2), "x")}, {1, 2}], [{"a": (np.arange(2), "y")}, {1, 2}], [{"a": ()}, {1}]],
    "object arrays": [
        np.array([np.arange(2), "x"], dtype=object),
        np.array([np.arange(2), "y"], dtype=object),
        np.array([None, "x"], dtype=object),
    ],
    "dataclasses": [Box(np.arange(2), "a"), Box(np.arange(2), "b"), Box(np.arange(3), "a")],
    "sparse": [sp.csr_array(np.eye(2)), sp.csr_array(np.ones((2, 2))), sp.csr_array(np.eye(3))],
}

KIND = pytest.mark.parametrize("kind", KINDS)


@KIND
def test_outputs_are_the_same_by_their_content(kind):
    outputs = KINDS[kind]
    for a, one in enumerate(outputs):
        for b, other in enumerate(outputs):
            assert same_output(copy.deepcopy(one), other) == (a == b)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([0, 1], np.array([0, 1]), True),
        ((0, 1), [0.0, 1.0], True),
        (np.int64(3), 3, True),
        (["ab"], np.array(["ab"]), True),
        ([np.arange(2), 1], (np.arange(2), 1), True),
        (np.array([1]), 1, False),
        ("ab", ["a", "b"], False),
        ({0, 1}, [0, 1], False),
        (None, np.array([1]), False),
        ({"a": 1}, [("a", 1)], False),
    ],
)
def test_outputs_of_different_types(one, other, same):
    assert same_output(one, other) is same
    assert same_output(other, one) is same


class Pick(bcfw.Model):
    """One of three outputs, each with weights of its own; every answer is a new object."""

    def __init__(self, outputs):
        self.keys = [joblib.hash(output) for output in outputs]
        self.outputs = outputs

    def features(self, x, y):
        return np.kron(np.eye(3)[self.keys.index(joblib.hash(y))], x)

    def loss(self, y_true, y):
        return float(joblib.hash(y) != joblib.hash(y_true))

    def oracle(self, w, x, y_true=None):
        scores = w.reshape(3, -1) @ x
        if y_true is not None:
            scores += [self.loss(y_true, output) for output in self.outputs]
        return copy.deepcopy(self.outputs[int(np.argmax(scores))])


@KIND
def test_every_kind_is_checked_trained_predicted_and_scored(kind, tmp_path):
    outputs, rng = KINDS[kind], np.random.default_rng(0)
    codes = rng.integers(3, size=20)
    X = np.eye(3)[codes] + 0.6 * rng.standard_normal((20, 3))
    y = [copy.deepcopy(outputs[code]) for code in codes]
    model = Pick(outputs)
    assert bcfw.check_model(model, X, y) == []
    options = {"lam": 0.05, "tol": 1e-3}
    path = tmp_path / "state.npz"
    first = bcfw.train(model, X, y, solver=MultiPlane(clock="count"), checkpoint=path, **options)
    plain = bcfw.train(model, X, y, solver=BCFW(), **options)
    assert first.primal == pytest.approx(plain.primal, abs=first.gap + plain.gap)
    for start in (first, path):
        assert bcfw.train(model, X, copy.deepcopy(y), solver="bcfw", warm_start=start, **options).n_passes == 0
    with pytest.raises(bcfw.InputError, match="other data"):
        bcfw.train(model, X, [*y[:-1], outputs[codes[-1] - 1]], warm_start=first, **options)
    svm = bcfw.StructuralSVM(model, solver=MultiPlane(clock="count"), scoring="exact", **options).fit(X, y)
    best = np.argmax(X @ svm.coef_.reshape(3, -1).T, axis=1)
    assert all(same_output(output, outputs[code]) for output, code in zip(svm.predict(X), best, strict=True))
    assert svm.score(X, y) == np.mean(best == codes)
    assert svm.set_params(scoring="loss").score(X, y) == pytest.approx(np.mean(best == codes))
