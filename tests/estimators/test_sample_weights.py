"""Weights of examples and of classes: repetition, factors, merged repeats."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bcfw.estimators import ChainSVM, MulticlassSVM
from bcfw.inputs.repeats import merge_repeats
from small_data import WORDS


def test_integer_weights_are_exactly_repetition_for_points(points):
    X, y = points
    weight = np.random.default_rng(3).integers(0, 4, size=len(y))
    order = np.random.default_rng(4).permutation(np.repeat(np.arange(len(y)), weight))
    for convert in (np.asarray, sp.csr_array):
        weighted = MulticlassSVM().fit(convert(X), y, weight)
        repeated = MulticlassSVM().fit(convert(X[order]), y[order])
        assert np.array_equal(weighted.coef_, repeated.coef_)
        assert len(weighted.result_.snapshot["ell"]) == np.count_nonzero(weight)


def test_integer_weights_are_repetition_for_sequences_within_the_gaps(sequences):
    X, y = sequences
    weight = np.random.default_rng(3).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    options = {"lam": 0.1, "tol": 1e-3, "max_passes": 20000}
    weighted = ChainSVM(**options).fit(X, y, weight)
    repeated = ChainSVM(**options).fit([X[i] for i in rows], [y[i] for i in rows])
    gaps = weighted.duality_gap_ + repeated.duality_gap_
    assert abs(weighted.result_.primal - repeated.result_.primal) <= gaps
    # Strong convexity: lam/2 |w - w*|^2 is at most the gap, for each of the two.
    assert np.linalg.norm(weighted.result_.w - repeated.result_.w) <= 2 * np.sqrt(2 * gaps / 0.1)


def test_merge_repeats_keeps_plain_data_and_merges_equal_pairs_only():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    plain = merge_repeats(X[:2], np.array([0, 1]), None)
    assert plain[0].base is X
    assert plain[2] is None
    for convert in (np.asarray, sp.csr_array):
        merged, codes, weight = merge_repeats(convert(X), np.array([0, 1, 0, 1]), np.array([1.0, 0.0, 2.0, 5.0]))
        assert sorted(zip(codes.tolist(), weight.tolist(), strict=True)) == [(0, 3.0), (1, 5.0)]
        assert np.array_equal(merged.sum(axis=0), [2.0, 0.0])


def test_class_weight_is_a_factor_of_the_sample_weights(points):
    X, y = points
    weight = np.linspace(0.5, 2.0, len(y))
    factor = {"ant": 3.0, "cow": 0.5}
    by_class = MulticlassSVM(class_weight=factor).fit(X, y, weight)
    by_sample = MulticlassSVM().fit(X, y, weight * [factor.get(label, 1.0) for label in y])
    assert np.array_equal(by_class.coef_, by_sample.coef_)
    counts = {word: np.count_nonzero(y == word) for word in WORDS}
    balanced = MulticlassSVM(class_weight="balanced", C=0.1).fit(X, y)
    by_sample = MulticlassSVM(C=0.1).fit(X, y, [len(y) / (3 * counts[label]) for label in y])
    assert balanced.lam_ == pytest.approx(1 / (0.1 * len(y)))
    assert np.allclose(balanced.coef_, by_sample.coef_, rtol=1e-9)


def test_class_weight_of_a_chain_scales_the_rows_of_the_cost(sequences):
    X, y = sequences
    by_class = ChainSVM(class_weight={"bee": 4.0}).fit(X, y)
    by_cost = ChainSVM(cost=(1 - np.eye(3)) * np.array([[1.0], [4.0], [1.0]])).fit(X, y)
    assert np.array_equal(by_class.result_.w, by_cost.result_.w)
    cost = ChainSVM(class_weight="balanced").fit(X, y).result_.model.cost
    counts = np.array([sum(labels.count(word) for labels in y) for word in WORDS])
    assert np.allclose(cost[:, 0].sum() + cost[0, 1] - cost[0, 0], np.sum(counts.sum() / (3 * counts)))
