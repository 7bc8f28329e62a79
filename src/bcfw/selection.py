"""Which blocks come next: a rule draws the visits of one pass from a random generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bcfw.kernels.trees import SCALE
from bcfw.records import BY_GAP, IN_ORDER, LARGEST_GAP, Visits, in_order


class Sampling(NamedTuple):
    """How a pass chooses its blocks.

    Attributes
    ----------
    order : function of a random generator and the blocks that returns the order of one pass
    visits_all : whether every pass visits every block
    kind : ``IN_ORDER``, or how blocks are drawn once their gaps are known: ``BY_GAP`` or ``LARGEST_GAP``
    """

    order: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    visits_all: bool
    kind: int = IN_ORDER

    @property
    def by_gap(self) -> bool:
        """Whether blocks are drawn by their gaps, in proportion or always the largest."""
        return self.kind != IN_ORDER

    @property
    def largest(self) -> bool:
        """Whether always the block of the largest gap is taken."""
        return self.kind == LARGEST_GAP

    def visits(self, rng: np.random.Generator, blocks: np.ndarray, gaps: np.ndarray | None) -> Visits:
        """The visits of one pass, as many as there are blocks.

        Without gaps (None: they count as infinite) or where all are zero, every block is visited once.
        """
        order = self.order(rng, blocks)
        if not self.by_gap or gaps is None or gaps.max() <= 0.0:
            return in_order(order)
        draws = rng.integers(SCALE, size=len(order))
        return Visits(self.kind, len(order), order[:0], draws, make_tree(gaps, self.largest))


def uniform(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """As many blocks as there are, drawn independently with replacement."""
    return blocks[rng.integers(len(blocks), size=len(blocks))]


def permuted(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """Every block once, in a new random order."""
    return rng.permutation(blocks)


def cyclic(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """Every block once, in the order of the data."""
    return blocks


def make_tree(values: np.ndarray, largest: bool) -> np.ndarray:
    """A tree of sums, or of maxima, over non-negative values (see :mod:`bcfw.kernels.trees`)."""
    leaves = 1 << max(1, int(np.ceil(np.log2(max(2, len(values))))))
    tree = np.zeros(2 * leaves)
    tree[leaves : leaves + len(values)] = np.maximum(values, 0.0)
    level = leaves
    while level > 1:
        below = tree[level : 2 * level].reshape(-1, 2)
        level //= 2
        tree[level : 2 * level] = below.max(axis=1) if largest else below.sum(axis=1)
    return tree


SAMPLINGS = {
    "permuted": Sampling(permuted, visits_all=True),
    "uniform": Sampling(uniform, visits_all=False),
    "cyclic": Sampling(cyclic, visits_all=True),
    "gap": Sampling(permuted, visits_all=False, kind=BY_GAP),
    "max-gap": Sampling(permuted, visits_all=False, kind=LARGEST_GAP),
}
