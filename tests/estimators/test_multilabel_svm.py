"""MultilabelSVM: objective, decisions, forms of y, weights, warm starts and bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV

import bcfw
from bcfw.errors import InputError, OptionError
from bcfw.estimators import MultilabelSVM
from bcfw.inputs.feature_matrices import with_constant
from bcfw.models.shared.label_tree import chow_liu_tree
from oracle_checks import all_scores

CHAIN = [(1, 0), (1, 2), (3, 2)]


@pytest.fixture(scope="module")
def tags():
    """Four labels that depend on each other, of which the features show only a part."""
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((90, 2))
    Y = (hidden @ rng.standard_normal((2, 4)) + 0.3 * rng.standard_normal((90, 4)) > 0).astype(int)
    return hidden @ rng.standard_normal((2, 5)) + 0.5 * rng.standard_normal((90, 5)), Y


@pytest.mark.parametrize("tree", [None, CHAIN], ids=["independent", "tree"])
@pytest.mark.parametrize("normalize", [False, True])
def test_objective_by_hand(tags, tree, normalize):
    X, Y = tags
    weight = np.random.default_rng(2).integers(0, 4, size=len(Y)).astype(float)
    svm = MultilabelSVM(lam=0.05, tree=tree, normalize=normalize, intercept_scaling=2.0).fit(X, Y, weight)
    unary = X @ svm.coef_.T + svm.intercept_
    hinges = []
    for i in range(len(Y)):
        scores = all_scores(unary[i], svm.edges_.tolist(), svm.edge_coef_)
        wrong = {y: np.sum(Y[i] != y) / (4 if normalize else 1) for y in scores}
        hinges.append(max(wrong[y] + scores[y] for y in scores) - scores[tuple(Y[i])])
    square = np.sum(svm.coef_**2) + np.sum((svm.intercept_ / 2.0) ** 2) + np.sum(svm.edge_coef_**2)
    assert 0.05 / 2 * square + weight @ hinges / weight.sum() == pytest.approx(svm.result_.primal, rel=1e-9)
    assert svm.duality_gap_ <= 1e-3 * svm.result_.history["primal"][0]
    assert svm.coef_.shape == (4, 5)
    assert svm.edge_coef_.shape == (0 if tree is None else 3, 2, 2)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("tree", [None, "auto", CHAIN], ids=["independent", "auto", "pairs"])
def test_predictions_agree_with_decision_function_and_model(tags, tree, fit_intercept):
    X, Y = tags
    svm = MultilabelSVM(tree=tree, fit_intercept=fit_intercept).fit(X, Y)
    scores = svm.decision_function(X)
    predicted = svm.predict(X)
    assert np.array_equal(scores > 0, predicted)
    seen = with_constant(X, 1.0) if fit_intercept else X
    assert np.array_equal(predicted, svm.result_.model.predict(svm.result_.w, seen))
    if tree is None:
        assert np.array_equal(scores, X @ svm.coef_.T + svm.intercept_)
    assert svm.score(X, Y) == np.mean(np.all(predicted == Y, axis=1)) == accuracy_score(Y, predicted)
    assert svm.classes_.tolist() == [0, 1, 2, 3]
    twin = pickle.loads(pickle.dumps(svm))
    assert np.array_equal(twin.predict(X), predicted)
    assert not twin.result_.snapshot


def test_the_fit_is_that_of_train(tags):
    X, Y = tags
    svm = MultilabelSVM(tree="auto", fit_intercept=False, random_state=3).fit(X, Y)
    result = bcfw.train(bcfw.models.Multilabel(tree="auto"), X, Y, seed=3)
    assert np.array_equal(np.concatenate([svm.coef_.T.ravel(), svm.edge_coef_.ravel()]), result.w)
    assert np.array_equal(svm.edges_, chow_liu_tree(Y))


def test_data_of_any_form(tags):
    X, Y = tags
    expected = MultilabelSVM(tree="auto").fit(X, Y)
    for inputs in (sp.csr_array(X), sp.csc_matrix(X), np.asfortranarray(X), X.tolist()):
        assert np.allclose(MultilabelSVM(tree="auto").fit(inputs, Y).result_.w, expected.result_.w, rtol=1e-9)
    for labels in (sp.csr_array(Y), sp.csc_matrix(Y), Y.astype(bool), Y.astype(float), Y.tolist()):
        svm = MultilabelSVM(tree="auto").fit(X, labels)
        assert np.array_equal(svm.result_.w, expected.result_.w)
        assert svm.score(X, labels) == expected.score(X, Y)


def test_integer_weights_are_exactly_repetition(tags):
    X, Y = tags
    weight = np.random.default_rng(3).integers(0, 4, size=len(Y))
    order = np.random.default_rng(4).permutation(np.repeat(np.arange(len(Y)), weight))
    for convert in (np.asarray, sp.csr_array):
        weighted = MultilabelSVM(tree="auto").fit(convert(X), Y, weight)
        repeated = MultilabelSVM(tree="auto").fit(convert(X[order]), Y[order])
        assert np.array_equal(weighted.edges_, repeated.edges_)
        assert np.array_equal(weighted.result_.w, repeated.result_.w)


@pytest.mark.parametrize("tree", [None, "auto"])
def test_one_class_per_example_is_one_versus_rest(tree):
    rng = np.random.default_rng(5)
    words = np.array(["ant", "bee", "cow"])
    codes = rng.integers(3, size=80)
    X = np.eye(3)[codes] + 0.2 * rng.standard_normal((80, 3))
    svm = MultilabelSVM(tree=tree).fit(X, words[codes])
    assert svm.classes_.tolist() == words.tolist()
    assert np.array_equal(words[svm.decision_function(X).argmax(axis=1)], svm.predict(X))
    indicator = MultilabelSVM(tree=tree).fit(X, np.eye(3, dtype=int)[codes])
    assert np.array_equal(indicator.result_.w, svm.result_.w)
    assert svm.score(X, words[codes]) > 0.95
    two = codes < 2
    svm = MultilabelSVM(tree=tree).fit(X[two], words[codes[two]])
    scores = svm.decision_function(X)
    assert scores.shape == (80,)
    assert svm.coef_.shape == (1, 3)
    assert np.array_equal(words[(scores > 0).astype(int)], svm.predict(X))
    with pytest.warns(DataConversionWarning):
        column = MultilabelSVM(tree=tree).fit(X[two], words[codes[two]][:, None])
    assert np.array_equal(column.coef_, svm.coef_)
    single = MultilabelSVM(tree=tree).fit(X[two], sp.csr_array(codes[two][:, None]))
    assert np.array_equal(single.predict(X)[:, 0], scores > 0)


def test_warm_start_needs_the_same_labels_and_tree(tags):
    X, Y = tags
    svm = MultilabelSVM(tree=CHAIN, warm_start=True).fit(X, Y)
    assert svm.fit(X, Y).result_.n_passes == 0
    fresh = MultilabelSVM(tree=CHAIN).fit(X + 0.01, Y)
    warm = svm.fit(X + 0.01, Y)
    assert abs(warm.result_.primal - fresh.result_.primal) <= warm.duality_gap_ + fresh.duality_gap_
    assert warm.n_iter_ <= fresh.n_iter_
    other = [(0, 1), (0, 2), (0, 3)]
    changed = svm.set_params(tree=other).fit(X, Y)
    assert np.array_equal(changed.result_.w, clone(svm).fit(X, Y).result_.w)
    flipped = svm.fit(X, 1 - Y)
    assert np.array_equal(flipped.result_.w, clone(svm).fit(X, 1 - Y).result_.w)


@pytest.mark.parametrize("weight", [np.ones(1), np.array([1.0, 2.0]), np.array([0.0, 1.0])], ids=str)
def test_warm_starts_go_on_with_other_weights(tags, weight):
    X, Y = tags
    weights = np.resize(weight, len(Y))
    svm = MultilabelSVM(warm_start=True).fit(X, Y)
    warm, fresh = svm.fit(X, Y, weights), MultilabelSVM().fit(X, Y, weights)
    assert not np.array_equal(warm.coef_, fresh.coef_)  # a fit that starts afresh takes other steps
    assert abs(warm.result_.primal - fresh.result_.primal) <= max(warm.duality_gap_, fresh.duality_gap_)


def test_grid_search(tags):
    X, Y = tags
    search = GridSearchCV(MultilabelSVM(tol=0.01), {"lam": [10.0, 0.01], "tree": [None, "auto"]}, cv=3).fit(X, Y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.best_params_["lam"] == 0.01


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tree": "chain"}, "tree must be None, 'auto' or"),
        ({"tree": [(0, 4)]}, r"edge 0 of tree is \(0, 4\)"),
        ({"tree": [(0, 1), (1, 2), (0, 2)]}, "closes a cycle"),
        ({"C": -1.0}, "C must be"),
        ({"intercept_scaling": 0.0}, "MultilabelSVM: intercept_scaling must be"),
        ({"fit_intercept": "no"}, "MultilabelSVM: fit_intercept must be True or False, got 'no'"),
        ({"normalize": "False"}, "Multilabel: normalize must be True or False, got 'False'"),
    ],
    ids=str,
)
def test_bad_options(tags, options, message):
    with pytest.raises(OptionError, match=message):
        MultilabelSVM(**options).fit(*tags)


def test_bad_data(tags):
    X, Y = tags
    bad, two = X.copy(), Y.copy()
    bad[4, 2] = np.nan
    two[7, 3] = 2
    svm = MultilabelSVM().fit(X, Y)
    for call in (lambda: MultilabelSVM().fit(bad, Y), lambda: svm.predict(bad), lambda: svm.decision_function(bad)):
        with pytest.raises(InputError, match="MultilabelSVM: example 4 has a NaN or an infinity in feature 2"):
            call()
    for labels in (two, sp.csr_array(two)):
        with pytest.raises(InputError, match="MultilabelSVM: example 7 has 2 at label 3; labels must be 0 or 1"):
            MultilabelSVM().fit(X, labels)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MultilabelSVM().fit(X, Y[:-1])
    with pytest.raises(ValueError, match="4 features, but MultilabelSVM is expecting 5"):
        svm.predict(X[:, :4])
    with pytest.raises(InputError, match="at least 2 classes"):
        MultilabelSVM().fit(X, np.zeros(90, int))


def test_one_sparse_label_is_scored():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    Y = sp.csr_array((X[:, :1] > 0).astype(int))
    svm = MultilabelSVM().fit(X, Y)
    assert svm.score(X, Y) == np.mean(svm.predict(X) == Y.toarray()) > 0.9


def test_warm_start_tells_labels_from_classes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    Y = rng.integers(2, size=(20, 2))
    svm = MultilabelSVM(warm_start=True).fit(X, Y)
    twice = np.vstack([X, X])
    again = svm.fit(twice, Y.ravel())
    assert np.array_equal(again.coef_, MultilabelSVM(warm_start=True).fit(twice, Y.ravel()).coef_)
