"""Exact maximisation of the dual over one block after the other, for models whose blocks have a closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.dual import DualProblem
from bcfw.options import CountOr, NonNegative
from bcfw.selection import SAMPLINGS, Sampling
from bcfw.solvers.base import Outcome, Solver
from bcfw.solvers.iterations import iterate
from bcfw.solvers.pass_runner import CLEAR_GAIN, PassRunner
from bcfw.solvers.run import SolverRun
from bcfw.solvers.schedule import PredictedByVisits, Schedule

#: How far from moving a part may be, in units of its loss, to be visited until the next certificate.
SLACK = 0.1

#: In passes over many blocks, so many that lie side by side in memory are visited in a row.
RUN_LENGTH = 8
MANY_BLOCKS = 4096


def permuted_runs(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """Every block once, in a new random order; many blocks in short runs, which spares the cache."""
    if len(blocks) < MANY_BLOCKS:
        return rng.permutation(blocks)
    whole = len(blocks) - len(blocks) % RUN_LENGTH
    return np.append(rng.permutation(blocks[:whole].reshape(-1, RUN_LENGTH)).ravel(), blocks[whole:])


PERMUTED_RUNS = Sampling(permuted_runs, visits_all=True)


#: With passes="auto", passes in an iteration at least and at most, and the operations that pay for moving z and w, per
#: weight: as long as visits have not done so many, there are more passes.
FEW_PASSES, MOST_PASSES = 3, 10
OPERATIONS_PER_WEIGHT = 4.0


class BlockSolves(Solver):
    """Exact block solves: the dual is maximised over one example at a time, in closed form.

    The best average of block i with all others fixed maximises ``theta_i'd - A_i/2 |d|^2`` over ``d = mu - mu_i``, with
    ``A_i = c_i |x_i|^2 / lam``: for multiclass models the projection of ``mu_i + theta_i/A_i`` onto the simplex, for
    multilabel models without a tree a clipped step of every label. (Without features, |x_i| = 0, it is the best
    corner.) No step is searched for and no outputs are stored.

    Between certificates only those labels of an example are looked at that have mass or nearly got some at the last
    certificate, and examples that cannot move are left out. A certificate asks the oracle about all.

    Parameters
    ----------
    acceleration : float or "features"
        The ratio of an outer loop, as of :class:`MultiPlane`: each iteration works on
        ``P(w) + ratio lam/2 |w - z|^2``, whose z runs ahead of the solutions; 0 for none. With "features" the distance
        from z is measured in units of the features. The dual may then fall from one iteration to the next.
    passes : "auto" or int
        Passes in each iteration. The first visits all examples that can move, the others those that did. With "auto"
        three, or more where d is so large that moving z would cost more than they do.
    gap_every : "auto" or int
        Iterations between certificates. With "auto" one is taken when the last two promise the target, and they take
        about a fifth of the visits at most.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.solvers.BlockSolves(acceleration="features")
    BlockSolves(acceleration='features')
    """

    acceleration: Any = NonNegative(10.0, or_word="features")
    passes: Any = CountOr("auto")
    gap_every: Any = CountOr("auto")

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"block solves"} | ({"feature rows"} if self.acceleration == "features" else set()))

    @property
    def handles(self) -> frozenset[str]:
        return super().handles - {"bounds", "heuristic oracle"}

    @property
    def monotone(self) -> bool:
        return not self.acceleration

    def prepare(self, problem: DualProblem) -> None:
        problem.open_lists(SLACK)

    def solve(self, problem: DualProblem, run: SolverRun, rng: np.random.Generator) -> Outcome:
        self.prepare(problem)  # all parts: mass may have moved since the last certificate
        runner = PassRunner(problem, run)
        runner.begin()

        def iteration(number: int) -> float:
            return self._iteration(runner, rng, number == 1)

        def check_stall(number: int, gain: float) -> None:
            self._check_stall(runner, gain)

        return iterate(runner, self.acceleration, self._schedule(runner), iteration, check_stall)

    def _schedule(self, runner: PassRunner) -> Schedule:
        if self.gap_every == "auto":
            return PredictedByVisits(runner.run, float(len(runner.problem.blocks)), runner.last_gap)
        return Schedule(int(self.gap_every))

    def _iteration(self, runner: PassRunner, rng: np.random.Generator, first: bool) -> float:
        """Some passes, each over the blocks that the one before has moved, or only one; returns the dual gain."""
        run, problem = runner.run, runner.problem
        assert problem.lists is not None
        problem.lists.idle[:] = False
        before, gain = run.calls, runner.one_pass(PERMUTED_RUNS, rng)
        for done in range(1, 1 if first else MOST_PASSES if self.passes == "auto" else self.passes):
            if self.passes == "auto" and done >= FEW_PASSES and self._pays(problem, run.calls - before):
                break
            run.check_limits(runner.effort)
            if run.status is not None:
                break
            gain += runner.one_pass(PERMUTED_RUNS, rng)
        return gain

    def _pays(self, problem: DualProblem, visits: int) -> bool:
        """Whether so many visits are worth moving z and w after them; by counts, where the model has them."""
        operations = problem.form.oracle_operations(problem.data)
        if not self.acceleration or operations is None:
            return True
        return visits * operations >= OPERATIONS_PER_WEIGHT * problem.form.dim * problem.n_blocks

    def _check_stall(self, runner: PassRunner, gain: float) -> None:
        """After an iteration that gained nothing: solve every block over all its parts; if that gains nothing, stop."""
        problem = runner.problem
        if gain > CLEAR_GAIN * runner.run.value_at_zero or gain > problem.smallest_gain():
            return
        problem.open_lists(SLACK)
        point = problem.point
        gain = runner.one_pass(SAMPLINGS["cyclic"], np.random.default_rng(0))
        runner.check_stall(gain, SAMPLINGS["cyclic"], None)
        if runner.run.status is None:
            problem.point = point
