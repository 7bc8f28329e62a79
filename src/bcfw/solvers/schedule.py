"""When a solver computes certificates: at fixed intervals, or when the gap is predicted to have reached its target."""

from __future__ import annotations

import math

from bcfw.dual import DualProblem
from bcfw.solvers.counted_run import CountedRun

#: Longest wait between two certificates, in iterations. The accelerated outer loop needs certificates to notice that it
#: makes no progress.
LONGEST = 5

#: Longest wait, in iterations, for passes that visit fewer and fewer blocks. Only a certificate finds out whether the
#: other blocks have to move.
LONGEST_BY_VISITS = 20

#: Factor by which the gap is assumed to fall in an iteration before there are two certificates.
FIRST_FACTOR = 2.0

#: Largest share of the counted cost that the oracle calls of certificates may have.
MOST_SHARE = 0.2

#: Factor on the predicted number of visits until the gap reaches its target: the gap falls more slowly near the end.
CAUTION = 1.1

#: A certificate is due if an iteration gains at most the share USED_UP of the certified gap, and at most the share
#: FALLING of the gain of the previous iteration: the listed blocks then have little left to gain. (If progress is only
#: slow, successive iterations gain about equally.)
USED_UP = 0.02
FALLING = 0.3


class Schedule:
    """Schedule with a certificate after every ``every``-th iteration."""

    def __init__(self, every: int) -> None:
        self.every = every

    def due(self, number: int, gain: float) -> bool:
        """Return whether a certificate is due after iteration ``number``, which has the dual gain ``gain``.

        The first iteration has number 1.
        """
        return number % self.every == 0

    def found(self, number: int, gap: float) -> None:
        """Take note of the gap of a certificate after iteration ``number``."""


class PredictedSchedule(Schedule):
    """Schedule with a certificate when the gap is predicted to reach its target.

    The prediction is that the logarithm of the gap falls along the line through the last two certificates. After
    ``LONGEST`` iterations without a certificate, a certificate is due in any case. Costs are counted, not timed: a
    visit with the oracle costs 1, a store visit costs ``store_cost``, and a certificate costs its number of oracle
    calls. A certificate is delayed while it would raise the share of all certificates in the cost above ``MOST_SHARE``.

    Parameters
    ----------
    problem : DualProblem
    run : CountedRun
    gap : float
        The gap at the start.
    store_cost : float
        Cost of a store visit, relative to a visit with the oracle.
    """

    def __init__(self, problem: DualProblem, run: CountedRun, gap: float, store_cost: float) -> None:
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
        """Return the number of iterations until the next certificate, between 1 and ``every``.

        It is the number until ``gap`` reaches the target if the logarithm of the gap falls by ``fall`` per iteration.
        """
        target = self._run.gap_target
        if not (fall > 0.0 and target > 0.0 and gap < math.inf):
            return self.every
        return min(max(math.ceil(math.log(gap / target) / fall), 1), self.every) if gap > target else 1

    def _steps(self) -> float:
        return self._run.calls + self._store_cost * self._run.store_visits

    def _asked(self) -> int:
        return self._problem.oracle_calls - self._run.calls


class PredictedByVisits(Schedule):
    """Schedule by the predicted gap for passes that visit fewer and fewer blocks.

    A certificate is due when the gap is predicted to reach its target. The prediction is that the logarithm of the gap
    falls with the number of visits along the line through the last two certificates. The longest wait is the number of
    visits that keeps certificates at ``MOST_SHARE`` of the cost, or ``LONGEST_BY_VISITS`` iterations if these make
    fewer visits; the shortest wait is a quarter of this number of visits. A certificate is due at once if an iteration
    hardly gains anything: only a certificate finds the other blocks that can still gain. A certificate is also due
    after the first iteration, because certificates determine which blocks are visited.

    Parameters
    ----------
    run : CountedRun
    cost : float
        Cost of a certificate, in visits.
    gap : float
        The gap at the start.
    """

    def __init__(self, run: CountedRun, cost: float, gap: float) -> None:
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
