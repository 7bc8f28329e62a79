"""The gap tree, a complete binary tree over the blocks' gaps: draws in proportion to gaps, or the largest, in O(log n).

The tree is a flat array of length 2P, P a power of two: leaf i is entry P + i, and entry j is the sum (or the maximum)
of entries 2j and 2j + 1. Entry 0 is not used. :func:`bcfw.algorithms.gap_tree.make_tree` makes the array.
"""

from __future__ import annotations

import numpy as np

#: Random numbers are integers from 0 to ``SCALE - 1``.
SCALE = 1 << 62


def drawn_leaf(tree, number):
    """Return the leaf that the integer ``number < SCALE`` draws from a tree of sums, in proportion to the leaves."""
    leaves = tree.shape[0] // 2
    target = tree[1] * (number / SCALE)
    j = 1
    while j < leaves:
        j *= 2
        # An empty right half is never entered, even if rounding has made the target too large.
        if target >= tree[j] and tree[j + 1] > 0.0:
            target -= tree[j]
            j += 1
    return j - leaves


def largest_leaf(tree):
    """Return the first leaf of the largest value in a tree of maxima."""
    leaves = tree.shape[0] // 2
    j = 1
    while j < leaves:
        j *= 2
        if tree[j + 1] > tree[j]:
            j += 1
    return j - leaves


def set_leaf(tree, largest, i, value):
    """Set leaf i and update its ancestors, which are maxima if ``largest``, else sums; negative values become zero."""
    j = tree.shape[0] // 2 + i
    tree[j] = max(value, 0.0)
    while j > 1:
        j //= 2
        if largest:
            tree[j] = max(tree[2 * j], tree[2 * j + 1])
        else:
            tree[j] = tree[2 * j] + tree[2 * j + 1]


def make_tree(values: np.ndarray, largest: bool) -> np.ndarray:
    """Return a tree of sums, or of maxima, over non-negative values (see :mod:`bcfw.algorithms.gap_tree`)."""
    leaves = 1 << max(1, int(np.ceil(np.log2(max(2, len(values))))))
    tree = np.zeros(2 * leaves)
    tree[leaves : leaves + len(values)] = np.maximum(values, 0.0)
    level = leaves
    while level > 1:
        below = tree[level : 2 * level].reshape(-1, 2)
        level //= 2
        tree[level : 2 * level] = below.max(axis=1) if largest else below.sum(axis=1)
    return tree
