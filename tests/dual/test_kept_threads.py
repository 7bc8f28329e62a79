"""The threads of certificates: kept, released, and not taken along by copies."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import time

import numpy as np
import pytest

from bcfw.dual import open_problem
from bcfw.dual.threads import Threads
from problems import CASES


def names():
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("bcfw")}


@pytest.fixture(autouse=True)
def no_threads_left():
    """Those of the tests before are gone, too."""
    gc.collect()
    until = time.monotonic() + 10.0
    while names() and time.monotonic() < until:
        time.sleep(0.01)
    assert not names()


def test_threads_are_kept():
    pool = Threads(3)
    assert not names()
    first, then = pool.map(lambda job: job), pool.map(lambda job: 2 * job)
    assert (first, then) == ([0, 1, 2], [0, 2, 4])
    assert 0 < len(names()) <= 3


def test_one_thread_is_this_one():
    assert Threads(1).map(lambda job: threading.get_ident()) == [threading.get_ident()]
    assert not names()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda pool: pickle.loads(pickle.dumps(pool))])
def test_copies_start_their_own(copied):
    pool = Threads(2)
    pool.map(abs)
    other = copied(pool)
    assert other._pool is None
    assert other.map(abs) == [0, 1]


def test_errors_come_out():
    def fail(job):
        raise ValueError(f"job {job}")

    pool = Threads(2)
    with pytest.raises(ValueError, match="job 0"):
        pool.map(fail)
    assert pool.map(abs) == [0, 1]


def test_a_forked_process_starts_its_own(monkeypatch):
    pool = Threads(2)
    pool.map(abs)
    before = pool._pool
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert pool.map(abs) == [0, 1]
    assert pool._pool is not before


def test_threads_of_a_problem_end_with_it():
    case = CASES["chain-cost"]
    one = open_problem(case.model, case.X, case.y, case.lam)
    two = open_problem(case.model, case.X, case.y, case.lam, n_jobs=2)
    for _ in range(3):
        assert np.array_equal(one.hinge_losses(), two.hinge_losses())
    assert 0 < len(names()) <= 2
    del two
    gc.collect()
    until = time.monotonic() + 10.0
    while names() and time.monotonic() < until:
        time.sleep(0.01)
    assert not names()
