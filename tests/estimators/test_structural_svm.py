"""StructuralSVM: scores and decisions of a user's model, mistakes in it, and bad input to it."""

from __future__ import annotations

import numpy as np
import pytest

from bcfw.errors import InputError, ModelError, OptionError
from bcfw.estimators import StructuralSVM
from small_data import WORDS, Pick


def test_structural_scores_and_decision_function(points):
    X, y = list(points[0]), np.searchsorted(WORDS, points[1]).tolist()
    dense, sparse = (StructuralSVM(Pick(kind), lam=0.1, tol=0.02).fit(X, y) for kind in (None, "sparse"))
    best = (dense.coef_.reshape(3, 4) @ np.array(X).T).max(axis=0)
    assert np.allclose(dense.decision_function(X), best)
    assert sparse.decision_function(X).shape == (90,)
    accuracy = np.mean(np.array(dense.predict(X)) == y)
    assert dense.score(X, y) == pytest.approx(accuracy)
    assert dense.set_params(scoring="exact").score(X, y) == pytest.approx(accuracy)
    with pytest.raises(OptionError, match="'loss' or 'exact'"):
        dense.set_params(scoring="label").score(X, y)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("truth", r"example 0: loss\(y, y\) = 1 on the truth"),
        ("negative", r"example \d+: loss\(y_true, y\) = -1"),
        ("plain", r"example \d+: oracle\(w, x, y_true\) is not maximal"),
        ("smallest", r"example \d+: oracle\(w, x, y_true\) is not maximal"),
        ("crash", r"example \d+: KeyError"),
    ],
)
def test_mistakes_in_a_users_model(points, mistake, message):
    X, y = list(points[0]), np.searchsorted(WORDS, points[1]).tolist()
    with pytest.raises(ModelError, match=message):
        StructuralSVM(Pick(mistake), lam=0.1).fit(X, y)


def test_bad_input_to_a_users_model():
    with pytest.raises(OptionError, match=r"model must be an instance of a bcfw\.Model"):
        StructuralSVM(Pick).fit(np.eye(3), [0, 1, 2])
    with pytest.raises(InputError, match="X has 3 examples and y has 2"):
        StructuralSVM(Pick()).fit(np.eye(3), [0, 1])
    with pytest.raises(InputError, match="must be sequences of examples"):
        StructuralSVM(Pick()).fit(iter(np.eye(3)), [0, 1])
    with pytest.raises(InputError, match="y to be passed"):
        StructuralSVM(Pick()).fit(np.eye(3), None)
    with pytest.raises(ModelError, match="example 2: IndexError"):
        StructuralSVM(Pick()).fit(np.eye(3), [0, 1, 7])
