"""Oracles, features and losses of every model against enumeration and naive formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import bcfw
from bcfw.models import chain
from problems import BUILDERS, CASES, chain_case, dense, multiclass_case

# Values of a few units summed over a few parts: rounding stays far below this.
ROUNDING = 1e-11


def test_every_model_of_the_registry_has_cases():
    missing = set(bcfw.models.MODELS) - set(BUILDERS)
    assert not missing, f"write a builder of cases in tests/problems.py for {sorted(missing)}"
    covered = {type(case.model) for case in CASES.values()}
    assert set(bcfw.models.MODELS.values()) <= covered


def check_oracle(case, w):
    """The oracle's output has the largest value of all labelings, with and without the loss."""
    model = case.model.bind(case.X, case.y)
    assert len(w) == model.dim
    for x, y_true in case.examples():
        labelings = case.outputs(x, y_true)
        plain = np.array([w @ case.phi(x, y) for y in labelings])
        augmented = plain + np.array([case.delta(y_true, y) for y in labelings])
        answer = model.oracle(w, x, y_true)
        assert w @ case.phi(x, answer) + case.delta(y_true, answer) == pytest.approx(augmented.max(), abs=ROUNDING)
        assert w @ case.phi(x, model.oracle(w, x)) == pytest.approx(plain.max(), abs=ROUNDING)


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 10.0])
def test_oracle_is_a_maximum_over_all_labelings(case, scale):
    check_oracle(case, case.clip(scale * np.random.default_rng(1).standard_normal(case.dim)))


def test_oracle_breaks_ties_correctly(case):
    """Weights -1, 0 and 1 give many equal values; any of the maximal outputs is right."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        check_oracle(case, case.clip(rng.integers(-1, 2, size=case.dim).astype(float)))


def test_features_and_losses_agree_with_naive_formulas(case):
    model = case.model.bind(case.X, case.y)
    for x, y_true in case.examples():
        for y in [*case.outputs(x, y_true), y_true]:
            np.testing.assert_allclose(dense(model.features(x, y)).ravel(), case.phi(x, y), rtol=0, atol=1e-13)
            assert model.loss(y_true, y) == pytest.approx(case.delta(y_true, y), abs=1e-13)
        assert model.loss(y_true, y_true) == 0.0


def test_predict_is_the_plain_oracle_on_every_input(case):
    model = case.model.bind(case.X, case.y)
    w = case.clip(np.random.default_rng(3).standard_normal(model.dim))
    outputs = model.predict(w, case.X)
    assert len(outputs) == len(case.y)
    for output, (x, _) in zip(outputs, case.examples(), strict=True):
        np.testing.assert_array_equal(output, model.oracle(w, x))


def test_binding_sets_the_sizes_of_a_copy(case):
    bound = case.model.bind(case.X, case.y)
    assert bound is not case.model
    assert bound.dim == case.dim


@pytest.mark.parametrize(("end_bias", "dim"), [(True, 3 * 4 + 2 * 4 + 4 * 4), (False, 3 * 4 + 4 * 4)])
def test_chain_dim_and_labels_come_from_the_data(end_bias, dim):
    X, y = [np.ones((2, 3)), np.ones((1, 3))], [[0, 3], [1]]
    bound = bcfw.models.Chain(end_bias=end_bias).bind(X, y)
    assert (bound.n_labels, bound.dim) == (4, dim)


def test_chain_layout_of_w():
    """Each group of weights alone decides the labels it is documented to decide."""
    F, K, x = 2, 3, np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    model = bcfw.models.Chain(n_labels=K).bind([x], [[0, 0, 0]])
    w = np.zeros(model.dim)
    U, first = w[: F * K].reshape(F, K), w[F * K : F * K + K]
    last, trans = w[F * K + K : F * K + 2 * K], w[F * K + 2 * K :].reshape(K, K)
    U[0, 1], U[1, 2] = 1.0, 1.0
    np.testing.assert_array_equal(model.oracle(w, x), [1, 2, 1])
    w[:] = 0.0
    first[2], last[1] = 1.0, 1.0
    answer = model.oracle(w, x)
    assert (answer[0], answer[-1]) == (2, 1)
    w[:] = 0.0
    trans[0, 2], trans[2, 1] = 1.0, 1.0
    np.testing.assert_array_equal(model.oracle(w, x), [0, 2, 1])


def test_multiclass_layout_of_w():
    model = bcfw.models.Multiclass(n_labels=3).bind(np.eye(2), [0, 1])
    W = np.array([[0.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    np.testing.assert_array_equal(model.predict(W.ravel(), np.eye(2)), [2, 1])


# --- random sizes, costs and weights -----------------------------------------------------------------------------

#: Small whole numbers, so that ties are frequent and sums exact.
WHOLE = st.integers(-2, 2).map(float)


@st.composite
def costs(draw, K):
    if draw(st.booleans()):
        return None
    cost = np.array(draw(st.lists(st.integers(0, 3), min_size=K * K, max_size=K * K)), float).reshape(K, K)
    np.fill_diagonal(cost, 0.0)
    return cost


def arrays(shape, elements=WHOLE):
    size = int(np.prod(shape))
    return st.lists(elements, min_size=size, max_size=size).map(lambda values: np.array(values, float).reshape(shape))


@st.composite
def chain_cases(draw):
    T = draw(st.integers(1, 5))
    K = draw(st.integers(1, {1: 9, 2: 9, 3: 7, 4: 5, 5: 4}[T]))
    F = draw(st.integers(1, 6))
    x = draw(arrays((T, F)))
    y = np.array(draw(st.lists(st.integers(0, K - 1), min_size=T, max_size=T)))
    x = sp.csr_matrix(x) if draw(st.booleans()) else x
    case = chain_case("drawn", [x], [y], F, K, draw(costs(K)), draw(st.booleans()), draw(st.booleans()))
    return case, draw(arrays(case.phi(x, y).size))


@given(chain_cases())
def test_chain_oracle_on_drawn_problems(drawn):
    check_oracle(*drawn)


@st.composite
def multiclass_cases(draw):
    K, F, n = draw(st.integers(1, 9)), draw(st.integers(1, 9)), draw(st.integers(1, 3))
    X = draw(arrays((n, F)))
    y = np.array(draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)))
    cost = draw(costs(K))
    model = bcfw.models.Multiclass(n_labels=K, cost=cost)
    X = sp.csr_array(X) if draw(st.booleans()) else X
    case = multiclass_case("drawn", model, X, y, F, K, 1.0 - np.eye(K) if cost is None else cost)
    return case, draw(arrays(F * K))


@given(multiclass_cases())
def test_multiclass_oracle_on_drawn_problems(drawn):
    check_oracle(*drawn)


# --- the same result in another form -----------------------------------------------------------------------------


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


def long_sequences():
    rng = np.random.default_rng(4)
    K, F, lengths = 3, 4, (chain.LONGEST_GRAM, chain.LONGEST_GRAM + 2, 3, 2 * chain.LONGEST_GRAM)
    y = [rng.integers(K, size=T) for T in lengths]
    X = [np.eye(K, F)[labels] * 0.5 + rng.standard_normal((len(labels), F)) for labels in y]
    return X, y


@pytest.mark.parametrize("limit", [0, 10_000])
def test_long_sequences_train_the_same_with_and_without_gram_matrices(monkeypatch, limit):
    X, y = long_sequences()
    with pytest.warns(bcfw.ConvergenceWarning):
        mixed = bcfw.train(bcfw.models.Chain(), X, y, lam=0.1, tol=0.0, max_passes=5)
    monkeypatch.setattr(chain, "LONGEST_GRAM", limit)
    with pytest.warns(bcfw.ConvergenceWarning):
        other = bcfw.train(bcfw.models.Chain(), X, y, lam=0.1, tol=0.0, max_passes=5)
    np.testing.assert_allclose(other.w, mixed.w, rtol=0, atol=1e-10 * np.abs(mixed.w).max())
    assert other.dual == pytest.approx(mixed.dual, rel=1e-10)


def test_norms_by_scratch_train_as_the_naive_method(monkeypatch):
    """With no Gram matrix at all the enumerated problems must still be solved."""
    monkeypatch.setattr(chain, "LONGEST_GRAM", 0)
    for name in ("chain-cost", "chain-wide"):
        result = CASES[name].train(tol=1e-2)
        optimum = CASES[name].enumerated().optimum
        assert abs(result.primal - optimum.primal) <= result.gap + 1e-9


@pytest.mark.parametrize("K", [1, 2])
def test_one_label_and_single_positions(K):
    X, y = [np.ones((1, 2)), -np.ones((1, 2))], [[0], [K - 1]]
    result = bcfw.train(bcfw.models.Chain(n_labels=K), X, y, lam=0.01)
    assert [labels.tolist() for labels in result.predict(X)] == [[0], [K - 1]]
    assert result.status == "converged"
