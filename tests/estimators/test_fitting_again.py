"""Fitting again: afresh by default, from the saved state with ``warm_start=True``."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from bcfw.errors import OptionError
from bcfw.estimators import ChainSVM, MulticlassSVM, StructuralSVM
from small_data import WORDS, Pick


def test_refit_is_a_fresh_fit(points, sequences):
    X, y = points
    svm = MulticlassSVM().fit(X[:50], y[:50]).fit(X, y)
    assert np.array_equal(svm.coef_, MulticlassSVM().fit(X, y).coef_)
    X, y = sequences
    svm = ChainSVM().fit(X[:10], y[:10]).fit(X, y)
    assert np.array_equal(svm.result_.w, ChainSVM().fit(X, y).result_.w)


@pytest.mark.usefixtures("steady_stopwatch")
def test_warm_start_continues_on_the_same_data_only(points, sequences):
    X, y = list(points[0]), np.searchsorted(WORDS, points[1]).tolist()
    cases = [(MulticlassSVM(), *points), (ChainSVM(), *sequences), (StructuralSVM(Pick(), lam=0.1, tol=0.02), X, y)]
    for svm, X, y in cases:
        svm.set_params(warm_start=True).fit(X, y)
        primal = svm.result_.primal
        again = svm.fit(X, y)
        assert again.n_iter_ == 1
        assert again.result_.n_passes == 0
        assert again.result_.primal == pytest.approx(primal, rel=1e-9)
        fewer = svm.fit(X[:-1], y[:-1])
        assert np.array_equal(fewer.result_.w, clone(svm).fit(X[:-1], y[:-1]).result_.w)


def test_warm_start_with_changed_features_or_weights_is_certified(points, sequences):
    moved = [(points[0] + 0.01, points[1]), ([x + 0.01 for x in sequences[0]], sequences[1])]
    for svm, data, other in zip((MulticlassSVM(), ChainSVM()), (points, sequences), moved, strict=True):
        fresh = clone(svm).fit(*other)
        warm = svm.set_params(warm_start=True).fit(*data).fit(*other)
        assert abs(warm.result_.primal - fresh.result_.primal) <= warm.duality_gap_ + fresh.duality_gap_
        assert warm.n_iter_ <= fresh.n_iter_
    X, y = points
    weight = np.linspace(1.0, 2.0, len(y))
    warm, fresh = MulticlassSVM(warm_start=True).fit(X, y).fit(X, y, weight), MulticlassSVM().fit(X, y, weight)
    assert abs(warm.result_.primal - fresh.result_.primal) <= warm.duality_gap_ + fresh.duality_gap_
    assert warm.result_.history["dual"][0] != 0.0  # where a fit that starts afresh begins


def test_warm_starts_go_on_with_other_weights(points):
    X, y = points
    svm = MulticlassSVM(warm_start=True).fit(X, y)
    assert svm.fit(X, y, np.ones(len(y))).result_.n_passes == 0
    assert svm.fit(X, y, np.resize([0.0, 1.0, 1.0], len(y))).result_.history["dual"][0] != 0.0


def test_a_pickle_without_the_dual_state_starts_afresh(points):
    svm = MulticlassSVM(warm_start=True).fit(*points).set_params(warm_start=False)
    twin = pickle.loads(pickle.dumps(svm)).set_params(warm_start=True)
    assert np.array_equal(twin.fit(*points).coef_, svm.fit(*points).coef_)


@pytest.mark.usefixtures("steady_stopwatch")
def test_warm_start_of_a_users_model_needs_the_same_content():
    X, y = np.eye(3), [0, 1, 2]
    svm = StructuralSVM(Pick(), warm_start=True).fit(X, y)
    other = svm.fit(2 * X, y)
    assert np.array_equal(other.coef_, StructuralSVM(Pick()).fit(2 * X, y).coef_)
    with pytest.raises(OptionError, match="warm_start=True needs a model and data that can be pickled"):
        StructuralSVM(Pick(mistake=lambda: None), warm_start=True).fit(X, y)
