"""The model BinaryGraph for figure-ground segmentation: two labels per node, exact inference by minimum cuts."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from bcfw.algorithms.max_flow import make_flow
from bcfw.compile import entry
from bcfw.errors import InputError
from bcfw.inputs.examples import check_same_length
from bcfw.inputs.labels import UNLABELLED, cost_matrix, node_labels
from bcfw.inputs.node_graphs import (
    Graph,
    check_sizes,
    edge_feature_count,
    make_arcs,
    one_node,
    read_graph,
    read_graphs,
    without_unlabelled,
)
from bcfw.inputs.numbers import offsets, packed_type, stacked, weight_vector
from bcfw.models.base.kernel_model import KernelModel
from bcfw.models.graphs import binary_graph_routines
from bcfw.models.graphs.binary_graph_routines import BinaryGraphData, BinaryGraphWork, number_columns
from bcfw.models.graphs.label_graph import balance
from bcfw.models.shared.part_vectors import PART_VECTOR_ROUTINES, SCORES_AT_ONCE, part_scratch
from bcfw.options import Flag
from bcfw.passes.contract import routine_set


class BinaryGraph(KernelModel):
    """Figure-ground segmentation: each node of a graph gets label 0 or 1, and neighbours prefer equal labels.

    An input is ``x = (node_features (V, F), edges (E, 2), edge_features (E, G))``. The node features are dense or
    sparse, the edge features are >= 0. An output is ``y (V,)`` in {0, 1}. With ``w = [U (F, 2), w_edge (G)]`` in C
    order,

        <w, phi(x, y)> = sum_p x_p'U[:, y_p] - sum_{e = {p, q}} <w_edge, f_e> [y_p != y_q].

    :meth:`bounds` asks for ``w_edge >= 0``. Then the best labeling is a minimum cut, and the max oracle is exact.

    In training, the label -1 in y marks an unlabelled node. Unlabelled nodes, and the edges that touch them, add
    nothing to the loss and to phi. The oracle does not label them either: its output has -1 where the truth has -1. A
    graph without any label has loss zero, but still counts as one of the n examples. Prediction labels all nodes.

    Parameters
    ----------
    cost : (2, 2) array or None
        ``cost[true, predicted] >= 0`` of one node, with a zero diagonal; None is the Hamming loss.
    class_balance : bool
        Multiply the cost of a node with true label k by ``N / (2 N_k)``, where N and N_k are the (weighted) numbers of
        labelled nodes and of nodes with label k in the training data. Both labels then have equal total weight.
    normalize : bool
        Divide the summed cost by the number of labelled nodes of the graph.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> path, alike = np.array([[0, 1], [1, 2], [2, 3]]), np.ones((3, 1))
    >>> X = [(np.array([[2.0], [1.0], [-0.1], [2.0]]), path, alike)]      # the third node looks like ground
    >>> model = bcfw.models.BinaryGraph().bind(X, [[1, 1, 1, 1]])
    >>> for smooth in (0.0, 0.2):
    ...     print(model.oracle(np.array([0.0, 1.0, smooth]), X[0]))
    [1 1 0 1]
    [1 1 1 1]
    """

    _unlabelled = UNLABELLED
    # SCORES_AT_ONCE: the labelings of a block together differ from the truth at nearly all nodes, and testing which
    # scores are needed costs more than computing all of them.
    routines = routine_set(
        binary_graph_routines,
        {"Data": BinaryGraphData, "Work": BinaryGraphWork},
        shared={**PART_VECTOR_ROUTINES, **SCORES_AT_ONCE},
    )

    def __init__(self, cost: Any = None, class_balance: bool = False, normalize: bool = True) -> None:
        self.cost = cost
        self.class_balance = bool(Flag(False).check("BinaryGraph", "class_balance", class_balance))
        self.normalize = bool(Flag(True).check("BinaryGraph", "normalize", normalize))
        self.n_features: int | None = None
        self.n_edge_features: int | None = None

    def _read(self, X: Any, y: Any = None) -> tuple[list[Graph], list[np.ndarray] | None]:
        """Return the graphs, and the labels of their nodes (None without y)."""
        if y is not None:
            check_same_length(X, y, "BinaryGraph")
        graphs = read_graphs(X, "BinaryGraph", read_graph)
        if y is None:
            return graphs, None
        sizes = [graph.n_nodes for graph in graphs]
        return graphs, [node_labels(given, 2, sizes[i], f"BinaryGraph: example {i}") for i, given in enumerate(y)]

    def _bound_to(
        self, examples: tuple[list[Graph], list[np.ndarray]], sample_weight: np.ndarray | None
    ) -> BinaryGraph:
        """Return a copy with the final cost matrix and with n_features, n_edge_features and dim = 2 F + G set."""
        graphs, labels = examples
        bound = copy.copy(self)
        bound.cost = cost_matrix(self.cost, 2, "BinaryGraph")
        if self.class_balance:
            bound.cost = balance(labels, 2, "BinaryGraph", sample_weight)[:, None] * bound.cost
            bound.class_balance = False  # the costs now contain the weights
        bound.n_features = graphs[0].nodes.n_features
        bound.n_edge_features = edge_feature_count(graphs)
        bound.dim = 2 * bound.n_features + bound.n_edge_features
        return bound

    def _example_of_sizes(self, sizes: Mapping[str, Any]) -> tuple[Any, Any]:
        return [one_node(sizes)], [[UNLABELLED]]

    def _packed(self, examples: tuple[list[Graph], list[np.ndarray] | None]) -> BinaryGraphData:
        graphs, labels = examples
        check_sizes(graphs, int(self.n_features or 0), int(self.n_edge_features or 0), "BinaryGraph")
        if labels is None:
            return self._flatten(graphs, [np.zeros(graph.n_nodes, np.int64) for graph in graphs])
        return self._flatten([without_unlabelled(*pair) for pair in zip(graphs, labels, strict=True)], labels)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds (lower, upper) of the weights: edge weights are >= 0, all other weights are free."""
        self._check_bound()
        lower, upper = np.full(int(self.dim or 0), -np.inf), np.full(int(self.dim or 0), np.inf)
        lower[2 * int(self.n_features or 0) :] = 0.0
        return lower, upper

    def oracle_operations(self, data: BinaryGraphData) -> float:
        """Return the operations for the scores of both labels plus 200 per node and edge for the minimum cut.

        The factor 200 is typical for the graphs of images.
        """
        return float(2 * len(data.values) + 200 * (len(data.y) + len(data.left)))

    def label_limits(self, data: BinaryGraphData) -> tuple[int, int]:
        return UNLABELLED, 1

    def make_work(self, data: BinaryGraphData) -> BinaryGraphWork:
        V, E, S = (int(np.max(np.diff(off))) for off in (data.y_off, data.edge_off, data.col_off))
        cap, excess, tree, parent, dated, dist, following, orphans, queue = make_flow(V, 2 * E)
        return BinaryGraphWork(
            **part_scratch(V + E, by_part=False),
            base=np.zeros(1),
            y=np.zeros(V, np.int64),
            contrast=np.zeros(S),
            node_direction=np.zeros(S),
            edge_direction=np.zeros(data.edge_values.shape[1]),
            has_features=np.zeros(1, np.int64),
            cap=cap,
            excess=excess,
            tree=tree,
            parent=parent,
            dated=dated,
            dist=dist,
            next=following,
            orphans=orphans,
            queue=queue,
        )

    def initial_mu(self, data: BinaryGraphData) -> tuple[np.ndarray]:
        """Return the averaged parts of all blocks, one block after the other: zeros, the parts of the truth."""
        return (np.zeros(data.part_off[-1]),)

    def margins(self, w: np.ndarray, X: Any) -> list[np.ndarray]:
        """Return the confidence in the predicted labels: one (V,) array of max-marginal differences per graph.

        The entry of node p is the best score with label 1 at p minus the best score with label 0 at p. Its sign tells
        the predicted label. The method computes one minimum cut per node.
        """
        data = self.pack(X)
        weights = self._checked_weights(w, data)
        out = np.zeros(len(data.y))
        self.routines.compiled_pass(binary_graph_routines.margins_pass)(
            tuple(data), tuple(self.make_work(data)), weights, out
        )
        return [out[a:b] for a, b in itertools.pairwise(data.y_off)]

    def edge_weights(self, w: np.ndarray) -> np.ndarray:
        """Return the (G,) edge weights w_edge >= 0, the penalties for unequal labels."""
        return w[2 * int(self.n_features or 0) :]

    def features(self, x: Any, y: Any) -> np.ndarray:
        """Return phi(x, y), (dim,), without the nodes that have label -1 and without their edges."""
        self._check_bound()
        graph = read_graph(x, "BinaryGraph: x")
        check_sizes([graph], int(self.n_features or 0), int(self.n_edge_features or 0), "BinaryGraph")
        labels = node_labels(y, 2, graph.n_nodes, "BinaryGraph: y")
        column = np.repeat(labels, np.diff(graph.nodes.indptr))
        known = column != UNLABELLED
        unary, pairwise = np.zeros((graph.nodes.n_features, 2)), np.zeros(int(self.n_edge_features or 0))
        np.add.at(unary, (graph.nodes.indices[known], column[known]), graph.nodes.values[known])
        inner = without_unlabelled(graph, labels)
        if len(inner.edges):
            pairwise -= (labels[inner.edges[:, 0]] != labels[inner.edges[:, 1]]) @ inner.edge_values
        return np.concatenate([unary.ravel(), pairwise])

    def loss(self, y_true: Any, y: Any) -> float:
        """Return the sum (mean if normalised) of cost[true, predicted] over the nodes that have a true label."""
        self._check_bound()
        truth = node_labels(y_true, 2, None, "BinaryGraph: y_true")
        labels = node_labels(y, 2, len(truth), "BinaryGraph: y")
        known = truth != UNLABELLED
        for p in np.flatnonzero(known & (labels == UNLABELLED))[:1]:
            raise InputError(f"BinaryGraph: y has no label at node {p}, which has one in y_true")
        costs = self.cost[truth[known], labels[known]]
        return float(costs.sum() / max(known.sum(), 1) if self.normalize else costs.sum())

    def _flatten(self, graphs: list[Graph], labels: list[np.ndarray]) -> BinaryGraphData:
        """Return the record of the graphs; each edge must join two labelled nodes."""
        F, G = int(self.n_features or 0), int(self.n_edge_features or 0)
        y_off, edge_off = offsets([graph.n_nodes for graph in graphs]), offsets([len(graph.edges) for graph in graphs])
        indptr = offsets(np.concatenate([np.diff(graph.nodes.indptr) for graph in graphs]))
        indices = stacked([graph.nodes.indices for graph in graphs], np.uint32)
        values = [graph.nodes.values for graph in graphs]
        columns, col_off = np.zeros(len(indices), np.uint32), np.zeros(len(y_off), np.int64)
        owner, place = np.full(F, -1, np.int64), np.zeros(F, np.int64)
        entry(number_columns)(indptr, y_off, indices, owner, place, col_off, columns)
        edges = stacked([graph.edges for graph in graphs], np.int32)
        arcs = [make_arcs(graph.edges, graph.n_nodes) for graph in graphs]
        scale = np.array([1.0 / max((one != UNLABELLED).sum(), 1) if self.normalize else 1.0 for one in labels])
        return BinaryGraphData(
            indptr,
            indices,
            stacked(values, packed_type(*{one.dtype for one in values})),
            columns[: col_off[-1]].copy(),
            col_off,
            stacked(labels, np.int64),
            y_off,
            y_off + edge_off,
            edges[:, 0].copy(),
            edges[:, 1].copy(),
            stacked([graph.edge_values if len(graph.edges) else np.zeros((0, G)) for graph in graphs], np.float64),
            edge_off,
            stacked([one.off for one in arcs], np.int32),
            stacked([one.head for one in arcs], np.int32),
            stacked([one.sister for one in arcs], np.int32),
            stacked([one.edge for one in arcs], np.int32),
            self.cost,
            scale,
            F,
        )

    def decoded(self, w: np.ndarray, data: BinaryGraphData, loss_weight: float) -> np.ndarray:
        return super().decoded(self._checked_weights(w, data), data, loss_weight)

    def _checked_weights(self, w: np.ndarray, data: BinaryGraphData) -> np.ndarray:
        """Return w as an array. Raise unless all edges have weights >= 0, which minimum cuts need."""
        weights = weight_vector(w, self.dim, "BinaryGraph")
        strength = data.edge_values @ weights[2 * data.n_features :]
        for e in np.flatnonzero(~(strength >= 0))[:1]:
            i = np.searchsorted(data.edge_off, e, side="right") - 1
            raise InputError(
                f"BinaryGraph: example {i}: the edge between nodes {data.left[e]} and {data.right[e]} has weight "
                f"<w_edge, f_e> = {strength[e]:.6g}; minimum cuts need edge weights >= 0 (see bounds())"
            )
        return weights
