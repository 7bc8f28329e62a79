"""Tests of every solver with every model, ``auto`` among them: they compare runs, so that no clock may decide."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _steady(steady_stopwatch):
    """All tests here see a steady stopwatch."""
