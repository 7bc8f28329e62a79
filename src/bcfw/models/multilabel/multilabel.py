"""The model Multilabel: L binary labels per example, independent or coupled by a tree over the labels."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError, OptionError
from bcfw.inputs.examples import check_same_length
from bcfw.inputs.feature_matrices import feature_matrix, feature_row
from bcfw.inputs.labels import binary_labels
from bcfw.inputs.rows import Rows, matrix_rows, row_sqnorms
from bcfw.models.base.kernel_model import KernelModel
from bcfw.models.multilabel import multilabel_routines
from bcfw.models.multilabel.multilabel_routines import MultilabelData, MultilabelWork
from bcfw.models.shared.block_solve_routines import BLOCK_SOLVE_ROUTINES
from bcfw.models.shared.feature_rows import FeatureRows
from bcfw.models.shared.label_tree import check_forest, chow_liu_tree, orient, read_tree
from bcfw.models.shared.part_vectors import PART_VECTOR_ROUTINES, SCORES_BY_PART, part_scratch
from bcfw.models.shared.sum_product import MARGINAL_ROUTINES, SumProduct
from bcfw.options import Flag
from bcfw.passes.contract import routine_set


class MultilabelProbabilities(NamedTuple):
    """The distributions ``P(y) = exp(s(y)) / Z`` over the labelings y of n examples, where s(y) is the score of y.

    Attributes
    ----------
    log_partition : (n,) log Z
    labels : (n, L) probability that each label is on
    edges : (n, E, 2, 2) probabilities of the joint states of the edges
    """

    log_partition: np.ndarray
    labels: np.ndarray
    edges: np.ndarray


class Multilabel(SumProduct, FeatureRows, KernelModel):
    """Multilabel classification: each of L labels is on (1) or off (0), a tree may couple the labels; Hamming loss.

    ``<w, phi(x, y)> = sum_l y_l x'U[:, l] + sum_e V[e, y_a, y_b]`` for edges ``e = (a, b)``, with
    ``w = [U (F, L), V (E, 2, 2)]`` in C order. The max oracle is exact: without edges it is a threshold per label, with
    edges it is dynamic programming from the leaves of the forest to its roots.

    X is an (n, F) array or a sparse matrix; y is an (n, L) array or a list of n rows of 0 and 1. (y cannot be a sparse
    matrix, because a sparse matrix has no length; :class:`bcfw.MultilabelSVM` accepts a sparse y.)

    Parameters
    ----------
    tree : None, "auto" or (E, 2) array of label pairs
        The pairs of labels that interact; they must form a forest. None leaves the labels independent. "auto" computes
        the Chow-Liu tree, the maximum spanning tree of the labels' mutual information in the (weighted) training data.
        In a bound model, the attribute ``tree`` is the array of pairs.
    normalize : bool
        Divide the number of wrong labels by L.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> Y = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> bcfw.train(bcfw.models.Multilabel(), X, Y, lam=0.01).predict(X)
    array([[1, 0, 1],
           [0, 1, 1],
           [1, 1, 1]])
    >>> model = bcfw.models.Multilabel(tree=[(0, 1)]).bind(X, Y)
    >>> model.n_labels, model.dim
    (3, 10)
    """

    routines = routine_set(
        multilabel_routines,
        {"Data": MultilabelData, "Work": MultilabelWork},
        shared={**PART_VECTOR_ROUTINES, **SCORES_BY_PART, **BLOCK_SOLVE_ROUTINES, **MARGINAL_ROUTINES},
    )
    in_part_space = True
    label_type = np.int8

    def __init__(self, tree: Any = None, normalize: bool = True) -> None:
        if isinstance(tree, str) and tree != "auto":
            raise OptionError(f"Multilabel: tree must be None, 'auto' or an (E, 2) array of label pairs, got {tree!r}")
        self.tree: Any = tree if tree is None or isinstance(tree, str) else read_tree(tree, "Multilabel")
        self.normalize = bool(Flag(True).check("Multilabel", "normalize", normalize))
        self.n_labels: int | None = None
        self.n_features: int | None = None

    @property
    def solves_blocks(self) -> bool:
        """Whether block solves have a closed form: without edges, where each label is solved for itself."""
        return self.tree is None or len(self.tree) == 0

    def _read(self, X: Any, y: Any = None) -> tuple[Rows, np.ndarray | None]:
        """Return the rows of features and the (n, L) labels (None without y)."""
        if sp.issparse(y):
            raise InputError("Multilabel: y is a sparse matrix; give y.toarray(), or use bcfw.MultilabelSVM")
        rows = matrix_rows(feature_matrix(X, "Multilabel"), "Multilabel")
        if y is None:
            return rows, None
        labels = self._labels(y)
        check_same_length(X, labels, "Multilabel")
        return rows, labels

    def _bound_to(self, examples: tuple[Rows, np.ndarray], sample_weight: np.ndarray | None) -> Multilabel:
        """Return a copy with n_labels, n_features, the edges (E, 2) of the tree and dim = F L + 4 E set."""
        rows, labels = examples
        bound = copy.copy(self)
        bound.n_labels = labels.shape[1]
        bound.n_features = rows.n_features
        if isinstance(self.tree, str):
            bound.tree = chow_liu_tree(labels, sample_weight)
        elif self.tree is None:
            bound.tree = np.zeros((0, 2), np.int64)
        check_forest(bound.tree, bound.n_labels, "Multilabel")
        bound.dim = bound.n_features * bound.n_labels + 4 * len(bound.tree)
        return bound

    def _example_of_sizes(self, sizes: Mapping[str, Any]) -> tuple[Any, Any]:
        return sp.csr_array((1, sizes["n_features"])), np.zeros((1, sizes["n_labels"]), np.int64)

    def _packed(self, examples: tuple[Rows, np.ndarray | None]) -> MultilabelData:
        rows, labels = examples
        rows.check_width(self.n_features, "Multilabel")
        blocks, L = np.arange(rows.n_rows + 1), int(self.n_labels or 0)
        return MultilabelData(
            rows.indptr,
            rows.index_at,
            rows.indices,
            rows.values,
            np.zeros(rows.n_rows * L, np.int64) if labels is None else labels.ravel(),
            L * blocks,
            (L + 4 * len(self.tree)) * blocks,
            row_sqnorms(rows.indptr, rows.values),
            self.tree,
            *orient(self.tree, L),
            1.0 / L if self.normalize else 1.0,
            rows.n_features,
            L,
        )

    def with_values(self, data: MultilabelData, values: np.ndarray) -> MultilabelData:
        return data._replace(values=values, sqnorms=row_sqnorms(data.indptr, values))

    def oracle_operations(self, data: MultilabelData) -> float:
        """Return the operations for the scores of all labels, and 4 per edge for dynamic programming."""
        return float(data.n_labels * len(data.values) + 4 * len(data.edges) * (len(data.y_off) - 1))

    def label_limits(self, data: MultilabelData) -> tuple[int, int]:
        return 0, 1

    def make_work(self, data: MultilabelData) -> MultilabelWork:
        L = data.n_labels
        scratch = part_scratch(L + 4 * len(data.edges), by_part=True)
        return MultilabelWork(best=np.zeros((L, 2)), y=np.zeros(L, np.int64), **scratch)

    def initial_mu(self, data: MultilabelData) -> tuple[np.ndarray]:
        """Return the initial averages, the truths: labels and joint states of edges, L + 4E numbers per example."""
        Y = data.y.reshape(-1, data.n_labels)
        return (np.hstack([Y.astype(np.float64), edge_states(Y, data.edges).reshape(len(Y), -1)]).ravel(),)

    def export_mu(self, data: MultilabelData, mu: tuple[Any, ...]) -> list[np.ndarray]:
        """Return the averages, and the edges to which the averaged joint states belong."""
        return [mu[0], data.edges]

    def import_mu(self, data: MultilabelData, arrays: list[np.ndarray]) -> tuple[np.ndarray]:
        average, edges = arrays
        if average.shape != (data.part_off[-1],):
            raise InputError("Multilabel: the saved state belongs to other data (other sizes)")
        if not np.array_equal(edges, data.edges):
            raise InputError("Multilabel: the saved state belongs to another tree; give its pairs as the option tree")
        return (np.array(average),)

    def marginals(self, data: MultilabelData, mu: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return the (n, L) averaged labels and the (n, E, 2, 2) averaged joint states of the edges."""
        L, E = data.n_labels, len(data.edges)
        average = mu[0].reshape(-1, L + 4 * E)
        return average[:, :L], average[:, L:].reshape(len(average), E, 2, 2)

    def probabilities(self, w: np.ndarray, X: Any, *, temperature: float = 1.0) -> MultilabelProbabilities:
        """Return the probabilities of labels and edges under ``P(y) = exp(<w, phi(x, y)> / temperature) / Z``.

        The sum-product algorithm computes them.
        """
        data = self.pack(X)
        sums = self._expectations(w, data, temperature)
        return MultilabelProbabilities(sums.log_partition, *self.marginals(data, (sums.parts,)))

    def output(self, data: MultilabelData, labelings: np.ndarray) -> np.ndarray:
        """Return the labels as one (n, L) int array."""
        return labelings.reshape(-1, data.n_labels).astype(np.int64)

    def features(self, x: Any, y: Any) -> np.ndarray:
        """Return phi(x, y), (dim,): x in the columns of the labels that are on, then the joint states of the edges."""
        self._check_bound()
        row = feature_row(x, self.n_features, "Multilabel")
        Y = self._labels([y])
        return np.concatenate([np.outer(row, Y[0]).ravel(), edge_states(Y, self.tree).ravel()])

    def loss(self, y_true: Any, y: Any) -> float:
        """Return the number of wrong labels, divided by L if normalised."""
        self._check_bound()
        truth, labels = self._labels([y_true, y])
        wrong = truth != labels
        return float(wrong.mean() if self.normalize else wrong.sum())

    def _labels(self, y: Any) -> np.ndarray:
        return binary_labels(y, self.n_labels, "Multilabel")


def edge_states(Y: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return an (n, E, 2, 2) array with a 1 at ``[i, e, Y[i, a], Y[i, b]]`` for every edge ``e = (a, b)``; else 0."""
    states = np.zeros((len(Y), len(edges), 2, 2))
    i, e = np.indices((len(Y), len(edges)))
    states[i, e, Y[:, edges[:, 0]], Y[:, edges[:, 1]]] = 1.0
    return states
