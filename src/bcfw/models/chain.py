"""Linear chains: sequence labelling with position features, transitions and end biases."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from bcfw.errors import InputError, OptionError
from bcfw.kernels import entry
from bcfw.models import chain_kernels
from bcfw.models.base import KernelModel
from bcfw.models.chain_kernels import ChainData, ChainWork
from bcfw.models.contract import kernel_set
from bcfw.models.inputs import (
    check_label_range,
    check_same_length,
    cost_matrix,
    integer_labels,
    one_sequence,
    sequence_rows,
)
from bcfw.models.labelings import LABELING_KERNELS

#: Sequences up to this length keep their Gram matrix (T x T); longer ones use a scratch vector for norms.
LONGEST_GRAM = 128

_grams = entry(chain_kernels.grams)


class Chain(KernelModel):
    """Sequence labelling: each of T positions gets one of K labels; neighbours interact.

    ``<w, phi(x, y)> = sum_t x_t'U[:, y_t] + sum_t trans[y_{t-1}, y_t] + first[y_0] + last[y_{T-1}]``, with
    ``w = [U (F, K), first (K), last (K), trans (K, K)]`` in C order. The max oracle is Viterbi's algorithm.

    Parameters
    ----------
    n_labels : int or None
        K; None takes it from the training labels.
    cost : (K, K) array or None
        ``cost[true, predicted] >= 0`` of one position, zero diagonal; None is the Hamming loss.
    end_bias : bool
        Weights for the first and the last label (2K of them).
    normalize : bool
        Divide the summed cost by the sequence's length.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> X = [np.eye(2)[[0, 1, 1]], np.eye(2)[[1, 0]]]      # two sequences, F = 2
    >>> y = [[0, 1, 1], [1, 0]]
    >>> result = bcfw.train(bcfw.models.Chain(), X, y, lam=0.01)
    >>> [labels.tolist() for labels in result.predict(X)]
    [[0, 1, 1], [1, 0]]
    """

    kernels = kernel_set(chain_kernels, {"Data": ChainData, "Work": ChainWork, **LABELING_KERNELS})

    def __init__(
        self, n_labels: int | None = None, cost: Any = None, end_bias: bool = True, normalize: bool = True
    ) -> None:
        if n_labels is not None and n_labels < 1:
            raise OptionError(f"Chain: n_labels must be at least 1, got {n_labels}")
        self.n_labels = n_labels
        self.cost = cost
        self.end_bias = end_bias
        self.normalize = normalize
        self.n_features: int | None = None

    def bind(self, X: Any, y: Any) -> Chain:
        """A copy with n_labels, n_features and dim = KF + 2K + K^2 set."""
        check_same_length(X, y, "Chain")
        bound = copy.copy(self)
        labels = [integer_labels(labels, f"Chain: example {i}") for i, labels in enumerate(y)]
        if bound.n_labels is None:
            bound.n_labels = 1 + max((int(one.max()) for one in labels if one.size), default=0)
        K = bound.n_labels
        bound.cost = cost_matrix(self.cost, K, "Chain")
        bound.n_features = int(np.shape(X[0])[1]) if len(np.shape(X[0])) == 2 else None
        bound.dim = K * int(bound.n_features or 0) + 2 * K * int(self.end_bias) + K * K
        return bound

    def pack(self, X: Any, y: Any = None) -> ChainData:
        self._check_bound()
        rows, y_off = sequence_rows(X, self.n_features, "Chain")
        lengths = np.diff(y_off)
        labels = np.zeros(int(y_off[-1]), np.int64)
        if y is not None:
            check_same_length(X, y, "Chain")
            for i, given in enumerate(y):
                labels[y_off[i] : y_off[i + 1]] = self._labels(given, int(lengths[i]), f"Chain: example {i}")
        gram_sizes = np.where(lengths <= LONGEST_GRAM, lengths**2, 0) if y is not None else np.zeros_like(lengths)
        gram_off = np.concatenate([[0], np.cumsum(gram_sizes)])
        gram = np.zeros(int(gram_off[-1]))
        _grams(rows.indptr, rows.indices, rows.values, y_off, gram_off, gram)
        scale = 1.0 / lengths if self.normalize else np.ones(len(lengths))
        return ChainData(
            rows.indptr,
            rows.indices,
            rows.values,
            labels,
            y_off,
            gram,
            gram_off,
            self.cost,
            scale,
            rows.n_features,
            int(self.n_labels or 0),
            int(self.end_bias),
        )

    def make_work(self, data: ChainData) -> ChainWork:
        T, K = int(np.max(np.diff(data.y_off))), data.n_labels
        needs_scratch = bool(np.any(np.diff(data.gram_off) == 0))
        return ChainWork(
            theta=np.zeros((T, K)),
            best=np.zeros((T, K)),
            y=np.zeros(T, np.int64),
            d=np.zeros((T, K)),
            d_trans=np.zeros((K, K)),
            n_moved=np.zeros(T, np.int64),
            moved=np.zeros((T, K), np.int64),
            n_rows=np.zeros(1, np.int64),
            rows=np.zeros(K, np.int64),
            is_row=np.zeros(K, np.int64),
            features=np.zeros((data.n_features if needs_scratch else 0, K)),
        )

    def initial_mu(self, data: ChainData) -> tuple[np.ndarray, np.ndarray]:
        """(N, K) averaged labels of all positions and (n, K, K) averaged transition counts, at the truth."""
        unary = np.zeros((len(data.y), data.n_labels))
        unary[np.arange(len(data.y)), data.y] = 1.0
        transitions = np.zeros((len(data.y_off) - 1, data.n_labels, data.n_labels))
        block = np.repeat(np.arange(len(data.y_off) - 1), np.diff(data.y_off))
        inner = np.flatnonzero(block[1:] == block[:-1])
        np.add.at(transitions, (block[inner], data.y[inner], data.y[inner + 1]), 1.0)
        return unary, transitions

    def features(self, x: Any, y: Any) -> np.ndarray:
        """phi(x, y), (dim,)."""
        self._check_bound()
        rows = one_sequence(x, 0, "Chain")
        T, K = len(rows.indptr) - 1, int(self.n_labels or 0)
        labels = self._labels(y, T, "Chain")
        unary = np.zeros((int(self.n_features or 0), K))
        np.add.at(unary, (rows.indices, np.repeat(labels, np.diff(rows.indptr))), rows.values)
        transitions = np.zeros((K, K))
        np.add.at(transitions, (labels[:-1], labels[1:]), 1.0)
        ends = [np.eye(K)[labels[0]], np.eye(K)[labels[-1]]] if self.end_bias else []
        return np.concatenate([unary.ravel(), *ends, transitions.ravel()])

    def loss(self, y_true: Any, y: Any) -> float:
        """Sum (mean if normalised) over positions of cost[true, predicted]."""
        self._check_bound()
        truth = integer_labels(y_true, "Chain")
        costs = self.cost[truth, self._labels(y, len(truth), "Chain")]
        return float(costs.mean() if self.normalize else costs.sum())

    def _labels(self, y: Any, length: int, where: str) -> np.ndarray:
        labels = integer_labels(y, where)
        if labels.shape != (length,):
            raise InputError(f"{where} has {length} positions and labels of shape {labels.shape}; they must match")
        check_label_range(labels, int(self.n_labels or 0), where)
        return labels

    def _check_bound(self) -> None:
        if self.dim is None:
            raise OptionError("Chain: call bind(X, y) first, or train; the sizes are not known yet")
