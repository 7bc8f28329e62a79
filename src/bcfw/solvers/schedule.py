"""When a solver takes its certificates: at fixed intervals, or when the gap will probably do."""

from __future__ import annotations

import math

from bcfw.dual import DualProblem
from bcfw.solvers.run import SolverRun

#: Most iterations between two certificates: the outer loop of an accelerated run learns from them whether it gains.
LONGEST = 5

#: The same where passes visit fewer and fewer blocks: what they leave out may have to move, too.
LONGEST_BY_VISITS = 20

#: By what the gap is taken to fall in an iteration before two certificates tell.
FIRST_FACTOR = 2.0

#: Oracle calls of certificates are at most this part of the counted cost.
MOST_SHARE = 0.2

#: In visits, how much later than the gaps promise: they fall more slowly near the end.
CAUTION = 1.1

#: What can be gained without a certificate is used up where an iteration gains less than so much of the certified gap,
#: and of the iteration before. (Where progress is slow, one iteration gains about as much as the other.)
USED_UP = 0.02
FALLING = 0.3


class Schedule:
    """A certificate after every so many iterations."""

    def __init__(self, every: int) -> None:
        self.every = every

    def due(self, number: int, gain: float) -> bool:
        """Whether one is due after the iteration of that number, the first being 1, which has gained so much dual."""
        return number % self.every == 0

    def found(self, number: int, gap: float) -> None:
        """A certificate was taken after that iteration."""


class Predicted(Schedule):
    """A certificate when the gap is expected to reach its target, and after ``LONGEST`` iterations without one.

    The logarithm of the gap is taken to fall along the line through the last two certificates. They are counted, never
    timed: visits with the oracle cost one, those without it ``store_cost``, and a certificate as many as it asks
    oracles. One that would bring the share of all certificates above ``MOST_SHARE`` waits.

    Parameters
    ----------
    problem : DualProblem
    run : SolverRun
    gap : float
        The gap to begin with.
    store_cost : float
    """

    def __init__(self, problem: DualProblem, run: SolverRun, gap: float, store_cost: float) -> None:
        super().__init__(LONGEST)
        self._problem, self._run, self._store_cost = problem, run, store_cost
        self._last = 0, gap
        self._steps_before, self._asked_before = self._steps(), self._asked()
        self._next = self._wait(gap, math.log(FIRST_FACTOR))

    def due(self, number: int, gain: float) -> bool:
        asked = self._asked() - self._asked_before + len(self._problem.blocks)
        cost = self._steps() - self._steps_before + asked
        return number >= self._next and asked <= MOST_SHARE * cost

    def found(self, number: int, gap: float) -> None:
        before, gap_before = self._last
        fall = math.log(gap_before / gap) if 0.0 < gap < gap_before < math.inf else 0.0
        self._last = number, gap
        self._next = number + self._wait(gap, fall / (number - before))

    def _wait(self, gap: float, fall: float) -> int:
        """Iterations until the gap reaches its target, if its logarithm falls by ``fall`` in each."""
        target = self._run.gap_target
        if not (fall > 0.0 and target > 0.0 and gap < math.inf):
            return self.every
        return min(max(math.ceil(math.log(gap / target) / fall), 1), self.every) if gap > target else 1

    def _steps(self) -> float:
        return self._run.calls + self._store_cost * self._run.store_visits

    def _asked(self) -> int:
        return self._problem.oracle_calls - self._run.calls


class PredictedByVisits(Schedule):
    """A certificate when the gap is expected to reach its target, for passes that visit fewer and fewer blocks.

    The logarithm of the gap is taken to fall with the visits along the line through the last two certificates. The
    longest wait keeps certificates at ``MOST_SHARE`` of the cost, unless ``LONGEST_BY_VISITS`` iterations visit fewer
    blocks than that; the shortest is a quarter of it. A certificate is due at once when an iteration hardly gains
    anything: what is left to gain is then where only a certificate looks. It is due after the first iteration, too,
    because certificates choose the blocks to visit.

    Parameters
    ----------
    run : SolverRun
    cost : float
        What a certificate costs, in visits.
    gap : float
        The gap to begin with.
    """

    def __init__(self, run: SolverRun, cost: float, gap: float) -> None:
        super().__init__(LONGEST_BY_VISITS)
        self._run = run
        self._longest = cost * (1.0 / MOST_SHARE - 1.0)
        self._next = 0.0
        self._last = 0.0, gap
        self._number = 0
        self._gain = 0.0

    def due(self, number: int, gain: float) -> bool:
        used_up = gain <= USED_UP * self._last[1] and gain <= FALLING * self._gain
        self._gain = gain
        return used_up or number >= self._number + self.every or self._run.calls >= self._next

    def found(self, number: int, gap: float) -> None:
        visits, wait = float(self._run.calls), self._longest
        visits_before, gap_before = self._last
        if 0.0 < self._run.gap_target < gap < gap_before:
            fall = math.log(gap_before / gap)
            wait = CAUTION * (visits - visits_before) * math.log(gap / self._run.gap_target) / fall
        self._next = visits + min(max(wait, 0.25 * self._longest), self._longest)
        self._number = number
        self._last = visits, gap
        self._gain = 0.0
