"""Multiclass: the layout of w and the oracle on drawn problems."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import bcfw
from oracle_checks import arrays, check_oracle, costs
from problems import multiclass_case


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
