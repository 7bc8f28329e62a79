"""Labels on the nodes of graphs whose neighbours prefer equal labels, by alpha-expansion."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.errors import InputError
from bcfw.models.heuristic_graph import HeuristicGraph
from bcfw.models.kernels import potts_graph as potts_graph_kernels
from bcfw.models.kernels.label_graph import LABEL_GRAPH_KERNELS, LabelGraphData
from bcfw.models.kernels.part_vectors import PART_VECTOR_KERNELS, SCORES_BY_PART
from bcfw.passes.contract import kernel_set


class PottsGraph(HeuristicGraph):
    """Each node of a graph gets one of K labels; neighbours prefer equal labels, whichever these are.

    An input is ``x = (node_features (V, F), edges (E, 2), edge_features (E, G))``, features dense or sparse, edge
    features >= 0 (None is one that is always 1); an output is ``y (V,)``, labels 0 .. K - 1. With
    ``w = [U (F, K), w_edge (G)]`` in C order,

        <w, phi(x, y)> = sum_p x_p'U[:, y_p] - sum_{e = {p, q}} <w_edge, f_e> [y_p != y_q].

    For ``w_edge >= 0``, which :meth:`bounds` asks for, the oracle is alpha-expansion: one label after the other may
    spread to any nodes, as a minimum cut decides, until none gains any more. Labels that no best labeling can have at a
    node, as the scores of the node and its edges prove, are left out. That is exact for two labels, and on forests
    dynamic programming is used instead. Otherwise it is a heuristic, and results are only certified if
    ``bound_iterations`` lets message passing prove an upper bound (see :class:`bcfw.models.PairwiseGraph`), or if all
    nodes are left with a single label.

    Nodes without label are as in :class:`bcfw.models.BinaryGraph`.

    Parameters
    ----------
    n_labels : int or None
        K; None takes it from the training labels.
    cost : (K, K) array or None
        ``cost[true, predicted] >= 0`` of one node, zero diagonal; None is the Hamming loss.
    class_balance : bool
        Multiply the cost of a node by a weight of its true label, ``N / (K N_k)`` with the (weighted) numbers of
        labelled nodes in the training data, so that all labels have the same total.
    normalize : bool
        Divide the summed cost by the number of labelled nodes of the graph.
    bound_iterations : int
        Iterations of TRW-S for the upper bounds that certificates need, at most; 0 for none.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> ring = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    >>> X = [(np.array([[2.0, 0.0], [1.0, 0.5], [0.4, 0.5], [0.9, 0.0]]), ring, None)]
    >>> model = bcfw.models.PottsGraph(n_labels=3).bind(X, [[0, 0, 0, 0]])
    >>> for smooth in (0.0, 0.2):
    ...     print(model.oracle(np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, smooth]), X[0]))
    [0 0 1 0]
    [0 0 0 0]
    """

    _signed = False
    _edge_sign = -1.0
    _cuts = True
    kernels = kernel_set(potts_graph_kernels, LABEL_GRAPH_KERNELS, shared={**PART_VECTOR_KERNELS, **SCORES_BY_PART})

    def __init__(
        self,
        n_labels: int | None = None,
        cost: Any = None,
        class_balance: bool = False,
        normalize: bool = True,
        bound_iterations: int = 0,
    ) -> None:
        super().__init__(n_labels, cost, class_balance, normalize, bound_iterations)

    def _pairs(self) -> np.ndarray:
        return -np.eye(int(self.n_labels or 0), dtype=np.int64)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Edge weights are >= 0; all others are free."""
        self._check_bound()
        lower, upper = np.full(int(self.dim or 0), -np.inf), np.full(int(self.dim or 0), np.inf)
        lower[int(self.n_features or 0) * int(self.n_labels or 0) :] = 0.0
        return lower, upper

    def oracle_operations(self, data: LabelGraphData) -> float:
        """Scores of all labels, and two rounds of minimum cuts of part of the graph: about 100 per node and edge."""
        cuts = 2 * data.n_labels * 100 * (len(data.y) + len(data.left))
        return float(data.n_labels * len(data.values) + cuts)

    def edge_weights(self, w: np.ndarray) -> np.ndarray:
        """(G,) weights of unequal labels, >= 0."""
        return w[int(self.n_features or 0) * int(self.n_labels or 0) :]

    def _checked_weights(self, w: np.ndarray, data: LabelGraphData) -> np.ndarray:
        """The array w, after a check that expansions are minimum cuts."""
        weights = super()._checked_weights(w, data)
        edge = np.repeat(np.arange(len(data.left)), np.diff(data.edge_indptr))
        example = np.searchsorted(data.edge_off, edge, side="right") - 1
        column = data.edge_columns[data.edge_col_off[example] + data.edge_indices]
        terms = -data.edge_values * self.edge_weights(weights)[column]
        strength = np.bincount(edge, weights=terms, minlength=len(data.left))
        for e in np.flatnonzero(~(strength >= 0))[:1]:
            i = np.searchsorted(data.edge_off, e, side="right") - 1
            raise InputError(
                f"PottsGraph: example {i}: the edge between nodes {data.left[e]} and {data.right[e]} has weight "
                f"<w_edge, f_e> = {strength[e]:.6g}; minimum cuts need edge weights >= 0 (see bounds())"
            )
        return weights
