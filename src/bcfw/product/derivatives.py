"""Tests of a user's gradient: the slopes that it gives along a line are compared with the values of f.

For a direction d, the difference quotient ``D(t) = (f(x + t d) - f(x)) / t`` is equal to a slope ``<g(x + u d), d>`` at
some u between 0 and t, by the mean value theorem. So the slopes of a correct gradient g lie on both sides of D(t), or
close to D(t). If f is convex, the slope increases with u, and D(t) lies between the slopes at 0 and t: up to rounding,
the test never rejects a correct gradient of a convex function. For small t, the error of a wrong gradient stays nearly
constant, while the rounding error of D(t) grows like 1/t.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

#: Allowed relative error of a user's value of f, in units in the last place of its type.
VALUE_ROUNDING = 64.0

#: The lengths t of the difference quotients, on a line of length 1. Single precision is too coarse for shorter lengths.
LENGTHS = tuple(0.25**k for k in range(2, 10))

#: A gradient is correct if D(t) and the mean of the slopes at 0 and t agree to this relative accuracy at one length ...
AGREEMENT = 0.01

#: ... and wrong if the slopes miss D(t) by a relative difference above DIFFERENCE at IN_A_ROW lengths in a row, always
#: in one direction and by amounts that agree up to the factor STEADY.
DIFFERENCE, IN_A_ROW, STEADY = 0.1, 3, 1.5

#: Slopes are also computed at BETWEEN times t. This is no simple fraction, so that the points do not all fall on one
#: phase of a periodic function.
BETWEEN = 0.382

#: Allowed relative errors of slopes, and of the entries of x that change, in units in the last place of float32.
SLOPE_ROUNDING, POINT_ROUNDING = 8.0, 2.0

#: Two points that differ by at most this, relative to their largest entry, are too close to test f on a line from one
#: to the other.
NEAR = 1e-6

#: Slopes below this are not tested, because their squares underflow.
TINY = 1e-150

SINGLE, DOUBLE = (float(np.finfo(kind).eps) for kind in (np.float32, np.float64))


class Contradiction(NamedTuple):
    """The slope of f along d as found from values of f, and as claimed by the gradient."""

    found: float
    claimed: float

    def __str__(self) -> str:
        ratio = self.claimed / self.found if self.found else 0.0
        hint = " (is its sign wrong?)" if abs(ratio + 1.0) < 0.05 else f" ({ratio:.3g} times as much)" if ratio else ""
        return f"f changes at the rate {self.found:.6g}, but its gradient says {self.claimed:.6g}{hint}"


def contradiction(
    value: Callable[[float], float], slope: Callable[[float], float], blur: float = 0.0, shake: float = 0.0
) -> Contradiction | None:
    """Return how the slopes of f along a line contradict its values; None if they agree or if the test is undecided.

    Parameters
    ----------
    value, slope : functions of t in [0, 1]
        f(x + t d), and ``<g(x + t d), d>``.
    blur : float
        Allowed rounding error of slopes.
    shake : float
        Largest change of a value of f by rounding x to single precision.
    """
    value, slope = functools.cache(value), functools.cache(slope)
    misses: list[float] = []
    for t in LENGTHS:
        rate = (value(t) - value(0.0)) / t
        mean = 0.5 * (slope(0.0) + slope(t))
        if not math.isfinite(rate + mean):
            continue
        noise = (value_rounding(value(0.0), value(t)) + shake) / t + blur + TINY
        if rate == mean or (abs(rate - mean) <= AGREEMENT * abs(rate) and abs(rate) > noise):
            return None
        miss = distance(rate, noise, slope(0.0), slope(t)) and distance(
            rate, noise, slope(0.0), slope(BETWEEN * t), slope(t)
        )
        misses = [*misses[1 - IN_A_ROW :], miss]
        sizes = [abs(miss) for miss in misses]
        if len(misses) == IN_A_ROW and abs(sum(misses)) == sum(sizes) and max(sizes) <= STEADY * min(sizes) > 0.0:
            return Contradiction(rate, slope(0.0))
    return None


def distance(rate: float, noise: float, *slopes: float) -> float:
    """Return how far a difference quotient is above (or, negative, below) all slopes; 0 if it may lie among them."""
    low, high = min(slopes), max(slopes)
    margin = 0.5 * (high - low) + noise + DIFFERENCE * max(abs(rate), abs(low), abs(high))
    return rate - high if rate > high + margin else rate - low if rate < low - margin else 0.0


def value_rounding(one: float, other: float) -> float:
    """Return the allowed error of the difference of two values of f.

    If both values are exact in single precision, they are taken for results of single precision. So are equal values,
    because they may have been different before rounding.
    """
    single = one == other or all(abs(v) < 3e38 and float(np.float32(v)) == v for v in (one, other))
    return VALUE_ROUNDING * (SINGLE if single else DOUBLE) * (abs(one) + abs(other))


def near(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two points are so close that f cannot be tested on the line between them."""
    return bool(np.abs(one - other).max(initial=0.0) <= NEAR * np.abs(other).max(initial=0.0))


def total_slope(gradients: list[np.ndarray], direction: list[np.ndarray]) -> float:
    """Return ``<g, d>``, summed over the blocks."""
    return sum(float(g.dot(d)) for g, d in zip(gradients, direction, strict=True))


class Line:
    """The objective between two points of the product of the domains, ``x + t (end - x)``.

    A block whose end is near x stays at x. If it moved, by however little, the rounding of all its entries to single
    precision would count, which at the lengths t of the test can change f by more than the move does; then the block
    would hide the errors of the other blocks.

    Parameters
    ----------
    value : function that returns f for a list of read-only arrays, one per block, in the shapes of the blocks
    gradients : function that takes these arrays and returns the gradient of f as a list of flat arrays
    x, ends : lists of flat arrays
    shapes : shapes of the blocks
    """

    def __init__(self, value: Any, gradients: Any, x: list[np.ndarray], ends: list[np.ndarray], shapes: Any) -> None:
        self._value = value
        self._gradients = gradients
        self.x = [block.copy() for block in x]
        self.towards = [end - start for start, end in zip(x, ends, strict=True)]
        blocks = zip(x, ends, self.towards, strict=True)
        self.direction = [np.zeros_like(d) if near(end, start) else d for start, end, d in blocks]
        self.shapes = shapes

    def at(self, t: float) -> list[np.ndarray]:
        """Return the point of t on the line as new read-only arrays, one per block."""
        flat = (x + t * d for x, d in zip(self.x, self.direction, strict=True))
        blocks = [one.reshape(shape) for one, shape in zip(flat, self.shapes, strict=True)]
        for block in blocks:
            block.flags.writeable = False
        return blocks

    @functools.cached_property
    def _gradients_on(self) -> Callable[[float], list[np.ndarray]]:
        """The gradients at the point of t, each computed once."""
        return functools.cache(lambda t: self._gradients(self.at(t)))

    def _blur(self, direction: list[np.ndarray]) -> float:
        """How wrong slopes at x along a direction may be by rounding."""
        blocks = zip(self._gradients_on(0.0), direction, strict=True)
        return SLOPE_ROUNDING * SINGLE * sum(float(np.abs(g).dot(np.abs(d))) for g, d in blocks)

    def contradiction(self) -> Contradiction | None:
        """Return how values and gradients contradict each other along the line, as :func:`contradiction` does."""
        blocks = zip(self._gradients_on(0.0), self.x, self.direction, strict=True)
        moved = sum(float(np.abs(g).dot(np.abs(x) * (d != 0.0))) for g, x, d in blocks)
        return contradiction(
            lambda t: self._value(self.at(t)),
            lambda t: total_slope(self._gradients_on(t), self.direction),
            self._blur(self.direction),
            POINT_ROUNDING * SINGLE * moved,
        )

    def change_of_slope(self, before: list[np.ndarray]) -> Contradiction | None:
        """How the slope towards the ends contradicts that of gradients computed at x before; None if it does not.

        Only slopes are compared here, so that blocks whose ends are near x count, too.
        """
        found = total_slope(self._gradients_on(0.0), self.towards)
        claimed = total_slope(before, self.towards)
        margin = DIFFERENCE * max(abs(found), abs(claimed)) + self._blur(self.towards) + TINY
        return Contradiction(found, claimed) if abs(found - claimed) > margin else None
