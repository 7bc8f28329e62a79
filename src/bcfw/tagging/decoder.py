"""The best labels of sequences under chain weights most of which are zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bcfw.kernels import entry
from bcfw.kernels.viterbi import best_path
from bcfw.tagging.vocabulary import Encoded


@dataclass(frozen=True, eq=False)
class ChainDecoder:
    """Weights of a chain with F features and K labels; those of the features are rows of a sparse matrix.

    Attributes
    ----------
    starts : (F + 1,) int64, where the weights of each feature begin
    labels, weights : (nnz,) int32 and float64, the labels that a feature speaks for, and how much
    first, last : (K,) scores of the first and the last label
    transitions : (K, K)
    """

    starts: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    first: np.ndarray
    last: np.ndarray
    transitions: np.ndarray

    @classmethod
    def of_entries(
        cls, places: np.ndarray, values: np.ndarray, n_features: int, ends: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> ChainDecoder:
        """A decoder of weights U (F, K) that are zero but at some places.

        Parameters
        ----------
        places : (nnz,) rising positions in U, row after row
        values : (nnz,) array
        n_features : int
        ends : first, last and transitions
        """
        K = len(ends[0])
        starts = np.searchsorted(places, np.arange(n_features + 1, dtype=np.int64) * K)
        return cls(starts, (places % K).astype(np.int32), np.ascontiguousarray(values), *ends)

    def decode(self, given: Encoded) -> np.ndarray:
        """(N,) best labels of all positions; attributes without a column count for nothing."""
        K, longest = len(self.first), int(np.max(np.diff(given.offsets), initial=1))
        found = np.zeros(given.offsets[-1], np.int32)
        weights = self.starts, self.labels, self.weights, self.first, self.last, self.transitions.ravel()
        scratch = np.zeros((longest, K)), np.zeros((longest, K)), np.zeros(longest, np.int32)
        entry(decode_all)(*given, *weights, *scratch, found)
        return found


def decode_all(
    indptr, columns, values, offsets, starts, labels, weights, first, last, trans, theta, best, y, out
):  # fmt: skip
    """Write the best labels of every sequence; the first four arguments are those of :class:`Encoded`."""
    K = first.shape[0]
    for i in range(offsets.shape[0] - 1):
        begin, T = offsets[i], offsets[i + 1] - offsets[i]
        if T == 0:
            continue
        for t in range(T):
            row = theta[t]
            for k in range(K):
                row[k] = 0.0
            for j in range(indptr[begin + t], indptr[begin + t + 1]):
                column = columns[j]
                if column >= 0:
                    value = values[j] if values.shape[0] > 0 else 1.0
                    for m in range(starts[column], starts[column + 1]):
                        row[labels[m]] += value * weights[m]
        for k in range(K):
            theta[0, k] += first[k]
            theta[T - 1, k] += last[k]
        best_path(theta, trans, T, best, y)
        for t in range(T):
            out[begin + t] = y[t]
