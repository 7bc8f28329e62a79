"""The PassRunner of solvers that make passes: short compiled calls, averages, certificates and the point to return."""

from __future__ import annotations

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.dual.certify import certify_dual_point, certify_state, certify_weights
from bcfw.passes.order import IN_ORDER, Visits
from bcfw.passes.records import (
    AVERAGED_STEPS,
    CACHE_FIRST,
    CALLS,
    DROPS,
    EXACT_SIZE,
    GAIN,
    ORACLE,
    STORE_ONLY,
    TRACK_SIZE,
    StoreUse,
)
from bcfw.selection import SAMPLINGS, Sampling
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.solver import Outcome, best_outcome

#: A pass is divided into compiled calls of about this many seconds, so that limits, Ctrl-C and saves take effect soon.
CALL_SECONDS = 0.1

#: A pass that gains more than this share of P(0) has not stalled; for other passes ``smallest_gain`` decides.
CLEAR_GAIN = 1e-12


class PassRunner:
    """Makes the passes of a run: counts oracle calls, computes certificates and determines the point to return.

    Parameters
    ----------
    problem : DualProblem, with or without an open store
    run : CountedRun
    tracks : int
        Number of weighted averages of the iterates: 0, 1, or 2 if passes over the store have an average of their own.
    size : int
        Step size: ``EXACT_SIZE``, ``DECAY_SIZE`` or ``SHORT_SIZE``.
    by_gap : bool
        Whether blocks are chosen by their gaps; then every certificate also updates the gaps at the current iterate.
    """

    def __init__(
        self,
        problem: DualProblem,
        run: CountedRun,
        tracks: int = 0,
        size: int = EXACT_SIZE,
        by_gap: bool = False,
    ) -> None:
        self.problem = problem
        self.run = run
        self.rule = problem.rule(size, tracks)
        problem.counters[AVERAGED_STEPS:] = 0.0
        self.by_gap = by_gap
        self.chunks = {ORACLE: 1, CACHE_FIRST: 1, STORE_ONLY: 1}
        run.point = lambda: problem.weights_for_callbacks(self._weights())
        #: Number of visits and seconds of each compiled call of the last pass.
        self.timings: list[tuple[int, float]] = []
        self.certificate: Certificate | None = None
        self.last_gap = run.value_at_zero
        #: Number of visits that belong together: the visits of a call are a multiple of it, unless the end of the pass
        #: or the limit of the run comes first.
        self.group_size = 1
        self._visited = False

    @property
    def done(self) -> float:
        """Number of passes so far: the oracle calls of steps, divided by the number of blocks."""
        return self.run.calls / len(self.problem.blocks)

    @property
    def budget_used(self) -> float:
        """The number of passes that ``max_passes`` limits (see :meth:`bcfw.solvers.counted_run.CountedRun.effort`)."""
        return self.run.budget_used(len(self.problem.blocks))

    def run_pass(
        self, sampling: Sampling, rng: np.random.Generator, plan: StoreUse | None = None, track: int = 0
    ) -> float:
        """Make one pass, in compiled calls of about CALL_SECONDS, and return its dual gain.

        A pass makes as many visits as there are blocks that can move. It ends early if a limit of the run is reached.
        """
        problem, run = self.problem, self.run
        # Before the first pass the gaps are unknown: every block is visited once.
        visits = sampling.visits(rng, problem.active_blocks, problem.state.gap if self._visited else None)
        self._visited = True
        problem.announce_visits(visits)
        problem.counters[[GAIN, DROPS]] = 0.0
        problem.point = None
        self.certificate = None
        self.timings = []
        source = ORACLE if plan is None else plan.source
        position = 0
        while position < visits.n_visits and run.status is None:
            allowed = np.ceil(run.limit * len(problem.blocks)) - run.calls
            chunk = max(1, self.chunks[source] // self.group_size) * self.group_size
            part = some_visits(visits, position, int(min(chunk, max(1, allowed))))
            self._visit(part, plan, track)
            position += part.n_visits
            run.cached_visits += part.n_visits * int(source == CACHE_FIRST)
            run.store_visits += part.n_visits * int(source == STORE_ONLY)
            if position < visits.n_visits:
                run.check_limits(self.budget_used)
                run.save_if_due()
        return float(problem.counters[GAIN])

    def _visit(self, part: Visits, plan: StoreUse | None, track: int) -> None:
        """Make the visits of one compiled call, and adapt the length of the next calls to about CALL_SECONDS."""
        problem, source = self.problem, ORACLE if plan is None else plan.source
        problem.counters[CALLS] = 0.0
        before = self.run.seconds
        try:
            self.take_steps(part, plan, track)
        finally:
            self.run.calls += int(problem.counters[CALLS])
            problem.oracle_calls += int(problem.counters[CALLS])
        taken = self.run.seconds - before
        if taken < CALL_SECONDS / 2:
            self.chunks[source] = min(2 * self.chunks[source], len(problem.blocks))
        elif taken > 2 * CALL_SECONDS:
            self.chunks[source] = max(1, self.chunks[source] // 2)
        self.timings.append((part.n_visits, taken))

    def take_steps(self, part: Visits, plan: StoreUse | None, track: int) -> None:
        """Visit some blocks and take a step on each; solvers with other steps override this method in a subclass."""
        self.problem.visit(part, self.rule._replace(track=track), plan)

    def check_stall(self, gain: float, sampling: Sampling, exact: StoreUse | None) -> None:
        """After a pass without gain, make a pass of the oracle over every block; end the run if this gains nothing.

        ``exact`` is the plan of a pass that calls the oracle at every visit; None without a store. A pairwise step that
        takes the last mass of a labeling gains nothing if the mass is tiny, but it makes a better step possible. The
        pass is therefore repeated while it has such steps.
        """
        run, problem = self.run, self.problem
        run.check_limits(self.budget_used)
        # A weighted average may still improve when the iterates no longer move.
        if run.status is not None or gain > CLEAR_GAIN * run.value_at_zero or len(self.rule.averages):
            return
        if gain > problem.smallest_gain():
            return
        if not sampling.visits_all or exact is not None:
            point, drops = problem.point, 1.0
            for _ in range(1 if problem.store is None else problem.store.alpha.shape[1]):
                if run.status is not None or gain > problem.smallest_gain() or not drops:
                    break
                gain = self.run_pass(SAMPLINGS["cyclic"], np.random.default_rng(0), exact)
                drops = problem.counters[DROPS]
            if run.status is not None or gain > problem.smallest_gain():
                problem.point = point
                return
        self.certify()  # at the dual point, which is the best point known if no step gains anything
        run.stall(run.value_at_zero)

    def averaged(self, track: int) -> tuple[np.ndarray, float] | None:
        """Return v and ell of the weighted average of a track's iterates; None before the track's first step."""
        v, ell, counters = self.problem.v, self.problem.ell, self.problem.counters
        place = AVERAGED_STEPS + track * TRACK_SIZE
        s = counters[place]
        if s == 0:
            return None
        share = 2.0 / (s * (s + 1.0))
        return v - share * self.rule.averages[track], float(ell - share * counters[place + 1])

    def average(self) -> tuple[np.ndarray, float] | None:
        """Return v and ell of the only average, or of the best mixture of two averages; None without averages."""
        found = [self.averaged(track) for track in range(len(self.rule.averages))]
        points = [one for one in found if one is not None]
        if len(points) < 2:
            return points[0] if points else None
        (v1, ell1), (v2, ell2) = points
        direction = v2 - v1
        lam, w1 = self.problem.lam, self.problem.clip(v1)
        slope = ell2 - ell1 - lam * float(w1 @ direction)
        t = self.problem.best_step(v1, direction, slope)
        return v1 + t * direction, ell1 + t * (ell2 - ell1)

    def weights(self) -> np.ndarray:
        """Return a copy of the weights to return: ``problem.point``, the weights of the average, or the current w."""
        return self._weights().copy()

    def _weights(self) -> np.ndarray:
        """Return the weights to return without a copy: later passes change the array."""
        if self.problem.point is not None:
            return self.problem.point
        average = self.average()
        return np.asarray(self.problem.solution() if average is None else self.problem.clip(average[0]))

    def certify(self) -> Certificate:
        """Compute a certificate at the current point, record the best certificate so far, and return the new one."""
        problem, average = self.problem, self.average()
        self.run.start_certificate = None
        if problem.point is not None:
            found = certify_weights(problem, problem.point)
        else:
            found = self.run.certify_state(problem) if average is None else certify_dual_point(problem, *average)
        if self.by_gap and (average is not None or problem.point is not None):
            certify_state(problem)  # update the gaps at the iterate: blocks are chosen by them
        self._record(found)
        return found

    def begin(self) -> None:
        """Record the certificate at the start, unless another solver has already recorded one in this run.

        The certificate is computed unless the run knows it (``run.start_certificate``).
        """
        known, self.run.start_certificate = self.run.start_certificate, None
        if known is not None:
            # The state's block gaps belong to this certificate, unless they are infinite, the certificate is an
            # estimate, or its weights are not the weights of the state.
            gaps = self.problem.state.gap[self.problem.active_blocks]
            is_known = bool(np.isfinite(known.gap_bound) and np.isfinite(gaps).all())
            self._visited = is_known and self.problem.point is None
            self._record(known)
        elif not self.run.rows:
            self.certify()

    def _record(self, found: Certificate) -> None:
        """Record the best certificate so far, including the certificate ``found`` of the current point."""
        self.certificate = self.run.keep_best(found, self._weights())
        self.last_gap = found.gap
        self.run.record_certificate(self.problem, self.done, self.certificate)

    def finish(self) -> Outcome:
        """Certify the current point unless its certificate is known, and return the best point of the run."""
        if self.certificate is None:
            self.certify()
        outcome = best_outcome(self.problem, self.run, self.done)
        if len(self.rule.averages):
            certificate = certify_state(self.problem)  # before w is copied: it may rebuild w
            last = Outcome(self.problem.state.w.copy(), certificate, self.done)
            outcome = outcome._replace(last=last)
            self.problem.point = outcome.w.copy()
        return outcome


def some_visits(visits: Visits, start: int, most: int) -> Visits:
    """Return at most ``most`` of the visits, beginning with visit ``start``."""
    count = min(most, visits.n_visits - start)
    chosen = slice(start, start + count)
    if visits.kind == IN_ORDER:
        return visits._replace(n_visits=count, order=visits.order[chosen])
    return visits._replace(n_visits=count, draws=visits.draws[chosen])
