"""Features of float32 stay float32 where they are packed, and train as the same numbers in float64."""

from __future__ import annotations

import dataclasses
import tracemalloc

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import bcfw
from bcfw.dual import open_problem
from bcfw.inputs import feature_matrices
from bcfw.inputs.rows import matrix_of, matrix_rows
from bcfw.inputs.sequences import Sequences
from bcfw.models import Chain, Multiclass, Multilabel
from bcfw.solvers import BlockSolves, KernelBCFW, MultiPlane
from problems import CASES
from small_data import read_only

#: Models whose features are rows, or nodes of graphs.
WITH_ROWS = [
    name
    for name, case in CASES.items()
    if isinstance(case.model, Multiclass | Chain | Multilabel | bcfw.models.BinaryGraph | bcfw.models.PottsGraph)
    or type(case.model).__name__ in ("PairwiseGraph", "Tree")
]

#: The last place of sums of some ten numbers; compiled loops may add them in another order.
ROUNDING = {"rtol": 1e-12, "atol": 1e-13}


def converted(X, packed):
    """X with its features, or the nodes of its graphs, in another type."""
    if isinstance(X, tuple):
        return (X[0].astype(packed), *X[1:])
    return [converted(x, packed) for x in X] if isinstance(X, list) else X.astype(packed)


def in_both_types(case):
    """The case with features that float32 holds exactly, as float32 and as float64."""
    small = converted(case.X, np.float32)
    return [dataclasses.replace(case, X=X) for X in (small, converted(small, np.float64))]


@pytest.mark.parametrize("name", WITH_ROWS)
def test_float32_trains_as_its_copy_in_float64(name):
    small, large = in_both_types(CASES[name])
    got, expected = (case.few_passes(4, solver="bcfw") for case in (small, large))
    for array in ("w", "primal", "dual", "gap"):
        np.testing.assert_allclose(getattr(got, array), getattr(expected, array), **ROUNDING)
    for X in (small.X, large.X):
        for a, b in zip(got.predict(X), expected.predict(large.X), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        ("multiclass-cost", BlockSolves()),
        ("multiclass-cost", BlockSolves(acceleration="features")),
        ("chain-cost", MultiPlane(clock="count", acceleration="features")),
        ("chain-cost", "auto"),
    ],
    ids=str,
)
def test_solvers_that_read_features(name, solver):
    got, expected = (case.few_passes(6, solver=solver) for case in in_both_types(CASES[name]))
    np.testing.assert_allclose(got.w, expected.w, **ROUNDING)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("name", ["multiclass-cost", "chain-cost"])
def test_kernel_values_are_computed_in_float64(name, kernel):
    small, large = in_both_types(CASES[name])
    got, expected = (case.few_passes(4, solver=KernelBCFW(kernel=kernel)) for case in (small, large))
    assert got.kernel_weights.inputs.dtype == np.float64
    np.testing.assert_allclose(got.kernel_weights.coefficients, expected.kernel_weights.coefficients, **ROUNDING)
    np.testing.assert_allclose(got.kernel_weights.scores(small.X), expected.kernel_weights.scores(large.X), **ROUNDING)


def packed(model, X, y):
    return open_problem(model, X, y, 0.1).data


def some_features(zeros=0.0, n=60, F=7):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, F), dtype=np.float32) * (rng.random((n, F)) >= zeros)
    return X.astype(np.float32), rng.integers(3, size=n)


def test_a_dense_matrix_is_not_copied():
    X, y = some_features()
    ends = np.arange(0, 61, 6)
    for packed_type in (np.float32, np.float64):
        given = X.astype(packed_type)
        for data in (packed(Multiclass(), given, y), packed(Chain(), Sequences(given, ends), Sequences(y, ends))):
            assert data.values.dtype == packed_type
            assert np.shares_memory(data.values, given)
            assert len(data.indices) == 7


@pytest.mark.parametrize("zeros", [0.0, 0.05, 0.5])
def test_read_only_and_strided_input_keeps_its_type_and_its_numbers(zeros):
    X, y = some_features(zeros)
    expected = bcfw.train(Multiclass(), X.astype(np.float64), y, lam=0.1)
    for form in (read_only, np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2], list, sp.csr_array):
        given = form(X)
        assert packed(Multiclass(), given, y).values.dtype == np.float32
        np.testing.assert_allclose(bcfw.train(Multiclass(), given, y, lam=0.1).w, expected.w, **ROUNDING)


def test_compiled_code_comes_in_two_forms():
    """Whatever the layout and the type of X, the record has one of two types."""
    X, y = some_features()
    Y = np.eye(3, dtype=int)[y]
    ends = np.arange(0, 61, 6)
    whole = np.round(4 * X)
    types = [np.float64, np.float32, np.float16, np.int64, np.int8, bool, ">f4", ">f8"]
    forms = [np.asarray, sp.csr_array, read_only, np.asfortranarray]
    given = [matrix.astype(one) for matrix in (whole, whole * (X > 0)) for one in types]
    given += [sp.csr_array(X.astype(one)) for one in (np.float64, np.float32, np.int8)] + [form(X) for form in forms]
    for model, labels in ((Multiclass(), y), (Multilabel(), Y)):
        assert len({numba.typeof(tuple(packed(model, x, labels))) for x in given}) == 2
    chains = [Sequences(x, ends) for x in given] + [list(Sequences(x, ends)) for x in given]
    assert len({numba.typeof(tuple(packed(Chain(), x, Sequences(y, ends)))) for x in chains}) == 2
    small = {packed(Multiclass(), X.astype(one), y).values.dtype for one in (np.float16, np.float32, ">f4")}
    assert small == {np.dtype(np.float32)}


def test_infinite_and_missing_numbers_are_found():
    X, y = some_features()
    for bad in (np.inf, -np.inf, np.nan):
        X[4, 2] = bad
        with pytest.raises(bcfw.InputError, match="Multiclass: example 4 has a NaN or an infinity in feature 2"):
            bcfw.train(Multiclass(), X, y)
        with pytest.raises(bcfw.InputError, match="Chain: example 1: position 1 has a NaN or an infinity in feature 2"):
            bcfw.train(Chain(), [X[:3], X[3:]], [y[:3], y[3:]])


def test_squares_beyond_float32_are_no_problem():
    X, y = some_features()
    X *= np.float32(1e25)
    got, expected = (bcfw.train(Multiclass(), x, y, lam=1e45, tol=0.01) for x in (X, X.astype(np.float64)))
    assert got.gap == expected.gap
    np.testing.assert_allclose(got.w, expected.w, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        ("chain-cost", "bcfw"),
        ("chain-cost", MultiPlane(clock="count")),
        ("multiclass-cost", "auto"),
        ("graph-cost", "bcfw"),
    ],
    ids=str,
)
def test_a_checkpoint_of_one_type_continues_with_the_other(tmp_path, name, solver):
    small, large = in_both_types(CASES[name])
    for first, second in ((small, large), (large, small)):
        path = tmp_path / "state.npz"
        before = first.few_passes(3, solver=solver, checkpoint=path)
        one, other = (open_problem(case.model, case.X, case.y, case.lam) for case in (first, second))
        assert one.identity == other.identity == str(np.load(path)["data"])
        after = second.few_passes(3, solver=solver, warm_start=path)
        assert after.dual >= before.dual - 1e-12
        again = first.few_passes(3, solver=solver, warm_start=path)
        np.testing.assert_allclose(after.w, again.w, **ROUNDING)


@pytest.mark.parametrize("zeros", [0.0, 0.05, 0.5])
def test_equal_features_are_the_same_data_in_all_types_and_layouts(zeros):
    X, y = some_features(zeros)
    X[5] = 0.0
    explicit = sp.csr_array(np.ones_like(X))
    explicit.data = X.ravel()
    forms = [X, X.astype(np.float64), sp.csr_array(X), sp.csr_array(X.astype(np.float64)), explicit]
    assert len({open_problem(Multiclass(), form, y, 0.1).identity for form in forms}) == 1
    other = X.copy()
    other[5, 1] = 1e-30
    moved = X[[1, 0, *range(2, 60)]]
    for changed in (other, moved, -X):
        assert open_problem(Multiclass(), changed, y, 0.1).identity != open_problem(Multiclass(), X, y, 0.1).identity


@pytest.mark.parametrize("zeros", [0.0, 0.05, 0.5, 0.95])
def test_what_is_computed_from_rows(zeros):
    X, y = some_features(zeros)
    X[7] = 0.0
    exact = X.astype(np.float64)
    for form in (X, exact, sp.csr_array(X)):
        np.testing.assert_array_equal(dense(matrix_of(matrix_rows(form, "X"))), exact)
        np.testing.assert_array_equal(dense(matrix_of(matrix_rows(form, "X").spread())), exact)
        np.testing.assert_array_equal(dense(matrix_of(matrix_rows(form, "X").take([8, 3]))), exact[[8, 3]])
        problem = open_problem(Multiclass(), form, y, 0.1)
        model, data = problem.adapter.model, problem.data
        np.testing.assert_allclose(data.sqnorms, np.sum(exact**2, axis=1), rtol=1e-15)
        assert model.mean_sqnorm(data) == pytest.approx(np.sum(exact**2) / 60, rel=1e-15)
        counts = np.maximum(np.count_nonzero(exact, axis=0), 1)
        sizes = np.sqrt(np.sum(exact**2, axis=0) / counts)
        np.testing.assert_allclose(model.feature_sizes(data), np.repeat(np.where(sizes > 0, sizes, 1.0), 3), rtol=1e-14)
        units = np.repeat(np.linspace(1, 3, 7), 3)
        np.testing.assert_array_equal(dense(matrix_of(model.rescaled(data, units))), exact / units[::3])


def dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


def test_decision_functions():
    X, y = some_features()
    exact = X.astype(np.float64)
    svm, same = (bcfw.MulticlassSVM(tol=0.01).fit(form, y) for form in (X, exact))
    np.testing.assert_allclose(svm.coef_, same.coef_, rtol=1e-9)
    assert svm.decision_function(X).dtype == np.float64
    np.testing.assert_allclose(svm.decision_function(X), svm.decision_function(exact), **ROUNDING)
    ends = np.arange(0, 61, 6)
    X, exact, y = (Sequences(rows, ends) for rows in (X, exact, y))
    chain, same = (bcfw.ChainSVM(lam=1.0, tol=0.1, fit_intercept=True).fit(form, y) for form in (X, exact))
    np.testing.assert_allclose(chain.coef_, same.coef_, rtol=1e-9)
    for a, b in zip(chain.decision_function(X), chain.decision_function(exact), strict=True):
        np.testing.assert_allclose(a, b, **ROUNDING)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_scores_take_no_copy_in_float64(monkeypatch, form):
    monkeypatch.setattr(feature_matrices, "AT_ONCE", 2**14)
    X = form(np.random.default_rng(0).random((2**16, 2**6), dtype=np.float32))
    svm = bcfw.MulticlassSVM(tol=0.5).fit(X[:200], np.arange(200) % 3)
    tracemalloc.start()
    svm.decision_function(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * X.shape[0] * X.shape[1]


def test_products_of_positions_without_features():
    """A row of CSR that is empty begins where the next one does."""
    x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [3.0, 5.0]])
    for form in (x, sp.csr_array(x), x.astype(np.float32)):
        gram = packed(Chain(n_labels=2, end_bias=False), [form], [[0, 1, 0, 1]]).gram
        np.testing.assert_array_equal(gram, (x @ x.T)[np.tril_indices(4)])
