"""A user's cache of data that is empty at first."""

from __future__ import annotations

import pytest


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty user cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "bcfw" / "data"
