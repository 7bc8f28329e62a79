"""The domains' oracles as the loop asks them: their answers are checked, those of users' sets also against each other.

Whatever a right oracle has answered to one direction is a point of the set, so that its answer to another direction g
must be at least as good there: ``<g, argmin(g)> <= <g, v>`` for all points v that are known.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bcfw.errors import InputError, OracleError
from bcfw.product.domains import DOMAINS, Counted
from bcfw.run import now

#: A gap below minus this, relative to the numbers it is a difference of, is not rounding: the oracle did not minimise.
NEGATIVE_GAP = 1e-9

#: Rounding that is granted to oracles whose answers have less than double precision, in units of their last place.
COARSE_ROUNDING = 64.0

#: An oracle's shortest time grows by this factor with every later call: a call that was fast by luck is forgotten.
AGEING = 1.1

#: So many of the latest answers of a user's oracle are kept, to compare others with them.
REMEMBERED = 8

#: Points that differ by less than this, relative to their largest entry, give no line along which f could be tested.
NEAR = 1e-6

#: What to do about an oracle that did not minimise.
ADVICE = (
    "argmin(direction) must minimise <direction, v> over a set that contains the start (does it maximise?); "
    "bcfw.check_domain(domain) helps, and an oracle that is not exact must have exact = False"
)


class Answer(NamedTuple):
    """What a certificate learns about a block: its gap, or an upper bound of it, and whether it is proven to be one."""

    vertex: np.ndarray
    gap: float
    proven: bool


def trusted(domain: Any) -> bool:
    """Whether it is one of our own, whose points need not be checked again and again."""
    if type(domain) is Counted:
        return trusted(domain.domain)
    return type(domain) in DOMAINS


def parsed(answer: Any, shape: tuple[int, ...]) -> np.ndarray | str:
    """What the oracle of a user's set returned, as an array of our own, of any real type; or what is wrong with it."""
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
    """The same, or an error that names the block."""
    array = parsed(answer, shape)
    if isinstance(array, str):
        raise OracleError(f"block {i}: {array}", i)
    return array


def rounding_of(answer: np.ndarray) -> float:
    """How far the values of an oracle's answers may be out of order, relative to the numbers that they are sums of."""
    single = answer.dtype.kind == "f" and answer.dtype.itemsize < 8
    return max(NEGATIVE_GAP, COARSE_ROUNDING * float(np.finfo(answer.dtype).eps)) if single else NEGATIVE_GAP


def mirrored(direction: np.ndarray) -> np.ndarray:
    """The negative; or, where all entries have one sign, the direction mirrored within its range.

    Some oracles are made for one sign only, such as those that find shortest paths.
    """
    low, high = direction.min(), direction.max()
    return -direction if low < 0.0 < high else (low + high) - direction


def other_directions(direction: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Directions of the same signs in which other points may be best, the most promising one first."""
    anywhere = np.copysign(1.0 + rng.random(len(direction)), direction.max())
    return [mirrored(direction), anywhere, mirrored(anywhere)]


class Oracle:
    """Asks the domains for vertices, and checks what they answer.

    Parameters
    ----------
    domains : one per block
    x : the current point, flat
    shapes : of the blocks
    seconds : (m,) where the shortest time of each is kept, which grows with every later call, or None

    Attributes
    ----------
    doubted : the blocks whose domain is a user's, and claims to have an exact oracle
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
        """The oracle of a user's domain, which may change its argument and return one array again and again."""
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
        """The flat answer of block i to a flat direction."""
        shape = self.shapes[i]
        if len(shape) == 1:
            return np.asarray(self._argmins[i](direction))
        return np.asarray(self._argmins[i](direction.reshape(shape))).ravel()

    def __call__(self, i: int, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """The vertex v of block i, ``v - x`` and the gap ``<g, x - v>``."""
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
        """A gap that is negative or no number: say why, unless it is rounding."""
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
        """How far rounding may bring the values of two points out of order."""
        return self.rounding[i] * float(np.abs(gradient).dot(np.abs(one) + np.abs(other)))

    def _require_finite(self, i: int, gradient: np.ndarray) -> None:
        if not np.isfinite(gradient).all():
            raise InputError(f"block {i}: the gradient holds nan or infinite numbers")

    def certified_gap(self, i: int, gradient: np.ndarray, atoms: np.ndarray | None = None) -> Answer:
        """The gap of a block, or an upper bound of it; an exact oracle must not have known a better point."""
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
        """Raise if the answer of an exact oracle is worse than one of these points, or than one of its own answers."""
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
        self, i: int, gradient: np.ndarray, rng: np.random.Generator, stuck: bool
    ) -> tuple[np.ndarray | None, int]:
        """A point of block i that is not the current one, if its oracle has any, and how often the oracle was asked.

        The negative gradient, which a user's oracle may not be made for, is tried last, and only if no block moves.
        """
        directions = other_directions(gradient, rng)
        if trusted(self.domains[i]) or stuck:
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


def near(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two points are too near to each other for a line between them to tell anything."""
    return bool(np.abs(one - other).max(initial=0.0) <= NEAR * np.abs(other).max(initial=0.0))
