"""How a run of any solver on any model ends: status, callbacks, Ctrl-C, and oracle calls counted."""

from __future__ import annotations

import contextlib
import signal
import threading

import numpy as np
import pytest

import bcfw
from problems import CASES, Pairs, calls_every_visit, own_model

# The objective is of order one and a certificate is a few thousand additions.
ROUNDING = 1e-11


def warning_of(solver, limit):
    """A solver without a dual point runs to its limits and says nothing."""
    return pytest.warns(bcfw.ConvergenceWarning, match=limit) if solver.certifies else contextlib.nullcontext()


@pytest.mark.part(1, of=16)
def test_status_max_passes(case, solver):
    with warning_of(solver, "max_passes"):
        result = case.train(solver=solver, tol=1e-12, max_passes=2)
    assert (result.status, result.n_passes) == ("max_passes", 2)


@pytest.mark.part(2, of=16)
def test_status_stopped_by_a_callback(case, solver):
    seen = []

    def stop(info):
        seen.append(info)
        return len(seen) == 3

    result = case.train(solver=solver, tol=1e-12, callbacks=[stop])
    assert (result.status, len(seen)) == ("stopped", 3)
    assert result.primal == pytest.approx(case.enumerated().primal(result.w), abs=ROUNDING)
    passes = [info.n_passes for info in seen]
    assert passes == [1, 2, 3] or (not calls_every_visit(solver) and passes == sorted(passes))
    assert seen[-1].primal - seen[-1].dual == pytest.approx(seen[-1].gap, abs=1e-14, nan_ok=True)
    assert seen[0].seconds <= seen[1].seconds <= seen[2].seconds
    assert seen[0].w.shape == result.w.shape


@pytest.mark.part(3, of=16)
def test_status_interrupted_by_ctrl_c(case, solver):
    assert threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    result = case.train(solver=solver, tol=1e-12, callbacks=[lambda info: signal.raise_signal(signal.SIGINT)])
    assert result.status == "interrupted"
    assert result.n_passes == 1 or not calls_every_visit(solver)
    assert result.certified == solver.certifies
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.certified
def test_infinite_max_passes_leaves_the_other_limits(solver):
    result = CASES["multiclass-cost"].train(solver=solver, tol=0.1, max_passes=np.inf)
    assert result.status == "converged"


def test_status_max_seconds(solver):
    with warning_of(solver, "max_seconds"):
        result = CASES["chain-cost"].train(solver=solver, tol=1e-12, max_seconds=1e-9)
    assert result.status == "max_seconds"
    assert result.n_passes <= 1


class Counting(Pairs):
    """Counts the calls of its oracle."""

    def __init__(self, K, cost):
        super().__init__(K, cost)
        self.calls = []

    def oracle(self, w, x, y_true=None):
        self.calls.append(y_true)
        return super().oracle(w, x, y_true)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_oracle_calls_are_counted_and_bounded(solver, n_jobs):
    case = own_model(Counting)
    result = case.few_passes(6, solver=solver, n_jobs=n_jobs)
    n = len(case.y)
    assert result.n_oracle_calls == len(case.model.calls)
    # Draws by gap need the gaps of the iterate itself, besides the certificate of the average.
    each = 2 if result.last is not None and getattr(solver, "sampling", "") == "gap" else 1
    certificates = each * len(result.history["passes"]) + 1 + (result.last is not None)
    assert result.n_oracle_calls <= n * (result.n_passes + certificates)
