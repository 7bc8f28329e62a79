"""Unusual forms of good data: types, layouts, sparse matrices and tables train the same."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

import bcfw
from bcfw.inputs.feature_matrices import with_constant
from bcfw.models import Chain, Multiclass
from problems import CASES
from small_data import read_only, strided

FORMS = {
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "int64": lambda x: x.astype(np.int64),
    "int8": lambda x: x.astype(np.int8),
    "fortran": np.asfortranarray,
    "read-only": read_only,
    "strided": strided,
    "big-endian": lambda x: x.astype(">f8"),
    "lists": lambda x: x.astype(int).tolist(),
    "objects": lambda x: x.astype(object),
}


def convert(X, form):
    """Apply ``form`` to every array in a nested list, or to the values of a sparse matrix.

    Edges of graphs and scales of poses stay.
    """
    if isinstance(X, tuple):
        if len(X) == 2:  # score maps of a pose, with its scale
            return form(X[0]), X[1]
        nodes, edges, values = X
        return convert(nodes, form), edges, convert(values, form)
    if isinstance(X, list):
        return [convert(x, form) for x in X]
    return form(X)


BUILT_IN = [name for name, case in CASES.items() if type(case.model) in bcfw.models.MODELS.values()]

DENSE = [name for name in BUILT_IN if "csr" not in name]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("name", DENSE)
def test_inputs_of_any_form_train_the_same(name, form):
    case = CASES[name]
    whole = dataclasses.replace(case, X=convert(case.X, lambda x: np.round(2.0 * np.maximum(x, -20.0))))
    expected = whole.few_passes(2, solver="bcfw")
    got = dataclasses.replace(whole, X=convert(whole.X, form)).few_passes(2, solver="bcfw")
    np.testing.assert_array_equal(got.w, expected.w)
    for a, b in zip(got.predict(convert(whole.X, form)), expected.predict(whole.X), strict=True):
        np.testing.assert_array_equal(a, b)


LABEL_FORMS = {
    "int32": lambda y: np.array(y, np.int32),
    "one byte": lambda y: np.array(y, np.int8 if np.min(y) < 0 else np.uint8),
    "float": lambda y: np.array(y, float),
    "list": lambda y: np.asarray(y).tolist(),
    "read-only": lambda y: read_only(np.array(y)),
    "strided": lambda y: strided(np.array(y)),
}


@pytest.mark.parametrize("form", LABEL_FORMS.values(), ids=LABEL_FORMS.keys())
@pytest.mark.parametrize("name", DENSE)
def test_labels_of_any_form_train_the_same(name, form):
    case = CASES[name]
    y = convert(case.y, form)
    np.testing.assert_array_equal(
        dataclasses.replace(case, y=y).few_passes(2, solver="bcfw").w, case.few_passes(2, solver="bcfw").w
    )


def change_csr(x, data=np.float64, index=np.int32, writeable=True):
    csr = sp.csr_matrix(x, copy=True)
    csr.data, csr.indices, csr.indptr = csr.data.astype(data), csr.indices.astype(index), csr.indptr.astype(index)
    for part in (csr.data, csr.indices, csr.indptr):
        part.flags.writeable = writeable
    return csr


@pytest.mark.parametrize(
    "options", [{"data": np.float32}, {"data": np.int64}, {"index": np.int64}, {"writeable": False}], ids=str
)
@pytest.mark.parametrize("name", ["multiclass-csr", "chain-no-ends-sum-csr", "multilabel-forest-sum-csr"])
def test_sparse_inputs_of_any_type_train_the_same(name, options):
    case = CASES[name]
    whole = dataclasses.replace(case, X=convert(case.X, lambda x: np.round(2.0 * x)))
    got = dataclasses.replace(whole, X=convert(whole.X, lambda x: change_csr(x, **options)))
    np.testing.assert_array_equal(got.few_passes(2, solver="bcfw").w, whole.few_passes(2, solver="bcfw").w)


def to_sparse(X, form):
    return [form(x) for x in X] if isinstance(X, list) else form(X)


def shuffled_csr(x):
    """CSR with unsorted columns and every entry split in two."""
    coo = sp.coo_matrix(x)
    order = np.random.default_rng(0).permutation(np.tile(np.arange(coo.nnz), 2))
    csr = sp.csr_matrix(np.zeros(coo.shape))
    row = coo.row[order]
    place = np.argsort(row, kind="stable")
    csr.indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=coo.shape[0]))]).astype(np.int32)
    csr.indices, csr.data = coo.col[order][place], coo.data[order][place] / 2.0
    return csr


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array, shuffled_csr])
@pytest.mark.parametrize("name", ["multiclass-cost", "chain-cost", "multilabel-tree"])
def test_sparse_input_trains_as_dense_input(name, form):
    case = CASES[name]
    expected = case.few_passes(3)
    with pytest.warns(bcfw.ConvergenceWarning):
        got = bcfw.train(case.model, to_sparse(case.X, form), case.y, lam=case.lam, tol=0.0, max_passes=3)
    np.testing.assert_allclose(got.w, expected.w, rtol=0, atol=1e-13)
    for a, b in zip(got.predict(to_sparse(case.X, form)), expected.predict(case.X), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["multiclass-csr", "potts-two-csr"])
def test_room_behind_the_entries_of_a_sparse_matrix_is_not_read(name):
    def with_room(x):
        csr = sp.csr_array(x)
        room = np.full(3, np.nan)
        return sp.csr_array((np.append(csr.data, room), np.append(csr.indices, [1, 1, 1]), csr.indptr), shape=csr.shape)

    case = CASES[name]
    X = [(with_room(x[0]), *x[1:]) for x in case.X] if isinstance(case.X, list) else with_room(case.X)
    got = dataclasses.replace(case, X=X).few_passes(2, solver="bcfw")
    np.testing.assert_array_equal(got.w, case.few_passes(2, solver="bcfw").w)


def test_sequences_may_come_as_one_array():
    X, y = np.ones((3, 2, 2)), np.array([[0, 1], [1, 1], [0, 0]])
    expected = bcfw.train(Chain(), list(X), list(y), lam=1.0, tol=0.1)
    np.testing.assert_array_equal(bcfw.train(Chain(), X, y, lam=1.0, tol=0.1).w, expected.w)


def test_weights_of_any_form_decode_the_same():
    case = CASES["chain-cost"]
    model = case.model.bind(case.X, case.y)
    w = np.round(np.random.default_rng(0).standard_normal(model.dim) * 4)
    expected = model.predict(w, case.X)
    for form in (read_only, strided, np.float32, np.int64, list):
        for a, b in zip(model.predict(form(w), case.X), expected, strict=True):
            np.testing.assert_array_equal(a, b)


class Table:
    """Looks rows up by their names, as a pandas object whose rows were shuffled does."""

    def __init__(self, values, names):
        self.values, self.names = np.asarray(values), list(names)
        self.iloc = self.values
        self.shape = self.values.shape

    def __len__(self):
        return len(self.values)

    def __getitem__(self, name):
        return self.values[self.names.index(name)]

    def to_numpy(self):
        return self.values


@pytest.mark.usefixtures("steady_stopwatch")
def test_tables_are_read_by_position():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    y = (X[:, 0] > 0).astype(int)
    names = rng.permutation(20)
    tables = Table(X, names), Table(y, names)

    class Pick(bcfw.Model):
        def features(self, x, y):
            return np.concatenate([x * (y == 0), x * (y == 1)])

        def loss(self, y_true, y):
            return float(y != y_true)

        def oracle(self, w, x, y_true=None):
            return max((0, 1), key=lambda y: w @ self.features(x, y) + (y_true is not None and y != y_true))

    assert bcfw.check_model(Pick(), *tables) == []
    for model in (Pick(), Multiclass()):
        expected = bcfw.StructuralSVM(model).fit(X, y)
        svm = bcfw.StructuralSVM(model).fit(*tables)
        assert np.array_equal(svm.coef_, expected.coef_)
        assert svm.score(*tables) == expected.score(X, y) > 0.9
        assert np.array_equal(svm.decision_function(tables[0]), expected.decision_function(X))
        assert np.array_equal(bcfw.train(model, *tables).predict(tables[0]), bcfw.train(model, X, y).predict(X))


def test_with_constant():
    X = np.array([[0, 1], [0, 0], [2, 3]])
    for form in (X, sp.csr_array(X), sp.csc_matrix(X)):
        joined = with_constant(form, 0.5)
        assert sp.issparse(joined) == sp.issparse(form)
        dense = joined.toarray() if sp.issparse(joined) else joined
        assert np.array_equal(dense, np.column_stack([X, [0.5] * 3]))
