"""Multiclass classification as a structural SVM (Crammer and Singer's, with any cost matrix)."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from bcfw.errors import InputError
from bcfw.input_kernels import TrainingKernel
from bcfw.inputs.examples import check_same_length
from bcfw.inputs.labels import counted_labels, given_cost, integer_labels, label_count, packed_cost
from bcfw.inputs.matrices import feature_matrix, feature_row
from bcfw.inputs.rows import Rows, matrix_rows, row_sqnorms
from bcfw.models.input_kernel import KernelInputs
from bcfw.models.kernel_model import KernelModel
from bcfw.models.kernels import multiclass as multiclass_kernels
from bcfw.models.kernels.block_solves import BLOCK_SOLVE_KERNELS
from bcfw.models.kernels.marginals import MARGINAL_KERNELS
from bcfw.models.kernels.multiclass import MulticlassData, MulticlassWork
from bcfw.models.kernels.part_vectors import PART_VECTOR_KERNELS, SCORES_BY_PART
from bcfw.models.part_vectors import part_scratch
from bcfw.passes.contract import kernel_set


class Multiclass(KernelInputs, KernelModel):
    """One of K labels per example: ``<w, phi(x, y)> = x'W[:, y]`` with W (F, K) in C order.

    Parameters
    ----------
    n_labels : int or None
        K; None takes it from the training labels. (Above 10,000 it must be given if less than one label in 100 occurs.)
    cost : (K, K) array or None
        ``cost[true, predicted] >= 0``, zero diagonal; None is the 0/1 loss.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]]), [0, 1, 2]
    >>> result = bcfw.train(bcfw.models.Multiclass(), X, y, lam=0.01)
    >>> result.predict(X)
    array([0, 1, 2])
    """

    kernels = kernel_set(
        multiclass_kernels,
        {"Data": MulticlassData, "Work": MulticlassWork},
        shared={**PART_VECTOR_KERNELS, **SCORES_BY_PART, **BLOCK_SOLVE_KERNELS, **MARGINAL_KERNELS},
    )
    in_part_space = True
    solves_blocks = True

    def __init__(self, n_labels: int | None = None, cost: Any = None) -> None:
        self.n_labels = label_count(n_labels, "Multiclass")
        self.cost = cost
        self.n_features: int | None = None

    def _read(self, X: Any, y: Any = None) -> tuple[Rows, np.ndarray]:
        """Features and labels (zeros without y)."""
        rows = matrix_rows(feature_matrix(X, "Multiclass"), "Multiclass")
        if y is None:
            return rows, np.zeros(rows.n_rows, np.int64)
        check_same_length(X, y, "Multiclass")
        return rows, self._labels(y)

    def _bound_to(self, examples: tuple[Rows, np.ndarray], sample_weight: np.ndarray | None) -> Multiclass:
        """A copy with n_labels, n_features and dim = F K set."""
        rows, labels = examples
        bound = copy.copy(self)
        if bound.n_labels is None:
            bound.n_labels = counted_labels(labels, place_of)
        bound.cost = given_cost(self.cost, bound.n_labels, "Multiclass")
        bound.n_features = rows.n_features
        bound.dim = bound.n_features * bound.n_labels
        return bound

    def _packed(self, examples: tuple[Rows, np.ndarray]) -> MulticlassData:
        rows, labels = examples
        rows.check_width(self.n_features, "Multiclass")
        blocks, K = np.arange(rows.n_rows + 1), int(self.n_labels or 0)
        return MulticlassData(
            rows.indptr,
            rows.indices,
            rows.values,
            labels,
            blocks,
            K * blocks,
            row_sqnorms(rows.indptr, rows.values),
            packed_cost(self.cost),
            rows.n_features,
            K,
        )

    def with_values(self, data: MulticlassData, values: np.ndarray) -> MulticlassData:
        return data._replace(values=values, sqnorms=row_sqnorms(data.indptr, values))

    def with_products(self, data: MulticlassData, products: TrainingKernel) -> MulticlassData:
        return data._replace(sqnorms=products.diagonal())

    def oracle_operations(self, data: MulticlassData) -> float:
        """Scores of all labels."""
        return float(data.n_labels * len(data.values))

    def label_limits(self, data: MulticlassData) -> tuple[int, int]:
        return 0, data.n_labels - 1

    def make_work(self, data: MulticlassData) -> MulticlassWork:
        return MulticlassWork(y=np.zeros(1, np.int64), **part_scratch(data.n_labels, by_part=True))

    def initial_mu(self, data: MulticlassData) -> tuple[np.ndarray]:
        """Averaged labels, K per example, at the truth."""
        average = np.zeros(data.part_off[-1])
        average[data.part_off[:-1] + data.y] = 1.0
        return (average,)

    def marginals(self, data: MulticlassData, mu: tuple[Any, ...]) -> np.ndarray:
        """(n, K) averaged labels."""
        return mu[0].reshape(-1, data.n_labels)

    def output(self, data: MulticlassData, labelings: np.ndarray) -> np.ndarray:
        """Labels as one int array."""
        return labelings.astype(np.int64)

    def features(self, x: Any, y: Any) -> np.ndarray:
        """phi(x, y), (dim,): x in column y, zero elsewhere."""
        self._check_bound()
        out = np.zeros((int(self.n_features or 0), int(self.n_labels or 0)))
        out[:, self._labels([y])[0]] = feature_row(x, self.n_features, "Multiclass")
        return out.ravel()

    def loss(self, y_true: Any, y: Any) -> float:
        """cost[y_true, y]."""
        self._check_bound()
        truth, label = self._labels([y_true, y])
        return float(truth != label if self.cost is None else self.cost[truth, label])

    def _labels(self, y: Any) -> np.ndarray:
        labels = integer_labels(y, self.n_labels, place_of)
        if labels.ndim != 1:
            raise InputError(f"Multiclass: y must have one label per example, got shape {labels.shape}")
        return labels


def place_of(i: int) -> str:
    """The name of an example in messages."""
    return f"Multiclass: example {i}"
