"""Trackers: the current point of a run, with the objective's value, gradients, line search and steps at this point.

A *tracker* is between the loop and an objective. It holds the point, and quantities that depend on the point and are
updated at every step, such as a product ``sum_i A_i x_i``; so a step on one block uses the data of this block only.
Blocks are flat float64 vectors in this module; only users' functions get them in their shapes.

Let ``s`` be the change of the point, and ``g`` and ``g+`` the gradients before and after the step. Step sizes depend on
the Bregman distance

    B = f(x + s) - f(x) - <g, s>,        f(x) - f(x + s) + <g+, s> = <g+ - g, s> - B,

which can be computed without cancellation if the objective is quadratic.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from bcfw.errors import InputError, ObjectiveError
from bcfw.product.derivatives import VALUE_ROUNDING, Line

#: If the relative difference of ``block_gradient`` and the block of the gradient is above this, f is tested along a
#: line.
BLOCK_AGREEMENT = 1e-3

#: A step on a function that is not convex must decrease f by at least this share of ``gamma * slope``.
SUFFICIENT_GAIN = 1e-4


class Probe(Protocol):
    """The objective at ``x + s`` with ``s = sum_i gamma_i d_i``, for fixed directions d_i and any sizes gamma_i."""

    def bregman(self, gammas: list[float]) -> float:
        """Return the Bregman distance ``f(x + s) - f(x) - <g, s>``."""

    def rounding(self) -> float:
        """Return the allowed rounding error of the latest result of :meth:`bregman`."""

    def gradient_change(self, gammas: list[float]) -> tuple[float, float]:
        """Return ``|g+ - g|^2`` over all blocks, and ``<g+ - g, s>``."""

    def slope_change(self, gammas: list[float]) -> float | None:
        """Return ``<g+ - g, s>`` from the gradients of the moving blocks; None if s is lost in the rounding of x."""

    def best_fraction(self, tops: list[float], slope: float) -> float:
        """Return the t in [0, 1] that minimises f at ``gamma = t tops``; ``slope`` < 0 is the derivative at t = 0."""

    def move(self, gammas: list[float]) -> None:
        """Make ``x + s`` the current point."""


class Tracker(Protocol):
    """The current point of one run, and the objective at this point.

    Attributes
    ----------
    x : list of flat arrays; changed in place
    convex : True, False or None (unknown)
    smoothness : Lipschitz constant of the gradient; None if unknown
    block_smoothness : (m,) Lipschitz constants of each block's gradient in this block; None if unknown
    whole_gradients : whether the gradient of one block costs as much as the gradients of all blocks
    tested : whether :meth:`test` tests the gradient, because it comes from a user and may be wrong
    """

    x: list[np.ndarray]
    convex: bool | None
    whole_gradients: bool
    tested: bool

    @property
    def smoothness(self) -> float | None: ...

    @property
    def block_smoothness(self) -> Sequence[float] | None: ...

    def value(self) -> float:
        """Return the objective at the current point."""

    def block_gradient(self, i: int) -> np.ndarray:
        """Return the gradient of block i as a flat array."""

    def gradients(self) -> Sequence[np.ndarray]:
        """Return the gradients of all blocks as flat arrays."""

    def probe(self, blocks: Sequence[int], directions: list[np.ndarray], slopes: list[float]) -> Probe:
        """Return a probe for steps along these directions; ``slopes`` are ``-<g_i, d_i>``."""

    def refresh(self) -> None:
        """Recompute the maintained quantities, so that rounding errors do not accumulate."""

    def test(self, ends: list[np.ndarray]) -> None:
        """Raise if the gradient contradicts the values of f along the line from the current point to ``ends``."""


def line_minimiser(slope: Callable[[float], float]) -> float:
    """Return a t in [0, 1] at which a function that decreases at 0 stops decreasing; ``slope`` is its derivative."""
    if slope(1.0) <= 0.0:
        return 1.0
    from scipy.optimize import brentq

    return float(brentq(slope, 0.0, 1.0, xtol=1e-18, rtol=1e-10, maxiter=200, disp=False))


def safe_fraction(probe: Probe, tops: list[float], slope: float, start: float) -> float:
    """Return the fraction ``start``, halved until f decreases enough.

    A stationary point of a non-convex f on the line can have a larger value than the first point of the line.
    """
    t = start
    for _ in range(100):
        change = t * slope + probe.bregman([t * top for top in tops])
        if change <= SUFFICIENT_GAIN * t * slope + probe.rounding():
            return t
        t *= 0.5
    return 0.0


# --- a user's function --------------------------------------------------------------------------------------------


class FunctionTracker:
    """Tracker of a user's functions; value and gradients are stored until the point changes."""

    tested = True

    def __init__(self, function: Any, x: list[np.ndarray], shapes: list[tuple[int, ...]]) -> None:
        self.function = function
        self.x = x
        self.shapes = shapes
        self.shaped = [flat.reshape(shape) for flat, shape in zip(x, shapes, strict=True)]
        for array in self.shaped:
            array.flags.writeable = False
        self.convex = function.convex
        self.smoothness = function.smoothness
        self.block_smoothness = function.block_smoothness
        self.whole_gradients = function.block_gradient is None
        self.value_eps = float(np.finfo(np.float64).eps)
        self.forget()

    def forget(self) -> None:
        """Discard value and gradients, because the point has changed."""
        self.known_value: float | None = None
        self.known_gradient: list[np.ndarray] | None = None

    def value(self) -> float:
        if self.known_value is None:
            self.known_value = self._value_at(self.shaped)
            if not np.isfinite(self.known_value):
                raise InputError(f"the objective's value is {self.known_value} at a feasible point; it must be finite")
        return self.known_value

    def _value_at(self, x: list[np.ndarray]) -> float:
        value = self.function.value(x)
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise InputError(f"the objective's value must be a number, got {value!r}") from error
        if isinstance(value, np.floating):  # float32 has a larger eps than float64
            self.value_eps = float(np.finfo(value.dtype).eps)
        return number

    def gradients(self) -> list[np.ndarray]:
        if self.known_gradient is None:
            self.known_gradient = self._gradients_at(self.shaped)
        return self.known_gradient

    def _gradients_at(self, x: list[np.ndarray]) -> list[np.ndarray]:
        answer = self.function.gradient(x)
        if not isinstance(answer, list | tuple) or len(answer) != len(self.x):
            got = f"{len(answer)}" if isinstance(answer, list | tuple) else type(answer).__name__
            raise InputError(f"the gradient must be a list of {len(self.x)} arrays, one per block, got {got}")
        return [self._flat(i, one) for i, one in enumerate(answer)]

    def block_gradient(self, i: int) -> np.ndarray:
        if self.whole_gradients:
            return self.gradients()[i]
        return self._flat(i, self.function.block_gradient(self.shaped, i))

    def _flat(self, i: int, gradient: Any) -> np.ndarray:
        try:
            array = np.array(gradient, dtype=np.float64)  # a copy: users may return x itself, or reuse an array
        except (TypeError, ValueError) as error:
            kind, advice = type(gradient).__name__, "; use .toarray()" if hasattr(gradient, "toarray") else ""
            raise InputError(
                f"block {i}: the gradient must be an array of real numbers, got a {kind}{advice}"
            ) from error
        if array.shape != self.shaped[i].shape:
            raise InputError(f"block {i}: the gradient has shape {array.shape}, the block {self.shaped[i].shape}")
        return array.ravel()

    def test(self, ends: list[np.ndarray]) -> None:
        used = self.gradients()
        line = self._test_along(ends, self._gradients_at, "the gradient")
        changed = line.change_of_slope(used)
        if changed is not None:
            raise ObjectiveError(
                f"the gradient is another one at the same point: along a line in the domains its slope was "
                f"{changed.claimed:.6g}, and then {changed.found:.6g} (does it depend on earlier calls, or on chance?)"
            )
        if self.whole_gradients:
            return
        for i, gradient in enumerate(self.gradients()):
            own = self.block_gradient(i)
            if np.linalg.norm(own - gradient) > BLOCK_AGREEMENT * np.linalg.norm(gradient):
                only = [end if j == i else x for j, (end, x) in enumerate(zip(ends, self.x, strict=True))]
                self._test_along(only, functools.partial(self._with_block, i), f"block_gradient(x, {i})")

    def _with_block(self, i: int, x: list[np.ndarray]) -> list[np.ndarray]:
        """Return gradients with ``block_gradient(x, i)`` for block i and zeros for all other blocks."""
        own = self._flat(i, self.function.block_gradient(x, i))
        return [own if j == i else np.zeros_like(flat) for j, flat in enumerate(self.x)]

    def _test_along(self, ends: list[np.ndarray], gradients_at: Any, name: str) -> Line:
        """Raise if ``gradients_at`` contradicts the values of f on the line from the current point to ``ends``."""
        line = Line(self._value_at, gradients_at, self.x, ends, self.shapes)
        found = line.contradiction()
        if found is not None:
            raise ObjectiveError(
                f"{name} does not belong to f: along a line between two points of the domains, {found}. "
                "bcfw.check_objective(objective, domains) finds the blocks and entries that are wrong"
            )
        return line

    def probe(self, blocks: Sequence[int], directions: list[np.ndarray], slopes: list[float]) -> FunctionProbe:
        return FunctionProbe(self, blocks, directions, slopes)

    def refresh(self) -> None:
        self.forget()


class FunctionProbe:
    """Probe of a user's function. Trial steps change the tracker's point itself; the step is the last trial."""

    def __init__(
        self, tracker: FunctionTracker, blocks: Sequence[int], directions: list[np.ndarray], slopes: list[float]
    ) -> None:
        self.tracker = tracker
        self.points = [tracker.x[i] for i in blocks]
        self.before = [point.copy() for point in self.points]
        self.blocks = blocks
        self.directions = directions
        self.slopes = slopes
        self._tried: list[float] | None = None
        self._value: float | None = None
        self._gradient: list[np.ndarray] | None = None

    def _try(self, gammas: list[float]) -> None:
        """Move the tracker to the trial point of these sizes, unless it is already there."""
        if gammas is self._tried:
            return
        if self._tried is None:
            self._value, self._gradient = self.tracker.known_value, self.tracker.known_gradient
        for point, before, direction, gamma in zip(self.points, self.before, self.directions, gammas, strict=True):
            np.multiply(direction, gamma, out=point)
            point += before
        self.tracker.forget()
        self._tried = gammas

    def bregman(self, gammas: list[float]) -> float:
        if self._tried is None:
            self.tracker.value()
        self._try(gammas)
        assert self._value is not None
        slope = sum(gamma * slope for gamma, slope in zip(gammas, self.slopes, strict=True))
        return self.tracker.value() - self._value + slope

    def rounding(self) -> float:
        assert self._value is not None
        return VALUE_ROUNDING * self.tracker.value_eps * (abs(self._value) + abs(self.tracker.value()))

    def gradient_change(self, gammas: list[float]) -> tuple[float, float]:
        if self._tried is None:
            self.tracker.gradients()
        self._try(gammas)
        assert self._gradient is not None
        changes = [new - old for new, old in zip(self.tracker.gradients(), self._gradient, strict=True)]
        along = zip(self.blocks, self.directions, gammas, strict=True)
        return sum(float(d.dot(d)) for d in changes), sum(gamma * float(changes[i].dot(d)) for i, d, gamma in along)

    def slope_change(self, gammas: list[float]) -> float | None:
        self._try(gammas)
        if all(np.array_equal(point, before) for point, before in zip(self.points, self.before, strict=True)):
            return None
        return self._slope_at(gammas) + sum(gamma * slope for gamma, slope in zip(gammas, self.slopes, strict=True))

    def _slope_at(self, sizes: list[float]) -> float:
        """Return ``sum_i sizes_i <g+_i, d_i>`` at the trial point."""
        gradients = [self.tracker.block_gradient(i) for i in self.blocks]
        return sum(size * float(g.dot(d)) for size, g, d in zip(sizes, gradients, self.directions, strict=True))

    def best_fraction(self, tops: list[float], slope: float) -> float:
        if not self.tracker.convex:
            self.tracker.value()  # trial values are compared with this value

        def derivative(t: float) -> float:
            if t == 0.0:
                return slope
            self._try([t * top for top in tops])
            return self._slope_at(tops)

        best = line_minimiser(derivative)
        return best if self.tracker.convex else safe_fraction(self, tops, slope, best)

    def move(self, gammas: list[float]) -> None:
        self._try(gammas)


# --- functions of a maintained product ----------------------------------------------------------------------------


class Outer(Protocol):
    """The function phi of ``f(x) = phi(sum_i A_i x_i) + sum_i <c_i, x_i>``.

    In all methods p is the product ``sum_i A_i x_i``, r the gradient of phi at p, and q a change of the entries
    ``p[rows]``; ``rows`` is a slice or an array of indices.
    """

    #: Whether phi is quadratic; then :meth:`bregman` is half the curvature along q.
    quadratic: bool
    #: A number c with phi'' at most ``c I``; None if :meth:`hessian` is not a multiple of the identity.
    curvature: float | None

    @property
    def convex(self) -> bool | None: ...

    def value(self, p: np.ndarray) -> float: ...

    def gradient(self, p: np.ndarray) -> np.ndarray: ...

    def hessian(self, p: np.ndarray) -> np.ndarray:
        """Return the product of phi'' and p; if phi'' is not constant, use an upper bound of phi''."""

    def gradient_after(self, p: np.ndarray, r: np.ndarray, rows: Any, q: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return the rows of the gradient r that change with ``p[rows] += q``, and the new values in these rows."""

    def bregman(self, p: np.ndarray, r: np.ndarray, rows: Any, q: np.ndarray) -> float: ...


def union(several: list[Any], n_rows: int) -> Any:
    """Return the rows that are in at least one of several slices or index arrays: a slice if all are, else indices."""
    reached = np.zeros(n_rows, dtype=bool)
    for rows in several:
        reached[rows] = True
    return slice(None) if reached.all() else np.flatnonzero(reached)


class ProductTracker:
    """Tracker of a function of a product: it maintains ``p = sum_i A_i x_i`` and ``r = phi'(p)``.

    The gradient of block i is ``A_i' r + c_i``.

    Parameters
    ----------
    objective : object with ``outer``, ``smoothness`` and ``block_constants``
    pieces : per block (rows, matrix, its transpose), where ``matrix`` holds the rows of A_i with numbers ``rows``
    linear : list of c_i, one per block; None: no linear term
    x : list of flat arrays
    n_rows : length of p
    """

    whole_gradients = False
    tested = False

    def __init__(
        self, objective: Any, pieces: list[tuple[Any, Any, Any]], linear: Any, x: list[np.ndarray], n_rows: int
    ) -> None:
        self.objective = objective
        self.outer: Outer = objective.outer
        self.convex: bool | None = self.outer.convex
        self.pieces = pieces
        self.linear = linear
        self.x = x
        self.p, self.r = np.zeros(n_rows), np.zeros(n_rows)
        self.refresh()

    @property
    def smoothness(self) -> float | None:
        return self.objective.smoothness  # type: ignore[no-any-return]

    @property
    def block_smoothness(self) -> Sequence[float] | None:
        return self.objective.block_constants(self.pieces)  # type: ignore[no-any-return]

    def refresh(self) -> None:
        self.p[:] = 0.0
        for (rows, matrix, _), x in zip(self.pieces, self.x, strict=True):
            self.p[rows] += matrix.dot(x)
        self.r = self.outer.gradient(self.p)

    def value(self) -> float:
        linear = 0.0 if self.linear is None else sum(float(c.dot(x)) for c, x in zip(self.linear, self.x, strict=True))
        return self.outer.value(self.p) + linear

    def block_gradient(self, i: int) -> np.ndarray:
        rows, _, transposed = self.pieces[i]
        gradient: np.ndarray = transposed.dot(self.r[rows])
        return gradient if self.linear is None else gradient + self.linear[i]

    def gradients(self) -> list[np.ndarray]:
        return [self.block_gradient(i) for i in range(len(self.x))]

    def test(self, ends: list[np.ndarray]) -> None:
        """Do nothing, because the gradient does not come from a user."""

    def probe(self, blocks: Sequence[int], directions: list[np.ndarray], slopes: list[float]) -> ProductProbe:
        return ProductProbe(self, blocks, directions)


class ProductProbe:
    """Probe of a function of a product; it computes ``A_i d_i`` once and uses it for all sizes and for the step."""

    def __init__(self, tracker: ProductTracker, blocks: Sequence[int], directions: list[np.ndarray]) -> None:
        self.tracker = tracker
        self.points = [tracker.x[i] for i in blocks]
        self.directions = directions
        pieces = [tracker.pieces[i] for i in blocks]
        self.rows = [piece[0] for piece in pieces]
        self.images = [piece[1].dot(direction) for piece, direction in zip(pieces, directions, strict=True)]
        self._combined: tuple[list[float], Any, np.ndarray] | None = None

    def _change(self, gammas: list[float]) -> tuple[Any, np.ndarray]:
        """Return the rows of p that change, and the change ``sum_i gamma_i A_i d_i`` in these rows."""
        if self._combined is not None and self._combined[0] is gammas:
            return self._combined[1:]
        rows, change = self.rows[0], self.images[0] * gammas[0]
        if len(gammas) > 1:
            total = np.zeros(len(self.tracker.p))
            rows = union(self.rows, len(total))
            for own, image, gamma in zip(self.rows, self.images, gammas, strict=True):
                total[own] += gamma * image
            change = total[rows]
        self._combined = gammas, rows, change
        return rows, change

    def bregman(self, gammas: list[float]) -> float:
        tracker = self.tracker
        return tracker.outer.bregman(tracker.p, tracker.r, *self._change(gammas))

    def rounding(self) -> float:
        return 0.0

    def gradient_change(self, gammas: list[float]) -> tuple[float, float]:
        rows, change = self._change(gammas)
        difference = self._difference(gammas)
        parts = (transposed.dot(difference[rows]) for rows, _, transposed in self.tracker.pieces)
        return sum(float(part.dot(part)) for part in parts), float(difference[rows].dot(change))

    def slope_change(self, gammas: list[float]) -> float:
        rows, change = self._change(gammas)
        return float(self._difference(gammas)[rows].dot(change))

    def _difference(self, gammas: list[float]) -> np.ndarray:
        """Return the change of r."""
        tracker = self.tracker
        rows, change = self._change(gammas)
        changed, values = tracker.outer.gradient_after(tracker.p, tracker.r, rows, change)
        difference = np.zeros(len(tracker.p))
        difference[changed] = values - tracker.r[changed]
        return difference

    def best_fraction(self, tops: list[float], slope: float) -> float:
        tracker = self.tracker
        rows, change = self._change(tops)
        outer, p, r = tracker.outer, tracker.p, tracker.r
        if outer.quadratic:
            curvature = 2.0 * outer.bregman(p, r, rows, change)
            return min(1.0, -slope / curvature) if curvature > 0.0 else 1.0
        start = float(r[rows].dot(change))

        def derivative(t: float) -> float:
            _, values = outer.gradient_after(p, r, rows, t * change)
            return slope - start + float(values.dot(change))

        return line_minimiser(derivative)

    def move(self, gammas: list[float]) -> None:
        tracker = self.tracker
        rows, change = self._change(gammas)
        changed, values = tracker.outer.gradient_after(tracker.p, tracker.r, rows, change)
        tracker.p[rows] += change
        tracker.r[changed] = values
        for point, direction, gamma in zip(self.points, self.directions, gammas, strict=True):
            point += gamma * direction
