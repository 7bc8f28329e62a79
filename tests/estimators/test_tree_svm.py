"""TreeSVM: the fit of train, labels of any kind, max-marginals against enumeration, scikit-learn's habits, errors."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import bcfw
from bcfw.errors import InputError, OptionError
from bcfw.estimators import TreeSVM
from problems import forest_edges

NAMES = np.array(["noun", "particle", "verb"])


def sentences(n, rng, noise=0.8):
    """Trees of six words: below label k stands k + 1 (mod 3), seen through noise."""
    X, codes = [], []
    for _ in range(n):
        labels, edges = np.zeros(6, int), []
        labels[0] = rng.integers(3)
        for q in range(1, 6):
            p = int(rng.integers(q))
            labels[q] = (labels[p] + 1) % 3
            edges.append((p, q))
        X.append((np.eye(3)[labels] + noise * rng.standard_normal((6, 3)), np.array(edges), None))
        codes.append(labels)
    return X, codes


@pytest.fixture(scope="module")
def data():
    return sentences(20, np.random.default_rng(0))


@pytest.fixture(scope="module")
def fitted(data):
    X, codes = data
    return TreeSVM(lam=0.1).fit(X, [NAMES[one] for one in codes])


def test_the_fit_is_that_of_train(data, fitted):
    X, codes = data
    result = bcfw.train(bcfw.models.Tree(), X, codes, lam=0.1)
    np.testing.assert_array_equal(fitted.result_.w, result.w)
    np.testing.assert_array_equal(fitted.coef_, result.w[:9].reshape(3, 3).T)
    np.testing.assert_array_equal(fitted.edge_coef_, result.w[9:].reshape(1, 3, 3))
    assert fitted.edge_coef_[0].argmax(axis=1).tolist() == [1, 2, 0]
    assert fitted.duality_gap_ == result.gap
    assert fitted.result_.certified
    assert fitted.n_features_in_ == 3
    for names, predicted in zip(fitted.predict(X), result.predict(X), strict=True):
        np.testing.assert_array_equal(names, NAMES[predicted])


def test_neighbours_help(fitted):
    """Of new trees more nodes are mended than spoilt, by three standard deviations."""
    X, codes = sentences(200, np.random.default_rng(1))
    truth = NAMES[np.concatenate(codes)]
    alone = NAMES[np.concatenate([np.argmax(x[0] @ fitted.coef_.T, axis=1) for x in X])] == truth
    joint = np.concatenate(fitted.predict(X)) == truth
    mended, spoilt = np.sum(joint & ~alone), np.sum(alone & ~joint)
    assert mended - spoilt > 3.0 * np.sqrt(mended + spoilt)
    assert fitted.score(X, [NAMES[one] for one in codes]) == joint.mean()


def test_decision_function_by_enumeration(fitted):
    rng = np.random.default_rng(2)
    X = [(rng.standard_normal((V, 3)), forest_edges(rng, V), None) for V in (1, 4, 5)]
    for x, table, names in zip(X, fitted.decision_function(X), fitted.predict(X), strict=True):
        V = len(x[0])
        assert table.shape == (V, 3)
        labelings = np.array(list(itertools.product(range(3), repeat=V)))
        values = np.array([fitted.result_.w @ fitted.result_.model.features(x, y) for y in labelings])
        for p, k in np.ndindex(V, 3):
            assert table[p, k] == pytest.approx(values[labelings[:, p] == k].max(), abs=1e-11)
        np.testing.assert_array_equal(names, NAMES[table.argmax(axis=1)])


@pytest.mark.parametrize("kinds", [(3, 7, 9), ((0, 1), (1, 0), (1, 1)), ("x", 2, "y"), (False, True, 5)])
@pytest.mark.parametrize("missing", [None, -1])
def test_labels_of_any_hashable_type_come_back(data, kinds, missing):
    X, codes = data
    y = [[kinds[k] for k in one] for one in codes]
    y[2][3] = missing
    svm = TreeSVM(lam=0.1, tol=0.05).fit(X, y)
    assert set(svm.classes_.tolist()) == set(kinds)
    predicted = [list(one) for one in svm.predict(X)]
    assert all(label in kinds for one in predicted for label in one)
    right = [a == b for one, two in zip(predicted, y, strict=True) for a, b in zip(one, two, strict=True)]
    assert svm.score(X, y) == pytest.approx(sum(right) / (len(right) - 1))


def test_options_reach_the_model(data):
    X, codes = data
    svm = TreeSVM(lam=0.1, tol=0.05, symmetric=True, class_weight={0: 3.0}, normalize=False, fit_intercept=True)
    svm.fit(X, codes)
    model = svm.result_.model
    assert model.symmetric
    assert not model.normalize
    np.testing.assert_array_equal(model.cost[0], [0.0, 3.0, 3.0])
    np.testing.assert_array_equal(svm.edge_coef_[0], svm.edge_coef_[0].T)
    assert svm.intercept_.shape == (3,)
    sparse = [(sp.csr_array(nodes), edges, sp.csr_array(np.ones((5, 1)))) for nodes, edges, _ in X]
    again = clone(svm).fit(sparse, codes)
    np.testing.assert_allclose(again.result_.w, svm.result_.w, rtol=0, atol=1e-12)


def test_clones_pickles_warm_starts_and_searches(data, fitted):
    X, codes = data
    y = [NAMES[one] for one in codes]
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(np.concatenate(copied.predict(X)), np.concatenate(fitted.predict(X)))
    warm = TreeSVM(lam=0.1, warm_start=True).fit(X, y)
    before = warm.result_
    warm.fit(X, y)
    assert warm.result_.n_oracle_calls < before.n_oracle_calls
    assert warm.result_.dual >= before.dual - 1e-12
    search = GridSearchCV(TreeSVM(tol=0.05), {"lam": [0.1, 1.0]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5  # chance has a third


def test_mistakes(data, fitted):
    X, codes = data
    ring = (np.ones((3, 3)), [[0, 1], [1, 2], [2, 0]], None)
    with pytest.raises(InputError, match=r"example 1: edge 2 joins nodes \[2, 0\] and closes a cycle"):
        TreeSVM().fit([X[0], ring], [codes[0], [0, 1, 2]])
    with pytest.raises(InputError, match="example 0: edge 2 joins"):
        fitted.predict([ring])
    with pytest.raises(InputError, match="TreeSVM: example 0 must be a tuple"):
        TreeSVM().fit([X[0][0]], codes[:1])
    with pytest.raises(InputError, match="TreeSVM: y has 1 classes"):
        TreeSVM().fit(X, [np.zeros(6, int)] * 20)
    with pytest.raises(InputError, match="example 0 has 2 node features, expected 3"):
        fitted.decision_function([(np.ones((1, 2)), [], None)])
    with pytest.raises(OptionError, match="TreeSVM: symmetric must be"):
        TreeSVM(symmetric=2).fit(X, codes)
    with pytest.raises(NotFittedError):
        TreeSVM().decision_function(X)
