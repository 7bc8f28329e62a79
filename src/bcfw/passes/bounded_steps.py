"""Line search with bounds ``l <= w <= u``: w is v clipped, and the dual along a direction is piecewise quadratic.

    v = sum_i c_i/lam B_i (z(y_i) - mu_i),   w = clip(v, l, u),   D = sum_i ell_i - lam (v'w - |w|^2/2)

Along ``v + gamma dv`` the slope of D is ``gap - lam dv'(w(gamma) - w(0))``. It is non-increasing and piecewise linear,
with a kink wherever a coordinate enters or leaves its interval. The list ``moved`` holds the coordinates that have a
finite bound and that the direction moves; the functions here loop over these coordinates only. Coordinates without a
bound add ``-gamma free`` to the slope, where ``free`` is ``lam |dv|^2`` summed over the coordinates without a bound. A
box is a (4, d) array with the rows ``LOWER``, ``UPPER``, ``V`` and ``DV``.
"""

from __future__ import annotations

import numpy as np

from bcfw.compile import not_inlined

#: Rows of a box: bounds, the unclipped v, and the direction dv.
LOWER, UPPER, V, DV = range(4)


def clipped(box: np.ndarray, j: int, gamma: float) -> float:
    """Return ``w_j`` at ``v + gamma dv``."""
    return min(max(box[V, j] + gamma * box[DV, j], box[LOWER, j]), box[UPPER, j])


def slope_at(gamma: float, gap: float, free: float, lam: float, box: np.ndarray, moved: np.ndarray) -> float:
    """Return the slope of the dual at ``v + gamma dv``."""
    lost = 0.0
    for m in range(moved.shape[0]):
        j = moved[m]
        lost += box[DV, j] * (clipped(box, j, gamma) - clipped(box, j, 0.0))
    return gap - gamma * free - lam * lost


@not_inlined
def box_step(gap: float, free: float, lam: float, gamma_max: float, box: np.ndarray, moved: np.ndarray) -> float:
    """Return the maximiser over [0, gamma_max] of the dual along dv: the root of the slope.

    The bracket is cut at the mean of its kinks until no kink is inside; then the slope is linear in the bracket.
    """
    if gap <= 0.0:
        return 0.0
    low, high = 0.0, gamma_max
    slope_low, slope_high = gap, slope_at(gamma_max, gap, free, lam, box, moved)
    if slope_high >= 0.0:
        return gamma_max
    for _ in range(2 * moved.shape[0] + 2):
        total = 0.0
        count = 0
        for m in range(moved.shape[0]):
            j = moved[m]
            if box[DV, j] != 0.0:
                for side in range(2):
                    kink = (box[side, j] - box[V, j]) / box[DV, j]
                    if low < kink < high:
                        total += kink
                        count += 1
        middle = total / max(count, 1)
        if count == 0 or not low < middle < high:
            break
        slope = slope_at(middle, gap, free, lam, box, moved)
        if slope > 0.0:
            low, slope_low = middle, slope
        else:
            high, slope_high = middle, slope
    return low + (high - low) * slope_low / (slope_low - slope_high)


def square(box: np.ndarray, j: int, x: float) -> float:
    """Return the integral of the clipping of coordinate j from 0 to x, up to a constant.

    The integral is ``x^2/2`` inside the bounds and linear outside.
    """
    inside = min(max(x, box[LOWER, j]), box[UPPER, j])
    return inside * (x - 0.5 * inside)


@not_inlined
def box_gain(gamma: float, gap: float, free: float, lam: float, box: np.ndarray, moved: np.ndarray) -> float:
    """Return the increase of the dual from ``v`` to ``v + gamma dv``."""
    lost = 0.0
    for m in range(moved.shape[0]):
        j = moved[m]
        step = gamma * box[DV, j]
        lost += square(box, j, box[V, j] + step) - square(box, j, box[V, j]) - step * clipped(box, j, 0.0)
    return gamma * gap - 0.5 * gamma * gamma * free - lam * lost
