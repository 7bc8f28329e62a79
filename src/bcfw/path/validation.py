"""The choice of lam by the losses of a path's weights on other data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Mean losses are considered equal if they differ by at most this, relative to the largest of them.
ROUNDING = 1e-12


class Validation(NamedTuple):
    """Losses of a path's weights on other data.

    Attributes
    ----------
    lambdas : (m,) array
        The breakpoints, descending.
    losses : (m,) array
        Weighted mean of the model's loss with the weights of each breakpoint.
    best : float
        The lam with the smallest loss; if there are several, the largest of them.
    interval : (float, float)
        The smallest and the largest lam of the connected range around ``best`` in which all losses are at most the
        smallest loss plus ``tolerance``.
    """

    lambdas: np.ndarray
    losses: np.ndarray
    best: float
    interval: tuple[float, float]


def validation(
    lambdas: np.ndarray, losses: np.ndarray, end: float, is_grid: bool = False, tolerance: float = 0.0
) -> Validation:
    """Return the best lam, and the interval of almost equally good lam, from the losses of the breakpoints.

    Parameters
    ----------
    lambdas, losses : (m,) arrays
        For a path, the j-th loss is valid from the j-th breakpoint down to the next one; the first loss is also valid
        for every larger lam. For a grid, a loss is valid at its lam only.
    end : float
        The last loss of a path is valid down to this lam.
    is_grid : bool
    tolerance : float
        All losses in the interval are at most the smallest loss plus this.
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
