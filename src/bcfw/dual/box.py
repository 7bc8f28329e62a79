"""Box constraints ``l <= w <= u``: w is v clipped, and the dual along a direction is piecewise quadratic.

    v = sum_i c_i/lam B_i (z(y_i) - mu_i),   w = clip(v, l, u),   D = sum_i ell_i - lam (v'w - |w|^2/2)

Along ``v + gamma dv`` the slope of D is ``gap - lam dv'(w(gamma) - w(0))``: non-increasing and piecewise linear, with a
kink wherever a coordinate enters or leaves its interval. Only coordinates with a finite bound are looked at here; the
others add ``-gamma free`` with ``free = lam |dv|^2`` over them. A box is a (4, b) array with the rows below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.errors import InputError, OptionError
from bcfw.kernels import called

#: Rows of a box: bounds, the unclipped v, and the direction dv.
LOWER, UPPER, V, DV = range(4)


def clipped(box: np.ndarray, j: int, gamma: float) -> float:
    """``w_j`` at ``v + gamma dv``."""
    return min(max(box[V, j] + gamma * box[DV, j], box[LOWER, j]), box[UPPER, j])


def slope_at(gamma: float, gap: float, free: float, lam: float, box: np.ndarray) -> float:
    """Slope of the dual at ``v + gamma dv``."""
    moved = 0.0
    for j in range(box.shape[1]):
        moved += box[DV, j] * (clipped(box, j, gamma) - clipped(box, j, 0.0))
    return gap - gamma * free - lam * moved


@called
def box_step(gap: float, free: float, lam: float, bound: float, box: np.ndarray) -> float:
    """Maximiser over [0, bound] of the dual along dv: the root of its slope.

    Kinks between the ends of the bracket are halved away (the bracket is cut at their mean); then the slope is linear.
    """
    if gap <= 0.0:
        return 0.0
    low, high = 0.0, bound
    slope_low, slope_high = gap, slope_at(bound, gap, free, lam, box)
    if slope_high >= 0.0:
        return bound
    for _ in range(2 * box.shape[1] + 2):
        total = 0.0
        count = 0
        for j in range(box.shape[1]):
            if box[DV, j] != 0.0:
                for side in range(2):
                    kink = (box[side, j] - box[V, j]) / box[DV, j]
                    if low < kink < high:
                        total += kink
                        count += 1
        middle = total / max(count, 1)
        if count == 0 or not low < middle < high:
            break
        slope = slope_at(middle, gap, free, lam, box)
        if slope > 0.0:
            low, slope_low = middle, slope
        else:
            high, slope_high = middle, slope
    return low + (high - low) * slope_low / (slope_low - slope_high)


def square(box: np.ndarray, j: int, x: float) -> float:
    """The integral of clip from 0 to x, up to a constant: ``x^2/2`` inside the bounds, linear outside."""
    bounded = min(max(x, box[LOWER, j]), box[UPPER, j])
    return bounded * (x - 0.5 * bounded)


@called
def box_gain(gamma: float, gap: float, free: float, lam: float, box: np.ndarray) -> float:
    """What the dual gains on the way to ``v + gamma dv``."""
    lost = 0.0
    for j in range(box.shape[1]):
        step = gamma * box[DV, j]
        lost += square(box, j, box[V, j] + step) - square(box, j, box[V, j]) - step * clipped(box, j, 0.0)
    return gamma * gap - 0.5 * gamma * gamma * free - lam * lost


def join_bounds(dim: int, *pairs: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """The intersection of several ``(lower, upper)``, each a number, a (d,) array or None; None if nothing is bounded.

    A pair may be None as a whole.
    """
    lower, upper = np.full(dim, -np.inf), np.full(dim, np.inf)
    for pair in pairs:
        if pair is None:
            continue
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise OptionError(f"bounds must be a pair (lower, upper) of numbers, arrays or None, got {pair!r}")
        for side, name, tighten in ((lower, "lower", np.maximum), (upper, "upper", np.minimum)):
            given = pair[int(name == "upper")]
            if given is not None:
                tighten(side, read_bound(given, name, dim), out=side)
    crossed = np.flatnonzero(~(lower <= upper))
    if len(crossed):
        j = crossed[0]
        raise OptionError(
            f"bounds: no weight {j} is allowed, its lower bound {lower[j]:g} is above its upper bound {upper[j]:g} "
            "(the model's own bounds included)"
        )
    empty = np.flatnonzero((lower == np.inf) | (upper == -np.inf))
    if len(empty):
        raise OptionError(f"bounds: no finite weight {empty[0]} is allowed; lower must be < inf and upper > -inf")
    return (lower, upper) if np.isfinite(lower).any() or np.isfinite(upper).any() else None


def read_bound(given: Any, name: str, dim: int) -> np.ndarray:
    """One side of the bounds as a (d,) array."""
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"bounds: {name} must be a number, an array of {dim} numbers or None ({error})") from error
    if array.shape not in ((), (dim,)):
        raise InputError(f"bounds: {name} has shape {array.shape}; it must be a number or have one per weight ({dim},)")
    if np.isnan(array).any():
        raise InputError(f"bounds: {name} holds a NaN; use -inf, inf or None for weights without a bound")
    return np.broadcast_to(array, (dim,))
