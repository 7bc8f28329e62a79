"""The solver MultiPlane: multi-plane BCFW (multiplane-2015, Alg. 3), with Frank-Wolfe or pairwise steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.dual import DualProblem
from bcfw.errors import OptionError
from bcfw.options import Choice, Count, CountOr, Flag, NonNegative, Positive
from bcfw.passes.records import FW, ORACLE, PAIRWISE, STORE_ONLY, WORST, StoreUse
from bcfw.passes.store_visits import in_order_pass, pairwise_pass
from bcfw.selection import SAMPLINGS, SamplingChoice
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.iterations import iterate
from bcfw.solvers.pass_runner import PassRunner
from bcfw.solvers.schedule import PredictedSchedule, Schedule
from bcfw.solvers.solver import Outcome, Solver

#: With passes="auto", the largest number of passes over the store after one exact pass.
MOST_STORE_PASSES = 1000


class MultiPlane(Solver):
    """Multi-plane BCFW: after each pass of the oracle, passes over the labelings that the oracle has returned so far.

    A store visit (a visit without an oracle call) computes scores only at the parts that the block's stored labelings
    use, and is far cheaper than an oracle call. So the solver gains more from each labeling that the oracle has found.

    Parameters
    ----------
    step : "pairwise" or "fw"
        Pairwise steps between two stored labelings, or Frank-Wolfe steps of the whole block towards a labeling (as in
        the paper).
    passes : "auto" or int
        Number of passes over the store after each exact pass. With "auto" there is at least one, and another one
        follows while the last pass gained more dual per unit of cost than the iteration so far.
    clock : "wall" or "count"
        The cost that passes="auto" uses: "wall" means measured time; "count" means fixed costs (a store visit costs
        ``store_cost`` visits with the oracle), which makes runs reproducible.
    store_cost : float
        Cost of a store visit with clock="count", relative to a visit with the oracle.
    sampling : "permuted", "uniform", "cyclic", "gap" or "max-gap"
        The blocks that an exact pass visits (see :class:`BCFW`); passes over the store are permuted.
    inactive : int
        A labeling without mass is removed if the oracle has not returned it for this number of iterations.
    max_labelings : int
        Number of labelings kept per block.
    acceleration : float or "features"
        The ratio of an accelerated outer loop; 0 for no outer loop. With a ratio > 0 (10 is a good value), each
        iteration works on ``P(w) + ratio lam/2 |w - z|^2``, where z runs ahead of the iterates. With "features" the
        distance from z is measured in units of the features, which helps if features are large or differ much in size;
        the model must have features in rows, and w no bounds. An outer loop cannot be combined with averaging. With an
        outer loop the dual may fall from one iteration to the next.
    averaging : bool
        Return the best mixture of two weighted averages: of the iterates after exact steps, and of the iterates after
        store visits.
    gap_every : "auto" or int
        Number of iterations between certificates. With "auto" the solver computes a certificate when the last two
        certificates predict that the gap has reached its target, and after five iterations without a certificate.
        Certificates then take at most a fifth of the cost, counted in visits.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.solvers.MultiPlane(step="fw", passes=10)
    MultiPlane(step='fw', passes=10)
    """

    step: Any = Choice("pairwise", "fw")
    passes: Any = CountOr("auto")
    clock: Any = Choice("wall", "count")
    store_cost: Any = Positive(0.2)
    sampling: Any = SamplingChoice(*SAMPLINGS)
    inactive: Any = Count(10)
    max_labelings: Any = Count(50)
    acceleration: Any = NonNegative(0.0, or_word="features")
    averaging: Any = Flag(False)
    gap_every: Any = CountOr("auto")

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        if SAMPLINGS[self.sampling].largest and self.averaging:
            raise OptionError("MultiPlane: averaging=True does not go with sampling='max-gap'; use 'gap'")
        if self.acceleration and self.averaging:
            raise OptionError("MultiPlane: averaging=True does not go with acceleration; leave one of them out")
        counts = self.clock == "count" and self.passes == "auto"
        self.only_with("store_cost", counts, "clock='count' and passes='auto'")
        if self.max_labelings < 2:
            raise OptionError("MultiPlane: max_labelings must be at least 2, the truth and one more")

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"feature rows"} if self.acceleration == "features" else set())

    @property
    def handles(self) -> frozenset[str]:
        return super().handles - ({"bounds"} if self.acceleration == "features" else set())

    @property
    def uses_store(self) -> bool:
        return True

    @property
    def monotone(self) -> bool:
        return not self.averaging and not self.acceleration

    def prepare(self, problem: DualProblem) -> None:
        if self.step == "pairwise":
            template = pairwise_pass if SAMPLINGS[self.sampling].by_gap else in_order_pass
            problem.open_store(self.max_labelings, active=True, template=template)
        else:
            problem.open_store(self.max_labelings, active=False)

    def solve(self, problem: DualProblem, run: CountedRun, rng: np.random.Generator) -> Outcome:
        runner = PassRunner(problem, run, tracks=2 * int(self.averaging), by_gap=SAMPLINGS[self.sampling].by_gap)
        runner.begin()

        def iteration(number: int) -> float:
            return self._iteration(runner, rng, number)

        def check_stall(number: int, gain: float) -> None:
            runner.check_stall(gain, SAMPLINGS[self.sampling], self.plan(ORACLE, number))

        return iterate(runner, self.acceleration, self._schedule(runner), iteration, check_stall)

    def _schedule(self, runner: PassRunner) -> Schedule:
        if self.gap_every == "auto":
            return PredictedSchedule(runner.problem, runner.run, runner.run.rows[-1]["gap"], float(self.store_cost))
        return Schedule(int(self.gap_every))

    def _iteration(self, runner: PassRunner, rng: np.random.Generator, number: int) -> float:
        """Make one exact pass and the passes over the store that follow it; return the dual gain."""
        start = runner.run.seconds  # line 5 of Alg. 3: an exact pass
        total = runner.run_pass(SAMPLINGS[self.sampling], rng, self.plan(ORACLE, number))
        spent = self._cost(runner.run.seconds - start, 1.0)
        most = MOST_STORE_PASSES if self.passes == "auto" else self.passes
        for _ in range(most):  # line 6: approximate passes
            runner.run.check_limits(runner.budget_used)
            if runner.run.status is not None:
                break
            start = runner.run.seconds
            gain = runner.run_pass(SAMPLINGS["permuted"], rng, self.plan(STORE_ONLY, number), track=1)
            cost = self._cost(runner.run.seconds - start, self.store_cost)
            total += gain
            spent += cost
            if self.passes == "auto" and gain * spent <= total * cost:
                break
        return total

    def _cost(self, seconds: float, fixed: float) -> float:
        return seconds if self.clock == "wall" else float(fixed)

    def plan(self, source: int, number: int) -> StoreUse:
        """Return the plan by which a pass of iteration ``number`` uses the store, with corners from ``source``."""
        return StoreUse(
            step=PAIRWISE if self.step == "pairwise" else FW,
            away_corner=WORST,
            source=source,
            cache_share=0.0,
            cache_floor=0.0,
            round=number,
            oldest=number - self.inactive,
        )
