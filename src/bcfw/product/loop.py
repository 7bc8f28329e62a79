"""The loop of :func:`bcfw.minimize`: choose blocks, ask their oracles, step; certify from time to time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bcfw.product.directions import Choice, TowardVertex
from bcfw.product.oracle import Answer, Oracle, near
from bcfw.product.steps import Move, Sizes
from bcfw.product.trackers import Tracker
from bcfw.run import Info, Run
from bcfw.selection import Facts, Rule

#: All steps between two certificates together that promise less than this share of |f| gain nothing that can be seen.
STALL = 1e-16


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
    def x(self) -> Any:
        """Copy of the current point."""
        return self.point()

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


class Loop:
    """The state of one run.

    Attributes
    ----------
    n_iters : iterations done
    lmo_calls : per block, calls of its oracle for steps
    certificate_calls : calls for certificates and tests, of all blocks together
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
        self._rng = np.random.default_rng(0)  # of its own, so that tests change no run
        self.latest: Certificate | None = None
        self.best: Certificate | None = None
        self._untested: tuple[Sequence[np.ndarray], list[Answer]] | None = None  # of the latest certificate
        self._promised = math.inf  # what the steps since the latest certificate promise to gain
        self._calls_then = list(self.lmo_calls)
        self._gap_then = math.inf

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
        gradients, atoms = tracker.gradients(), self.directions.points
        answers = [self.oracle.certified_gap(i, gradient, atoms(i)) for i, gradient in enumerate(gradients)]
        self.certificate_calls += len(answers)
        facts.gaps[:] = [answer.gap for answer in answers]
        facts.certificates += 1
        gap, proven = float(facts.gaps.sum()), all(answer.proven for answer in answers)
        self.latest = Certificate(self.copy_point(), tracker.value(), gap, facts.gaps.copy(), proven)
        if self.best is None or gap < self.best.gap:
            self.best = self.latest
        if tracker.tested or self.oracle.doubted:
            self._untested = gradients, answers
        if (facts.certificates & (facts.certificates - 1)) == 0 or gap <= run.gap_target:
            self.test()
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

    def test(self) -> None:
        """Raise where a user's oracle or gradient is wrong at the point of the latest certificate.

        An exact oracle is asked for a point that is best in another direction, which must not be better in this one; a
        gradient must belong to the values of f along the line from x to the vertices, or, if these are x, to others.
        Done at the certificates number 1, 2, 4, 8, ... and at the last one.
        """
        if self._untested is None:
            return
        gradients, answers = self._untested
        self._untested = None
        ends = [answer.vertex for answer in answers]
        settled = [near(end, x) for end, x in zip(ends, self.tracker.x, strict=True)]
        stuck = all(settled)
        for i in range(len(ends)) if stuck and self.tracker.tested else self.oracle.doubted:
            point, calls = self.oracle.another(i, gradients[i], self._rng, settled[i])
            self.certificate_calls += calls
            if stuck and point is not None:
                ends[i] = point
        for i in self.oracle.doubted:
            self.oracle.require_best(i, gradients[i], answers[i].vertex)
        if self.tracker.tested:
            self.tracker.test(ends)

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
        self.test()
        self.run.rows[-1]["certificate_calls"] = self.certificate_calls
        assert self.latest is not None
        assert self.best is not None
        return self.best if self.tracker.convex is False else self.latest
