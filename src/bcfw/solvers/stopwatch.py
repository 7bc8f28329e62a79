"""Times of an oracle call and of a visit, measured by the clock; :class:`bcfw.solvers.Auto` chooses by them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bcfw import run
from bcfw.dual import DualProblem


def oracle_seconds(problem: DualProblem) -> float:
    """Return the seconds of an oracle call, without a step: the shortest of several measurements on a few blocks."""
    some = problem.blocks[:: max(1, len(problem.blocks) // 20)].copy()  # contiguous, as the blocks of a pass are
    problem.ask_oracle(some[:1])  # compile before the time is measured
    times = [0.0]
    while len(times) <= 3 or (len(times) <= 10 and sum(times) < 0.01):
        start = run.now()
        problem.ask_oracle(some)
        times.append(run.now() - start)
    return min(times[1:]) / len(some)


def visit_seconds(timings: Sequence[tuple[int, float]]) -> float:
    """Return the seconds of a visit, given the numbers of visits and the seconds of compiled calls.

    The result is the lower quartile over all visits, so that calls that the system has interrupted have no influence.
    """
    visits = [np.full(count, seconds / count) for count, seconds in timings]
    return float(np.quantile(np.concatenate(visits), 0.25)) if visits else 0.0
