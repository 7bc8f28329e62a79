"""Labels of any hashable type come back; those that training has not seen are named."""

from __future__ import annotations

import numpy as np
import pytest

from bcfw.errors import InputError, OptionError
from bcfw.estimators import ChainSVM, MulticlassSVM
from small_data import lists


@pytest.mark.parametrize(
    "kinds",
    [
        ["x", "y", "z"],
        [("N", 1), ("V", 2), ("N", 2)],
        [1, "one", ("two", 3)],
        [-5, 0, 7],
        [True, False],
        [frozenset("a"), frozenset("b"), 3.5],
    ],
    ids=["text", "tuples", "mixed", "integers", "bool", "objects"],
)
def test_labels_of_any_hashable_type_come_back(kinds):
    codes = [0, 1, len(kinds) - 1, 0, 1, len(kinds) - 1]
    X = np.eye(len(kinds))[codes]
    y = [kinds[c] for c in codes]
    svm = MulticlassSVM().fit(X, y)
    assert svm.predict(X).tolist() == y
    assert svm.score(X, y) == 1.0
    expected = kinds
    with_order = {str, int, bool, tuple}
    if {type(kind) for kind in kinds} <= with_order and len({type(kind) for kind in kinds}) == 1:
        expected = sorted(kinds)
    assert svm.classes_.tolist() == expected
    chain = ChainSVM().fit([X[:4], X[4:]], [y[:4], y[4:]])
    assert lists(chain.predict([X[:4], X[4:]])) == [y[:4], y[4:]]
    assert chain.classes_.tolist() == expected
    assert chain.score([X[:4], X[4:]], [y[:4], y[4:]]) == 1.0


def test_unseen_labels_in_score(points, sequences):
    X, y = points
    svm = MulticlassSVM().fit(X, y)
    changed = y.astype(object)
    changed[7] = "yak"
    with pytest.raises(InputError, match="example 7 has the label 'yak', which was not among the 3 classes"):
        svm.score(X, changed)
    assert svm.set_params(unseen="wrong").score(X, changed) <= 89 / 90
    with pytest.raises(OptionError, match="unseen must be 'error' or 'wrong'"):
        svm.set_params(unseen="ignore").score(X, y)
    svm.set_params(unseen="error")
    with pytest.raises(InputError, match="example 0 has the label 5, which was not among the 3 classes"):
        svm.score(X, np.full(90, 5))
    X, y = sequences
    svm = ChainSVM().fit(X, y)
    strange = [*y[:2], ["yak"] * len(y[2]), *y[3:]]
    with pytest.raises(InputError, match="example 2 has the label 'yak'"):
        svm.score(X, strange)
    assert svm.set_params(unseen="wrong").score(X, strange) < svm.score(X, y)
    svm.set_params(unseen="error")
    with pytest.raises(InputError, match="example 0 has the label 1"):
        svm.score(X, [[1] * len(labels) for labels in y])
