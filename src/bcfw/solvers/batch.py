"""Batch Frank-Wolfe (bcfw-2013, Alg. 2): the oracle on all examples, then one step for all of them."""

from __future__ import annotations

import numpy as np

from bcfw.dual import DualProblem
from bcfw.dual.certify import certificate_from_hinges, certify_weights
from bcfw.passes.batch import batch_oracle_pass, batch_step_pass
from bcfw.records import STEPS
from bcfw.solvers.base import Outcome, Solver
from bcfw.solvers.run import SolverRun


class BatchFW(Solver):
    """Batch Frank-Wolfe with exact steps; equals the batch subgradient method with step gamma/lam.

    Its oracle pass is a certificate, so every pass adds a row to the history.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.solvers.BatchFW()
    BatchFW()
    """

    def solve(self, problem: DualProblem, run: SolverRun, rng: np.random.Generator) -> Outcome:
        passes = 0
        run.point = lambda: problem.state.w.copy()
        n, blocks = problem.n_blocks, problem.blocks
        if problem.point is not None:  # where an earlier run ended may be good enough
            w, certificate = problem.point.copy(), certify_weights(problem, problem.point)
            run.record_certificate(problem, passes, certificate)
            if run.status is not None:
                return Outcome(w, certificate, passes)
            problem.point = None
        labelings = problem.form.make_labelings(problem.data)
        while True:
            hinges, losses, moves = np.zeros((2, n)), np.zeros(n), np.zeros(n, np.bool_)
            step = np.zeros(problem.form.dim)
            more = problem.lam, hinges, losses, moves, step, labelings
            problem.sweep(batch_oracle_pass, len(blocks), blocks, *more)
            problem.oracle_calls += len(blocks)
            certificate = certificate_from_hinges(problem, hinges)
            run.record_certificate(problem, passes, certificate)
            run.check_limits(passes)
            if run.status is not None:
                return Outcome(problem.state.w.copy(), certificate, passes)
            v, gap = problem.v, float(problem.state.gap[blocks].sum())
            gamma = problem.best_step(v, step, gap)
            if 0.5 * gamma * gap <= problem.smallest_gain():  # about what an exact step gains
                run.status = "stalled"
                return Outcome(problem.state.w.copy(), certificate, passes)
            problem.sweep(batch_step_pass, len(blocks), blocks, gamma, losses, moves, labelings)
            problem.v = v + gamma * step
            problem.tally[STEPS] += len(blocks)
            passes += 1
            run.after(passes)
