"""Calls of the domains' oracles, with checks of every answer.

Every answer of a correct oracle is a point of the set. So the answer to a direction g must be at least as good as all
earlier answers: ``<g, argmin(g)> <= <g, v>`` for every known point v. Oracles of users' sets are tested for this.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bcfw.errors import InputError, OracleError
from bcfw.product.derivatives import near
from bcfw.product.domains import DOMAINS, Counted
from bcfw.run import now

#: A negative gap ``<g, x> - <g, v>`` of more than this size, relative to the terms of the two inner products, is not a
#: rounding error: the oracle did not minimise.
NEGATIVE_GAP = 1e-9

#: Rounding allowed to oracles whose answers have less than double precision, in units in the last place of the answer.
COARSE_ROUNDING = 64.0

#: The shortest measured time of an oracle grows by this factor with every later call, so that one call that was fast by
#: luck is forgotten.
AGEING = 1.1

#: Number of latest answers of a user's oracle that are kept, to compare later answers with them.
REMEMBERED = 8

#: Advice about an oracle that did not minimise; the end of messages.
ADVICE = (
    "argmin(direction) must minimise <direction, v> over a set that contains the start (does it maximise?); "
    "bcfw.check_domain(domain) helps, and an oracle that is not exact must have exact = False"
)


class Answer(NamedTuple):
    """Oracle's answer for one block of a certificate.

    Attributes
    ----------
    vertex : the point that the oracle returned, flat
    gap : the block's gap, or an upper bound of the gap
    proven : whether ``gap`` is proven to be an upper bound
    """

    vertex: np.ndarray
    gap: float
    proven: bool


def trusted(domain: Any) -> bool:
    """Return whether the domain is one of bcfw's own, whose answers need no repeated checks."""
    if type(domain) is Counted:
        return trusted(domain.domain)
    return type(domain) in DOMAINS


def parsed(answer: Any, shape: tuple[int, ...]) -> np.ndarray | str:
    """Return a new array of any real type with the answer of a user's oracle; or a string that says what is wrong."""
    if answer is None:
        return f"argmin returned None; it must return a point of the domain, an array of shape {shape}"
    if hasattr(answer, "toarray"):
        return f"argmin returned a sparse {type(answer).__name__}; it must return an array: use .toarray()"
    try:
        array = np.array(answer)
    except ValueError as error:
        return f"argmin returned something that is no array ({error})"
    if array.dtype.kind not in "fiub":
        kind = f"numbers of type {array.dtype}" if array.dtype.kind == "c" else f"{answer!r:.80}"
        return f"argmin returned {kind}; it must return an array of real numbers"
    if array.shape != shape:
        return f"argmin returned an array of shape {array.shape}, but points of the domain have shape {shape}"
    return array


def read_answer(i: int, answer: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return the answer of a user's oracle as a new array; raise OracleError with the block if it is wrong."""
    array = parsed(answer, shape)
    if isinstance(array, str):
        raise OracleError(f"block {i}: {array}", i)
    return array


def rounding_of(answer: np.ndarray) -> float:
    """Return the allowed rounding error of ``<direction, answer>``, relative to the terms of this inner product."""
    single = answer.dtype.kind == "f" and answer.dtype.itemsize < 8
    return max(NEGATIVE_GAP, COARSE_ROUNDING * float(np.finfo(answer.dtype).eps)) if single else NEGATIVE_GAP


def mirrored(direction: np.ndarray) -> np.ndarray:
    """Return the negative direction; or, if all entries have one sign, the direction reflected within its range.

    Some oracles accept entries of one sign only, for example shortest-path oracles.
    """
    low, high = direction.min(), direction.max()
    return -direction if low < 0.0 < high else (low + high) - direction


def other_directions(direction: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Return three directions with different minimisers, the most promising first.

    If all entries of ``direction`` have one sign, all entries of the three directions have this sign, too.
    """
    anywhere = np.copysign(1.0 + rng.random(len(direction)), direction.max())
    return [mirrored(direction), anywhere, mirrored(anywhere)]


class Oracle:
    """The oracles of all blocks; each answer is checked.

    Parameters
    ----------
    domains : one per block
    x : the current point, one flat array per block
    shapes : shapes of the blocks
    seconds : (m,) or None
        Array that receives the shortest measured time of each block's oracle (see ``AGEING``); None: no timing.

    Attributes
    ----------
    exact : per block, whether its domain says that ``argmin`` is exact
    doubted : the blocks whose domain is a user's and says that ``argmin`` is exact
    rounding : per block, the allowed rounding error of its oracle
    """

    def __init__(
        self, domains: list[Any], x: list[np.ndarray], shapes: list[tuple[int, ...]], seconds: np.ndarray | None
    ) -> None:
        self.domains = domains
        self.x = x
        self.shapes = shapes
        self.seconds = seconds
        self.exact = [bool(getattr(domain, "exact", True)) for domain in domains]
        self.doubted = [i for i, domain in enumerate(domains) if self.exact[i] and not trusted(domain)]
        self.rounding = [NEGATIVE_GAP] * len(domains)
        self._known: list[deque[np.ndarray]] = [deque(maxlen=REMEMBERED) for _ in domains]
        self._argmins = [domain.argmin if trusted(domain) else self._asking(i) for i, domain in enumerate(domains)]

    def _asking(self, i: int) -> Callable[[np.ndarray], np.ndarray]:
        """Return a wrapper of a user's ``argmin``, which may change its argument and may reuse its result array."""
        domain, shape, known = self.domains[i], self.shapes[i], self._known[i]

        def argmin(direction: np.ndarray) -> np.ndarray:
            array = read_answer(i, domain.argmin(direction.copy()), shape)
            self.rounding[i] = max(self.rounding[i], rounding_of(array))
            vertex = array.astype(np.float64, copy=False)
            if np.isfinite(vertex).all():
                known.append(vertex.ravel())
            return vertex

        return argmin

    def ask(self, i: int, direction: np.ndarray) -> np.ndarray:
        """Return the answer of block i's oracle to a direction; both are flat."""
        shape = self.shapes[i]
        if len(shape) == 1:
            return np.asarray(self._argmins[i](direction))
        return np.asarray(self._argmins[i](direction.reshape(shape))).ravel()

    def __call__(self, i: int, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the vertex v of block i, ``v - x`` and the gap ``<g, x - v>``."""
        began = 0.0 if self.seconds is None else now()
        try:
            vertex = self.ask(i, gradient)
        except Exception:
            self._require_finite(i, gradient)
            raise
        if self.seconds is not None:
            self.seconds[i] = min(AGEING * self.seconds[i], now() - began)
        towards = vertex - self.x[i]
        gap = -float(gradient.dot(towards))
        if not 0.0 <= gap < math.inf:
            self._examine(i, gradient, vertex, gap)
        return vertex, towards, gap

    def _examine(self, i: int, gradient: np.ndarray, vertex: np.ndarray, gap: float) -> None:
        """Raise for a gap that is negative, infinite or nan, unless rounding explains it."""
        self._require_finite(i, gradient)
        if not np.isfinite(vertex).all():
            raise OracleError(f"block {i}: argmin returned nan or infinite numbers", i)
        if self.exact[i] and not gap >= -self._tolerance(i, gradient, vertex, self.x[i]):
            raise OracleError(
                f"block {i}: the block gap <grad, x - v> is {gap:.3g}: the point v of argmin is worse than the current "
                f"one; {ADVICE}",
                i,
            )

    def _tolerance(self, i: int, gradient: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
        """Return the allowed rounding error of the difference between the values ``<g, v>`` of two points."""
        return self.rounding[i] * float(np.abs(gradient).dot(np.abs(one) + np.abs(other)))

    def _require_finite(self, i: int, gradient: np.ndarray) -> None:
        if not np.isfinite(gradient).all():
            raise InputError(f"block {i}: the gradient holds nan or infinite numbers")

    def certified_gap(self, i: int, gradient: np.ndarray, atoms: np.ndarray | None = None) -> Answer:
        """Return the answer and the gap of block i, or an upper bound of the gap if the oracle is not exact.

        For users' domains: raise if the answer lies outside the domain, if an exact oracle has returned a better point
        before (or one of ``atoms`` is better), or if the oracle's lower bound is above the value of its answer.
        """
        vertex, _, gap = self(i, gradient)
        domain = self.domains[i]
        least = None if self.exact[i] else self._lower_bound(i, gradient)
        if not trusted(domain):
            self._require_inside(i, vertex)
            if self.exact[i]:
                self.require_best(i, gradient, vertex, atoms)
            elif least is not None:
                self._require_below(i, gradient, vertex, least)
        if least is not None:
            return Answer(vertex, max(float(gradient.dot(self.x[i])) - least, gap, 0.0), True)
        return Answer(vertex, max(gap, 0.0), self.exact[i])

    def _lower_bound(self, i: int, gradient: np.ndarray) -> float | None:
        lower_bound = getattr(self.domains[i], "lower_bound", None)
        least = None if lower_bound is None else lower_bound(gradient.reshape(self.shapes[i]))
        return None if least is None else float(least)

    def _require_below(self, i: int, gradient: np.ndarray, vertex: np.ndarray, least: float) -> None:
        value = float(gradient.dot(vertex))
        if not least <= value + self._tolerance(i, gradient, vertex, self.x[i]):
            raise OracleError(
                f"block {i}: lower_bound(direction) is {least:.6g}, but argmin returned a point of value {value:.6g}", i
            )

    def _require_inside(self, i: int, vertex: np.ndarray) -> None:
        contains = getattr(self.domains[i], "contains", None)
        if contains is not None and not contains(vertex.reshape(self.shapes[i])):
            raise OracleError(f"block {i}: argmin returned a point that its own domain does not contain", i)

    def require_best(self, i: int, gradient: np.ndarray, vertex: np.ndarray, points: np.ndarray | None = None) -> None:
        """Raise if an exact oracle's answer is worse than one of ``points`` or than one of its earlier answers."""
        for known in (points, np.array(self._known[i]) if self._known[i] else None):
            if known is None:
                continue
            values = known.dot(gradient)
            best = int(values.argmin())
            value = float(gradient.dot(vertex))
            if not values[best] >= value - self._tolerance(i, gradient, vertex, known[best]):
                raise OracleError(
                    f"block {i}: argmin returned a point v with <direction, v> = {value:.6g}, but one that it returned "
                    f"for another direction has {values[best]:.6g}, which is less; {ADVICE}",
                    i,
                )

    def another(
        self, i: int, gradient: np.ndarray, rng: np.random.Generator, settled: bool
    ) -> tuple[np.ndarray | None, int]:
        """Return a point of block i that is not the current point, or None, and the number of oracle calls.

        The negative gradient has signs that a user's oracle may not support. With a user's oracle it is tried last, and
        only if the block is ``settled``: its oracle answers with the current point, which does not show whether the
        oracle maximises.
        """
        directions = other_directions(gradient, rng)
        if trusted(self.domains[i]) or settled:
            negative = [-gradient, -directions[1]]
            directions = negative + directions if trusted(self.domains[i]) else directions + negative
        for calls, direction in enumerate(directions, 1):
            try:
                point = self.ask(i, direction)
            except Exception:
                break
            if np.isfinite(point).all() and not near(point, self.x[i]):
                return point, calls
        return None, calls
