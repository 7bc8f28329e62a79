"""Which blocks come next: a rule draws the order of one pass from a random generator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: A rule takes the generator and the blocks, and returns the order of one pass.
Rule = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def uniform(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """As many blocks as there are, drawn independently with replacement."""
    return blocks[rng.integers(len(blocks), size=len(blocks))]


def permuted(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """Every block once, in a new random order."""
    return rng.permutation(blocks)


def cyclic(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """Every block once, in the order of the data."""
    return blocks


SAMPLINGS: dict[str, Rule] = {"permuted": permuted, "uniform": uniform, "cyclic": cyclic}
