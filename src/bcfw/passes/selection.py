"""Which block a visit goes to, as a pass reads it from its :class:`bcfw.records.Visits`."""

from __future__ import annotations

from typing import Any

from bcfw.kernels.trees import drawn_leaf, largest_leaf, set_leaf
from bcfw.records import BY_GAP, IN_ORDER, LARGEST_GAP


def next_block(visits: Any, j: int) -> int:
    """The block of visit j."""
    if visits.kind == IN_ORDER:
        return visits.order[j]
    if visits.kind == BY_GAP:
        return drawn_leaf(visits.tree, visits.draws[j])
    return largest_leaf(visits.tree)


def note_gap(visits: Any, i: int, gap: float) -> None:
    """Let later draws know the new gap of block i."""
    if visits.kind != IN_ORDER:
        set_leaf(visits.tree, visits.kind == LARGEST_GAP, i, gap)


def block_in_order(visits: Any, j: int) -> int:
    """In place of :func:`next_block` in passes that only ever get an order."""
    return visits.order[j]


def no_gap_to_note(visits: Any, i: int, gap: float) -> None:
    """In place of :func:`note_gap` in such passes."""
