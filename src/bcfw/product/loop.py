"""The loop of :func:`bcfw.minimize`: choose blocks, ask their oracles, step; certify from time to time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bcfw.errors import InputError, OracleError
from bcfw.product.directions import Choice, TowardVertex
from bcfw.product.steps import Move, Sizes
from bcfw.product.trackers import Tracker
from bcfw.run import Info, Run, now
from bcfw.selection import Facts, Rule

#: A gap below minus this, relative to the numbers it is a difference of, is not rounding: the oracle did not minimise.
NEGATIVE_GAP = 1e-9

#: All steps between two certificates together that promise less than this share of |f| gain nothing that can be seen.
STALL = 1e-16

#: An oracle's shortest time grows by this factor with every later call: a call that was fast by luck is forgotten.
AGEING = 1.1


@dataclass(frozen=True)
class IterationInfo(Info):
    """What a callback of :func:`bcfw.minimize` sees after each iteration; return True from it to stop.

    ``value`` and ``gap`` are those of the latest certificate, taken at iteration ``certified_iters``; ``x`` is a copy
    of the current point.
    """

    @property
    def n_iters(self) -> int:
        """Iterations so far."""
        return int(self.done)

    @property
    def certified_iters(self) -> int:
        """When the latest certificate was taken."""
        return int(self.latest["iters"])

    @property
    def value(self) -> float:
        """The objective at the latest certificate."""
        return self.latest["value"]

    @property
    def x(self) -> list[np.ndarray]:
        """Copy of the current point."""
        return self.point()  # type: ignore[no-any-return]

    @property
    def shown(self) -> dict[str, float]:
        return {"value": self.value}


@dataclass
class Certificate:
    """Value and full Frank-Wolfe gap ``sum_i <g_i, x_i - v_i>`` of a point x."""

    x: list[np.ndarray]
    value: float
    gap: float
    block_gaps: np.ndarray
    proven: bool


def trusted(domain: Any) -> bool:
    """Whether it is one of our own, whose points need not be checked again and again."""
    return type(domain).__module__.startswith("bcfw.product.domains")


def copying(domain: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The oracle of a user's domain, which may return the same array again and again."""
    return lambda direction: np.array(domain.argmin(direction))


class Oracle:
    """Asks the domains for vertices, and checks what they answer.

    Parameters
    ----------
    domains : one per block
    x : the current point, flat
    shapes : of the blocks
    seconds : (m,) where the shortest time of each is kept, which grows with every later call, or None
    """

    def __init__(
        self, domains: list[Any], x: list[np.ndarray], shapes: list[tuple[int, ...]], seconds: np.ndarray | None
    ) -> None:
        self.domains = domains
        self.x = x
        self.shapes = shapes
        self.argmins = [domain.argmin if trusted(domain) else copying(domain) for domain in domains]
        self.seconds = seconds

    def __call__(self, i: int, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """The vertex v of block i, ``v - x`` and the gap ``<g, x - v>``."""
        shape = self.shapes[i]
        direction = gradient if len(shape) == 1 else gradient.reshape(shape)
        began = 0.0 if self.seconds is None else now()
        try:
            answer = np.asarray(self.argmins[i](direction), dtype=np.float64)
        except Exception:
            self._require_finite(i, gradient)
            raise
        if self.seconds is not None:
            self.seconds[i] = min(AGEING * self.seconds[i], now() - began)
        if answer.shape != shape:
            raise OracleError(f"block {i}: argmin returned shape {answer.shape}, expected {shape}", i)
        vertex = answer if len(shape) == 1 else answer.ravel()
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
        scale = float(np.abs(gradient).dot(np.abs(self.x[i]) + np.abs(vertex)))
        exact = bool(getattr(self.domains[i], "exact", True))
        if exact and not gap >= -NEGATIVE_GAP * scale:
            raise OracleError(
                f"block {i}: the point of argmin is worse than the current one by {-gap:.3g}; argmin must minimise "
                "<direction, v> over a set that contains the start (an approximate one must have exact = False)",
                i,
            )

    def _require_finite(self, i: int, gradient: np.ndarray) -> None:
        if not np.isfinite(gradient).all():
            raise InputError(f"block {i}: the gradient holds nan or infinite numbers")

    def certified_gap(self, i: int, gradient: np.ndarray) -> tuple[float, bool]:
        """The gap of a block, or an upper bound of it, and whether it is proven to be one."""
        vertex, _, gap = self(i, gradient)
        domain, shape = self.domains[i], self.shapes[i]
        contains = getattr(domain, "contains", None)
        if contains is not None and not trusted(domain) and not contains(vertex.reshape(shape)):
            raise OracleError(f"block {i}: argmin returned a point that its own domain does not contain", i)
        if getattr(domain, "exact", True):
            return max(gap, 0.0), True
        lower_bound = getattr(domain, "lower_bound", None)
        least = None if lower_bound is None else lower_bound(gradient.reshape(shape))
        if least is None:
            return max(gap, 0.0), False
        return max(float(gradient.dot(self.x[i])) - float(least), gap, 0.0), True


class Loop:
    """The state of one run.

    Attributes
    ----------
    n_iters : iterations done
    lmo_calls : per block, calls of its oracle for steps
    certificate_calls : calls for certificates, of all blocks together
    """

    def __init__(
        self, tracker: Tracker, oracle: Oracle, directions: TowardVertex, sizes: Sizes, facts: Facts, run: Run
    ) -> None:
        self.tracker = tracker
        self.oracle = oracle
        self.directions = directions
        self.sizes = sizes
        self.facts = facts
        self.run = run
        self.n_iters = 0
        self.lmo_calls = [0] * len(tracker.x)
        self.certificate_calls = 0
        self.latest: Certificate | None = None
        self.best: Certificate | None = None
        self._promised = math.inf  # what the steps since the latest certificate promise to gain
        self._calls_then = list(self.lmo_calls)
        self._gap_then = math.inf
        run.point = self.copy_point

    def copy_point(self) -> list[np.ndarray]:
        """A copy of the current point, in the blocks' shapes."""
        return [block.reshape(shape).copy() for block, shape in zip(self.tracker.x, self.oracle.shapes, strict=True)]

    def solve(self, rule: Rule, gap_every: int) -> Certificate:
        """Iterate until the run says stop; the certificate of the point to return."""
        run, next_certificate = self.run, gap_every
        self.certify()
        for blocks in rule.iterations(self.facts):
            run.check_limits(self.n_iters)
            if run.status is not None:
                break
            self.iterate(blocks)
            self.n_iters += 1
            if self.n_iters >= next_certificate:
                next_certificate += gap_every
                self.certify()
                self.check_stall()
            run.after(self.n_iters)
        return self.finish()

    def iterate(self, blocks: Iterable[int]) -> None:
        """One iteration (flexible-blocks-2026, Alg. 1): gradients and vertices at the current point, then one move."""
        tracker, oracle, gaps, calls = self.tracker, self.oracle, self.facts.gaps, self.lmo_calls
        moving: list[int] = []
        choices: list[Choice] = []
        total, asked = 0.0, 0
        for i in blocks:
            gradient = tracker.block_gradient(i)
            vertex, towards, gap = oracle(i, gradient)
            calls[i] += 1
            asked += 1
            gaps[i] = gap
            total += gap
            choice = self.directions.choose(i, gradient, vertex, towards, gap)
            if choice.slope > 0.0:
                moving.append(i)
                choices.append(choice)
        if asked == len(calls) and total <= self.run.gap_target:
            self.certify()  # a full gap came for nothing, and it is small enough
        if moving and self.run.status is None:
            self.step(moving, choices)

    def step(self, moving: list[int], choices: list[Choice]) -> None:
        """Choose sizes and go."""
        directions = [choice.direction for choice in choices]
        slopes = [choice.slope for choice in choices]
        probe = self.tracker.probe(moving, directions, slopes)
        squares = [float(direction.dot(direction)) for direction in directions]
        gammas = self.sizes(Move(moving, slopes, squares, [choice.top for choice in choices], probe))
        probe.move(gammas)
        self.latest = None
        for i, choice, gamma in zip(moving, choices, gammas, strict=True):
            self.directions.settle(i, choice, gamma)
            self._promised += gamma * choice.slope

    def certify(self) -> None:
        """Compute value and full gap at the current point, record them, and judge the run by them."""
        if self.latest is not None:  # the point has not moved since
            return
        tracker, run, facts = self.tracker, self.run, self.facts
        tracker.refresh()
        answers = [self.oracle.certified_gap(i, gradient) for i, gradient in enumerate(tracker.gradients())]
        self.certificate_calls += len(answers)
        facts.gaps[:] = [gap for gap, _ in answers]
        facts.certificates += 1
        gap, proven = float(facts.gaps.sum()), all(proven for _, proven in answers)
        self.latest = Certificate(self.copy_point(), tracker.value(), gap, facts.gaps.copy(), proven)
        if self.best is None or gap < self.best.gap:
            self.best = self.latest
        run.record(
            gap <= run.gap_target and proven,
            iters=self.n_iters,
            value=self.latest.value,
            gap=gap,
            lmo_calls=sum(self.lmo_calls),
            certificate_calls=self.certificate_calls,
        )
        if run.status is None and gap <= run.gap_target:
            run.status = "estimated"

    def check_stall(self) -> None:
        """Stop where every block was visited since the last check, but neither value nor gap has become smaller."""
        latest = self.latest
        visited = all(calls > then for calls, then in zip(self.lmo_calls, self._calls_then, strict=True))
        if latest is None or not visited:
            return
        nothing_gained = self._promised <= STALL * abs(latest.value) and latest.gap > 0.9 * self._gap_then
        if nothing_gained and self.run.status is None:
            self.run.status = "stalled"
        self._promised = 0.0
        self._calls_then = list(self.lmo_calls)
        self._gap_then = latest.gap

    def finish(self) -> Certificate:
        """The certificate of the point to return: the last one; if f is not convex, the one of the smallest gap."""
        self.certify()
        assert self.latest is not None
        assert self.best is not None
        return self.best if self.tracker.convex is False else self.latest
