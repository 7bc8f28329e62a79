"""Helpers for the loaders of data sets: append a constant feature, cut a flat array into one array per sequence."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def feature_matrix(values: np.ndarray, constant: bool) -> np.ndarray:
    """Return a copy of ``values`` (n, F) as floats, with a column of ones appended if ``constant``."""
    n_rows, n_features = values.shape
    out = np.ones((n_rows, n_features + bool(constant)))
    out[:, :n_features] = values
    return out


def cut(flat: np.ndarray, offsets: np.ndarray, which: Iterable[int] | None = None) -> list[np.ndarray]:
    """Return the pieces ``flat[offsets[k]:offsets[k + 1]]`` as views, for all k or for the k in ``which``."""
    ends = offsets.tolist()
    if ends[0] != 0 or ends[-1] != len(flat) or np.any(np.diff(offsets) < 0):
        raise ValueError(f"offsets must rise from 0 to {len(flat)}, the number of rows, got {offsets!r:.100}")
    return [flat[ends[k] : ends[k + 1]] for k in (range(len(ends) - 1) if which is None else which)]
