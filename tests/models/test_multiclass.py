"""Multiclass: the layout of w and the oracle on drawn problems."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import bcfw
from bcfw.models import Chain, Multiclass
from oracle_checks import arrays, check_oracle, costs
from problems import CASES, multiclass_case


def test_multiclass_layout_of_w():
    model = bcfw.models.Multiclass(n_labels=3).bind(np.eye(2), [0, 1])
    W = np.array([[0.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    np.testing.assert_array_equal(model.predict(W.ravel(), np.eye(2)), [2, 1])


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


def test_the_plain_loss_needs_no_matrix_and_trains_as_with_one():
    case = CASES["multiclass-cost"]
    K = case.model.n_labels
    plain, by_matrix = Multiclass(K), Multiclass(K, cost=1.0 - np.eye(K))
    results = [dataclasses.replace(case, model=model).few_passes(5, solver="bcfw") for model in (plain, by_matrix)]
    np.testing.assert_array_equal(results[0].w, results[1].w)
    assert plain.bind(case.X, case.y).pack(case.X, case.y).cost.size == 0
    assert [results[0].model.loss(0, k) for k in range(K)] == [results[1].model.loss(0, k) for k in range(K)]


def test_a_label_far_beyond_the_others_is_questioned():
    """At least one label in a hundred must occur, where there are more than 10,000."""
    X = np.eye(4)
    with pytest.raises(bcfw.InputError, match=r"example 2 has label 30000, but only 3 .* give n_labels=30001"):
        Multiclass().bind(X, [0, 1, 30_000, 1])
    with pytest.raises(bcfw.InputError, match=r"example 1 has label 10000, .*give n_labels=10001"):
        Chain().bind([X, X], [[0, 1, 2, 0], [0, 1, 10_000, 0]])
    assert Multiclass().bind(X, [0, 1, 9999, 1]).n_labels == 10_000
    assert Multiclass(n_labels=30_001).bind(X, [0, 1, 30_000, 1]).dim == 4 * 30_001
    for y in (np.array([0, 1, 2**63, 1], np.uint64), [0, 1, 1e300, 1], [0, 1, 2**31, 1]):
        with pytest.raises(bcfw.InputError, match=r"example 2 has label .*below 2\*\*31"):
            Multiclass().bind(X, y)
