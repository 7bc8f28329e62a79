"""What the tests of pictures share."""

from __future__ import annotations

import numpy as np
import pytest

from bcfw import report


@pytest.fixture
def drawn(monkeypatch):
    """The axes of every figure that is drawn."""
    seen = []
    real = report.figure

    def figure(*args, **options):
        drawing, axes = real(*args, **options)
        seen.extend(np.ravel(axes))
        return drawing, axes

    monkeypatch.setattr(report, "figure", figure)
    return seen
