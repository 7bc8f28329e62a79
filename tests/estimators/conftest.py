"""Points and sequences with words as labels."""

from __future__ import annotations

import numpy as np
import pytest

from small_data import WORDS


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=90)
    X = np.eye(3)[codes] @ rng.standard_normal((3, 4)) * 2 + rng.standard_normal((90, 4))
    return X, WORDS[codes]


@pytest.fixture(scope="module")
def sequences():
    rng = np.random.default_rng(1)
    codes = [rng.integers(3, size=rng.integers(1, 7)) for _ in range(30)]
    X = [np.eye(3)[c] @ np.eye(3, 5) + 0.4 * rng.standard_normal((len(c), 5)) for c in codes]
    return X, [WORDS[c].tolist() for c in codes]
