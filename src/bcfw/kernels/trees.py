"""A complete binary tree over the blocks' gaps: draws in proportion to them, or the largest, in O(log n).

The tree is a flat array of length 2P, P a power of two: leaf i is entry P + i, and entry j is the sum (or the maximum)
of entries 2j and 2j + 1. Entry 0 is not used. :func:`bcfw.selection.make_tree` makes one.
"""

from __future__ import annotations

#: Random numbers enter as whole numbers below this.
SCALE = 1 << 62


def drawn_leaf(tree, number):
    """The leaf that a whole number below SCALE draws, in proportion to the leaves of a tree of sums."""
    leaves = tree.shape[0] // 2
    target = tree[1] * (number / SCALE)
    j = 1
    while j < leaves:
        j *= 2
        # An empty right half is never entered, whatever rounding has done to the target.
        if target >= tree[j] and tree[j + 1] > 0.0:
            target -= tree[j]
            j += 1
    return j - leaves


def largest_leaf(tree):
    """The first leaf of the largest value in a tree of maxima."""
    leaves = tree.shape[0] // 2
    j = 1
    while j < leaves:
        j *= 2
        if tree[j + 1] > tree[j]:
            j += 1
    return j - leaves


def set_leaf(tree, largest, i, value):
    """Change one leaf and its ancestors, which are maxima if ``largest``, else sums; negative values count as zero."""
    j = tree.shape[0] // 2 + i
    tree[j] = max(value, 0.0)
    while j > 1:
        j //= 2
        if largest:
            tree[j] = max(tree[2 * j], tree[2 * j + 1])
        else:
            tree[j] = tree[2 * j] + tree[2 * j + 1]
