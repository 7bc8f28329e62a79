"""The model PottsGraph: K labels on the nodes of a graph, neighbours prefer equal labels, alpha-expansion."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.errors import InputError
from bcfw.models.graphs import potts_graph_routines
from bcfw.models.graphs.heuristic_graph import HeuristicGraph
from bcfw.models.graphs.label_graph_routines import LABEL_GRAPH_ROUTINES, LabelGraphData
from bcfw.models.shared.part_vectors import PART_VECTOR_ROUTINES, SCORES_BY_PART
from bcfw.passes.contract import routine_set


class PottsGraph(HeuristicGraph):
    """Labels on the nodes of a graph: neighbours prefer equal labels, and all unequal pairs of labels cost alike.

    An input is ``x = (node_features (V, F), edges (E, 2), edge_features (E, G))``. Features are dense or sparse, edge
    features are >= 0; None for the edge features means one feature that is always 1. An output is ``y (V,)``, labels
    0 .. K - 1. With ``w = [U (F, K), w_edge (G)]`` in C order,

        <w, phi(x, y)> = sum_p x_p'U[:, y_p] - sum_{e = {p, q}} <w_edge, f_e> [y_p != y_q].

    :meth:`bounds` asks for ``w_edge >= 0``. The oracle is alpha-expansion: in turn, every label may spread to other
    nodes, and a minimum cut decides to which ones, until no label improves the score. A label is excluded at a node if
    the scores of the node and its edges prove that no best labeling has this label there. Alpha-expansion is exact for
    two labels. On forests, the oracle is dynamic programming and exact. In all other cases the oracle is a heuristic,
    and results are certified only if message passing proves an upper bound (set ``bound_iterations``, see
    :class:`bcfw.models.PairwiseGraph`) or if only one label is left at every node.

    Unlabelled nodes are treated as in :class:`bcfw.models.BinaryGraph`.

    Parameters
    ----------
    n_labels : int or None
        The number of labels K; None takes K from the training labels.
    cost : (K, K) array or None
        ``cost[true, predicted] >= 0`` of one node, with a zero diagonal; None is the Hamming loss.
    class_balance : bool
        Multiply the cost of a node with true label k by ``N / (K N_k)``, where N and N_k are the (weighted) numbers of
        labelled nodes and of nodes with label k in the training data. All labels then have equal total weight.
    normalize : bool
        Divide the summed cost by the number of labelled nodes of the graph.
    bound_iterations : int
        Maximum number of TRW-S iterations for an upper bound, which certificates need; 0 computes no such bounds.

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
    routines = routine_set(
        potts_graph_routines, LABEL_GRAPH_ROUTINES, shared={**PART_VECTOR_ROUTINES, **SCORES_BY_PART}
    )

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
        """Return the bounds (lower, upper) of the weights: edge weights are >= 0, all other weights are free."""
        self._check_bound()
        lower, upper = np.full(int(self.dim or 0), -np.inf), np.full(int(self.dim or 0), np.inf)
        lower[int(self.n_features or 0) * int(self.n_labels or 0) :] = 0.0
        return lower, upper

    def oracle_operations(self, data: LabelGraphData) -> float:
        """Return the operations for the scores of all labels and for two rounds of minimum cuts.

        A cut of a part of the graph takes about 100 operations per node and edge of the whole graph.
        """
        cuts = 2 * data.n_labels * 100 * (len(data.y) + len(data.left))
        return float(data.n_labels * len(data.values) + cuts)

    def edge_weights(self, w: np.ndarray) -> np.ndarray:
        """Return the (G,) edge weights w_edge >= 0, the penalties for unequal labels."""
        return w[int(self.n_features or 0) * int(self.n_labels or 0) :]

    def _checked_weights(self, w: np.ndarray, data: LabelGraphData) -> np.ndarray:
        """Return w as an array. Raise unless all edges have weights >= 0, so that an expansion is a minimum cut."""
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
