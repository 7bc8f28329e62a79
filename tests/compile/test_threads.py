"""Templates specialised by several threads at once: none finds a function whose globals are not bound yet."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from bcfw.compile import RoutineSet


def inner(x):
    return innermost(x) + 1


def innermost(x):
    return 2 * x


def outer(x):
    return inner(x)


def other(x):
    return inner(x) + inner(x)


def test_a_second_thread_waits_until_all_globals_are_bound(monkeypatch):
    """The first is slow between publishing a copy of ``inner`` and binding its globals; the second uses that copy."""
    routines, began = RoutineSet({}, compiled=False), threading.Event()
    plain = RoutineSet._global

    def slow(self, template, name):
        if template is inner:
            began.set()
            time.sleep(0.05)
        return plain(self, template, name)

    monkeypatch.setattr(RoutineSet, "_global", slow)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: routines.compiled_pass(outer)(3))
        assert began.wait(10.0)
        second = pool.submit(lambda: routines.compiled_pass(other)(3))
        assert (first.result(10.0), second.result(10.0)) == (7, 14)
