"""Which blocks come next: a rule draws the order of one pass from a random generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Sampling(NamedTuple):
    """How a pass chooses its blocks.

    Attributes
    ----------
    order : function of a random generator and the blocks that returns the order of one pass
    visits_all : whether every pass visits every block
    by_gap : whether blocks are drawn by their gaps once these are known, in proportion or always the largest
    """

    order: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    visits_all: bool
    by_gap: bool = False
    largest: bool = False


def uniform(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """As many blocks as there are, drawn independently with replacement."""
    return blocks[rng.integers(len(blocks), size=len(blocks))]


def permuted(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """Every block once, in a new random order."""
    return rng.permutation(blocks)


def cyclic(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """Every block once, in the order of the data."""
    return blocks


SAMPLINGS = {
    "permuted": Sampling(permuted, visits_all=True),
    "uniform": Sampling(uniform, visits_all=False),
    "cyclic": Sampling(cyclic, visits_all=True),
    "gap": Sampling(permuted, visits_all=False, by_gap=True),
    "max-gap": Sampling(permuted, visits_all=False, by_gap=True, largest=True),
}
