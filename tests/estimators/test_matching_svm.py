"""MatchingSVM: the fit of ``train``, alignment scores by hand, weights, warm starts, bad pairs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import bcfw
from bcfw.errors import InputError, OptionError
from bcfw.estimators import MatchingSVM, alignment_scores


def noisy_pairs(n, seed):
    """Permutations with a constant and a noisy feature of the true links; some links are only possible."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        I, J = rng.integers(2, 6, size=2)
        truth = np.eye(max(I, J), dtype=int)[rng.permutation(max(I, J))][:I, :J]
        X.append(np.stack([np.ones((I, J)), truth + 0.4 * rng.standard_normal((I, J)), rng.random((I, J))], axis=2))
        y.append(np.where(truth & (rng.random((I, J)) < 0.2), -1, truth))
    return X, y


@pytest.mark.usefixtures("steady_stopwatch")
def test_matching_is_the_fit_of_train_and_predicts_matchings():
    X, y = noisy_pairs(40, 0)
    svm = MatchingSVM(lam=0.05, cost_miss=2.0, cost_extra=0.5, normalize=True, random_state=3).fit(X, y)
    model = bcfw.models.Matching(2.0, 0.5, normalize=True)
    assert np.array_equal(svm.coef_, bcfw.train(model, X, y, lam=0.05, seed=3).w)
    assert svm.n_features_in_ == 3
    assert svm.coef_.shape == (3,)
    for x, output, scores in zip(X, svm.predict(X), svm.decision_function(X), strict=True):
        assert output.shape == scores.shape == x.shape[:2]
        np.testing.assert_allclose(scores, x @ svm.coef_, rtol=0, atol=1e-12)
        assert set(np.unique(output)) <= {0, 1}
        assert output.sum(axis=0).max() <= 1
        assert output.sum(axis=1).max() <= 1
        assert np.all(scores[output == 1] > 0)
    X_test, y_test = noisy_pairs(40, 1)
    assert svm.score(X_test, y_test) > 0.85


def test_alignment_scores_by_hand():
    y_true = [np.array([[1, -1, 0], [0, 1, 0]]), np.array([[0, 1]])]
    y = [np.array([[0, 1, 0], [1, 0, 0]]), np.array([[0, 1]])]
    # Links A: one possible, one wrong, one sure; three sure ones are to be found.
    scores = alignment_scores(y_true, y)
    assert scores == pytest.approx({"aer": 1 - (1 + 2) / (3 + 3), "precision": 2 / 3, "recall": 1 / 3})
    scores = alignment_scores(y_true, y, [2.0, 5.0])
    assert scores == pytest.approx({"aer": 1 - (5 + 7) / (9 + 9), "precision": 7 / 9, "recall": 5 / 9})
    nothing = alignment_scores([np.array([[0, -1]])], [np.array([[0, 0]])])
    assert nothing == {"aer": 0.0, "precision": 1.0, "recall": 1.0}
    with pytest.raises(InputError, match=r"example 1: y has shape \(1, 2\), expected \(2, 1\)"):
        alignment_scores(y_true, [y[0], y[1].T])
    with pytest.raises(InputError, match="2 examples and y has 1"):
        alignment_scores(y_true[:1], y)


def test_matching_score_is_one_minus_the_alignment_error_rate():
    X, y = noisy_pairs(20, 2)
    svm = MatchingSVM(lam=1.0).fit(X, y)
    weight = np.linspace(1.0, 2.0, 20)
    assert 0.0 < svm.score(X, y) < 1.0
    assert svm.score(X, y, weight) == 1.0 - alignment_scores(y, svm.predict(X), weight)["aer"]


@pytest.mark.usefixtures("steady_stopwatch")
def test_matching_weights_warm_starts_and_grid_search():
    X, y = noisy_pairs(20, 3)
    weight = np.random.default_rng(0).integers(0, 3, size=20)
    rows = np.repeat(np.arange(20), weight)
    options = {"lam": 0.1, "tol": 1e-4, "max_passes": 5000}
    weighted = MatchingSVM(**options).fit(X, y, weight)
    repeated = MatchingSVM(**options).fit([X[i] for i in rows], [y[i] for i in rows])
    gaps = weighted.duality_gap_ + repeated.duality_gap_
    assert np.linalg.norm(weighted.coef_ - repeated.coef_) <= 2 * np.sqrt(2 * gaps / 0.1)
    svm = MatchingSVM(warm_start=True).fit(X, y)
    assert svm.fit(X, y).result_.n_passes == 0
    moved = [x + 0.1 for x in X]
    assert np.array_equal(svm.fit(moved, y).coef_, MatchingSVM().fit(moved, y).coef_)
    costly = svm.set_params(cost_miss=5.0).fit(moved, y)
    assert np.array_equal(costly.coef_, MatchingSVM(cost_miss=5.0).fit(moved, y).coef_)
    search = GridSearchCV(MatchingSVM(tol=0.01), {"lam": [100.0, 0.05], "cost_miss": [1.0, 2.0]}, cv=3).fit(X, y)
    assert search.best_params_["lam"] == 0.05
    twin = pickle.loads(pickle.dumps(svm))
    assert all(np.array_equal(a, b) for a, b in zip(svm.predict(X), twin.predict(X), strict=True))


def test_bad_pairs():
    X, y = noisy_pairs(3, 4)
    svm = MatchingSVM().fit(X, y)
    cases = [
        (X[:2], y, "X has 2 examples and y has 3"),
        (X, None, "requires y to be passed"),
        (3, y, "X must be a list with one entry per example"),
        ([X[0], X[1][:, :, :2]], y[:2], "example 1 has 2 features, expected 3"),
        ([X[0], X[1][0]], y[:2], r"example 1: x must be an \(I, J, F\) array"),
        (X[:2], [y[0], y[1] + 5], r"example 1: y\[0, 0\] is"),
    ]
    for inputs, truths, message in cases:
        with pytest.raises(InputError, match=message):
            MatchingSVM().fit(inputs, truths)
    for method in (svm.predict, svm.decision_function):
        with pytest.raises(InputError, match="example 1 has 2 features, expected 3"):
            method([X[0], X[1][:, :, :2]])
    with pytest.raises(InputError, match="3 examples and y has 2"):
        svm.score(X, y[:2])
    with pytest.raises(OptionError, match="cost_miss must be a finite number >= 0"):
        MatchingSVM(cost_miss=-1).fit(X, y)
