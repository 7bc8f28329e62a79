"""Batch Frank-Wolfe (bcfw-2013, Alg. 2): the oracle on all examples, then one step for all of them."""

from __future__ import annotations

import numpy as np

from bcfw.dual import Certificate, DualProblem
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
        run.weights = lambda: problem.state.w.copy()
        n = problem.n_blocks
        if problem.point is not None:  # where an earlier run ended may be good enough
            w, certificate = problem.point.copy(), problem.certify_primal(problem.point)
            self._record(problem, run, passes, certificate)
            if run.status is not None:
                return Outcome(w, certificate, passes)
            problem.point = None
        labelings = problem.model.make_labelings(problem.data)
        while True:
            hinges, losses, toward = np.zeros((2, n)), np.zeros(n), np.zeros(problem.model.dim)
            problem.sweep(batch_oracle_pass, problem.blocks, problem.lam, hinges, losses, toward, labelings)
            problem.oracle_calls += len(problem.blocks)
            v = problem.v
            certificate = problem.weigh(v, float(problem.state.ell.sum()), hinges)
            self._record(problem, run, passes, certificate)
            run.check_limits(passes)
            if run.status is not None:
                return Outcome(problem.state.w.copy(), certificate, passes)
            gap = float(problem.state.gap[problem.blocks].sum())
            gamma = problem.best_step(v, toward, gap)
            if 0.5 * gamma * gap < STALL * problem.worst_loss:  # about what an exact step gains
                run.status = "stalled"
                return Outcome(problem.state.w.copy(), certificate, passes)
            problem.sweep(batch_step_pass, problem.blocks, gamma, losses, labelings)
            problem.v = v + gamma * toward
            passes += 1
            run.after_pass(passes)

    def _record(self, problem: DualProblem, run: Run, passes: int, certificate: Certificate) -> None:
        run.record(
            passes=passes,
            oracle_calls=problem.oracle_calls,
            store_passes=0.0,
            labelings=0.0,
            **certificate._asdict(),
        )
