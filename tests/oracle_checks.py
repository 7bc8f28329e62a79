"""Oracles and scores by enumeration, and the numbers from which problems are drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import strategies as st

# Values of a few units summed over a few parts: rounding stays far below this.
ROUNDING = 1e-11

#: Small whole numbers, so that ties are frequent and sums exact.
WHOLE = st.integers(-2, 2).map(float)


def arrays(shape, elements=WHOLE):
    size = int(np.prod(shape))
    return st.lists(elements, min_size=size, max_size=size).map(lambda values: np.array(values, float).reshape(shape))


@st.composite
def costs(draw, K):
    if draw(st.booleans()):
        return None
    cost = np.array(draw(st.lists(st.integers(0, 3), min_size=K * K, max_size=K * K)), float).reshape(K, K)
    np.fill_diagonal(cost, 0.0)
    return cost


def check_oracle(case, w):
    """The oracle's output has the largest value of all labelings, with and without the loss."""
    model = case.model.bind(case.X, case.y)
    assert len(w) == model.dim
    for x, y_true in case.examples():
        labelings = case.outputs(x, y_true)
        plain = np.array([w @ case.phi(x, y) for y in labelings])

        def value(y, x=x, y_true=y_true):
            loss, score = case.delta(y_true, y), w @ case.phi(x, y)
            return loss * (1.0 + score - w @ case.phi(x, y_true)) if case.slack else loss + score

        answer = model.oracle(w, x, y_true)
        assert value(answer) == pytest.approx(max(map(value, labelings)), abs=ROUNDING)
        assert w @ case.phi(x, model.oracle(w, x)) == pytest.approx(plain.max(), abs=ROUNDING)


def all_scores(unary, edges, V):
    """Scores of all labelings of one example, by labeling."""
    return {
        y: sum(u for u, on in zip(unary, y, strict=True) if on)
        + sum(V[e, y[a], y[b]] for e, (a, b) in enumerate(edges))
        for y in itertools.product((0, 1), repeat=len(unary))
    }
