"""The solver that chooses: by the oracle's cost, counted or measured, against that of visits without it."""

from __future__ import annotations

import numpy as np

from bcfw.dual import DualProblem
from bcfw.records import ORACLE, STORE_ONLY, StorePlan, in_order
from bcfw.selection import SAMPLINGS
from bcfw.solvers import stopwatch
from bcfw.solvers.base import Outcome, Solver
from bcfw.solvers.bcfw import BCFW
from bcfw.solvers.block_solves import BlockSolves
from bcfw.solvers.kernelized import KernelBCFW
from bcfw.solvers.multiplane import MultiPlane
from bcfw.solvers.pass_runner import PassRunner
from bcfw.solvers.run import SolverRun

#: Seconds of an oracle call below which a visit to the store has its usual cost, if operations are counted, and of a
#: pass below which that cost cannot be measured.
SMALL_CALL = 1e-5
SMALL_PASS = 0.005

#: Seconds of a pass of the oracle below which plain BCFW comes first: it needs less code to be compiled, which takes
#: longer than such a problem.
TINY_PASS = 0.0005

#: Assumed oracle operations per second, where they are counted.
OPERATIONS = 2e9

#: Passes that plain BCFW has on a tiny problem before multi-plane takes over.
PATIENCE = 300

#: What a visit to the store is said to cost, relative to one with the oracle, by what it was measured to cost at most.
#: Classes so coarse that the clock hardly ever decides otherwise the next time. About half the measured cost is
#: charged: a pass over the store also makes the next exact pass worth more, and with a few too many of them the time
#: hardly changes while oracle calls are saved.
STORE_COSTS = ((0.01, 0.002), (0.1, 0.02), (np.inf, 0.2))

#: What it costs where it is not measured: about half of a cheap oracle.
USUAL_STORE_COST = 0.5

#: Ratio of the accelerated outer loop: between 3 and 30 it hardly matters.
ACCELERATION = 10

#: Mean |x_i|^2 / (lam n) above which features are large for their regularisation. Steps on one example at a time then
#: need about so many passes, and an outer loop in units of the features is better than one with one ratio.
LARGE_FEATURES = 1e4

#: Ratio of the outer loop around exact block solves: so many times the root of mean |x_i|^2 / (lam n), but at least so
#: much, and at most ``ACCELERATION``.
RATIO_OF_ROOT = 0.7
LEAST_RATIO = 0.5

NO_BLOCKS = np.zeros(0, np.int64)


def choice(store_cost: float, by_features: bool = False) -> MultiPlane:
    """Multi-plane, for visits to the store that cost so many visits with the oracle."""
    charged = next(charged for most, charged in STORE_COSTS if store_cost <= most)
    acceleration = "features" if by_features else ACCELERATION
    return MultiPlane(clock="count", store_cost=charged, acceleration=acceleration)


def has_large_features(problem: DualProblem) -> bool:
    """Whether features are so large that an outer loop in their units pays, where there can be one."""
    if "feature rows" not in problem.form.offers or len(problem.bounded):
        return False
    return problem.form.mean_sqnorm(problem.data) > LARGE_FEATURES * problem.lam * len(problem.blocks)


def block_solves(problem: DualProblem) -> BlockSolves | None:
    """Exact block solves, with a ratio for the size of the features, where model and problem allow them."""
    if "block solves" not in problem.form.offers or len(problem.bounded):
        return None
    if "feature rows" not in problem.form.offers:
        return BlockSolves()
    if has_large_features(problem):
        return BlockSolves(acceleration="features")
    condition = problem.form.mean_sqnorm(problem.data) / (problem.lam * len(problem.blocks))
    ratio = min(max(RATIO_OF_ROOT * condition**0.5, LEAST_RATIO), ACCELERATION)
    return BlockSolves(acceleration=float(f"{ratio:.2g}"))


class Auto(Solver):
    """Chooses the solver by the oracle's cost: ``solver="auto"``.

    Where the model solves its blocks in closed form (multiclass, multilabel without a tree) and w has no bounds: exact
    block solves. Everywhere else multi-plane BCFW with pairwise steps and an accelerated outer loop, told what a visit
    to the store costs here: the dearer the oracle, the more passes over the store. Tiny problems with compiled oracles
    begin with plain BCFW, which needs less code to be compiled; what it has not solved after 300 passes is handed over.
    Where features are known by a joint kernel alone: ``KernelBCFW(kernel="joint")``.
    Where features are large (mean |x_i|^2 above 10,000 lam n), the outer loop works in their units, from the start.

    Models that count their operations (multiclass, chains, multilabel, graphs) are judged by that count as long as a
    call takes about 10 microseconds at most: the seed alone decides the result. Otherwise the clock is read in the
    first iteration, and a choice at the border of two classes may come out differently the next time. The result's
    ``solver`` is the one that was chosen, with all its options; given to ``train`` it works without measuring.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.solvers.Auto()
    Auto()
    """

    @property
    def monotone(self) -> bool:
        return False  # it may choose acceleration

    def chosen_for(self, problem: DualProblem) -> Solver:
        return KernelBCFW(kernel="joint") if "joint kernel" in problem.form.offers else self

    def prepare(self, problem: DualProblem) -> None:
        """Open what the chosen solver needs; the pass of plain BCFW is compiled only where that may be chosen."""
        counted = problem.form.oracle_operations(problem.data)
        is_large = counted is not None and not self._is_tiny(problem, counted)
        solves = block_solves(problem)
        if solves is not None:
            solves.prepare(problem)
        elif problem.store is not None or not problem.form.kernels.compiled or is_large or has_large_features(problem):
            MultiPlane().prepare(problem)

    def prepare_next_leg(self, problem: DualProblem) -> None:
        """What plain BCFW has not solved in one leg is handed over."""
        self.prepare(problem)
        if block_solves(problem) is None:
            MultiPlane().prepare(problem)

    def solve(self, problem: DualProblem, run: SolverRun, rng: np.random.Generator) -> Outcome:
        solves = block_solves(problem)
        if solves is not None:
            return solves.solve(problem, run, rng)._replace(solver=solves)
        counted = problem.form.oracle_operations(problem.data)
        by_features = has_large_features(problem)
        if problem.store is None:
            if not by_features and self._is_tiny(problem, counted):
                plain = BCFW()
                outcome = plain.solve(problem, run, rng, PATIENCE)
                if run.status in ("stalled", "rounding"):  # other steps may still gain
                    run.status = None
                if run.status is not None:
                    return outcome._replace(solver=plain)
            MultiPlane().prepare(problem)
        usual = counted is not None and counted / OPERATIONS < SMALL_CALL * len(problem.blocks)
        chosen = choice(USUAL_STORE_COST if usual else self._store_cost(problem, run, rng), by_features)
        return chosen.solve(problem, run, rng)._replace(solver=chosen)

    def _is_tiny(self, problem: DualProblem, counted: float | None) -> bool:
        if counted is None:
            return len(problem.blocks) * stopwatch.oracle_seconds(problem) < TINY_PASS
        return counted / OPERATIONS < TINY_PASS

    def _store_cost(self, problem: DualProblem, run: SolverRun, rng: np.random.Generator) -> float:
        """Take one iteration with three passes over the store; what one of these costs, the exact pass costing 1."""
        runner = PassRunner(problem, run)
        runner.certify()
        first = MultiPlane()
        exact = self._visit_seconds(runner, rng, first.plan(ORACLE, 1))
        store = min(self._visit_seconds(runner, rng, first.plan(STORE_ONLY, 1)) for _ in range(3))
        run.after(runner.done)
        if exact * len(problem.blocks) < SMALL_PASS:
            return USUAL_STORE_COST  # too short to measure; the seed alone shall decide
        return store / exact

    def _visit_seconds(self, runner: PassRunner, rng: np.random.Generator, plan: StorePlan) -> float:
        runner.problem.visit(in_order(NO_BLOCKS), runner.rule, plan)  # not the time to compile
        if runner.run.status is None:
            runner.one_pass(SAMPLINGS["permuted"], rng, plan)
        return stopwatch.visit_seconds(runner.timings)
