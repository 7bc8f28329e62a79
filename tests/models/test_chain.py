"""Chain: the layout of w, the oracle on drawn problems, long sequences, single positions, lists of parts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import bcfw
from bcfw.dual import open_problem
from bcfw.models.chain import chain
from bcfw.passes.contract import (
    Data,
    Work,
    add_average,
    add_labeling,
    apply,
    argmax,
    direction_from_average,
    end_direction,
    scores,
    slope,
    sqnorm,
    start_direction,
)
from bcfw.passes.order import in_order
from bcfw.passes.records import State
from oracle_checks import arrays, check_oracle, costs
from problems import CASES, chain_case


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


def test_the_hamming_loss_needs_no_matrix_and_trains_as_with_one():
    case = CASES["chain-cost"]
    K = case.model.n_labels
    models = [bcfw.models.Chain(K), bcfw.models.Chain(K, cost=1.0 - np.eye(K))]
    results = [dataclasses.replace(case, model=model).few_passes(5, solver="bcfw") for model in models]
    np.testing.assert_array_equal(results[0].w, results[1].w)
    assert results[0].model.cost is None
    assert results[0].model.loss([0, 1], [0, 2]) == results[1].model.loss([0, 1], [0, 2]) == 0.5


def merged_and_summed(data_fields, work_fields, state_fields, out, w):
    """Template: slope and squared norm of every block's direction, and all moves of w, by both ways to build it."""
    data, work, state = Data(*data_fields), Work(*work_fields), State(*state_fields)
    for i in range(out.shape[1]):
        for way in range(2):
            scores(data, i, state.w, 1.0, work)
            argmax(data, i, state.w, work)
            if way == 0:
                direction_from_average(data, i, state.mu, work)
            else:
                start_direction(data, i, work)
                add_average(data, i, -1.0, state.mu, work)
                add_labeling(data, i, 1.0, work)
                end_direction(data, i, work)
            out[way, i, 0] = slope(data, i, state.w, work)
            out[way, i, 1] = sqnorm(data, i, work)
            apply(data, i, 1.0 + i, work, w[way])


def stepped(passes=4):
    X, y = long_sequences()
    problem = open_problem(bcfw.models.Chain(), X, y, 0.01)
    for _ in range(passes):
        problem.visit(in_order(problem.blocks), problem.rule())
    return problem


def test_a_merged_direction_is_the_sum_of_labeling_and_average():
    problem = stepped()
    out, w = np.zeros((2, problem.n_blocks, 2)), np.zeros((2, len(problem.state.w)))
    problem.call(merged_and_summed, out, w)
    assert out[0].min() >= 0.0
    assert out[0, :, 1].max() > 0.0
    np.testing.assert_allclose(out[0], out[1], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(w[0], w[1], rtol=1e-11, atol=1e-12)


def in_order_of_positions(exported):
    count, row, _, _, lengths = exported
    owner = np.repeat(np.arange(len(count)), count)
    positions = np.minimum(row, lengths[owner])
    return np.all((np.diff(positions) >= 0) | (np.diff(owner) > 0))


def test_saved_parts_come_into_the_order_of_the_positions():
    """Directions are merged from lists in that order; a file may have them in any."""
    problem, model = stepped(), bcfw.models.Chain()
    count, row, label, mass, lengths = model.export_mu(problem.data, problem.state.mu)
    owner = np.repeat(np.arange(len(count)), count)
    drawn = np.lexsort((np.random.default_rng(0).random(len(row)), owner))
    mu = model.import_mu(problem.data, [count, row[drawn], label[drawn], mass[drawn], lengths])
    again = model.export_mu(problem.data, mu)
    assert in_order_of_positions(again)
    for one, other in zip(
        model.marginals(problem.data, mu), model.marginals(problem.data, problem.state.mu), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_exponentiated_gradients_leave_lists_in_the_order_of_the_positions(monkeypatch):
    """They have mass at all parts, most of which were not in the lists before; steps go on from there."""
    case, export_mu, exported = CASES["chain-cost"], bcfw.models.Chain.export_mu, []

    def export_and_note(model, data, mu):
        exported.append(export_mu(model, data, mu))
        return exported[-1]

    monkeypatch.setattr(bcfw.models.Chain, "export_mu", export_and_note)
    first = case.few_passes(2, solver="exponentiated-gradient")
    second = case.train(tol=1e-2, solver="bcfw", warm_start=first)
    assert exported
    assert all(in_order_of_positions(arrays) for arrays in exported)
    assert second.dual >= first.dual
    assert abs(second.primal - case.enumerated().optimum.primal) <= second.gap + 1e-9
