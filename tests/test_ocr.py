"""Handwritten words (OCR): the published problem, with figures known from an independent prototype."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import bcfw
from bcfw.solvers import BCFW


@pytest.fixture(scope="module")
def words():
    """Sequences of letters, raw pixels and a constant, with labels and folds."""
    home = Path(os.environ.get("BCFW_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    path = home / "ocr" / "ocr_letters.npz"
    if not path.exists():
        pytest.skip("needs ocr/ocr_letters.npz in the folder that BCFW_DATA names")
    with np.load(path) as file:
        pixels, labels, offsets, fold = (file[key] for key in ("X", "y", "offsets", "fold"))
    letters = sp.csr_matrix(np.column_stack([pixels.reshape(len(labels), -1), np.ones(len(labels))]).astype(float))
    spans = list(itertools.pairwise(offsets))
    return [letters[a:b] for a, b in spans], [labels[a:b].astype(int) for a, b in spans], fold


def choose(words, wanted):
    X, y, fold = words
    chosen = np.flatnonzero(wanted(fold))
    return [X[i] for i in chosen], [y[i] for i in chosen]


def test_ocr_large(words):
    X, y = choose(words, lambda fold: fold > 0)
    assert len(X) == 6251
    with pytest.warns(bcfw.ConvergenceWarning, match="max_passes"):
        result = bcfw.train(bcfw.models.Chain(), X, y, lam=0.01, solver="bcfw", tol=1e-6, max_passes=50, n_jobs=2)
    assert result.model.dim == 4082
    gaps = dict(zip(result.history["passes"], result.history["gap"], strict=True))
    for passes, gap in {10: 0.112, 20: 0.039, 50: 0.0082}.items():
        assert gaps[passes] == pytest.approx(gap, rel=0.25)
    assert np.all(np.diff(result.history["dual"]) > 0)
    assert result.dual <= 0.3826
    assert result.primal >= 0.3800


def test_ocr_small(words):
    X, y = choose(words, lambda fold: fold == 0)
    assert len(X) == 626
    with pytest.warns(bcfw.ConvergenceWarning, match="max_passes"):
        result = bcfw.train(
            bcfw.models.Chain(), X, y, lam=1.0 / len(X), tol=1e-6, max_passes=50, solver=BCFW(sampling="uniform")
        )
    assert result.dual == pytest.approx(0.0169, rel=0.03)
