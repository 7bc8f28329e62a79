"""MulticlassSVM: the objective by hand, lam and C, intercepts, decisions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import bcfw
from bcfw.estimators import ChainSVM, MulticlassSVM, StructuralSVM
from small_data import WORDS, lists


def hinge_objective(svm, X, codes, weight):
    """P of a multiclass SVM by hand; the intercept's weight is intercept_ / intercept_scaling."""
    scores = X @ svm.coef_.T + svm.intercept_
    cost = 1.0 - np.eye(len(svm.classes_)) if svm.cost is None else np.asarray(svm.cost)
    hinge = np.max(cost[codes] + scores, axis=1) - scores[np.arange(len(codes)), codes]
    square = np.sum(svm.coef_**2) + np.sum((svm.intercept_ / svm.intercept_scaling) ** 2)
    return svm.lam_ / 2 * square + weight @ hinge / np.sum(weight)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_multiclass_objective_by_hand(points, fit_intercept, weighted):
    X, y = points
    codes = np.searchsorted(WORDS, y)
    weight = np.random.default_rng(2).integers(0, 4, size=len(y)).astype(float) if weighted else np.ones(len(y))
    svm = MulticlassSVM(
        lam=0.02, tol=1e-4, cost=[[0, 1, 2], [1, 0, 1], [3, 1, 0]], fit_intercept=fit_intercept, intercept_scaling=3.0
    ).fit(X, y, weight if weighted else None)
    primal = hinge_objective(svm, X, codes, weight)
    assert primal == pytest.approx(svm.result_.primal, rel=1e-9)
    assert 0 <= svm.duality_gap_ <= 1e-4 * svm.result_.history["primal"][0]
    assert primal - svm.duality_gap_ <= svm.result_.dual + 1e-12
    assert isinstance(svm.n_iter_, int)
    assert svm.n_iter_ >= 1
    assert np.any(svm.intercept_ != 0) == fit_intercept


def test_without_intercept_the_fit_is_that_of_train(points, sequences):
    X, y = points
    svm = MulticlassSVM(fit_intercept=False, random_state=3).fit(X, y)
    result = bcfw.train(bcfw.models.Multiclass(), X, np.searchsorted(WORDS, y), seed=3)
    assert np.array_equal(svm.coef_, result.w.reshape(4, 3).T)
    X, y = sequences
    svm = ChainSVM(random_state=3).fit(X, y)
    result = bcfw.train(bcfw.models.Chain(), X, [np.searchsorted(WORDS, labels) for labels in y], seed=3)
    parts = (svm.coef_.T, svm.first_, svm.last_, svm.transitions_)
    assert np.array_equal(np.concatenate([np.ravel(part) for part in parts]), result.w)


def test_C_is_one_over_lam_times_the_sum_of_weights(points, sequences):
    for Estimator, (X, y) in ((MulticlassSVM, points), (ChainSVM, sequences)):
        weight = np.linspace(0.5, 2.0, len(X))
        by_lam = Estimator(lam=0.05).fit(X, y, weight)
        by_C = Estimator(lam=123.0, C=1 / (0.05 * weight.sum())).fit(X, y, weight)
        assert by_C.lam_ == pytest.approx(0.05, rel=1e-12)
        assert np.allclose(by_lam.coef_, by_C.coef_, rtol=1e-9)
    assert StructuralSVM(bcfw.models.Multiclass(), C=0.1).fit(np.eye(2), [0, 1]).lam_ == pytest.approx(5.0)


def test_more_intercept_scaling_regularises_the_intercept_less():
    X, y = np.array([[2.0], [3.0], [4.0], [5.0]]), [0, 0, 1, 1]
    small, large = (
        MulticlassSVM(lam=0.1, tol=0.01, max_passes=20000, intercept_scaling=s).fit(X, y) for s in (1.0, 5.0)
    )
    assert large.result_.primal < small.result_.primal
    assert large.score(X, y) == 1.0


def test_decision_function_decides(points):
    X, y = points
    svm = MulticlassSVM().fit(X, y)
    scores = svm.decision_function(X)
    assert scores.shape == (90, 3)
    assert np.array_equal(svm.classes_[scores.argmax(axis=1)], svm.predict(X))
    two = y != "cow"
    svm = MulticlassSVM().fit(X[two], y[two])
    scores = svm.decision_function(X)
    assert scores.shape == (90,)
    assert svm.coef_.shape == (2, 4)
    assert np.array_equal(svm.classes_[(scores > 0).astype(int)], svm.predict(X))


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_float32_fortran_read_only_and_sparse_input(points, sequences, fit_intercept):
    X, y = points
    X = X.astype(np.float32).astype(np.float64)
    frozen = X.copy()
    frozen.flags.writeable = False
    forms = [X, X.astype(np.float32), np.asfortranarray(X), frozen, sp.csr_array(X), sp.csc_matrix(X), X.tolist()]
    fits = [MulticlassSVM(fit_intercept=fit_intercept, solver="bcfw").fit(form, y) for form in forms]
    for svm, form in zip(fits, forms, strict=True):
        assert np.allclose(svm.coef_, fits[0].coef_, rtol=1e-9)
        assert np.array_equal(svm.predict(form), fits[0].predict(X))
    X, y = sequences
    X = [x.astype(np.float32).astype(np.float64) for x in X]
    forms = [X, [x.astype(np.float32) for x in X], [np.asfortranarray(x) for x in X], [x.tolist() for x in X]]
    forms += [[sp.csr_array(x) for x in X], [sp.coo_matrix(x) for x in X]]
    fits = [ChainSVM(fit_intercept=fit_intercept, solver="bcfw").fit(form, y) for form in forms]
    for svm, form in zip(fits, forms, strict=True):
        assert np.allclose(svm.result_.w, fits[0].result_.w, rtol=1e-9)
        assert lists(svm.predict(form)) == lists(fits[0].predict(X))
        assert np.allclose(svm.decision_function(form)[0], fits[0].decision_function(X)[0])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_prediction_in_pieces_is_that_of_all_at_once(n_classes, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((23, 3)), np.arange(23) % n_classes
    svm = bcfw.MulticlassSVM(lam=0.1, tol=0.1).fit(X, y)
    at_once = svm.predict(X)
    monkeypatch.setattr("bcfw.estimators.multiclass.SCORES_AT_ONCE", 5 * n_classes)
    np.testing.assert_array_equal(svm.predict(X), at_once)
