"""What the tests of pictures share."""

from __future__ import annotations

import numpy as np
import pytest

from bcfw.report import plots


@pytest.fixture
def drawn(monkeypatch):
    """The axes of every figure that is drawn."""
    seen = []
    real = plots.figure

    def figure(*args, **options):
        drawing, axes = real(*args, **options)
        seen.extend(np.ravel(axes))
        return drawing, axes

    monkeypatch.setattr(plots, "figure", figure)
    return seen
