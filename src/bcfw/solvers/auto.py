"""The solver Auto: it chooses another solver by the cost of an oracle call, which is counted or measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bcfw import run
from bcfw.dual import DualProblem
from bcfw.passes.order import in_order
from bcfw.passes.records import ORACLE, STORE_ONLY, StoreUse
from bcfw.selection import SAMPLINGS
from bcfw.solvers.bcfw import BCFW
from bcfw.solvers.block_solves import BlockSolves
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.kernelized.kernel_bcfw import KernelBCFW
from bcfw.solvers.multiplane import MultiPlane
from bcfw.solvers.pass_runner import PassRunner
from bcfw.solvers.solver import Outcome, Solver

#: If operations are counted and an oracle call takes fewer seconds than SMALL_CALL, a store visit is charged the usual
#: cost. If an exact pass takes fewer seconds than SMALL_PASS, it is too short to measure the cost of a store visit.
SMALL_CALL = 1e-5

SMALL_PASS = 0.005


#: If a pass of the oracle takes fewer seconds than this, plain BCFW comes first. Plain BCFW needs less compiled code,
#: and for a problem this small compilation takes longer than solving.
TINY_PASS = 0.0005


#: Assumed number of oracle operations per second, for models that count operations.
OPERATIONS = 2e9


#: Number of passes of plain BCFW on a tiny problem before multi-plane takes over.
PATIENCE = 300


#: Pairs of the largest measured cost of a store visit in a class, and the cost that is charged for the class; both are
#: relative to a visit with the oracle. There are only three classes, so that repeated runs rarely choose differently.
#: About half the measured cost is charged: a pass over the store also makes the next exact pass worth more, and a few
#: store passes too many hardly change the time but save oracle calls.
STORE_COSTS = ((0.01, 0.002), (0.1, 0.02), (np.inf, 0.2))


#: Cost of a store visit if it is not measured: about half the cost of a visit with a cheap oracle.
USUAL_STORE_COST = 0.5


#: Ratio of the accelerated outer loop. Values between 3 and 30 make hardly any difference.
ACCELERATION = 10


#: Features count as large for their regularisation if mean |x_i|^2 / (lam n) is above this number. Steps on one example
#: at a time then need about as many passes as this quotient, and an outer loop in units of the features is better than
#: an outer loop with one ratio.
LARGE_FEATURES = 1e4


#: Ratio of the outer loop around exact block solves: RATIO_OF_ROOT times the square root of mean |x_i|^2 / (lam n),
#: but at least LEAST_RATIO and at most ACCELERATION.
RATIO_OF_ROOT = 0.7

LEAST_RATIO = 0.5


NO_BLOCKS = np.zeros(0, np.int64)


def multiplane_for_cost(store_cost: float, by_features: bool = False) -> MultiPlane:
    """Return the multi-plane solver for the given cost of a store visit, relative to a visit with the oracle."""
    charged = next(charged for most, charged in STORE_COSTS if store_cost <= most)
    acceleration = "features" if by_features else ACCELERATION
    return MultiPlane(clock="count", store_cost=charged, acceleration=acceleration)


def has_large_features(problem: DualProblem) -> bool:
    """Return whether features are large enough for an outer loop in their units, and the problem allows this loop."""
    if "feature rows" not in problem.adapter.offers or len(problem.bounded):
        return False
    return problem.adapter.mean_sqnorm(problem.data) > LARGE_FEATURES * problem.lam * len(problem.blocks)


def block_solves(problem: DualProblem) -> BlockSolves | None:
    """Return the solver of exact block solves, with a ratio for the size of the features; None if it does not apply."""
    if "block solves" not in problem.adapter.offers or len(problem.bounded):
        return None
    if "feature rows" not in problem.adapter.offers:
        return BlockSolves()
    if has_large_features(problem):
        return BlockSolves(acceleration="features")
    condition = problem.adapter.mean_sqnorm(problem.data) / (problem.lam * len(problem.blocks))
    ratio = min(max(RATIO_OF_ROOT * condition**0.5, LEAST_RATIO), ACCELERATION)
    return BlockSolves(acceleration=float(f"{ratio:.2g}"))


class Auto(Solver):
    """Chooses the solver by the oracle's cost: ``solver="auto"``.

    - If the model's features are known only through a joint kernel: ``KernelBCFW(kernel="joint")``.
    - If the model solves its blocks in closed form (multiclass, multilabel without a tree) and w has no bounds: exact
      block solves.
    - In all other cases: multi-plane BCFW with pairwise steps and an accelerated outer loop. It is given the cost of a
      store visit on this problem: the more expensive the oracle, the more passes over the store. Tiny problems with
      compiled oracles begin with plain BCFW, which needs less compiled code; multi-plane takes over the problems that
      plain BCFW has not solved after 300 passes.

    If features are large (mean |x_i|^2 above 10,000 lam n), the outer loop works in units of the features from the
    start.

    If a model counts its operations (multiclass, chains, multilabel, graphs) and a call takes at most about 10
    microseconds by this count, the choice uses the count, and the seed alone determines the result. Otherwise the
    solver reads the clock in the first iteration, and a cost near the border of two classes may lead to another choice
    in the next run. The result's ``solver`` is the chosen solver with all its options; given to ``train``, it works
    without measuring.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.solvers.Auto()
    Auto()
    """

    @property
    def monotone(self) -> bool:
        return False  # it may choose acceleration

    def resolve(self, problem: DualProblem) -> Solver:
        return KernelBCFW(kernel="joint") if "joint kernel" in problem.adapter.offers else self

    def prepare(self, problem: DualProblem) -> None:
        """Open the store or the lists that the chosen solver needs.

        The store stays closed if plain BCFW may be chosen. So the pass of plain BCFW is compiled only in this case.
        """
        counted = problem.adapter.oracle_operations(problem.data)
        is_large = counted is not None and not self._is_tiny(problem, counted)
        solves = block_solves(problem)
        if solves is not None:
            solves.prepare(problem)
        elif (
            problem.store is not None
            or not problem.adapter.routines.compiled
            or is_large
            or has_large_features(problem)
        ):
            MultiPlane().prepare(problem)

    def prepare_resumed(self, problem: DualProblem) -> None:
        """Prepare the next leg. Plain BCFW has only one leg; after it, multi-plane takes over."""
        self.prepare(problem)
        if block_solves(problem) is None:
            MultiPlane().prepare(problem)

    def solve(self, problem: DualProblem, run: CountedRun, rng: np.random.Generator) -> Outcome:
        solves = block_solves(problem)
        if solves is not None:
            return solves.solve(problem, run, rng)._replace(solver=solves)
        counted = problem.adapter.oracle_operations(problem.data)
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
        chosen = multiplane_for_cost(USUAL_STORE_COST if usual else self._store_cost(problem, run, rng), by_features)
        return chosen.solve(problem, run, rng)._replace(solver=chosen)

    def _is_tiny(self, problem: DualProblem, counted: float | None) -> bool:
        if counted is None:
            return len(problem.blocks) * oracle_seconds(problem) < TINY_PASS
        return counted / OPERATIONS < TINY_PASS

    def _store_cost(self, problem: DualProblem, run: CountedRun, rng: np.random.Generator) -> float:
        """Run one iteration with three store passes, and return the cost of a store visit relative to an exact visit.

        The return value is ``USUAL_STORE_COST`` if the exact pass is too short to be measured.
        """
        runner = PassRunner(problem, run)
        runner.certify()
        first = MultiPlane()
        exact = self._visit_seconds(runner, rng, first.plan(ORACLE, 1))
        store = min(self._visit_seconds(runner, rng, first.plan(STORE_ONLY, 1)) for _ in range(3))
        run.after(runner.done)
        if exact * len(problem.blocks) < SMALL_PASS:
            return USUAL_STORE_COST  # too short to measure: the seed alone must determine the result
        return store / exact

    def _visit_seconds(self, runner: PassRunner, rng: np.random.Generator, plan: StoreUse) -> float:
        runner.problem.visit(in_order(NO_BLOCKS), runner.rule, plan)  # compile before the time is measured
        if runner.run.status is None:
            runner.run_pass(SAMPLINGS["permuted"], rng, plan)
        return visit_seconds(runner.timings)


def oracle_seconds(problem: DualProblem) -> float:
    """Return the seconds of an oracle call, without a step: the shortest of several measurements on a few blocks."""
    some = problem.blocks[:: max(1, len(problem.blocks) // 20)].copy()  # contiguous, as the blocks of a pass are
    problem.call_oracle_only(some[:1])  # compile before the time is measured
    times = [0.0]
    while len(times) <= 3 or (len(times) <= 10 and sum(times) < 0.01):
        start = run.now()
        problem.call_oracle_only(some)
        times.append(run.now() - start)
    return min(times[1:]) / len(some)


def visit_seconds(timings: Sequence[tuple[int, float]]) -> float:
    """Return the seconds of a visit, given the numbers of visits and the seconds of compiled calls.

    The result is the lower quartile over all visits, so that calls that the system has interrupted have no influence.
    """
    visits = [np.full(count, seconds / count) for count, seconds in timings]
    return float(np.quantile(np.concatenate(visits), 0.25)) if visits else 0.0
