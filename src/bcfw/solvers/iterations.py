"""The loop over iterations of solvers whose iterations have several passes, with or without acceleration."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

from bcfw.solvers.acceleration import Acceleration, FeatureAcceleration
from bcfw.solvers.pass_runner import PassRunner
from bcfw.solvers.schedule import Schedule
from bcfw.solvers.solver import Outcome


def iterate(
    runner: PassRunner,
    acceleration: Any,
    schedule: Schedule,
    iteration: Callable[[int], float],
    check_stall: Callable[[int, float], None],
) -> Outcome:
    """Iterate until the run ends, with certificates in between, and return the outcome.

    Parameters
    ----------
    runner : PassRunner
        The runner, whose ``begin`` has been called.
    acceleration : float or "features"
        The ratio of the accelerated outer loop; 0 for no outer loop.
    schedule : Schedule
        The iterations after which certificates are planned.
    iteration : function of the number of an iteration
        Makes the passes of this iteration and returns the dual gain. The first iteration has number 1.
    check_stall : function of the number of an iteration and its dual gain
        Ends the run if no step can gain anything any more.
    """
    run, outer = runner.run, outer_loop(runner, acceleration)
    run.accelerated = outer is not None
    for number in itertools.count(1):
        run.check_limits(runner.budget_used)
        if run.status is not None:
            break
        with contextlib.nullcontext() if outer is None else outer.proximal_problem():
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
    """Return the accelerated outer loop for the option ``acceleration``; None for 0."""
    if acceleration == "features":
        return FeatureAcceleration(runner)
    return Acceleration(runner, float(acceleration)) if acceleration else None
