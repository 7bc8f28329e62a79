"""Which block comes next inside a compiled pass: the record of a pass's visits, and how the pass reads it.

The rules that choose blocks, and the random draws that a pass reads, are made before the pass (:mod:`bcfw.selection`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bcfw.algorithms.gap_tree import drawn_leaf, largest_leaf, set_leaf


class Visits(NamedTuple):
    """The sequence of blocks that a pass visits, or how the pass draws it.

    Attributes
    ----------
    kind : ``IN_ORDER``, ``BY_GAP`` (drawn in proportion to the gaps) or ``LARGEST_GAP``
    n_visits : number of visits
    order : (n_visits,) the blocks in the order of their visits, for ``IN_ORDER``; else empty
    draws : (n_visits,) random integers, for ``BY_GAP``; else empty
    tree : tree over the blocks' gaps (see :mod:`bcfw.algorithms.gap_tree`); empty for ``IN_ORDER``
    """

    kind: int
    n_visits: int
    order: np.ndarray
    draws: np.ndarray
    tree: np.ndarray


#: Values of ``Visits.kind``.
IN_ORDER, BY_GAP, LARGEST_GAP = range(3)


def in_order(blocks: np.ndarray) -> Visits:
    """Return the ``Visits`` of the given blocks in the given order."""
    return Visits(IN_ORDER, len(blocks), blocks, np.zeros(0, np.int64), np.zeros(0))


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
