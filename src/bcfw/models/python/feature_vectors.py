"""Arithmetic on the feature vectors of models written in Python: dense arrays, or sorted (indices, values) pairs.

The arithmetic is compiled: scipy takes over 100 microseconds for one sparse difference, these functions take one or
two.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.algorithms import sparse_vectors
from bcfw.compile import entry
from bcfw.inputs.numbers import offsets

Sparse = tuple[np.ndarray, np.ndarray]


def refuse_complex(values: Any) -> None:
    """Raise if the values are complex, because a conversion to float would drop the imaginary part."""
    if values.dtype.kind == "c" if isinstance(values, np.ndarray) else np.iscomplexobj(values):
        raise ValueError("they are complex; only real features are supported")


class DenseVectors:
    """Arithmetic on (dim,) float64 arrays."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._combine = entry(sparse_vectors.dense_combine)
        self._direct = entry(sparse_vectors.dense_direct)
        #: ``between(a, b, w)`` returns <a - b, w>.
        self.between = entry(sparse_vectors.dense_between)
        #: ``products(a, w)`` returns (<a, w>, <a, a>); ``add_to(w, s, a)`` does w += s a.
        self.products = entry(sparse_vectors.dense_products)
        self.add_to = entry(sparse_vectors.dense_add)

    def read(self, features: Any) -> np.ndarray:
        """Return a user's feature vector, dense or sparse, as an array."""
        if sp.issparse(features):
            features = features.toarray()
        refuse_complex(features)
        vector = np.array(features, dtype=np.float64, order="C")  # copied: the user may change it later
        if vector.ndim != 1:
            vector = vector.ravel()
        if vector.shape[0] != self.dim:
            raise ValueError(f"{vector.shape[0]} features, expected dim = {self.dim}")
        return vector

    def combine(self, a: np.ndarray, s: float, b: np.ndarray) -> np.ndarray:
        """Return a + s b."""
        out = np.empty(self.dim)
        self._combine(a, s, b, out)
        return out

    def direct(self, a: np.ndarray, s: float, b: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Return d = a + s b, <d, w> and <d, d>."""
        out = np.empty(self.dim)
        along, square = self._direct(a, s, b, w, out)
        return out, along, square

    def sqnorm(self, a: np.ndarray) -> float:
        """Return <a, a>."""
        return self.products(a, a)[1]

    def equal(self, a: np.ndarray, b: np.ndarray) -> bool:
        return bool(np.array_equal(a, b))

    def list_places(self, a: np.ndarray, out: np.ndarray) -> int:
        """Return -1: a dense vector has no list of nonzero places."""
        return -1

    def zero(self) -> np.ndarray:
        return np.zeros(self.dim)

    def stack(self, given: list[np.ndarray]) -> list[np.ndarray]:
        """Return the vectors as plain arrays, which can be saved."""
        return [np.array(given)]

    def can_unstack(self, arrays: list[np.ndarray], count: int) -> bool:
        """Return whether the arrays hold ``count`` vectors, as :meth:`stack` returns them."""
        return [array.shape for array in arrays] == [(count, self.dim)]

    def unstack(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        return list(np.array(arrays[0]))


class SparseVectors:
    """Arithmetic on pairs of sorted indices (int64) and values (float64)."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._read = entry(sparse_vectors.sparse_read)
        self._combine = entry(sparse_vectors.sparse_combine)
        self._direct = entry(sparse_vectors.sparse_direct)
        self._between = entry(sparse_vectors.sparse_between)
        self._products = entry(sparse_vectors.sparse_products)
        self._squares = entry(sparse_vectors.dense_products)
        self._add = entry(sparse_vectors.sparse_add)

    def combine(self, a: Sparse, s: float, b: Sparse) -> Sparse:
        """Return a + s b."""
        size = len(a[0]) + len(b[0])
        index, value = np.empty(size, np.int64), np.empty(size)
        count = self._combine(a[0], a[1], s, b[0], b[1], index, value)
        return index[:count], value[:count]

    def direct(self, a: Sparse, s: float, b: Sparse, w: np.ndarray) -> tuple[Sparse, float, float]:
        """Return d = a + s b, <d, w> and <d, d>."""
        size = len(a[0]) + len(b[0])
        index, value = np.empty(size, np.int64), np.empty(size)
        count, along, square = self._direct(a[0], a[1], s, b[0], b[1], w, index, value)
        return (index[:count], value[:count]), along, square

    def between(self, a: Sparse, b: Sparse, w: np.ndarray) -> float:
        """Return <a - b, w>."""
        return self._between(a[0], a[1], b[0], b[1], w)

    def products(self, a: Sparse, w: np.ndarray) -> tuple[float, float]:
        """Return <a, w> and <a, a>."""
        return self._products(a[0], a[1], w)

    def sqnorm(self, a: Sparse) -> float:
        """Return <a, a>."""
        return self._squares(a[1], a[1])[1]

    def equal(self, a: Sparse, b: Sparse) -> bool:
        return bool(np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1]))

    def add_to(self, w: np.ndarray, s: float, a: Sparse) -> None:
        """Add ``s a`` to w in place."""
        self._add(w, s, a[0], a[1])

    def read(self, features: Any) -> Sparse:
        """Return a user's feature vector (scipy-sparse row, column or 1-D, or dense) as a pair."""
        if not sp.issparse(features):
            refuse_complex(features)
            features = sp.csr_array(np.asarray(features, dtype=np.float64).reshape(1, -1))
        shape = features.shape
        if shape == (1, self.dim) and features.format == "csr":  # the usual case
            index, value = features.indices, features.data
        else:
            index, value = self._entries(features)
        refuse_complex(value)
        out_index, out_value = np.empty(len(index), np.int64), np.empty(len(index))
        if self._read(index, value, out_index, out_value):
            return out_index, out_value
        out_index, where = np.unique(out_index, return_inverse=True)
        return out_index, np.bincount(where, weights=out_value, minlength=len(out_index))

    def _entries(self, features: Any) -> Sparse:
        """Return the indices and values of a row, a column or a 1-D array in any sparse format."""
        shape = features.shape
        if max(shape) != self.dim or (len(shape) == 2 and 1 not in shape):
            raise ValueError(f"features of shape {shape}, expected {self.dim} numbers in a row or a column")
        if features.format == ("csr" if len(shape) == 1 or shape[0] == 1 else "csc"):
            return features.indices, features.data
        entries = features.tocoo()
        return entries.coords[int(np.argmax(shape))], entries.data

    def list_places(self, a: Sparse, out: np.ndarray) -> int:
        """Write the indices of the entries to ``out`` and return their number; if they do not fit, return -1."""
        if len(a[0]) > len(out):
            return -1
        out[: len(a[0])] = a[0]
        return len(a[0])

    def zero(self) -> Sparse:
        return np.empty(0, np.int64), np.empty(0)

    def stack(self, given: list[Sparse]) -> list[np.ndarray]:
        """Return the vectors as plain arrays, which can be saved."""
        sizes = [len(index) for index, _ in given]
        return [
            offsets(sizes),
            np.concatenate([index for index, _ in given]),
            np.concatenate([value for _, value in given]),
        ]

    def can_unstack(self, arrays: list[np.ndarray], count: int) -> bool:
        """Return whether the arrays hold ``count`` vectors with ascending indices, as :meth:`stack` returns them."""
        ends, index, value = arrays
        if len(ends) != count + 1 or ends[0] != 0 or ends[-1] != len(index) or len(value) != len(index):
            return False
        rising = np.diff(index) > 0
        rising[ends[1:-1][(ends[1:-1] > 0) & (ends[1:-1] < len(index))] - 1] = True  # between two vectors
        return bool(np.all(np.diff(ends) >= 0) and rising.all() and np.all((index >= 0) & (index < self.dim)))

    def unstack(self, arrays: list[np.ndarray]) -> list[Sparse]:
        ends, index, value = arrays
        return [(index[a:b].copy(), value[a:b].copy()) for a, b in itertools.pairwise(ends)]
