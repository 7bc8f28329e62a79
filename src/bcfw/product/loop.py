"""The loop of :func:`bcfw.minimize`: choose blocks, call their oracles, step, and compute certificates at intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bcfw.product.checked_oracle import Answer, Oracle
from bcfw.product.derivatives import near
from bcfw.product.directions import ChosenAtoms, TowardVertex
from bcfw.product.steps import Move, Sizes
from bcfw.product.trackers import Tracker
from bcfw.run import Info, Run
from bcfw.selection import Rule, SelectionState

#: The run stalls if the expected decrease of f over all steps between two certificates is at most this share of |f|.
STALL = 1e-16


@dataclass(frozen=True)
class IterationInfo(Info):
    """What a callback of :func:`bcfw.minimize` sees after each iteration; a callback that returns True stops the run.

    ``value`` and ``gap`` were computed by the latest certificate, at iteration ``certified_iters``; ``x`` is a copy of
    the current point.
    """

    @property
    def n_iters(self) -> int:
        """Iterations so far."""
        return int(self.done)

    @property
    def certified_iters(self) -> int:
        """Iteration of the latest certificate."""
        return int(self.latest["iters"])

    @property
    def value(self) -> float:
        """Value of the objective at the latest certificate."""
        return self.latest["value"]

    @property
    def x(self) -> Any:
        """Copy of the current point."""
        return self.point()

    @property
    def shown(self) -> dict[str, float]:
        return {"value": self.value}


@dataclass
class GapReport:
    """Value and full Frank-Wolfe gap ``sum_i <g_i, x_i - v_i>`` of a point x, and whether all block gaps are proven."""

    x: list[np.ndarray]
    value: float
    gap: float
    block_gaps: np.ndarray
    proven: bool


class Loop:
    """The state of one run of :func:`bcfw.minimize`.

    Attributes
    ----------
    n_iters : iterations done
    lmo_calls : per block, calls of its oracle for steps
    certificate_calls : oracle calls for certificates and tests, summed over the blocks
    latest : the certificate of the current point; None after a step
    best : the certificate with the smallest gap so far
    """

    def __init__(
        self, tracker: Tracker, oracle: Oracle, directions: TowardVertex, sizes: Sizes, facts: SelectionState, run: Run
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
        self._rng = np.random.default_rng(0)  # separate from the generator of the run, so that tests do not change it
        self.latest: GapReport | None = None
        self.best: GapReport | None = None
        # gradients and answers of the latest certificate, until they are tested
        self._untested: tuple[Sequence[np.ndarray], list[Answer]] | None = None
        self._promised = math.inf  # sum of gamma * slope over the steps since the latest stall check
        self._calls_then = list(self.lmo_calls)
        self._gap_then = math.inf

    def copy_point(self) -> list[np.ndarray]:
        """Return a copy of the current point, each block in its shape."""
        return [block.reshape(shape).copy() for block, shape in zip(self.tracker.x, self.oracle.shapes, strict=True)]

    def solve(self, rule: Rule, gap_every: int) -> GapReport:
        """Iterate until the run stops, and return the certificate of the result."""
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
        """Do one iteration (flexible-blocks-2026, Alg. 1): find vertices at the current point, then take one step."""
        tracker, oracle, gaps, calls = self.tracker, self.oracle, self.facts.gaps, self.lmo_calls
        moving: list[int] = []
        choices: list[ChosenAtoms] = []
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
            self.certify()  # all blocks were visited, so that their gaps sum to the full gap, which is small enough
        if moving and self.run.status is None:
            self.step(moving, choices)

    def step(self, moving: list[int], choices: list[ChosenAtoms]) -> None:
        """Choose the step sizes of the moving blocks and take the step."""
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
        """Compute value and full gap at the current point, record both, and stop the run if the gap is small enough."""
        if self.latest is not None:  # the point has not moved since the latest certificate
            return
        tracker, run, facts = self.tracker, self.run, self.facts
        tracker.refresh()
        gradients, atoms = tracker.gradients(), self.directions.points
        answers = [self.oracle.certified_gap(i, gradient, atoms(i)) for i, gradient in enumerate(gradients)]
        self.certificate_calls += len(answers)
        facts.gaps[:] = [answer.gap for answer in answers]
        facts.certificates += 1
        gap, proven = float(facts.gaps.sum()), all(answer.proven for answer in answers)
        self.latest = GapReport(self.copy_point(), tracker.value(), gap, facts.gaps.copy(), proven)
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
        """Raise if a user's oracle or gradient is wrong at the point x of the latest certificate.

        Every exact oracle of a user is called with another direction; the returned point must not be better in the
        direction of the gradient than the vertex. The gradient must agree with values of f along the line from x to the
        vertices, or, if all vertices are x, to other points. Tests run at the certificates number 1, 2, 4, 8, ... and
        at the last certificate.
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
        """Stop the run if neither value nor gap decreased since the last check, although all blocks were visited."""
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

    def finish(self) -> GapReport:
        """Return the certificate of the result: the last one or, if f is not convex, the one with the smallest gap."""
        self.certify()
        self.test()
        self.run.rows[-1]["certificate_calls"] = self.certificate_calls
        assert self.latest is not None
        assert self.best is not None
        return self.best if self.tracker.convex is False else self.latest
