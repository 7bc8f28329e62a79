"""Trees of gaps: draws in proportion, the largest leaf, changes, and the same compiled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bcfw.algorithms.gap_tree import SCALE, drawn_leaf, largest_leaf, make_tree, set_leaf
from bcfw.compile.specialise import RoutineSet


@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=40), number=st.integers(0, SCALE - 1))
def test_tree_draws_in_proportion(values, number):
    tree = make_tree(np.array(values), largest=False)
    total = tree[1]
    assert total == pytest.approx(sum(values))
    i = drawn_leaf(tree, number)
    if total > 0:
        assert values[i] > 0
        sums = np.concatenate([[0.0], np.cumsum(values)])
        assert sums[i] - 1e-9 <= total * number / SCALE <= sums[i + 1] + 1e-9


@given(
    values=st.lists(st.floats(0, 1), min_size=1, max_size=40),
    changes=st.lists(st.tuples(st.integers(0, 39), st.floats(-1, 1))),
)
def test_tree_follows_changes(values, changes):
    current = np.array(values)
    trees = {largest: make_tree(current, largest) for largest in (False, True)}
    for place, value in changes:
        place %= len(current)
        current[place] = max(value, 0.0)
        for largest, tree in trees.items():
            set_leaf(tree, largest, place, value)
    assert trees[False][1] == pytest.approx(current.sum(), abs=1e-12)
    assert trees[True][1] == current.max()
    assert current[largest_leaf(trees[True])] == current.max()


def test_tree_is_the_same_compiled():
    routines = RoutineSet({})
    tree = make_tree(np.random.default_rng(0).random(9), largest=False)
    for number in np.random.default_rng(1).integers(SCALE, size=50):
        assert routines.compiled_pass(drawn_leaf)(tree, number) == drawn_leaf(tree, number)
