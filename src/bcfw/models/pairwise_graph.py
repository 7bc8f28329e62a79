"""Labels on the nodes of graphs whose pairs of neighbours have weights of their own, by message passing."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.models.heuristic_graph import HeuristicGraph
from bcfw.models.kernels import pairwise_graph as pairwise_graph_kernels
from bcfw.models.kernels.label_graph import LABEL_GRAPH_KERNELS, LabelGraphData
from bcfw.models.kernels.part_vectors import PART_VECTOR_KERNELS, SCORES_BY_PART
from bcfw.models.label_graph import PairWeights
from bcfw.options import Count, Flag
from bcfw.passes.contract import kernel_set

#: Iterations of max-product for each one of TRW-S that the oracle may take: labelings where the bound is not tight.
MAX_PRODUCT_SHARE = 4


class PairwiseGraph(PairWeights, HeuristicGraph):
    """Each node of a graph gets one of K labels; every pair of labels of two neighbours has weights of its own.

    An input is ``x = (node_features (V, F), edges (E, 2), edge_features (E, G))``, features dense or sparse and of any
    sign; None for edge features is one that is always 1. An output is ``y (V,)``, labels 0 .. K - 1. With
    ``w = [U (F, K), W (G, K, K)]`` in C order and x_p, f_e the rows of the features,

        <w, phi(x, y)> = sum_p x_p'U[:, y_p] + sum_{e = (p, q)} sum_g f_eg W[g, y_p, y_q].

    The order of an edge's nodes matters. With ``symmetric=True`` it does not: ``W[g, a, b] = W[g, b, a]`` is one
    weight, and ``w = [U (F, K), W (G, K (K + 1) / 2)]`` has the pairs ``a <= b`` row by row: (0, 0), (0, 1), ...,
    (1, 1), ...

    The oracle is max-sum dynamic programming on forests: exact (if all graphs are forests,
    :class:`bcfw.models.Tree` compiles in less time). On other graphs the best labels are NP-hard to find. It
    is sequential tree-reweighted message passing (TRW-S), which also gives an upper bound of all values. Where the
    bound is tight, the labels are optimal; where not, max-product message passing and changes of single labels look for
    better ones. Results are certified by the bounds.

    A node may have the label -1 in training: unlabelled. Such nodes, and the edges that touch them, are absent from the
    loss and from phi: outputs for an example have -1 at the same nodes as its truth. Prediction labels all nodes.

    Parameters
    ----------
    n_labels : int or None
        K; None takes it from the training labels.
    symmetric : bool
        Whether the two nodes of an edge may change places.
    cost : (K, K) array or None
        ``cost[true, predicted] >= 0`` of one node, zero diagonal; None is the Hamming loss.
    class_balance : bool
        Multiply the cost of a node by a weight of its true label, ``N / (K N_k)`` with the (weighted) numbers of
        labelled nodes in the training data, so that all labels have the same total.
    normalize : bool
        Divide the summed cost by the number of labelled nodes of the graph.
    iterations : int
        Iterations of TRW-S in a call of the oracle, at most: it ends where the bound is tight, or hardly falls.
    bound_iterations : int
        The same for upper bounds, which certificates need.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> ring = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    >>> X = [(np.eye(4)[:, :1], ring, None)]               # only the first node is seen; labels alternate
    >>> result = bcfw.train(bcfw.models.PairwiseGraph(symmetric=True), X, [[0, 1, 0, 1]], lam=0.1)
    >>> result.predict(X)[0].tolist(), result.certified
    ([0, 1, 0, 1], True)
    """

    kernels = kernel_set(pairwise_graph_kernels, LABEL_GRAPH_KERNELS, shared={**PART_VECTOR_KERNELS, **SCORES_BY_PART})

    def __init__(
        self,
        n_labels: int | None = None,
        symmetric: bool = False,
        cost: Any = None,
        class_balance: bool = False,
        normalize: bool = True,
        iterations: int = 20,
        bound_iterations: int = 100,
    ) -> None:
        super().__init__(n_labels, cost, class_balance, normalize, bound_iterations)
        self.symmetric = bool(Flag(False).check("PairwiseGraph", "symmetric", symmetric))
        self.iterations = int(Count(20, least=1).check("PairwiseGraph", "iterations", iterations))

    @property
    def _iterations(self) -> tuple[int, int]:  # type: ignore[override]
        return self.iterations, -(-self.iterations // MAX_PRODUCT_SHARE)

    def oracle_operations(self, data: LabelGraphData) -> float:
        """Scores of all parts, and the messages of some iterations."""
        return self._message_operations(data, 2 * np.where(data.forest, 1, self.iterations))
