"""The solver AdaptiveBCFW: steps on several blocks at once, with adaptive sizes (flexible-blocks-2026, Alg. 2, 4.3)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bcfw.dual import DualProblem
from bcfw.options import Choice, Count
from bcfw.passes.order import Visits
from bcfw.passes.records import StoreUse
from bcfw.selection import SAMPLINGS
from bcfw.solvers.baselines.adaptive_pass import Group, group_pass
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.pass_runner import PassRunner
from bcfw.solvers.solver import Outcome, Solver

#: Factors by which M changes before every group of blocks, and whenever the test of a group fails. The values are from
#: the paper's code.
SHRINK, GROW = 0.9, 2.0

#: Largest number of coordinates of w that are listed for a direction; if a direction has more, all of w is read.
MOST_PLACES = 1 << 16


class AdaptiveBCFW(Solver):
    """BCFW on groups of blocks with one adaptive estimate of the curvature (flexible-blocks-2026, Alg. 2).

    Each pass cuts a new random order of the blocks into groups. The oracle is called on all blocks of a group at one w,
    and then all of them move. The step size of block i is ``gamma_i = min(1, g_i/(M D_i))``: g_i is the gap of the
    block, D_i is the squared distance from the block to the oracle's output, and M is an estimate of the curvature of
    the dual. A larger M makes shorter steps. Before every group M is reduced by a tenth. If the joint step of the group
    could decrease the dual, M is doubled until it cannot.

    Parameters
    ----------
    block_size : int
        Number of blocks in a group.
    metric : "weights" or "alpha"
        How the distance D_i between a block and the oracle's output y is measured.

        - "weights": by ``lam |v_s - v_i|^2``, where v_i is the block's part of w and v_s would be its part if all mass
          of the block were on y. M then stays at or below the size of the group;
        - "alpha": by ``|e_y - alpha_i|^2``, where alpha_i is the block's mass on its outputs, as in
          flexible-blocks-2026. The solver then keeps the mass of every output. Mass that comes from a warm start counts
          as the mass of one additional output.
    max_labelings : int
        Number of outputs kept per block for metric="alpha". If a block has more, the outputs that are not kept count as
        one output.
    gap_every : int
        Number of passes between certificates.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.solvers.AdaptiveBCFW(block_size=10)
    AdaptiveBCFW(block_size=10)
    """

    block_size: Any = Count(5)
    metric: Any = Choice("weights", "alpha")
    max_labelings: Any = Count(50)
    gap_every: Any = Count(10)

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.only_with("max_labelings", self.metric == "alpha", "metric='alpha'")

    def solve(self, problem: DualProblem, run: CountedRun, rng: np.random.Generator) -> Outcome:
        runner = GroupRunner(problem, run, self)
        runner.begin()
        for number in itertools.count(1):
            run.check_limits(runner.budget_used)
            if run.status is not None:
                break
            gain = runner.run_pass(SAMPLINGS["permuted"], rng)
            runner.check_stall(gain, SAMPLINGS["permuted"], None)
            if run.status is None and run.certificate_due(problem, number % self.gap_every == 0):
                runner.certify()
            run.after(runner.done)
        return runner.finish()


class GroupRunner(PassRunner):
    """Runs passes in which the blocks of a group step at once."""

    def __init__(self, problem: DualProblem, run: CountedRun, solver: AdaptiveBCFW) -> None:
        super().__init__(problem, run)
        in_alpha, size = solver.metric == "alpha", int(solver.block_size)
        slots = int(solver.max_labelings) if in_alpha else 1
        self.group_size = size
        n, dim = problem.n_blocks, problem.adapter.dim
        self.group = Group(
            size=size,
            in_alpha=in_alpha,
            shrink=SHRINK,
            grow=GROW,
            M=np.ones(1),
            slot=np.zeros(size, np.int64),
            gamma=np.zeros(size),
            distance=np.zeros(size),
            loss=np.zeros(size),
            labels=problem.adapter.make_labelings(problem.data, slots),
            mass=np.zeros((n, slots)) if in_alpha else np.zeros((1, 0)),
            kept=np.zeros(n, np.int64),
            rest=np.ones(n) if in_alpha else np.zeros(0),
            joint=np.zeros(dim),
            places=np.zeros(min(dim, MOST_PLACES), np.int64),
        )
        if in_alpha and problem.is_initial:  # all mass is on the truth, in slot 0; unknown after a warm start
            self.group.mass[:, 0] = 1.0
            self.group.kept[:] = 1
            self.group.rest[:] = 0.0

    def take_steps(self, part: Visits, plan: StoreUse | None, track: int) -> None:
        self.problem.run_template(group_pass, part.n_visits, tuple(part), tuple(self.rule), tuple(self.group))
