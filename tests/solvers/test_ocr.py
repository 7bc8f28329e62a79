"""Handwritten words (OCR): the published problem, with figures known from an independent prototype."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import bcfw
from bcfw.datasets import ocr
from bcfw.solvers import BCFW


@pytest.fixture(scope="module")
def words(real_data):
    """Sequences of letters, raw pixels and a constant, with labels and folds."""
    (path,) = real_data(ocr.SOURCE)
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


@pytest.fixture(scope="module")
def effort(words):
    """Oracle calls of steps, in passes, and all oracle calls that a solver needs for a relative gap of 0.01."""
    X, y = choose(words, lambda fold: fold == 0)

    @functools.cache
    def measure(**options):
        result = bcfw.train(bcfw.models.Chain(), X, y, lam=0.01, tol=0.01, solver=BCFW(**options), n_jobs=2)
        assert result.status == "converged"
        return result.n_passes, result.n_oracle_calls

    return measure


def test_gap_sampling_needs_fewer_passes_than_uniform(effort):
    """About 520 and 640 (gaps-2016, section 3.1)."""
    assert effort(sampling="gap")[0] < 0.9 * effort(sampling="uniform")[0]


def test_pairwise_steps_need_fewer_passes_at_small_gaps(effort):
    """About 260 and 520 (gaps-2016, section 3.2)."""
    assert effort(sampling="gap", step="pairwise")[0] < 0.6 * effort(sampling="gap")[0]


def test_the_cache_saves_oracle_calls(effort):
    """About 22 and 260 passes; a fifth of the calls when those of certificates count (gaps-2016, section 3.3)."""
    cached_passes, cached_calls = effort(sampling="gap", step="pairwise", cache="gap")
    passes, calls = effort(sampling="gap", step="pairwise")
    assert cached_passes < 0.2 * passes
    assert cached_calls < 0.3 * calls
