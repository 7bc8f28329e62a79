"""The model Tree: K labels on the nodes of trees and forests, with exact dynamic programming and probabilities."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from bcfw.errors import InputError
from bcfw.inputs.node_graphs import RowGraph, closing_edge
from bcfw.models.graphs import tree_routines
from bcfw.models.graphs.label_graph import PairWeights
from bcfw.models.graphs.label_graph_routines import LABEL_GRAPH_ROUTINES, LabelGraphData
from bcfw.models.graphs.tree_routines import max_marginals_pass
from bcfw.models.shared.part_vectors import PART_VECTOR_ROUTINES, SCORES_BY_PART
from bcfw.models.shared.sum_product import MARGINAL_ROUTINES, SumProduct
from bcfw.options import Flag
from bcfw.passes.contract import routine_set


class TreeProbabilities(NamedTuple):
    """The distribution ``P(y) = exp(s(y)) / Z`` over the labelings y of one tree, where s(y) is the score of y.

    Attributes
    ----------
    log_partition : log Z
    nodes : (V, K) probabilities ``P(y_p = a)``; zeros at unlabelled nodes
    edges : (E, K, K) probabilities ``P(y_p = a, y_q = b)`` for edge e = (p, q). With ``symmetric``, they belong to
        unordered pairs: ``edges[e, a, b] = edges[e, b, a]`` is the probability of a at one node and b at the other
    """

    log_partition: float
    nodes: np.ndarray
    edges: np.ndarray


class Tree(SumProduct, PairWeights):
    """Labels on the nodes of a tree or forest: every pair of labels of two neighbours has its own weights.

    An input is ``x = (node_features (V, F), edges (E, 2), edge_features (E, G))``. Features are dense or sparse and may
    be negative; None for the edge features means one feature that is always 1. The edges form a tree or a forest: with
    c connected components, E = V - c (parallel edges between two nodes count once). An output is ``y (V,)``, labels
    0 .. K - 1. With ``w = [U (F, K), W (G, K, K)]`` in C order and x_p, f_e the rows of the features,

        <w, phi(x, y)> = sum_p x_p'U[:, y_p] + sum_{e = (p, q)} sum_g f_eg W[g, y_p, y_q].

    The order of the two nodes of an edge matters, unless ``symmetric=True`` makes ``W[g, a, b] = W[g, b, a]``, as in
    :class:`bcfw.models.PairwiseGraph`, which also accepts graphs with cycles. The oracle of Tree is max-sum dynamic
    programming in O(E K^2) and always exact. The scores of :meth:`max_marginals` and the probabilities of
    :meth:`probabilities` are exact, too.

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
        Divide the summed cost by the number of labelled nodes of the tree.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> star = np.array([[0, 1], [0, 2], [0, 3]])          # the leaves differ from the node in the middle
    >>> X = [(sign * np.eye(4)[:, :1], star, None) for sign in (1.0, -1.0)]
    >>> result = bcfw.train(bcfw.models.Tree(), X, [[0, 1, 1, 1], [1, 0, 0, 0]], lam=0.1)
    >>> [labels.tolist() for labels in result.predict(X)], result.certified
    ([[0, 1, 1, 1], [1, 0, 0, 0]], True)
    >>> sure = result.model.probabilities(result.w, X)[0]
    >>> sure.nodes.shape, sure.edges.shape, bool(sure.nodes[0, 0] > 0.5)
    ((4, 2), (3, 2, 2), True)
    """

    routines = routine_set(
        tree_routines, LABEL_GRAPH_ROUTINES, shared={**PART_VECTOR_ROUTINES, **SCORES_BY_PART, **MARGINAL_ROUTINES}
    )

    def __init__(
        self,
        n_labels: int | None = None,
        symmetric: bool = False,
        cost: Any = None,
        class_balance: bool = False,
        normalize: bool = True,
    ) -> None:
        super().__init__(n_labels, cost, class_balance, normalize)
        self.symmetric = bool(Flag(False).check(self._owner, "symmetric", symmetric))

    def _read_graph(self, x: Any, where: str) -> RowGraph:
        graph = super()._read_graph(x, where)
        e = closing_edge(graph.edges, graph.n_nodes)
        if e >= 0:
            raise InputError(
                f"{where}: edge {e} joins nodes {graph.edges[e].tolist()} and closes a cycle; the edges must form a "
                "forest (for other graphs use PairwiseGraph)"
            )
        return graph

    def oracle_operations(self, data: LabelGraphData) -> float:
        """Return the additions for the scores of all parts, the tables of the links and one message per link."""
        return self._message_operations(data, 2)

    def max_marginals(self, w: np.ndarray, X: Any) -> list[np.ndarray]:
        """Return the max-marginals, a (V, K) array per tree, which show how sure a prediction is.

        The entry of node p and label a is the best score of a labeling of the tree with ``y_p = a``.
        """
        data = self.pack(X)
        out = np.zeros((len(data.y), data.n_labels))
        work = self.make_work(data)
        self.routines.compiled_pass(max_marginals_pass)(tuple(data), tuple(work), self._checked_weights(w, data), out)
        return [out[a:b] for a, b in itertools.pairwise(data.y_off)]

    def probabilities(
        self, w: np.ndarray, X: Any, y: Any = None, *, temperature: float = 1.0
    ) -> list[TreeProbabilities]:
        """Return the probabilities of labels and of pairs of labels under ``P(y) = exp(s(y) / temperature) / Z``.

        The sum-product algorithm computes them. The score s of a labeling is ``<w, features(x, y)>``; if the truths y
        are given, the loss is added, as in training. An SVM does not learn probabilities: how peaked they are depends
        on the scale of w and on the temperature, which :class:`bcfw.TreeSVM` can fit.
        """
        data = self.pack(X, y)
        sums = self._expectations(self._checked_weights(w, data), data, temperature, float(y is not None))
        K, pairs = data.n_labels, self._pairs()
        found = []
        for i, (begin, end) in enumerate(itertools.pairwise(data.part_off)):
            middle = begin + K * (data.y_off[i + 1] - data.y_off[i])
            edges = sums.parts[middle:end].reshape(-1, data.n_pairs)[:, pairs]
            nodes = sums.parts[begin:middle].reshape(-1, K)
            found.append(TreeProbabilities(float(sums.log_partition[i]), nodes, edges))
        return found
