"""Settings of the whole suite: deterministic hypothesis, and every case and solver variant as a fixture."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

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
