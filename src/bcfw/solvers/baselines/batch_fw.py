"""The solver BatchFW (bcfw-2013, Alg. 2): call the oracle on all examples, then take one step on all examples."""

from __future__ import annotations

import numpy as np

from bcfw.dual import DualProblem
from bcfw.dual.batch import find_corners, step_to_corners
from bcfw.dual.certify import certificate_from_hinge_losses, certify_weights
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.solver import Outcome, Solver, best_outcome


class BatchFW(Solver):
    """Batch Frank-Wolfe with exact steps: the batch subgradient method with step size gamma/lam.

    Each oracle pass gives a certificate, so every pass adds a row to the history.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.solvers.BatchFW()
    BatchFW()
    """

    def solve(self, problem: DualProblem, run: CountedRun, rng: np.random.Generator) -> Outcome:
        n = len(problem.blocks)
        passes = run.calls // n
        run.point = lambda: problem.weights_for_callbacks(problem.state.w)
        if problem.point is not None:  # the weights that an earlier run returned may be good enough
            found = run.keep_best(certify_weights(problem, problem.point), problem.point)
            run.record_certificate(problem, passes, found)
            if run.status is not None:
                return best_outcome(problem, run, passes)
            problem.point = None
        labelings = problem.adapter.make_labelings(problem.data)
        while True:
            corners = find_corners(problem, labelings)
            found = run.keep_best(certificate_from_hinge_losses(problem, corners.hinge_losses), problem.solution())
            run.record_certificate(problem, passes, found)
            run.check_limits(passes)
            gap = float(problem.state.gap[problem.blocks].sum())
            gamma = problem.best_step(problem.v, corners.step, gap)
            if 0.5 * gamma * gap <= problem.smallest_gain():  # the left side is about the gain of an exact step
                run.stall(run.value_at_zero)
            if run.status is not None:
                return best_outcome(problem, run, passes)
            step_to_corners(problem, corners, gamma)
            run.calls += n
            passes = run.calls // n
            run.after(passes)
