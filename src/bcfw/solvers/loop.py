"""What the solvers of the BCFW family share: passes in short calls, averages, certificates and the point to return."""

from __future__ import annotations

import time

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.kernels.trees import NO_TREE, SCALE, make_tree
from bcfw.records import AVERAGED_STEPS, CACHE_FIRST, CALLS, GAIN, ORACLE, STORE_ONLY, TRACK_SIZE, Corners
from bcfw.run import Run
from bcfw.selection import SAMPLINGS, Sampling
from bcfw.solvers.base import Outcome

#: A pass is cut into compiled calls of about this many seconds, so that limits and Ctrl-C are honoured soon.
CALL_SECONDS = 0.1

#: A full exact pass that gains less than this fraction of P(0) cannot make progress in floating point.
STALL = 1e-15


class Loop:
    """One run: counts oracle calls, takes certificates and knows the point to return.

    Parameters
    ----------
    problem : DualProblem, with or without an open store
    run : Run
    tracks : int
        Averages to keep: 0, 1, or 2 when passes over the store alone have one of their own.
    decay_blocks : int
        n for predefined steps, 0 for exact ones.
    by_gap : bool
        Whether blocks are drawn by their gaps, which certificates must then refresh.
    short : bool
        Whether steps are those of the unbounded problem.
    """

    def __init__(
        self,
        problem: DualProblem,
        run: Run,
        tracks: int = 0,
        decay_blocks: int = 0,
        by_gap: bool = False,
        short: bool = False,
    ) -> None:
        self.problem = problem
        self.run = run
        self.rule = problem.rule(decay_blocks, tracks, short)
        problem.tally[AVERAGED_STEPS:] = 0.0
        self.by_gap = by_gap
        self.chunks = {ORACLE: 1, CACHE_FIRST: 1, STORE_ONLY: 1}
        run.weights = self.weights
        self.timings: list[tuple[int, float]] = []
        self.certificate: Certificate | None = None
        self.last_gap = problem.worst_loss
        self._visited = False

    @property
    def passes(self) -> float:
        """Oracle calls of steps, divided by the number of blocks."""
        return self.run.calls / len(self.problem.blocks)

    @property
    def effort(self) -> float:
        """What ``max_passes`` limits: passes, or a twentieth of the visits if nearly all of them hit the cache."""
        return max(self.run.calls, self.run.cached_visits / 20) / len(self.problem.blocks)

    def one_pass(
        self, sampling: Sampling, rng: np.random.Generator, corners: Corners | None = None, track: int = 0
    ) -> float:
        """As many visits as there are blocks, in calls of about CALL_SECONDS; returns the dual gain."""
        problem, run = self.problem, self.run
        order, tree = sampling.order(rng, problem.blocks), NO_TREE
        if sampling.by_gap and self._visited and problem.state.gap.max() > 0.0:
            # Before the first pass all gaps count as infinite: every block is visited once.
            tree = make_tree(problem.state.gap, largest=sampling.largest)
            order = rng.integers(SCALE, size=len(order))
        self._visited = True
        problem.tally[GAIN] = 0.0
        problem.point = None
        self.certificate = None
        self.timings = []
        source = ORACLE if corners is None else corners.source
        position = 0
        while position < len(order) and run.status is None:
            allowed = np.ceil(run.max_passes * len(problem.blocks)) - self.run.calls
            part = order[position : position + int(min(self.chunks[source], max(1, allowed)))]
            before = time.perf_counter()
            self._visit(part, tree, corners, track)
            taken = time.perf_counter() - before
            if taken < CALL_SECONDS / 2:
                self.chunks[source] = min(2 * self.chunks[source], len(order))
            elif taken > 2 * CALL_SECONDS:
                self.chunks[source] = max(1, self.chunks[source] // 2)
            self.timings.append((len(part), taken))
            position += len(part)
            run.cached_visits += len(part) * int(source == CACHE_FIRST)
            run.store_visits += len(part) * int(source == STORE_ONLY)
            if position < len(order):
                run.check_limits(self.effort)
        return float(problem.tally[GAIN])

    def visit_seconds(self) -> float:
        """Time of a visit in the last pass: the lower quartile, so that no call that was interrupted counts."""
        visits = [np.full(count, seconds / count) for count, seconds in self.timings]
        return float(np.quantile(np.concatenate(visits), 0.25)) if visits else 0.0

    def _visit(self, part: np.ndarray, tree: np.ndarray, corners: Corners | None, track: int) -> None:
        problem = self.problem
        problem.tally[CALLS] = 0.0
        try:
            problem.visit(part, self.rule._replace(track=track), tree, corners)
        finally:
            self.run.calls += int(problem.tally[CALLS])
            problem.oracle_calls += int(problem.tally[CALLS])

    def check_stall(self, gain: float, sampling: Sampling, exact: Corners | None) -> None:
        """After a pass that gained nothing: ask the oracle about every block; if that gains nothing, it is the end."""
        self.run.check_limits(self.effort)
        least = STALL * self.problem.worst_loss
        # An average still approaches iterates that no longer move.
        if self.run.status is not None or gain >= least or len(self.rule.averages):
            return
        if sampling.visits_all and exact is None:
            stalled = True
        else:
            point = self.problem.point
            stalled = self.one_pass(SAMPLINGS["cyclic"], np.random.default_rng(0), exact) < least
            if not stalled or self.run.status is not None:
                self.problem.point = point
        if self.run.status is None and stalled:
            self.certify()
            self.run.status = self.run.status or "stalled"

    def averaged(self, track: int) -> tuple[np.ndarray, float] | None:
        """The weighted average of a track's iterates, as v and ell; None before its first step."""
        v, ell, tally = self.problem.v, float(self.problem.state.ell.sum()), self.problem.tally
        place = AVERAGED_STEPS + track * TRACK_SIZE
        s = tally[place]
        if s == 0:
            return None
        share = 2.0 / (s * (s + 1.0))
        return v - share * self.rule.averages[track], float(ell - share * tally[place + 1])

    def average(self) -> tuple[np.ndarray, float] | None:
        """The average to return, as v and ell: of one track, or the best mixture of two; None without any."""
        found = [self.averaged(track) for track in range(len(self.rule.averages))]
        points = [one for one in found if one is not None]
        if len(points) < 2:
            return points[0] if points else None
        (v1, ell1), (v2, ell2) = points
        towards = v2 - v1
        lam, w1 = self.problem.lam, self.problem.clip(v1)
        slope = ell2 - ell1 - lam * float(w1 @ towards)
        t = self.problem.best_step(v1, towards, slope)
        return v1 + t * towards, ell1 + t * (ell2 - ell1)

    def weights(self) -> np.ndarray:
        """The weights to return: the current ones, those of the average, or others."""
        if self.problem.point is not None:
            return self.problem.point.copy()
        average = self.average()
        return np.array(self.problem.state.w if average is None else self.problem.clip(average[0]))

    def certify(self) -> None:
        """Take a certificate at the point to return and record it."""
        average = self.average()
        if self.problem.point is not None:
            self.certificate = self.problem.certify_primal(self.problem.point)
        else:
            self.certificate = self.problem.certificate() if average is None else self.problem.certify(*average)
        if self.by_gap and (average is not None or self.problem.point is not None):
            self.problem.certificate()  # stale gaps of the iterate itself would mislead the draws for ever
        self.last_gap = self.certificate.gap
        store = self.problem.store
        self.run.record(
            passes=self.passes,
            oracle_calls=self.problem.oracle_calls,
            store_passes=self.run.store_visits / len(self.problem.blocks),
            labelings=0.0 if store is None else float(store.size[self.problem.blocks].mean()),
            primal=self.certificate.primal,
            dual=self.certificate.dual,
            gap=self.certificate.gap,
            gap_bound=self.certificate.gap_bound,
        )

    def finish(self) -> Outcome:
        """Certify the returned point unless the latest certificate is already taken there."""
        if self.certificate is None:
            self.certify()
        assert self.certificate is not None
        outcome = Outcome(self.weights(), self.certificate, self.passes)
        if len(self.rule.averages):
            last = Outcome(self.problem.state.w.copy(), self.problem.certificate(), self.passes)
            outcome = outcome._replace(last=last)
            self.problem.point = outcome.w.copy()
        return outcome
