"""Merging of repeated examples, so that training with integer weights equals training on repetitions exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

#: How many numbers are hashed at a time; bounds the temporary memory.
CHUNK = 1 << 20


def merge_repeats(X: Any, codes: np.ndarray, weight: np.ndarray | None) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Merge equal examples, add their weights and drop examples of weight zero.

    The optimum depends only on the summed weight of every distinct pair (x, y). After merging, the whole run depends
    only on these sums: the result is in an order that only the content of the examples decides, so that a fit with
    integer weights and a fit on repeated examples, in whatever order, take equal steps. Without weights and without
    repeated examples, the arguments are returned unchanged.

    Parameters
    ----------
    X : (n, F) array or CSR matrix
    codes : (n,) or (n, L) int array
    weight : (n,) array or None
        None weighs every example by 1.

    Returns
    -------
    X, codes, weight
        The distinct examples.
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
    """Return (n, 2) 64-bit keys of the pairs (x, y): two independent multiply-and-add hashes of the numbers' bits.

    Sums modulo 2^64 do not depend on the order of summation, so equal rows have equal keys at all places of X.
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
    """Return the bits of real numbers as 64-bit words.

    Small whole numbers differ in the upper bits only; therefore the upper half is mixed into the lower half.
    """
    words = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    return words ^ (words >> np.uint64(32))
