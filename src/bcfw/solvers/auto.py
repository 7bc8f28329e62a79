"""The solver that chooses: by the oracle's cost, counted or measured, against that of visits without it."""

from __future__ import annotations

import numpy as np

from bcfw.dual import DualProblem
from bcfw.records import ORACLE, STORE_ONLY, StorePlan, in_order
from bcfw.selection import SAMPLINGS
from bcfw.solvers import stopwatch
from bcfw.solvers.base import Outcome, Solver
from bcfw.solvers.bcfw import BCFW
from bcfw.solvers.multiplane import MultiPlane
from bcfw.solvers.pass_runner import PassRunner
from bcfw.solvers.run import SolverRun

#: Seconds of a call and of a pass of the oracle below which a problem is small: plain BCFW may well be done before the
#: code of a store has been compiled. In a tiny pass, calls cannot be measured.
SMALL_CALL = 1e-5
SMALL_PASS = 0.005
TINY_PASS = 0.001

#: Assumed oracle operations per second, where they are counted.
OPERATIONS = 2e9

#: Passes and seconds that plain BCFW has on a small problem before multi-plane takes over.
PATIENCE = 300
PATIENT_SECONDS = 0.5

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


class Auto(Solver):
    """Chooses the solver by the oracle's cost: ``solver="auto"``.

    Multi-plane BCFW with pairwise steps and an accelerated outer loop, told what a visit to the store costs here: the
    dearer the oracle, the more passes over the store. Small problems with compiled oracles begin with plain BCFW, which
    needs less code to be compiled; what it has not solved after 300 passes, or about half a second, is handed
    over. Where features are large (mean |x_i|^2 above 10,000 lam n), the outer loop works in their units, from the
    start.

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

    def prepare(self, problem: DualProblem) -> None:
        """A store that a warm start has brought along is kept."""
        if problem.store is not None or not problem.form.kernels.compiled:
            MultiPlane().prepare(problem)

    def solve(self, problem: DualProblem, run: SolverRun, rng: np.random.Generator) -> Outcome:
        n = len(problem.blocks)
        counted = problem.form.oracle_operations(problem.data)
        one_pass = 0.0 if counted is None else counted / OPERATIONS
        by_features = has_large_features(problem)
        if problem.store is None:
            if counted is None:
                one_pass = n * stopwatch.oracle_seconds(problem)
            small = one_pass < TINY_PASS or (one_pass < SMALL_CALL * n and one_pass < SMALL_PASS)
            if small and not by_features:
                plain = BCFW()
                patience: float = PATIENCE
                if counted is not None:  # a number read off the clock would be another one the next time
                    patience = min(PATIENCE, PATIENT_SECONDS / max(one_pass, 1e-9))
                outcome = plain.solve(problem, run, rng, patience)
                if run.status == "stalled":  # other steps may still gain
                    run.status = None
                if run.status is not None:
                    return outcome._replace(solver=plain)
            MultiPlane().prepare(problem)
        usual = counted is not None and one_pass < SMALL_CALL * n
        chosen = choice(USUAL_STORE_COST if usual else self._store_cost(problem, run, rng), by_features)
        return chosen.solve(problem, run, rng)._replace(solver=chosen)

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
