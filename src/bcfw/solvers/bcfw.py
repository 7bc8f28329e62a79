"""Block-coordinate Frank-Wolfe (bcfw-2013, Alg. 4) with exact or predefined steps and lazy weighted averaging."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np

from bcfw.dual import Certificate, DualProblem
from bcfw.errors import OptionError
from bcfw.options import Choice, Count, Flag
from bcfw.records import AVERAGE_ELL, AVERAGED_STEPS, GAIN, Rule
from bcfw.run import Run
from bcfw.selection import SAMPLINGS
from bcfw.solvers.base import Outcome, Solver
from bcfw.solvers.passes import fw_pass

#: A pass is cut into compiled calls of about this many seconds, so that limits and Ctrl-C are honoured soon.
CALL_SECONDS = 0.1

#: A full exact pass that gains less than this fraction of P(0) cannot make progress in floating point.
STALL = 1e-15


class BCFW(Solver):
    """Block-coordinate Frank-Wolfe: one oracle call, one closed-form step on one example at a time.

    Parameters
    ----------
    sampling : "permuted", "uniform" or "cyclic"
        Each pass visits every block once in a new random order, n blocks drawn with replacement, or all in order.
    step : "fw"
        The corner a step moves to.
    step_size : "exact" or "decay"
        Closed-form line search, or the predefined ``2n/(k + 2n)`` of step k.
    cache : None
        Every step calls the oracle.
    averaging : bool
        Return the weighted average of the iterates, ``w_bar <- k/(k+2) w_bar + 2/(k+2) w``, with its own certificate.
    gap_every : int
        Passes between certificates.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.solvers.BCFW(sampling="uniform", averaging=True)
    BCFW(sampling='uniform', averaging=True)
    """

    sampling: Any = Choice(*SAMPLINGS)
    step: Any = Choice("fw")
    step_size: Any = Choice("exact", "decay")
    cache: Any = Choice(None)
    averaging: Any = Flag(False)
    gap_every: Any = Count(10)

    def solve(self, problem: DualProblem, run: Run, rng: np.random.Generator) -> Outcome:
        loop = _Loop(self, problem, run)
        loop.certify()
        sampling = SAMPLINGS[self.sampling]
        for number in itertools.count(1):
            run.check_limits(loop.passes)
            if run.status is not None:
                break
            gain = loop.one_pass(sampling.order(rng, problem.blocks))
            if self.step_size == "exact" and gain < STALL * problem.worst_loss:
                loop.check_stall(sampling.visits_all)
            if run.status is None and number % self.gap_every == 0:
                loop.certify()
            run.after_pass(loop.passes, loop.weights)
        return loop.finish()


class _Loop:
    """One run of BCFW: counts steps, takes certificates and knows the point to return."""

    def __init__(self, solver: BCFW, problem: DualProblem, run: Run) -> None:
        if solver.averaging and solver.step_size == "decay":
            raise OptionError("BCFW: averaging=True needs step_size='exact'; leave one of the two out")
        self.problem = problem
        self.run = run
        self.averaging = solver.averaging
        size = problem.model.dim if solver.averaging else 0
        decay_blocks = len(problem.blocks) if solver.step_size == "decay" else 0
        self.rule = Rule(problem.lam, decay_blocks, np.zeros(size))
        problem.tally[AVERAGED_STEPS] = problem.tally[AVERAGE_ELL] = 0.0
        self.steps = 0
        self.chunk = 1
        self.certificate: Certificate | None = None

    @property
    def passes(self) -> float:
        return self.steps / len(self.problem.blocks)

    def one_pass(self, order: np.ndarray) -> float:
        """Step through ``order`` in calls of about CALL_SECONDS; return the dual gain."""
        problem, run, position = self.problem, self.run, 0
        problem.tally[GAIN] = 0.0
        self.certificate = None
        while position < len(order) and run.status is None:
            part = order[position : position + self.chunk]
            before = time.perf_counter()
            problem.sweep(fw_pass, part, tuple(self.rule))
            if time.perf_counter() - before < CALL_SECONDS / 2:
                self.chunk *= 2
            position += len(part)
            self.steps += len(part)
            problem.oracle_calls += len(part)
            if position < len(order):
                run.check_limits(self.passes)
        return float(problem.tally[GAIN])

    def check_stall(self, visited_all: bool) -> None:
        """A pass gained nothing: unless it visited every block, try those too; then the run is at its end."""
        self.run.check_limits(self.passes)
        if self.run.status is None and not visited_all:
            visited_all = self.one_pass(self.problem.blocks) < STALL * self.problem.worst_loss
        if self.run.status is None and visited_all:
            self.certify()
            self.run.status = self.run.status or "stalled"

    def point(self) -> tuple[np.ndarray, float]:
        """The weights to return and their ell: the current ones, or the averages."""
        w, ell, tally = self.problem.state.w, float(self.problem.state.ell.sum()), self.problem.tally
        s = tally[AVERAGED_STEPS]
        if not self.averaging or s == 0:
            return w, ell
        share = 2.0 / (s * (s + 1.0))
        return w - share * self.rule.average, ell - share * float(tally[AVERAGE_ELL])

    def weights(self) -> np.ndarray:
        return np.array(self.point()[0])

    def certify(self) -> None:
        """Take a certificate at the point to return and record it."""
        if self.averaging and self.problem.tally[AVERAGED_STEPS] > 0:
            self.certificate = self.problem.certify(*self.point())
        else:
            self.certificate = self.problem.certificate()
        self.run.record(
            passes=self.passes,
            oracle_calls=self.problem.oracle_calls,
            primal=self.certificate.primal,
            dual=self.certificate.dual,
            gap=self.certificate.gap,
        )

    def finish(self) -> Outcome:
        """Certify the returned point unless the latest certificate is already taken there."""
        if self.certificate is None:
            self.certify()
        assert self.certificate is not None
        outcome = Outcome(self.weights(), self.certificate, self.passes)
        if self.averaging:
            last = Outcome(self.problem.state.w.copy(), self.problem.certificate(), self.passes)
            outcome = outcome._replace(last=last)
        return outcome
