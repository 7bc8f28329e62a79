"""When solvers take certificates, if they are not told: counted, predicted, and never too many."""

from __future__ import annotations

import numpy as np
import pytest

from bcfw.solvers import MultiPlane
from bcfw.solvers.schedule import LONGEST, LONGEST_BY_VISITS, MOST_SHARE, PredictedByVisits, PredictedSchedule, Schedule
from problems import CASES

N = 10


class Counts:
    """A run and a problem in one, as far as a schedule reads them: N blocks, and store passes that cost 0.2."""

    def __init__(self, gap_target):
        self.gap_target = gap_target
        self.blocks = np.arange(N)
        self.calls, self.store_visits, self.oracle_calls = 0, 0, 2 * N  # P(0) and the first certificate

    def iterate(self, store_passes):
        self.calls += N
        self.oracle_calls += N
        self.store_visits += store_passes * N


def taken(gaps, target, store_passes=40, store_cost=0.2):
    """The iterations after which certificates are taken, where they would show these gaps, first the start's."""
    counts = Counts(target)
    schedule = PredictedSchedule(counts, counts, gaps[0], store_cost)
    numbers = []
    for number, gap in enumerate(gaps[1:], start=1):
        counts.iterate(store_passes)
        if schedule.due(number, gain=0.0):
            counts.oracle_calls += N
            schedule.found(number, gap)
            numbers.append(number)
            if gap <= target:
                break
    return numbers, counts


@pytest.mark.parametrize("factor", [0.9, 0.7, 0.5, 0.2])
@pytest.mark.parametrize("target", [0.3, 0.1, 0.01, 1e-4])
def test_a_gap_that_falls_by_a_factor_is_met_when_it_reaches_the_target(factor, target):
    """No later; once the factor is known, between two certificates there is no iteration too many."""
    gaps = factor ** np.arange(200.0)
    numbers, _ = taken(gaps, target)
    first = int(np.flatnonzero(gaps <= target)[0])
    assert numbers[-1] == (first if first >= numbers[0] else numbers[0])
    assert max(np.diff([0, *numbers])) <= LONGEST
    assert len(numbers) <= 1 + int(np.ceil(first / LONGEST)) + 1


def test_a_gap_that_does_not_fall_is_looked_at_at_the_longest_intervals():
    numbers, _ = taken([1.0] * 41, 0.5)
    assert np.all(np.diff(numbers) == LONGEST)


@pytest.mark.parametrize("gap", [np.inf, np.nan, 0.0])
def test_gaps_without_a_logarithm(gap):
    numbers, _ = taken([gap] * 21, 0.0)
    assert np.all(np.diff([0, *numbers]) == LONGEST)


@pytest.mark.parametrize("store_passes", [0, 1, 5, 1000])
def test_certificates_are_a_fifth_of_the_cost_at_most(store_passes):
    """The gap is always expected to do after one more iteration."""
    gaps = 1.0 + 0.5 ** np.arange(41.0)
    numbers, counts = taken(gaps, 1.0, store_passes)
    asked = len(numbers) * N
    assert asked <= MOST_SHARE * (counts.calls + 0.2 * counts.store_visits + asked)
    if store_passes == 1000:
        assert len(numbers) > 30


def test_gaps_that_fall_geometrically_with_the_visits():
    counts = Counts(1e-4)
    schedule = PredictedByVisits(counts, N, 1.0)

    def due(visits, gain):
        counts.calls = visits
        return schedule.due(1, gain)

    assert due(N, gain=1.0)
    schedule.found(1, 0.1)  # a factor of ten in N visits: 3 N more
    assert 4 * N < next(visits for visits in range(N + 1, 10 * N) if due(visits, gain=1.0)) <= 4.5 * N
    schedule.found(2, 0.09)
    assert not due(8.2 * N, gain=1.0)
    assert due(8.5 * N, gain=1.0)  # however far the target is
    schedule.found(3, 0.08)
    assert not due(9.0 * N, gain=0.001)  # slow, but steady
    assert not due(9.1 * N, gain=0.0009)
    assert due(9.2 * N, gain=1e-6)  # nothing is left where the passes look


def test_few_visits_do_not_put_a_certificate_off():
    counts = Counts(1e-4)
    schedule = PredictedByVisits(counts, N, 1.0)
    schedule.found(1, 0.9)
    numbers = range(2, 100)
    assert next(number for number in numbers if schedule.due(number, gain=1.0)) == 1 + LONGEST_BY_VISITS


def test_fixed_intervals_are_obeyed():
    assert [number for number in range(1, 13) if Schedule(4).due(number, gain=0.0)] == [4, 8, 12]


@pytest.mark.parametrize("every", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"acceleration": 10}, {"averaging": True}], ids=str)
def test_an_interval_that_is_given_is_obeyed(every, options):
    result = CASES["chain-cost"].few_passes(6, solver=MultiPlane(clock="count", gap_every=every, **options))
    assert result.history["passes"].tolist() == [0, *range(every, 7, every)]


def test_certificates_of_a_run_are_counted_not_timed(monkeypatch):
    case = CASES["chain-cost"]
    first = case.train(tol=1e-4, solver=MultiPlane(clock="count", acceleration=10))
    ticks = iter(range(10**9))
    monkeypatch.setattr("bcfw.run.now", lambda: 0.001 * next(ticks) ** 1.1)  # a clock that runs at another pace
    again = case.train(tol=1e-4, solver=MultiPlane(clock="count", acceleration=10))
    assert np.array_equal(first.history["passes"], again.history["passes"])
    assert np.array_equal(first.w, again.w)
