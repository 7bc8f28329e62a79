"""ChainDecoder: finds the best labels of sequences under chain weights that are mostly zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bcfw.algorithms.viterbi import decode_sparse
from bcfw.compile import entry
from bcfw.text.attributes.vocabulary import Encoded


@dataclass(frozen=True, eq=False)
class ChainDecoder:
    """Weights of a chain with F features and K labels; the weights of features are a sparse (F, K) matrix.

    Attributes
    ----------
    starts : (F + 1,) int64, where the entries of each feature begin
    labels, weights : (nnz,) int32 and float64, label and weight of each entry
    first, last : (K,) scores of the first and the last label
    transitions : (K, K) scores of transitions
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
        """Return a decoder with feature weights U (F, K) that are given by their nonzero entries.

        Parameters
        ----------
        places : (nnz,) increasing indices into the flat U, whose rows follow each other
        values : (nnz,) array, the entries of U at these indices
        n_features : number of features F
        ends : the attributes first, last and transitions
        """
        K = len(ends[0])
        starts = np.searchsorted(places, np.arange(n_features + 1, dtype=np.int64) * K)
        return cls(starts, (places % K).astype(np.int32), np.ascontiguousarray(values), *ends)

    def decode(self, given: Encoded, compiled: bool = True) -> np.ndarray:
        """Return the (N,) best labels of all positions; attributes without a column are ignored.

        With ``compiled=False``, the function runs interpreted: slower, but without loading the compiler.
        """
        K, longest = len(self.first), int(np.max(np.diff(given.offsets), initial=1))
        found = np.zeros(given.offsets[-1], np.int32)
        weights = self.starts, self.labels, self.weights, self.first, self.last, self.transitions.ravel()
        run = entry(decode_sparse) if compiled else decode_sparse
        scratch = np.zeros((longest, K)), np.zeros((longest, K)), np.zeros(longest, np.int32)
        run(*given, *weights, *scratch, found)
        return found
