"""Which lam is best: losses of a path's weights on other data, and the choice that they suggest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Difference of two means of losses, relative to the largest of them, that counts as none.
ROUNDING = 1e-12


class Validation(NamedTuple):
    """Losses of a path's weights on other data.

    Attributes
    ----------
    lambdas : (m,) array
        The breakpoints, descending.
    losses : (m,) array
        Weighted mean of the model's loss with the weights of each.
    best : float
        The largest of those lam that have the smallest loss.
    interval : (float, float)
        The smallest and the largest lam of the connected range around ``best`` whose losses exceed the smallest by at
        most ``tolerance``.
    """

    lambdas: np.ndarray
    losses: np.ndarray
    best: float
    interval: tuple[float, float]


def validation(
    lambdas: np.ndarray, losses: np.ndarray, end: float, is_grid: bool = False, tolerance: float = 0.0
) -> Validation:
    """Choose among breakpoints by their losses.

    Parameters
    ----------
    lambdas, losses : (m,) arrays
        Of a path, the j-th loss holds down to the next breakpoint, the first one also for every larger lam; of a grid,
        at its lam alone.
    end : float
        Down to which lam the last loss of a path holds.
    is_grid : bool
    tolerance : float
        By how much a loss may exceed the smallest to belong to the interval.
    """
    smallest = losses.min() + ROUNDING * np.abs(losses).max()
    best = int(np.flatnonzero(losses <= smallest)[0])
    worse = np.flatnonzero(losses > smallest + tolerance)
    first = int(max(worse[worse < best], default=-1)) + 1
    last = int(min(worse[worse > best], default=len(losses))) - 1
    low, high = float(lambdas[last]), float(lambdas[first])
    if not is_grid:
        low, high = float([*lambdas[1:], end][last]), np.inf if first == 0 else high
    return Validation(lambdas, losses, float(lambdas[best]), (low, high))
