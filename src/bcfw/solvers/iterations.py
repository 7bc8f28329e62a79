"""Iterations of several passes, with or without an accelerated outer loop around them, and certificates in between."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

from bcfw.solvers.acceleration import Acceleration, FeatureAcceleration
from bcfw.solvers.base import Outcome
from bcfw.solvers.pass_runner import PassRunner
from bcfw.solvers.schedule import Schedule


def iterate(
    runner: PassRunner,
    acceleration: Any,
    schedule: Schedule,
    iteration: Callable[[int], float],
    check_stall: Callable[[int, float], None],
) -> Outcome:
    """Iterate until the run ends.

    Parameters
    ----------
    runner : PassRunner
        One that has begun.
    acceleration : float or "features"
        The ratio of the outer loop; 0 for none.
    schedule : Schedule
        When certificates are planned.
    iteration : function of a number
        Makes the passes of that iteration, the first being 1; returns the gain of the dual.
    check_stall : function of a number and a gain
        Ends the run where nothing can be gained any more.
    """
    run, outer = runner.run, outer_loop(runner, acceleration)
    run.accelerated = outer is not None
    for number in itertools.count(1):
        run.check_limits(runner.effort)
        if run.status is not None:
            break
        with contextlib.nullcontext() if outer is None else outer.inner():
            gain = iteration(number)
        check_stall(number, gain)
        if run.status is None and run.certificate_due(runner.problem, schedule.due(number, gain)):
            found = runner.certify()
            schedule.found(number, run.rows[-1]["gap"])
            if outer is not None:
                outer.check_progress(found)
        run.after(runner.done)
    return runner.finish()


def outer_loop(runner: PassRunner, acceleration: Any) -> Acceleration | None:
    """The outer loop of a solver with this option."""
    if acceleration == "features":
        return FeatureAcceleration(runner)
    return Acceleration(runner, float(acceleration)) if acceleration else None
