"""Sequences: one stacked matrix and offsets in the place of a list."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.utils import _safe_indexing

import bcfw
from bcfw import Sequences
from bcfw.errors import InputError


def random_sequences(seed=0, n=12, n_features=4):
    rng = np.random.default_rng(seed)
    X = [rng.integers(3, size=(T, n_features)).astype(float) for T in rng.integers(1, 6, size=n)]
    y = [rng.integers(3, size=len(x)) for x in X]
    return X, y


def same(a, b):
    dense = [x.toarray() if sp.issparse(x) else x for x in (a, b)]
    return dense[0].shape == dense[1].shape and np.array_equal(*dense)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_matrix, lambda x: x.astype(np.float32)])
def test_they_behave_like_the_list(form):
    X, _ = random_sequences()
    together = Sequences.from_list([form(x) for x in X])
    n = len(X)
    assert len(together) == n
    assert together.shape == (n,)
    assert together.lengths.tolist() == [len(x) for x in X]
    assert all(map(same, together, X))
    assert same(together[-1], X[-1])
    assert same(together[np.int64(3)], X[3])
    some = np.array([4, 0, 4, 2])
    mask = np.arange(n) % 3 == 0
    for key in (slice(2, 7), slice(None), slice(7, 2), slice(None, None, -2), some, some.tolist(), mask, mask.tolist()):
        chosen = np.arange(n)[key].tolist()
        for got in (together[key], _safe_indexing(together, key)):
            assert isinstance(got, Sequences)
            assert len(got) == len(chosen)
            assert all(same(a, X[i]) for a, i in zip(got, chosen, strict=True))
            assert got.rows.dtype == together.rows.dtype
    again = pickle.loads(pickle.dumps(together))
    assert all(map(same, again, together))
    with pytest.raises(IndexError):
        together[n]
    with pytest.raises(AttributeError):
        together.rows = None
    with pytest.raises(ValueError, match="read-only"):
        together.offsets[0] = 1


def test_rows_are_not_copied():
    rows = np.zeros((6, 2), np.float32)
    assert Sequences(rows, [0, 2, 6]).rows is rows
    assert np.shares_memory(Sequences(rows, [0, 2, 6])[1:].rows, rows)
    assert np.shares_memory(Sequences(rows, [0, 2, 6])[0], rows)


@pytest.mark.parametrize(
    ("rows", "offsets", "message"),
    [
        (np.eye(3), [0, 2], "offsets go from 0 to 2; they must go from 0 to 3 rows"),
        (np.eye(3), [1, 3], "offsets go from 1 to 3"),
        (np.eye(3), [0, 2, 1, 3], "offsets fall from 2 to 1 at sequence 1"),
        (np.eye(3), [0.0, 3.0], "offsets must be n \\+ 1 whole numbers"),
        (np.eye(3), [], "offsets must be n \\+ 1 whole numbers"),
        (np.eye(3), 3, "offsets must be n \\+ 1 whole numbers"),
        (np.zeros((2, 2, 2)), [0, 2], r"rows must be an \(N, F\) matrix or \(N,\) labels, got shape \(2, 2, 2\)"),
    ],
)
def test_wrong_pairs(rows, offsets, message):
    with pytest.raises(InputError, match=message):
        Sequences(rows, offsets)


def test_wrong_lists():
    with pytest.raises(InputError, match="sequence 1 has shape"):
        Sequences.from_list([np.zeros((2, 3)), np.zeros((2, 4))])
    with pytest.raises(InputError, match="the list is empty"):
        Sequences.from_list([])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_training_on_them_is_training_on_the_list(form):
    X, y = random_sequences(1)
    together, labels = Sequences.from_list([form(x) for x in X]), Sequences.from_list(y)
    expected = bcfw.train(bcfw.models.Chain(), [form(x) for x in X], y, lam=0.1)
    for data in ((together, labels), (together, y), (X, labels)):
        found = bcfw.train(bcfw.models.Chain(), *data, lam=0.1)
        np.testing.assert_array_equal(found.w, expected.w)
        assert all(map(same, found.predict(together), expected.predict(X)))


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_estimator_takes_them(fit_intercept):
    X, y = random_sequences(2)
    words = [np.array(["ant", "bee", "cow"])[one] for one in y]
    together, labels = Sequences.from_list(X), Sequences.from_list(words)
    svm = bcfw.ChainSVM(fit_intercept=fit_intercept, lam=0.1).fit(X, words)
    twin = bcfw.ChainSVM(fit_intercept=fit_intercept, lam=0.1, warm_start=True).fit(together, labels)
    np.testing.assert_array_equal(svm.result_.w, twin.result_.w)
    assert all(map(same, svm.predict(X), twin.predict(together)))
    assert all(map(same, svm.decision_function(X), twin.decision_function(together)))
    assert svm.score(X, words) == twin.score(together, labels)
    assert twin.fit(X, words).result_.n_passes == 0  # the same data in another form: nothing is left to do
    with pytest.raises(InputError, match="X has 3 features, expected 4"):
        twin.predict(Sequences(together.rows[:, :3], together.offsets))


def test_searches_split_them():
    X, y = random_sequences(3)
    together, labels = Sequences.from_list(X), Sequences.from_list(y)
    grid, cv = {"lam": [0.01, 1.0]}, KFold(3)
    searches = [GridSearchCV(bcfw.ChainSVM(tol=0.05), grid, cv=cv).fit(*data) for data in ((X, y), (together, labels))]
    np.testing.assert_array_equal(*(search.cv_results_["mean_test_score"] for search in searches))
    chosen = [bcfw.ChainSVMCV(cv=3, eps=0.3).fit(*data).lam_ for data in ((X, y), (together, labels))]
    assert chosen[0] == chosen[1]


def test_wrong_labels_of_the_model():
    X, y = random_sequences(4)
    together = Sequences.from_list(X)
    ends = together.offsets.copy()
    ends[1] += 1 if together.lengths[1] > 1 else -1
    for labels, message in (
        (Sequences(np.concatenate(y), ends), f"example 0 has {len(X[0])} positions and {ends[1]} labels"),
        (Sequences.from_list(y)[:-1], "X has 12 examples and y has 11"),
        (Sequences(np.concatenate(y) - 1, together.offsets), "labels must be whole numbers"),
        (Sequences(np.full(len(together.rows), "a"), together.offsets), "labels must be whole numbers"),
        (together, "one label per position"),
    ):
        with pytest.raises(InputError, match=message):
            bcfw.train(bcfw.models.Chain(), together, labels, lam=0.1)
