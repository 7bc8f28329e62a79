"""Vectors of black-box models: dense arrays, or sorted (indices, values) pairs, with compiled arithmetic.

scipy's sparse arithmetic costs over 100 microseconds for one difference; these calls cost one or two.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.kernels.specialise import entry

Sparse = tuple[np.ndarray, np.ndarray]


@entry
def _dense_combine(a, s, b):
    out = np.empty_like(a)
    for j in range(a.shape[0]):
        out[j] = a[j] + s * b[j]
    return out


@entry
def _dense_dot(a, w):
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * w[j]
    return total


@entry
def _dense_add(w, s, a):
    for j in range(a.shape[0]):
        w[j] += s * a[j]


@entry
def _sparse_combine(a_index, a_value, s, b_index, b_value):
    index = np.empty(a_index.shape[0] + b_index.shape[0], np.int64)
    value = np.empty(index.shape[0])
    a = b = count = 0
    while a < a_index.shape[0] or b < b_index.shape[0]:
        if b == b_index.shape[0] or (a < a_index.shape[0] and a_index[a] < b_index[b]):
            index[count], value[count] = a_index[a], a_value[a]
            a += 1
        elif a == a_index.shape[0] or b_index[b] < a_index[a]:
            index[count], value[count] = b_index[b], s * b_value[b]
            b += 1
        else:
            index[count], value[count] = a_index[a], a_value[a] + s * b_value[b]
            a += 1
            b += 1
        if value[count] != 0.0:
            count += 1
    return index[:count].copy(), value[:count].copy()


@entry
def _sparse_dot(index, value, w):
    total = 0.0
    for j in range(index.shape[0]):
        total += value[j] * w[index[j]]
    return total


@entry
def _sparse_add(w, s, index, value):
    for j in range(index.shape[0]):
        w[index[j]] += s * value[j]


class DenseVectors:
    """Arithmetic on (dim,) float64 arrays."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def read(self, features: Any) -> np.ndarray:
        """A user's feature vector, dense or sparse, as an array."""
        if sp.issparse(features):
            features = features.toarray()
        vector = np.asarray(features, dtype=np.float64).ravel()
        if vector.shape[0] != self.dim:
            raise ValueError(f"{vector.shape[0]} features, expected dim = {self.dim}")
        return vector

    def zero(self) -> np.ndarray:
        return np.zeros(self.dim)

    def combine(self, a: np.ndarray, s: float, b: np.ndarray) -> np.ndarray:
        """A + s b."""
        return _dense_combine(a, s, b)

    def dot(self, a: np.ndarray, w: np.ndarray) -> float:
        return _dense_dot(a, w)

    def sqnorm(self, a: np.ndarray) -> float:
        return _dense_dot(a, a)

    def add_to(self, w: np.ndarray, s: float, a: np.ndarray) -> None:
        """W += s a."""
        _dense_add(w, s, a)

    def stack(self, vectors: list[np.ndarray]) -> list[np.ndarray]:
        """Plain arrays to save."""
        return [np.array(vectors)]

    def unstack(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        return list(np.array(arrays[0]))


class SparseVectors:
    """Arithmetic on pairs of sorted indices (int64) and values (float64)."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def read(self, features: Any) -> Sparse:
        """A user's feature vector (scipy-sparse row, column or 1-D, or dense) as a pair."""
        if not sp.issparse(features):
            dense = np.asarray(features, dtype=np.float64).ravel()
            if dense.shape[0] != self.dim:
                raise ValueError(f"{dense.shape[0]} features, expected dim = {self.dim}")
            index = np.flatnonzero(dense)
            return index, dense[index]
        shape = features.shape
        size = shape[0] if len(shape) == 1 else shape[0] * shape[1]
        if size != self.dim or (len(shape) == 2 and 1 not in shape):
            raise ValueError(f"features of shape {shape}, expected {self.dim} numbers in a row or a column")
        along_row = len(shape) == 1 or shape[0] == 1
        if features.format == ("csr" if along_row else "csc"):
            index, value = features.indices, features.data
        else:
            entries = features.tocoo()
            index, value = entries.coords[0 if len(shape) == 1 or shape[1] == 1 else 1], entries.data
        index = index.astype(np.int64)
        value = value.astype(np.float64)
        if np.any(index[1:] <= index[:-1]):
            index, where = np.unique(index, return_inverse=True)
            value = np.bincount(where, weights=value, minlength=len(index))
        return index, value

    def zero(self) -> Sparse:
        return np.empty(0, np.int64), np.empty(0)

    def combine(self, a: Sparse, s: float, b: Sparse) -> Sparse:
        """A + s b."""
        return _sparse_combine(a[0], a[1], s, b[0], b[1])

    def dot(self, a: Sparse, w: np.ndarray) -> float:
        return _sparse_dot(a[0], a[1], w)

    def sqnorm(self, a: Sparse) -> float:
        return _dense_dot(a[1], a[1])

    def add_to(self, w: np.ndarray, s: float, a: Sparse) -> None:
        """W += s a."""
        _sparse_add(w, s, a[0], a[1])

    def stack(self, vectors: list[Sparse]) -> list[np.ndarray]:
        """Plain arrays to save."""
        sizes = [len(index) for index, _ in vectors]
        return [
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([index for index, _ in vectors]),
            np.concatenate([value for _, value in vectors]),
        ]

    def unstack(self, arrays: list[np.ndarray]) -> list[Sparse]:
        offsets, index, value = arrays
        return [(index[a:b].copy(), value[a:b].copy()) for a, b in itertools.pairwise(offsets)]
