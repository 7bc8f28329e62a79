"""Settings of the whole suite: deterministic hypothesis, and every case and solver variant as a fixture."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from bcfw.solvers import SOLVERS
from problems import CASES, VARIANTS

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


def pytest_collection_modifyitems(config, items):
    """Of the tests that combine cases with solver variants, keep a twelfth: each variant meets cases of some kinds.

    Of those that check the optimum it is a quarter. The first variant of each solver, its defaults, meets all cases.
    """
    names, variants, kept, left_out = list(CASES), list(VARIANTS), [], []
    firsts = {next(name for name, solver in VARIANTS.items() if type(solver) is kind) for kind in SOLVERS.values()}
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        name = params["case"].name if "case" in params else params.get("name")
        variant = repr(params.get("solver"))
        if name in names and variant in variants and variant not in firsts:
            share = 4 if item.path.stem == "test_optimum" else 12
            number = names.index(name) + variants.index(variant)
            (left_out if number % share else kept).append(item)
        else:
            kept.append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept
