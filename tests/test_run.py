"""A run of any optimisation: limits, callbacks, history and display know nothing of models."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.run import Info, Run


class Halving(Info):
    """What a callback sees of the loop below."""

    @property
    def shown(self):
        return {"value": self.latest["value"]}


def halve(run, x=1.0):
    """Halve a number until the run says stop."""
    run.point = lambda: x
    done = 0
    run.record(x <= run.gap_target, iters=done, value=x, gap=x)
    while run.status is None:
        x /= 2.0
        done += 1
        run.record(x <= run.gap_target, iters=done, value=x, gap=x)
        run.check_limits(done)
        run.after(done)
    return x


def test_a_run_serves_any_optimisation():
    seen = []
    run = Run(0.1, 100, callbacks=[lambda info: seen.append((info.done, info.gap, info.point()))], unit="iters")
    assert halve(run) == 0.0625
    assert run.status == "converged"
    assert list(run.history()) == ["seconds", "iters", "value", "gap"]
    np.testing.assert_array_equal(run.history()["iters"], np.arange(5))
    assert seen[-1] == (4, 0.0625, 0.0625)
    run.warn_unless_converged(0.0625)


def test_the_limit_of_a_run_has_the_name_of_its_unit():
    run = Run(0.0, 3, unit="iters", info=Halving)
    halve(run)
    assert run.status == "max_iters"
    with pytest.warns(bcfw.ConvergenceWarning, match=r"not converged \(max_iters\).*raise max_iters or tol"):
        run.warn_unless_converged(0.125)


def test_a_display_shows_any_run(capsys):
    show = bcfw.Progress(live=False)
    run = Run(1e-3, 50, callbacks=[show], unit="iters", info=Halving)
    halve(run)
    assert capsys.readouterr().err.startswith("iteration 1: value 0.5, gap 0.5 (target 0.001)")


def test_a_run_can_be_stopped_and_timed(clock):
    stopped = Run(0.0, 100, callbacks=[lambda info: info.done >= 2], unit="iters")
    halve(stopped)
    assert (stopped.status, len(stopped.rows)) == ("stopped", 3)
    timed = Run(0.0, np.inf, max_seconds=10.0, callbacks=[lambda info: clock.advance(3.0)], unit="iters")
    halve(timed)
    assert (timed.status, len(timed.rows)) == ("max_seconds", 6)
