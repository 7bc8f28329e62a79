"""Batch Frank-Wolfe (bcfw-2013, Alg. 2): the oracle on all examples, then one step for all of them."""

from __future__ import annotations

import numpy as np

from bcfw.dual import DualProblem
from bcfw.dual.steps import exact_step
from bcfw.run import Run
from bcfw.solvers.base import Outcome, Solver
from bcfw.solvers.batch_passes import batch_oracle_pass, batch_step_pass
from bcfw.solvers.loop import STALL


class BatchFW(Solver):
    """Batch Frank-Wolfe with exact steps; equals the batch subgradient method with step gamma/lam.

    Its oracle pass is a certificate, so every pass adds a row to the history.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.solvers.BatchFW()
    BatchFW()
    """

    def solve(self, problem: DualProblem, run: Run, rng: np.random.Generator) -> Outcome:
        passes = 0
        w, n = problem.state.w, problem.n_blocks
        labelings = problem.model.make_labelings(problem.data)
        while True:
            hinge, losses, toward = np.zeros(n), np.zeros(n), np.zeros_like(w)
            problem.sweep(batch_oracle_pass, problem.blocks, problem.lam, hinge, losses, toward, labelings)
            problem.oracle_calls += len(problem.blocks)
            certificate = problem.weigh(w, float(problem.state.ell.sum()), hinge)
            run.record(passes=passes, oracle_calls=problem.oracle_calls, **certificate._asdict())
            run.check_limits(passes)
            if run.status is not None:
                return Outcome(w.copy(), certificate, passes)
            gap = float(problem.state.gap[problem.blocks].sum())
            curvature = problem.lam * float(toward @ toward)
            gamma = exact_step(gap, curvature, 1.0)
            if gamma * gap - 0.5 * gamma * gamma * curvature < STALL * problem.worst_loss:
                run.status = "stalled"
                return Outcome(w.copy(), certificate, passes)
            problem.sweep(batch_step_pass, problem.blocks, gamma, losses, labelings)
            w += gamma * toward
            passes += 1
            run.after_pass(passes, w.copy)
