"""The model PairwiseGraph: K labels on the nodes of a graph, weights for all label pairs, message passing (TRW-S)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.models.graphs import pairwise_graph_routines
from bcfw.models.graphs.heuristic_graph import HeuristicGraph
from bcfw.models.graphs.label_graph import PairWeights
from bcfw.models.graphs.label_graph_routines import LABEL_GRAPH_ROUTINES, LabelGraphData
from bcfw.models.shared.part_vectors import PART_VECTOR_ROUTINES, SCORES_BY_PART
from bcfw.options import Count, Flag
from bcfw.passes.contract import routine_set

#: The oracle may run one iteration of max-product per this many iterations of TRW-S, if TRW-S leaves a gap.
MAX_PRODUCT_SHARE = 4


class PairwiseGraph(PairWeights, HeuristicGraph):
    """Labels on the nodes of a graph: every pair of labels of two neighbours has its own weights.

    An input is ``x = (node_features (V, F), edges (E, 2), edge_features (E, G))``. Features are dense or sparse and may
    be negative; None for the edge features means one feature that is always 1. An output is ``y (V,)``, labels
    0 .. K - 1. With ``w = [U (F, K), W (G, K, K)]`` in C order and x_p, f_e the rows of the features,

        <w, phi(x, y)> = sum_p x_p'U[:, y_p] + sum_{e = (p, q)} sum_g f_eg W[g, y_p, y_q].

    The order of the two nodes of an edge matters. With ``symmetric=True`` it does not matter: ``W[g, a, b]`` and
    ``W[g, b, a]`` are one weight, and ``w = [U (F, K), W (G, K (K + 1) / 2)]`` has the pairs ``a <= b`` row by row:
    (0, 0), (0, 1), ..., (1, 1), ...

    On forests, the oracle is max-sum dynamic programming and exact. (If all graphs are forests,
    :class:`bcfw.models.Tree` compiles in less time.) On other graphs the maximisation is NP-hard, and the oracle runs
    sequential tree-reweighted message passing (TRW-S), which also gives an upper bound on all values. If the bound is
    tight, the labels are optimal. If not, max-product message passing and changes of single labels search for better
    labels. The bounds certify results.

    In training, the label -1 marks an unlabelled node. The loss and phi leave out unlabelled nodes and the edges that
    touch them: an output for a training example has -1 wherever its truth has -1. Prediction labels all nodes.

    Parameters
    ----------
    n_labels : int or None
        The number of labels K; None takes K from the training labels.
    symmetric : bool
        Whether the two nodes of an edge are interchangeable.
    cost : (K, K) array or None
        ``cost[true, predicted] >= 0`` of one node, with a zero diagonal; None is the Hamming loss.
    class_balance : bool
        Multiply the cost of a node with true label k by ``N / (K N_k)``, where N and N_k are the (weighted) numbers of
        labelled nodes and of nodes with label k in the training data. All labels then have equal total weight.
    normalize : bool
        Divide the summed cost by the number of labelled nodes of the graph.
    iterations : int
        Maximum number of TRW-S iterations in an oracle call. TRW-S stops earlier if the bound is tight or hardly falls.
    bound_iterations : int
        Maximum number of TRW-S iterations for an upper bound, which certificates need.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> ring = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    >>> X = [(np.eye(4)[:, :1], ring, None)]               # only the first node is seen; labels alternate
    >>> result = bcfw.train(bcfw.models.PairwiseGraph(symmetric=True), X, [[0, 1, 0, 1]], lam=0.1)
    >>> result.predict(X)[0].tolist(), result.certified
    ([0, 1, 0, 1], True)
    """

    routines = routine_set(
        pairwise_graph_routines, LABEL_GRAPH_ROUTINES, shared={**PART_VECTOR_ROUTINES, **SCORES_BY_PART}
    )

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
        """Return the additions for the scores of all parts and for the messages of all iterations."""
        return self._message_operations(data, 2 * np.where(data.forest, 1, self.iterations))
