"""Max-marginals of chains and forests against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bcfw.models.shared.max_marginals import chain_max_marginals, forest_max_marginals
from oracle_checks import all_scores


def test_max_marginals_of_a_chain_by_enumeration():
    rng = np.random.default_rng(5)
    unary, transitions = rng.standard_normal((4, 3)), rng.standard_normal((3, 3))
    first, last = rng.standard_normal((2, 3))
    expected = np.full((4, 3), -np.inf)
    for y in itertools.product(range(3), repeat=4):
        score = unary[range(4), y].sum() + transitions[y[:-1], y[1:]].sum() + first[y[0]] + last[y[-1]]
        for t, k in enumerate(y):
            expected[t, k] = max(expected[t, k], score)
    assert np.allclose(chain_max_marginals(unary, transitions, first, last), expected, rtol=1e-12)
    assert np.allclose(chain_max_marginals(unary[:1], transitions, first, last), unary[:1] + first + last)


@pytest.mark.parametrize("edges", [[], [(1, 0), (1, 2), (3, 2)], [(0, 3), (2, 1)], [(3, 0), (1, 3), (3, 2)]], ids=str)
def test_max_marginals_of_forests_by_enumeration(edges):
    rng = np.random.default_rng(1)
    unary, V = rng.standard_normal((6, 4)), rng.standard_normal((len(edges), 2, 2))
    found = forest_max_marginals(unary, np.array(edges, int).reshape(-1, 2), V)
    for i in range(6):
        scores = all_scores(unary[i], edges, V)
        for label in range(4):
            best = [max(score for y, score in scores.items() if y[label] == state) for state in (0, 1)]
            assert found[i, label] == pytest.approx(best[1] - best[0], abs=1e-12)
