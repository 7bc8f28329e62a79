"""GraphSVM: labels of any kind, unlabelled nodes, scores, margins against enumeration, errors."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bcfw
from bcfw.errors import InputError, OptionError
from bcfw.estimators import GraphSVM

NAMES = np.array(["grass", "horse"])


def rings(n, rng, noise=0.7):
    """Rings of eight nodes, one half horse and one half grass, seen through noise."""
    X, codes = [], []
    for _ in range(n):
        label = np.roll(np.repeat([0, 1], 4), rng.integers(8))
        nodes = np.stack([2.0 * label - 1.0 + noise * rng.standard_normal(8), np.ones(8)], axis=1)
        around = np.stack([np.arange(8), (np.arange(8) + 1) % 8], axis=1)
        X.append((nodes, around, np.ones((8, 1))))
        codes.append(label)
    return X, codes


@pytest.fixture(scope="module")
def data():
    return rings(12, np.random.default_rng(0))


@pytest.fixture(scope="module")
def fitted(data):
    X, codes = data
    return GraphSVM(lam=0.1).fit(X, [NAMES[one] for one in codes])


def test_the_fit_is_that_of_train(data, fitted):
    X, codes = data
    result = bcfw.train(bcfw.models.BinaryGraph(), X, codes, lam=0.1)
    np.testing.assert_array_equal(fitted.result_.w, result.w)
    np.testing.assert_array_equal(fitted.coef_, result.w[:4].reshape(2, 2).T)
    np.testing.assert_array_equal(fitted.edge_coef_, result.w[4:])
    assert (fitted.edge_coef_ >= 0).all()
    assert fitted.edge_coef_.sum() > 0
    assert fitted.duality_gap_ == result.gap <= 1e-3 * 1.0
    assert fitted.classes_.tolist() == NAMES.tolist()
    assert fitted.n_features_in_ == 2
    for names, predicted in zip(fitted.predict(X), result.predict(X), strict=True):
        np.testing.assert_array_equal(names, NAMES[predicted])


def test_neighbours_help(fitted):
    """The learned edge weights mend more nodes of new rings than they spoil, by three standard deviations."""
    X, codes = rings(400, np.random.default_rng(1))
    truth = NAMES[np.concatenate(codes)]
    alone = NAMES[np.concatenate([np.argmax(x[0] @ fitted.coef_.T, axis=1) for x in X])] == truth
    joint = np.concatenate(fitted.predict(X)) == truth
    mended, spoilt = np.sum(joint & ~alone), np.sum(alone & ~joint)
    assert mended - spoilt > 3.0 * np.sqrt(mended + spoilt)


@pytest.mark.parametrize(
    "kinds", [("a", "b"), (3, 7), (False, True), ((0, 1), (1, 0)), ("x", 2), (np.float64(0.5), np.float64(1.5))]
)
@pytest.mark.parametrize("missing", [None, -1])
def test_labels_of_any_hashable_type_come_back(data, fitted, kinds, missing):
    X, codes = data
    y = [[kinds[k] for k in one] for one in codes]
    y[2][3] = missing
    coded = [one.copy() for one in codes]
    coded[2][3] = -1
    svm = GraphSVM(lam=0.1).fit(X, y)
    assert set(svm.classes_.tolist()) == set(kinds)
    order = [svm.classes_.tolist().index(kind) for kind in kinds]
    if order == [0, 1]:
        np.testing.assert_array_equal(svm.result_.w, bcfw.train(bcfw.models.BinaryGraph(), X, coded, lam=0.1).w)
    predicted = [list(one) for one in svm.predict(X)]
    assert all(label in kinds for one in predicted for label in one)
    right = [a == b for one, two in zip(predicted, y, strict=True) for a, b in zip(one, two, strict=True)]
    assert svm.score(X, y) == pytest.approx(sum(right) / (len(right) - 1))


def test_decision_function_by_enumeration(data, fitted):
    X, _ = data
    for x, margin, names in zip(X, fitted.decision_function(X), fitted.predict(X), strict=True):
        labelings = np.array(list(itertools.product((0, 1), repeat=8)))
        value = np.array([fitted.result_.w @ fitted.result_.model.features(x, y) for y in labelings])
        for p in range(8):
            expected = value[labelings[:, p] == 1].max() - value[labelings[:, p] == 0].max()
            assert margin[p] == pytest.approx(expected, abs=1e-11)
        np.testing.assert_array_equal(NAMES[(margin > 0).astype(int)], names)


def test_scores_are_weighted_by_graph(data, fitted):
    X, codes = data
    truth = [NAMES[one] for one in codes]
    shares = np.array([np.mean(a == b) for a, b in zip(fitted.predict(X), truth, strict=True)])
    weight = np.arange(12.0)
    assert fitted.score(X, truth, weight) == pytest.approx(shares @ weight / weight.sum())
    strange = [one.astype(object) for one in truth]
    strange[1][0] = "zebra"
    with pytest.raises(InputError, match="example 1 has the label 'zebra'"):
        fitted.score(X, strange)
    wrong = clone(fitted).set_params(unseen="wrong").fit(X, truth).score(X, strange)
    hit = fitted.predict(X)[1][0] == truth[1][0]
    assert wrong == pytest.approx(fitted.score(X, truth) - hit / 96)


def test_intercept_is_a_constant_feature_and_sparse_nodes_are_the_same(data, fitted):
    X, codes = data
    bare = [(nodes[:, :1], edges, values) for nodes, edges, values in X]
    svm = GraphSVM(lam=0.1, fit_intercept=True).fit(bare, [NAMES[one] for one in codes])
    np.testing.assert_allclose(svm.intercept_, fitted.coef_[:, 1], rtol=0, atol=1e-12)
    assert svm.coef_.shape == (2, 1)
    assert svm.n_features_in_ == 1
    sparse = [(sp.csr_array(nodes), edges, values) for nodes, edges, values in X]
    again = clone(fitted).fit(sparse, codes)
    np.testing.assert_allclose(again.result_.w, fitted.result_.w, rtol=0, atol=1e-12)


def test_class_weight_scales_the_rows_of_the_cost(data):
    X, codes = data
    cost = np.array([[0.0, 1.0], [2.0, 0.0]])
    svm = GraphSVM(lam=0.1, cost=cost, class_weight={0: 3.0}).fit(X, codes)
    np.testing.assert_array_equal(svm.result_.model.cost, [[0.0, 3.0], [2.0, 0.0]])
    few = [np.where(np.arange(8) < 2, -1, one) for one in codes]
    balanced = GraphSVM(lam=0.1, class_weight="balanced").fit(X, few)
    model = bcfw.models.BinaryGraph(class_balance=True).bind(X, few)
    np.testing.assert_allclose(balanced.result_.model.cost, model.cost)
    assert model.cost[0, 1] != model.cost[1, 0]


def test_clones_pickles_refits_and_warm_starts(data, fitted):
    X, codes = data
    y = [NAMES[one] for one in codes]
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(np.concatenate(copied.predict(X)), np.concatenate(fitted.predict(X)))
    again = clone(fitted).fit(X[:5], y[:5]).fit(X, y)
    np.testing.assert_array_equal(again.result_.w, fitted.result_.w)
    warm = GraphSVM(lam=0.1, warm_start=True).fit(X, y)
    before = warm.result_
    warm.fit(X, y)
    assert warm.result_.n_oracle_calls < before.n_oracle_calls
    assert warm.result_.dual >= before.dual - 1e-12
    wider = [(2.0 * nodes, edges, values) for nodes, edges, values in X]
    for options, inputs in [({"class_weight": {"horse": 2.0}}, X), ({"normalize": False}, X), ({}, wider)]:
        warm.set_params(**options).fit(inputs, y)
        fresh = clone(warm).set_params(warm_start=False).fit(inputs, y)
        np.testing.assert_array_equal(warm.result_.w, fresh.result_.w)


def test_graphs_without_labels_are_as_not_given(data):
    X, codes = data
    weight = np.arange(1.0, 13.0)
    hidden = [*codes[:3], [None] * 8, *codes[4:]]
    kept = [i for i in range(12) if i != 3]
    for weights in (None, weight):
        with_hidden = GraphSVM(C=1.0).fit(X, hidden, weights)
        without = GraphSVM(C=1.0).fit(
            [X[i] for i in kept], [codes[i] for i in kept], None if weights is None else weights[kept]
        )
        assert with_hidden.lam_ == without.lam_
        assert abs(with_hidden.result_.primal - without.result_.primal) <= 1e-3
    with pytest.raises(InputError, match="sample_weight is zero on all graphs that have labelled nodes"):
        without.score(X, [[None] * 8] * 11 + [codes[11]], [1.0] * 11 + [0.0])


def test_a_fit_that_fails_leaves_the_old_one(data, fitted):
    X, codes = data
    again = clone(fitted).fit(X, [NAMES[one] for one in codes])
    negative = [(nodes, edges, -values) for nodes, edges, values in X]
    again.set_params(fit_intercept=True)
    with pytest.raises(InputError, match="must be finite and >= 0"):
        again.fit(negative, [np.array(["sky", "tree"])[one] for one in codes])
    for one, other in zip(again.predict(X), fitted.predict(X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_mistakes_are_named(data, fitted):
    X, codes = data
    with pytest.raises(InputError, match=r"y has 1 classes \[1\]; .* at least 2 classes \(None and -1"):
        GraphSVM().fit(X, [2 * one - 1 for one in codes])
    with pytest.raises(OptionError, match="pairwise must be 'potts' or 'full'"):
        GraphSVM(pairwise="pots").fit(X, codes)
    with pytest.raises(OptionError, match="symmetric=True needs pairwise='full'"):
        GraphSVM(symmetric=True).fit(X, codes)
    with pytest.raises(OptionError, match="bound_iterations must be"):
        GraphSVM(pairwise="full", bound_iterations=-1).fit(X, codes)
    with pytest.raises(InputError, match="example 1 has 8 nodes and 7 labels"):
        GraphSVM().fit(X[:2], [codes[0], codes[1][:7]])
    with pytest.raises(InputError, match="X has 2 examples and y has 1"):
        GraphSVM().fit(X[:2], codes[:1])
    with pytest.raises(InputError, match="example 1 must be a tuple"):
        GraphSVM().fit([X[0], X[1][0]], codes[:2])
    with pytest.raises(InputError, match=r"example 0: node features must be a \(V, F\) array, got shape \(16,\)"):
        GraphSVM().fit([(sp.coo_array(X[0][0].ravel()), *X[0][1:]), *X[1:]], codes)
    with pytest.raises(InputError, match="example 0 has 1 node features, expected 2"):
        fitted.predict([(X[0][0][:, :1], *X[0][1:])])
    with pytest.raises(InputError, match="example 0: edge 0 joins node 1 with itself"):
        fitted.predict([(X[0][0], [[1, 1]], [[1.0]])])
    with pytest.raises(InputError, match="no node has a label"):
        fitted.score(X[:1], [[None] * 8])
    with pytest.raises(OptionError, match="intercept_scaling must be a finite number > 0"):
        GraphSVM(fit_intercept=True, intercept_scaling=0.0).fit(X, codes)
    with pytest.raises(NotFittedError):
        GraphSVM().predict(X)


# --- more than two labels ----------------------------------------------------------------------------------------

SIGNS = np.array(["go", "slow", "stop"])


def cycles(n, rng, noise=0.1):
    """Rings of nine nodes with three signs in turn: the first is seen, the others only through their neighbours."""
    X, codes = [], []
    for _ in range(n):
        label = (np.arange(9) + rng.integers(3)) % 3
        nodes = noise * rng.standard_normal((9, 3))
        nodes[0] = np.eye(3)[label[0]]
        X.append((nodes, np.stack([np.arange(9), (np.arange(9) + 1) % 9], axis=1), None))
        codes.append(label)
    return X, codes


@pytest.mark.parametrize("symmetric", [False, True])
def test_full_pairs_learn_what_follows_what(symmetric):
    X, codes = cycles(10, np.random.default_rng(0))
    y = [SIGNS[one] for one in codes]
    svm = GraphSVM(lam=0.01, pairwise="full", symmetric=symmetric, tol=0.01).fit(X, y)
    result = bcfw.train(bcfw.models.PairwiseGraph(3, symmetric), X, codes, lam=0.01, tol=0.01)
    np.testing.assert_array_equal(svm.result_.w, result.w)
    np.testing.assert_array_equal(svm.coef_, result.w[:9].reshape(3, 3).T)
    assert svm.edge_coef_.shape == (1, 3, 3)
    assert np.array_equal(svm.edge_coef_[0], svm.edge_coef_[0].T) == symmetric
    assert svm.score(X, y) == 1.0 or symmetric
    if not symmetric:
        assert svm.edge_coef_[0].argmax(axis=1).tolist() == [1, 2, 0]
    for names, table in zip(svm.predict(X), svm.decision_function(X), strict=True):
        assert table.shape == (9, 3)
        np.testing.assert_array_equal(names, SIGNS[table.argmax(axis=1)])


def test_potts_with_three_labels():
    rng = np.random.default_rng(0)
    X, codes = rings(12, rng)
    codes = [np.where(np.arange(8) < 2, 2, one) for one in codes]
    X = [(np.eye(3)[one] + 0.6 * rng.standard_normal((8, 3)), x[1], x[2]) for x, one in zip(X, codes, strict=True)]
    kinds = [("a", 1), ("b", 2), ("c", 3)]
    y = [[kinds[k] for k in one] for one in codes]
    y[0][0] = None
    svm = GraphSVM(lam=0.1, tol=0.01, bound_iterations=100).fit(X, y)
    assert isinstance(svm.result_.model, bcfw.models.PottsGraph)
    assert svm.result_.certified
    assert svm.classes_.tolist() == kinds
    assert svm.edge_coef_.shape == (1,)
    assert (svm.edge_coef_ >= 0).all()
    assert svm.score(X, y) > 0.7
    assert all(label in kinds for one in svm.predict(X) for label in one)
    assert not GraphSVM(lam=0.1, tol=0.01).fit(X, y).result_.certified
    balanced = GraphSVM(lam=0.1, tol=0.1, class_weight="balanced").fit(X, y)
    coded = [np.array([-1 if label is None else kinds.index(label) for label in one]) for one in y]
    model = bcfw.models.PottsGraph(3, class_balance=True).bind(X, coded)
    np.testing.assert_allclose(balanced.result_.model.cost, model.cost)
