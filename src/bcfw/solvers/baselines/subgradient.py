"""The solver Subgradient: the stochastic subgradient method (SSG and SSG-wavg of bcfw-2013), without a dual point."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.dual.certify import certify_primal
from bcfw.options import Count, Flag
from bcfw.passes.bounded_steps import LOWER, UPPER
from bcfw.passes.order import Visits
from bcfw.passes.records import STEPS, StoreUse
from bcfw.selection import SAMPLINGS, SamplingChoice
from bcfw.solvers.baselines.subgradient_pass import Subgradients, subgradient_pass
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.pass_runner import PassRunner
from bcfw.solvers.solver import Outcome, Solver


class Subgradient(Solver):
    """Stochastic subgradient steps on the primal, ``w <- (1 - 1/(k+1)) w + 1/(lam (k+1)) n c_i psi_i(y*)`` (Pegasos).

    There is no dual point: ``dual`` and ``gap`` of the result are NaN, the result is not certified, and a run ends at
    ``max_passes`` or another limit without a warning. If w has bounds, the weights are clipped after every step, but
    the sum of the subgradients is not clipped (dual averaging).

    Parameters
    ----------
    averaging : bool
        Return the weighted average ``w_bar <- k/(k+2) w_bar + 2/(k+2) w`` of the iterates instead of the last one.
    sampling : "uniform", "permuted" or "cyclic"
        The blocks of a pass: n blocks drawn with replacement, every block once in a new random order, or every block
        once in the order of the data.
    gap_every : int
        Number of passes between rows of the history; each row costs a pass of the oracle for the primal value.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.solvers.Subgradient(averaging=True)
    Subgradient(averaging=True)
    """

    averaging: Any = Flag(False)
    sampling: Any = SamplingChoice("uniform", "permuted", "cyclic")
    gap_every: Any = Count(10)

    @property
    def monotone(self) -> bool:
        return False

    @property
    def certifies(self) -> bool:
        return False

    def solve(self, problem: DualProblem, run: CountedRun, rng: np.random.Generator) -> Outcome:
        runner = SubgradientRunner(problem, run, bool(self.averaging))
        runner.certify()
        for number in itertools.count(1):
            run.check_limits(runner.budget_used)
            if run.status is not None:
                break
            runner.run_pass(SAMPLINGS[self.sampling], rng)
            run.check_limits(runner.budget_used)
            if run.status is None and number % self.gap_every == 0:
                runner.certify()
            run.after(runner.done)
        return runner.finish()


class SubgradientRunner(PassRunner):
    """Runs passes of subgradient steps; the problem's dual point does not change.

    A run continues from the weights that an earlier run returned, with the number of steps of the earlier run.

    Parameters
    ----------
    problem : DualProblem
    run : CountedRun
    averaging : bool
    """

    def __init__(self, problem: DualProblem, run: CountedRun, averaging: bool) -> None:
        super().__init__(problem, run)
        start = problem.state.w if problem.point is None else problem.point
        before = problem.counters[STEPS] if start.any() else 0.0
        total = problem.lam * before * start
        lazy = problem.adapter.weighs_loss and not len(problem.bounded)
        moment = (before + 1.0) * total if lazy and averaging else np.zeros_like(total)
        self.before = before
        self.sums = Subgradients(
            lam=problem.lam,
            n_blocks=len(problem.blocks),
            lazy=lazy,
            averaging=averaging,
            w=start.copy(),
            total=total,
            moment=moment,
            done=np.array([before]),
            bounded=problem.bounded,
            lower=problem.box[LOWER],
            upper=problem.box[UPPER],
        )

    def take_steps(self, part: Visits, plan: StoreUse | None, track: int) -> None:
        self.problem.run_template(subgradient_pass, part.n_visits, tuple(part), tuple(self.sums))

    def iterate(self) -> np.ndarray:
        """Return the last iterate w_k."""
        sums, k = self.sums, self.sums.done[0]
        return sums.total / (sums.lam * k) if sums.lazy and k > 0.0 else sums.w.copy()

    def _weights(self) -> np.ndarray:
        """Return the last iterate, or the average ``sum_j j w_j / sum_j j`` of the iterates since the start of the run.

        If steps are lazy and the run began after m steps, ``sum_{j = m+1}^k j w_j = ((k+1) total - moment) / lam``,
        because ``moment`` began as ``(m+1) total``.
        """
        sums, k, m = self.sums, self.sums.done[0], self.before
        if not sums.averaging or k == m:
            return self.iterate()
        weighted = ((k + 1.0) * sums.total - sums.moment) / sums.lam if sums.lazy else sums.moment
        average = weighted / (0.5 * (k * (k + 1.0) - m * (m + 1.0)))
        return self.problem.clip(average)  # rounding may violate the bounds

    def certify(self) -> Certificate:
        """Compute and record the primal value of the weights to return; the certificate has no dual value."""
        self.certificate = certify_primal(self.problem, self._weights())
        self.run.record_certificate(self.problem, self.done, self.certificate)
        return self.certificate

    def finish(self) -> Outcome:
        """Return the outcome: the weights to return and their primal value; with averaging, also the last iterate."""
        outcome = Outcome(self.weights(), self.certificate or self.certify(), self.done)
        if self.sums.averaging:
            w = self.iterate()
            outcome = outcome._replace(last=Outcome(w, certify_primal(self.problem, w), self.done))
        self.problem.point = outcome.w.copy()
        return outcome
