"""A complete binary tree over the blocks' gaps: draws in proportion to them, or the largest, in O(log n).

The tree is a flat array of length 2P, P a power of two: leaf i is entry P + i, and entry j is the sum (or the maximum)
of entries 2j and 2j + 1. Entry 0 says which: 0 for sums, 1 for maxima.
"""

from __future__ import annotations

import numpy as np

#: Random numbers enter as whole numbers below this.
SCALE = 1 << 62

#: For blocks in a given order.
NO_TREE = np.zeros(0)


def make_tree(values: np.ndarray, largest: bool) -> np.ndarray:
    """Tree over non-negative values."""
    leaves = 1 << max(1, int(np.ceil(np.log2(max(2, len(values))))))
    tree = np.zeros(2 * leaves)
    tree[leaves : leaves + len(values)] = np.maximum(values, 0.0)
    level = leaves
    while level > 1:
        below = tree[level : 2 * level].reshape(-1, 2)
        level //= 2
        tree[level : 2 * level] = below.max(axis=1) if largest else below.sum(axis=1)
    tree[0] = float(largest)
    return tree


def next_block(tree, number):
    """The block of the largest value, or one drawn in proportion to the values by a whole number below SCALE.

    Without a tree (length 0), the number is the block itself.
    """
    if tree.shape[0] == 0:
        return number
    leaves = tree.shape[0] // 2
    target = tree[1] * (number / SCALE)
    j = 1
    while j < leaves:
        j *= 2
        if tree[0] == 1.0:
            right = tree[j + 1] > tree[j]
        else:
            # An empty right half is never entered, whatever rounding has done to the target.
            right = target >= tree[j] and tree[j + 1] > 0.0
            if right:
                target -= tree[j]
        if right:
            j += 1
    return j - leaves


def set_value(tree, i, value):
    """Change one leaf and its ancestors; negative values count as zero."""
    if tree.shape[0] == 0:
        return
    j = tree.shape[0] // 2 + i
    tree[j] = max(value, 0.0)
    while j > 1:
        j //= 2
        if tree[0] == 1.0:
            tree[j] = max(tree[2 * j], tree[2 * j + 1])
        else:
            tree[j] = tree[2 * j] + tree[2 * j + 1]
