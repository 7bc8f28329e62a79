"""Settings of the whole suite: deterministic hypothesis, and every case and solver variant as a fixture."""

from __future__ import annotations

import os
import zlib

import pytest
from hypothesis import HealthCheck, settings

from bcfw.solvers import SOLVERS, stopwatch
from problems import CASES, VARIANTS, matches

# Compilation happens inside the first example, so times say nothing; a failing example must come back in every run.
settings.register_profile(
    "bcfw",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=int(os.environ.get("BCFW_TEST_EXAMPLES", "60")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("bcfw")


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request):
    """A small random problem, of every model in turn."""
    return request.param


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def solver(request):
    """Every solver with every combination of its options in turn."""
    return request.param


@pytest.fixture(autouse=True)
def steady_clock(monkeypatch):
    """Whatever ``auto`` measures takes a microsecond: what it chooses does not depend on how busy the machine is."""
    monkeypatch.setattr(stopwatch, "oracle_seconds", lambda problem: 1e-6)
    monkeypatch.setattr(stopwatch, "visit_seconds", lambda timings: 1e-6)


def pytest_collection_modifyitems(config, items):
    """Of the tests that combine solver variants with cases that match keep a sixteenth, drawn by their names.

    Of those that check the optimum, and of those without cases, it is a quarter. The first variant of each solver, its
    defaults, meets all cases. The second half of the tests comes in reverse order: with two processes that begin at
    either end, each compiles other models first and finds the rest on disk.
    """
    firsts = {next(name for name, solver in VARIANTS.items() if type(solver) is kind) for kind in SOLVERS.values()}
    kept, left_out = [], []
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        variant = repr(params.get("solver"))
        share = 1 if variant not in VARIANTS or variant in firsts else 4
        if share > 1 and {"case", "name"} & params.keys() and item.path.stem != "test_optimum":
            share = 16
        kept_here = zlib.crc32(item.nodeid.encode()) % share == 0
        if kept_here and {"case", "solver"} <= params.keys():
            kept_here = matches(params["solver"], params["case"])
        (kept if kept_here else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    half = len(kept) // 2
    items[:] = kept[:half] + kept[half:][::-1]
