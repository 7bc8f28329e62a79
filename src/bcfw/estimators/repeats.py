"""Weighted and repeated examples in one form, so that integer weights equal repetition exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

#: Numbers hashed at a time, which bounds the scratch memory.
CHUNK = 1 << 20


def merge_repeats(X: Any, codes: np.ndarray, weight: np.ndarray | None) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Merge equal examples, add their weights and drop those of weight zero, in an order that only content decides.

    The optimum depends only on the summed weight of every distinct pair (x, y); here the whole run does, so that a fit
    with integer weights and a fit on repeated examples, in whatever order, take the same steps. Without weights and
    without repeats everything is returned as it came.

    Parameters
    ----------
    X : (n, F) array or CSR matrix
    codes : (n,) or (n, L) int array
    weight : (n,) array or None
        None weighs every example by 1.

    Returns
    -------
    X, codes, weight
        Of the distinct examples.
    """
    keep = np.arange(len(codes)) if weight is None else np.flatnonzero(weight > 0)
    keys = content_keys(X, codes)[keep]
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], np.any(ordered[1:] != ordered[:-1], axis=1)]))
    if weight is None and len(starts) == len(codes):
        return X, codes, None
    ones = np.ones(len(codes)) if weight is None else weight
    rows = keep[order]
    return X[rows[starts]], codes[rows[starts]], np.add.reduceat(ones[rows], starts)


def content_keys(X: Any, codes: np.ndarray) -> np.ndarray:
    """(n, 2) 64-bit keys of the pairs (x, y): two independent multiply-and-add hashes of the numbers' bits.

    Sums modulo 2^64 do not depend on the order of summation, so equal rows have equal keys wherever they stand.
    """
    rng = np.random.default_rng(0x5EED)
    factors = rng.integers(1 << 63, size=(X.shape[1], 2), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    labels = codes.reshape(len(codes), -1).astype(np.uint64) + np.uint64(1)
    label_factors = rng.integers(1 << 63, size=(labels.shape[1], 2), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    keys = labels @ label_factors
    if sp.issparse(X):
        words = sp.csr_array((bits(X.data), X.indices, X.indptr), shape=X.shape)
        return keys + words @ factors
    step = max(1, CHUNK // max(1, X.shape[1]))
    for start in range(0, len(codes), step):
        keys[start : start + step] += bits(X[start : start + step]) @ factors
    return keys


def bits(values: np.ndarray) -> np.ndarray:
    """The bits of real numbers as 64-bit words; small whole numbers have theirs on top, so the halves are mixed."""
    words = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    return words ^ (words >> np.uint64(32))
