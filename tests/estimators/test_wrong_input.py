"""Wrong options, points and sequences given to estimators: one clear error for each."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bcfw.errors import InputError, OptionError
from bcfw.estimators import ChainSVM, MulticlassSVM, MultilabelSVM
from bcfw.inputs.sequences import Sequences


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lam": 0.0}, "lam must be a finite number > 0"),
        ({"lam": "big"}, "lam must be a finite number > 0"),
        ({"C": -1.0}, "C must be a finite number > 0"),
        ({"tol": -1}, "tol must be"),
        ({"max_passes": 0}, "max_passes must be"),
        ({"max_seconds": 0}, "max_seconds must be"),
        ({"solver": "bcfv"}, "solver 'bcfv' is unknown"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"cost": np.ones((2, 2))}, r"cost must have shape \(3, 3\)"),
        ({"class_weight": {"bea": 2.0}}, "class_weight names 'bea', .* did you mean 'bee'"),
        ({"class_weight": {"bee": -2.0}}, "class_weight of 'bee' is -2.0"),
        ({"class_weight": {"bee": "much"}}, "class_weight of 'bee' is 'much'"),
        ({"class_weight": "equal"}, "class_weight must be None, 'balanced' or a dict"),
        ({"intercept_scaling": 0}, "intercept_scaling must be"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_options_are_named(points, sequences, options, message):
    with pytest.raises(OptionError, match=message):
        MulticlassSVM(**options).fit(*points)
    with pytest.raises(OptionError, match=message):
        ChainSVM(**options).fit(*sequences)


def test_bad_points(points):
    X, y = points
    bad = X.copy()
    bad[4, 2] = np.nan
    svm = MulticlassSVM().fit(X, y)
    for form in (bad, sp.csr_array(bad), sp.csc_array(bad)):
        with pytest.raises(InputError, match="example 4 has a NaN or an infinity in feature 2"):
            MulticlassSVM().fit(form, y)
        with pytest.raises(InputError, match="example 4 has a NaN or an infinity in feature 2"):
            svm.predict(form)
    with pytest.raises(InputError, match=r"1 class \('ant'\) .* at least 2 classes"):
        MulticlassSVM().fit(X[y == "ant"], y[y == "ant"])
    with pytest.raises(InputError, match="at least 2 classes"):
        MulticlassSVM(class_weight={"ant": 1.0, "bee": 0.0, "cow": 0.0}).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MulticlassSVM().fit(X, y[:-1])
    with pytest.raises(ValueError, match="3 features, but MulticlassSVM is expecting 4"):
        svm.predict(X[:, :3])
    with pytest.raises(InputError, match=r"90 examples and y has shape \(89,\)"):
        svm.score(X, y[:-1])
    with pytest.raises(InputError, match="sample_weight of example 1 is -1"):
        MulticlassSVM().fit(X, y, [1, -1, *[1] * 88])
    with pytest.raises(InputError, match="sample_weight must hold real numbers, got text"):
        MulticlassSVM().fit(X, y, ["heavy"] * 90)
    with pytest.raises(InputError, match=r"example 1: the label .* is not hashable"):
        MulticlassSVM().fit(np.eye(3), ["a", {"b"}, "c"])
    with pytest.raises(InputError, match="example 1 is a sparse matrix; give one"):
        MulticlassSVM().fit(np.eye(3), [0, sp.csr_array([[1, 2]]), 2])
    with pytest.raises(ValueError, match="y to be passed"):
        MulticlassSVM().fit(X, None)


@pytest.mark.parametrize("kind", [MulticlassSVM, MultilabelSVM])
def test_points_that_are_no_numbers(kind):
    y = [[0, 1], [1, 0]] if kind is MultilabelSVM else [0, 1]
    svm = kind().fit(np.eye(2), y)
    day = np.datetime64("2020-01-01")
    for X in (np.full((2, 2), day), [[1.0, 2.0], [1.0, day]], np.full((2, 2), np.timedelta64(1, "D")), [[10**400, 1]]):
        for call in (lambda X=X: kind().fit(X, y), lambda X=X: svm.predict(X)):
            with pytest.raises(InputError, match="X must hold real numbers"):
                call()


def test_multilabel_scores_need_rows_of_0_and_1():
    svm = MultilabelSVM().fit(np.eye(2), [[0, 1], [1, 0]])
    for y, message in (([[0, 1], None], "example 1 must have a row"), ([[0, 1], [2, 0]], "example 1 has 2 at label 0")):
        with pytest.raises(InputError, match=message):
            svm.score(np.eye(2), y)


class Frame:
    """What tells that a data frame is two-dimensional."""

    def __init__(self, values):
        self.shape, self.ndim = values.shape, values.ndim


def test_bad_sequences(sequences):
    X, y = sequences
    svm = ChainSVM(fit_intercept=True).fit(X, y)
    bad = X[1].copy()
    bad[0, 3] = np.inf
    cases = [
        ([X[0], np.zeros((0, 5))], [y[0], []], "example 1 is an empty sequence"),
        ([X[0], []], [y[0], []], "example 1 is an empty sequence"),
        ([X[0], X[1]], [y[0], [*y[1], "ant"]], f"example 1 has {len(y[1])} positions and {len(y[1]) + 1} labels"),
        ([X[0], X[1][:, :4]], y[:2], "example 1 has 4 features, expected 5"),
        ([X[0], bad], y[:2], "example 1: position 0 has a NaN or an infinity in feature 3"),
        ([X[0], sp.csr_array(bad)], y[:2], "example 1: position 0 has a NaN or an infinity in feature 3"),
        ([X[0], X[1][0]], y[:2], r"example 1 must be a \(T, F\) array"),
        ([X[0], [["a"] * 5] * len(y[1])], y[:2], "example 1: X must hold real numbers"),
        ([X[0], [[1.0], [1.0, 2.0]]], y[:2], "example 1: X must hold real numbers"),
        (X, y[:-1], "X has 30 examples and y has 29"),
        ([], [], "X is empty"),
        (Sequences(np.zeros((0, 5)), [0]), [], "X is empty"),
        (Sequences(X[0], [0, len(X[0]), len(X[0])]), [y[0], []], "example 1 is an empty sequence"),
        (Sequences(np.arange(3), [0, 3]), [["a", "b", "a"]], r"rows of X must be an \(N, F\) matrix, got shape \(3,\)"),
        (Sequences.from_list([X[0], bad]), y[:2], "example 1: position 0 has a NaN or an infinity in feature 3"),
        (Sequences.from_list([X[0], X[1]]), [y[0], [*y[1], "ant"]], f"example 1 has {len(y[1])} positions and"),
        (Sequences(np.full((2, 2), "a"), [0, 2]), [["a", "b"]], "X must hold real numbers, got text"),
        (sp.csr_array(X[0]), y, "X is one sparse matrix"),
        (3, y, "X must be a list with one entry per example"),
        (X, 3, "y must be a list with one entry per example"),
        (X, None, "requires y to be passed"),
        (X[:2], [0, 1], "example 0: y must be a sequence of labels"),
        (X, [["ant"] * len(labels) for labels in y], r"1 class \('ant'\)"),
        (X[:2], [y[0], [["ant"]] * len(y[1])], "example 1"),
        (X[:2], [y[0], [{"ant"}] * len(y[1])], "example 1: the label {'ant'} is not hashable"),
        (X, [[float("nan")] * len(labels) for labels in y], "example 0: a label is NaN"),
        (X[:2], [y[0], [float("nan")] * len(y[1])], "example 1: a label is NaN"),
    ]
    for inputs, labels, message in cases:
        with pytest.raises(InputError, match=message):
            ChainSVM(fit_intercept=True).fit(inputs, labels)
    for method in (svm.predict, svm.decision_function):
        with pytest.raises(InputError, match="example 0 has 4 features, expected 5"):
            method([X[0][:, :4]])
        with pytest.raises(InputError, match="example 1: position 0 has a NaN or an infinity in feature 3"):
            method([X[0], bad])
        with pytest.raises(InputError, match="example 0 is an empty sequence"):
            method([X[0][:0]])
        for one in (X[0], sp.csr_array(X[0]), Frame(X[0])):
            with pytest.raises(InputError, match=rf"of shape \({len(X[0])}, 5\); .* \(for one sequence give \[x\]\)"):
                method(one)
        with pytest.raises(InputError, match=r"example 0 must be a .* \(5,\); for one sequence give \[x\]"):
            method(X[0].tolist())
    with pytest.raises(InputError, match=r"Chain: X is one array of shape .*for one sequence give \[x\]"):
        svm.result_.predict(X[0])
    with pytest.raises(InputError, match=r"example 0 has no numbers but a str; .* bcfw.PositionWise"):
        svm.predict([["word"]])
    for positions in ([{"w": 1}], {"w": 1}):
        with pytest.raises(InputError, match="X has attributes by name; in fit it had features in matrices"):
            svm.predict([positions])
    with pytest.raises(InputError, match=r"example 0 has .* positions and"):
        svm.score(X[:1], [[*y[0], "ant"]])
    with pytest.raises(InputError, match="X has 2 examples and y has 1"):
        svm.score(X[:2], y[:1])
