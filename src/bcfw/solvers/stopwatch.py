"""What an oracle call and a visit take, read off the clock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bcfw import run
from bcfw.dual import DualProblem


def oracle_seconds(problem: DualProblem) -> float:
    """Time of one visit that only asks the oracle: the shortest of some measurements on a few blocks."""
    some = problem.blocks[:: max(1, len(problem.blocks) // 20)].copy()  # contiguous, as in a pass
    problem.ask_oracle(some[:1])  # not the time to compile
    times = [0.0]
    while len(times) <= 3 or (len(times) <= 10 and sum(times) < 0.01):
        start = run.now()
        problem.ask_oracle(some)
        times.append(run.now() - start)
    return min(times[1:]) / len(some)


def visit_seconds(timings: Sequence[tuple[int, float]]) -> float:
    """Time of a visit, from the visits and seconds of compiled calls.

    It is the lower quartile, so that no call that was interrupted counts.
    """
    visits = [np.full(count, seconds / count) for count, seconds in timings]
    return float(np.quantile(np.concatenate(visits), 0.25)) if visits else 0.0
