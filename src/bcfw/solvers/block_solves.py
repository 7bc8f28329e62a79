"""The solver BlockSolves: maximise the dual exactly over one block at a time, where the model has a closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.dual import DualProblem
from bcfw.options import CountOr, NonNegative
from bcfw.selection import SAMPLINGS, Sampling
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.iterations import iterate
from bcfw.solvers.pass_runner import CLEAR_GAIN, PassRunner
from bcfw.solvers.schedule import PredictedByVisits, Schedule
from bcfw.solvers.solver import Outcome, Solver

#: A certificate lists the parts that can move, and the parts whose distance from moving is at most this share of their
#: loss.
SLACK = 0.1

#: In passes over at least MANY_BLOCKS blocks, RUN_LENGTH blocks that are neighbours in memory are visited in a row.
RUN_LENGTH = 8
MANY_BLOCKS = 4096


def permuted_runs(rng: np.random.Generator, blocks: np.ndarray) -> np.ndarray:
    """Return every block once, in a new random order; many blocks are permuted in short runs of neighbours.

    Runs of neighbours cause fewer misses of the processor's cache.
    """
    if len(blocks) < MANY_BLOCKS:
        return rng.permutation(blocks)
    whole = len(blocks) - len(blocks) % RUN_LENGTH
    return np.append(rng.permutation(blocks[:whole].reshape(-1, RUN_LENGTH)).ravel(), blocks[whole:])


PERMUTED_RUNS = Sampling(permuted_runs, visits_all=True)


#: With passes="auto", an iteration has at least FEW_PASSES and at most MOST_PASSES passes. Between these limits there
#: are more passes while the visits of the iteration have done fewer than OPERATIONS_PER_WEIGHT operations per weight,
#: about the cost of moving z and w.
FEW_PASSES, MOST_PASSES = 3, 10
OPERATIONS_PER_WEIGHT = 4.0


class BlockSolves(Solver):
    """Exact block solves: each visit maximises the dual over one example, in closed form.

    The best average of block i, with all other blocks fixed, maximises ``theta_i'd - A_i/2 |d|^2`` over
    ``d = mu - mu_i``, with ``A_i = c_i |x_i|^2 / lam``. For multiclass models this average is the projection of
    ``mu_i + theta_i/A_i`` onto the simplex; for multilabel models without a tree it is a clipped step of every label.
    (If |x_i| = 0, it is the best corner.) There is no line search, and no outputs are stored.

    Between certificates a visit reads only the labels of an example that have mass or were close to getting mass at the
    last certificate. Examples that cannot move are not visited. A certificate calls the oracle on all examples.

    Parameters
    ----------
    acceleration : float or "features"
        The ratio of an accelerated outer loop; 0 for no outer loop. As in :class:`MultiPlane`, each iteration works on
        ``P(w) + ratio lam/2 |w - z|^2``, where z runs ahead of the iterates. With "features" the distance from z is
        measured in units of the features. With an outer loop the dual may fall from one iteration to the next.
    passes : "auto" or int
        Number of passes in each iteration. The first pass visits all examples that can move; the other passes visit
        only the examples that moved at their last visit. With "auto" there are three passes, or more if d is so large
        that moving z would cost more than the passes. The first iteration of a run always has only one pass.
    gap_every : "auto" or int
        Number of iterations between certificates. With "auto" the solver computes a certificate when the last two
        certificates predict that the gap has reached its target; certificates take at most about a fifth of the visits.

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

    def solve(self, problem: DualProblem, run: CountedRun, rng: np.random.Generator) -> Outcome:
        self.prepare(problem)  # list all parts again: mass may have moved since the last certificate
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
        """Make the passes of one iteration and return the dual gain; the first iteration has only one pass.

        Every pass after the first visits only the blocks that moved at their last visit.
        """
        run, problem = runner.run, runner.problem
        assert problem.lists is not None
        problem.lists.idle[:] = False
        before, gain = run.calls, runner.run_pass(PERMUTED_RUNS, rng)
        for done in range(1, 1 if first else MOST_PASSES if self.passes == "auto" else self.passes):
            if self.passes == "auto" and done >= FEW_PASSES and self._pays(problem, run.calls - before):
                break
            run.check_limits(runner.budget_used)
            if run.status is not None:
                break
            gain += runner.run_pass(PERMUTED_RUNS, rng)
        return gain

    def _pays(self, problem: DualProblem, visits: int) -> bool:
        """Return whether the given number of visits is enough work to move z and w after it.

        The answer is True if there is no outer loop or the model does not count its operations.
        """
        operations = problem.adapter.oracle_operations(problem.data)
        if not self.acceleration or operations is None:
            return True
        return visits * operations >= OPERATIONS_PER_WEIGHT * problem.adapter.dim * problem.n_blocks

    def _check_stall(self, runner: PassRunner, gain: float) -> None:
        """After an iteration without gain, solve every block over all its parts; end the run if this gains nothing."""
        problem = runner.problem
        if gain > CLEAR_GAIN * runner.run.value_at_zero or gain > problem.smallest_gain():
            return
        problem.open_lists(SLACK)
        point = problem.point
        gain = runner.run_pass(SAMPLINGS["cyclic"], np.random.default_rng(0))
        runner.check_stall(gain, SAMPLINGS["cyclic"], None)
        if runner.run.status is None:
            problem.point = point
