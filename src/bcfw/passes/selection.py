"""The block of the next visit inside a pass, read from :class:`bcfw.records.Visits`.

The orders and random draws in ``Visits`` are made in :mod:`bcfw.selection`.
"""

from __future__ import annotations

from typing import Any

from bcfw.kernels.trees import drawn_leaf, largest_leaf, set_leaf
from bcfw.records import BY_GAP, IN_ORDER, LARGEST_GAP


def next_block(visits: Any, j: int) -> int:
    """Return the block of visit j."""
    if visits.kind == IN_ORDER:
        return visits.order[j]
    if visits.kind == BY_GAP:
        return drawn_leaf(visits.tree, visits.draws[j])
    return largest_leaf(visits.tree)


def note_gap(visits: Any, i: int, gap: float) -> None:
    """Write the new gap of block i to the tree, so that later draws use it."""
    if visits.kind != IN_ORDER:
        set_leaf(visits.tree, visits.kind == LARGEST_GAP, i, gap)


def block_in_order(visits: Any, j: int) -> int:
    """Return the block of visit j in a fixed order; replaces :func:`next_block` in passes that get nothing else."""
    return visits.order[j]


def no_gap_to_note(visits: Any, i: int, gap: float) -> None:
    """Do nothing; replaces :func:`note_gap` in passes whose visits have a fixed order."""
