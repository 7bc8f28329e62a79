"""LabelGraph, base of the graph models with K labels per node: reading, packing, features and losses."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from bcfw.algorithms.max_flow import make_flow
from bcfw.algorithms.message_passing import make_scores
from bcfw.compile import entry
from bcfw.errors import InputError
from bcfw.inputs.classes import example_of
from bcfw.inputs.examples import check_same_length
from bcfw.inputs.labels import UNLABELLED, cost_matrix, counted_labels, label_count, node_labels
from bcfw.inputs.node_graphs import (
    LinkLayout,
    RowGraph,
    check_sizes,
    edge_feature_count,
    make_arcs,
    make_links,
    one_node,
    read_graphs,
    read_row_graph,
    without_unlabelled,
)
from bcfw.inputs.numbers import offsets, stacked, weight_vector
from bcfw.inputs.rows import Rows, joined
from bcfw.models.base.kernel_model import KernelModel
from bcfw.models.graphs.binary_graph_routines import number_columns
from bcfw.models.graphs.label_graph_routines import LabelGraphData, LabelGraphWork
from bcfw.models.shared.part_vectors import part_scratch
from bcfw.options import Flag

Examples = tuple[list[RowGraph], list[np.ndarray] | None]


class LabelGraph(KernelModel):
    """Base of the graph models with K labels; a subclass defines in ``_pairs`` which parts its edges have.

    The weights are ``w = [U (F, K), W (G, Q)]``. :mod:`bcfw.models.graphs.label_graph_routines` explains the parts.
    """

    _unlabelled = UNLABELLED

    #: Whether edge features may be negative, and the sign with which edge features enter phi.
    _signed: ClassVar[bool] = True
    _edge_sign: ClassVar[float] = 1.0

    #: Whether the oracle computes minimum cuts, which need the arcs of a flow network.
    _cuts: ClassVar[bool] = False

    def __init__(self, n_labels: int | None, cost: Any, class_balance: bool, normalize: bool) -> None:
        owner = self._owner
        self.n_labels = label_count(n_labels, owner)
        self.cost = cost
        self.class_balance = bool(Flag(False).check(owner, "class_balance", class_balance))
        self.normalize = bool(Flag(True).check(owner, "normalize", normalize))
        self.n_features: int | None = None
        self.n_edge_features: int | None = None

    def _pairs(self) -> np.ndarray:
        """Return a (K, K) array: the number of an edge's part for the labels of its two nodes; -1 for no part."""
        raise self._to_write("_pairs")

    @property
    def n_pairs(self) -> int:
        """The number Q of weights per edge feature."""
        return max(int(self._pairs().max()) + 1, 1)

    # --- reading -------------------------------------------------------------------------------------------------

    def _read(self, X: Any, y: Any = None) -> Examples:
        """Return the graphs, and the labels of their nodes (None without y)."""
        if y is not None:
            check_same_length(X, y, self._owner)
        graphs = read_graphs(X, self._owner, self._read_graph)
        if y is None:
            return graphs, None
        sizes = [graph.n_nodes for graph in graphs]
        where = f"{self._owner}: example"
        return graphs, [node_labels(one, self.n_labels, sizes[i], f"{where} {i}") for i, one in enumerate(y)]

    def _read_graph(self, x: Any, where: str) -> RowGraph:
        """Return one graph after checking it; ``where`` names the graph in errors."""
        return read_row_graph(x, where, self._signed)

    def _bound_to(self, examples: Examples, sample_weight: np.ndarray | None) -> Self:
        """Return a copy with the final costs and with n_labels, n_features, n_edge_features and dim = F K + G Q set."""
        graphs, labels = examples
        assert labels is not None
        bound = copy.copy(self)
        if bound.n_labels is None:
            bound.n_labels = self._count(labels)
        bound.cost = cost_matrix(self.cost, bound.n_labels, self._owner)
        if self.class_balance:
            bound.cost = balance(labels, bound.n_labels, self._owner, sample_weight)[:, None] * bound.cost
            bound.class_balance = False  # the costs now contain the weights
        bound.n_features = graphs[0].nodes.n_features
        bound.n_edge_features = edge_feature_count(graphs)
        bound.dim = bound.n_features * bound.n_labels + bound.n_edge_features * bound.n_pairs
        return bound

    def _example_of_sizes(self, sizes: Mapping[str, Any]) -> tuple[Any, Any]:
        return [one_node(sizes)], [[UNLABELLED]]

    def _count(self, labels: list[np.ndarray]) -> int:
        """Return the number of labels K: one more than the largest label of the training data."""
        flat, off = np.concatenate(labels), offsets([len(one) for one in labels])
        if not len(flat) or flat.max() < 0:
            raise InputError(f"{self._owner}: no node has a label; give labels, or n_labels")
        return counted_labels(flat, example_of(off, self._owner))

    def _packed(self, examples: Examples) -> LabelGraphData:
        graphs, labels = examples
        check_sizes(graphs, int(self.n_features or 0), int(self.n_edge_features or 0), self._owner)
        if labels is None:
            nowhere = [np.zeros(graph.n_nodes, np.int64) for graph in graphs]
            return self._flatten(graphs, nowhere, self._effort(predicting=True))
        inner = [without_unlabelled(*pair) for pair in zip(graphs, labels, strict=True)]
        return self._flatten(inner, labels, self._effort(predicting=False))

    def _effort(self, predicting: bool) -> tuple[int, int, int]:
        """Return the iterations of TRW-S in the oracle, max-product and TRW-S for bounds; zeros for exact oracles."""
        return 0, 0, 0

    def _flatten(
        self, graphs: list[RowGraph], labels: list[np.ndarray], effort: tuple[int, int, int]
    ) -> LabelGraphData:
        """Return the record of the graphs; each edge must join two labelled nodes."""
        K, Q = int(self.n_labels or 0), self.n_pairs
        y_off, edge_off = offsets([graph.n_nodes for graph in graphs]), offsets([len(graph.edges) for graph in graphs])
        nodes = own_features(joined([graph.nodes for graph in graphs]), y_off, int(self.n_features or 0))
        edge_rows = own_features(
            joined([graph.edge_rows for graph in graphs]), edge_off, int(self.n_edge_features or 0)
        )
        edge_rows["values"] *= self._edge_sign
        edges = stacked([graph.edges for graph in graphs], np.int32)
        layouts = [make_links(graph.edges, graph.n_nodes) for graph in graphs]
        scale = np.array([1.0 / max((one != UNLABELLED).sum(), 1) if self.normalize else 1.0 for one in labels])
        return LabelGraphData(
            **nodes,
            **{f"edge_{name}": array for name, array in edge_rows.items()},
            y=stacked(labels, np.int64),
            y_off=y_off,
            part_off=K * y_off + Q * edge_off,
            left=edges[:, 0].copy(),
            right=edges[:, 1].copy(),
            edge_off=edge_off,
            pair=self._pairs().ravel().astype(np.int64),
            **stacked_links(layouts),
            **self._flow_arcs(graphs),
            cost=np.ascontiguousarray(self.cost),
            loss_scale=scale,
            effort=np.array(effort, np.int64),
            n_features=int(self.n_features or 0),
            n_labels=K,
            n_pairs=Q,
        )

    def _flow_arcs(self, graphs: list[RowGraph]) -> dict[str, np.ndarray]:
        """Return two arcs per edge, one in each direction; empty arrays if the oracle computes no minimum cuts."""
        names = {"arc_off": "off", "head": "head", "sister": "sister", "arc_edge": "edge"}
        if not self._cuts:
            return {name: np.zeros(0, np.int32) for name in names}
        arcs = [make_arcs(graph.edges, graph.n_nodes) for graph in graphs]
        return {name: stacked([getattr(one, field) for one in arcs], np.int32) for name, field in names.items()}

    # --- what solvers call ---------------------------------------------------------------------------------------

    def label_limits(self, data: LabelGraphData) -> tuple[int, int]:
        return UNLABELLED, data.n_labels - 1

    def make_work(self, data: LabelGraphData) -> LabelGraphWork:
        V, E, L = (int(np.max(np.diff(off))) for off in (data.y_off, data.edge_off, data.link_off))
        own, own_edges = (int(np.max(np.diff(off))) for off in (data.col_off, data.edge_col_off))
        K, Q = data.n_labels, data.n_pairs
        parts = part_scratch(V * K + E * Q, by_part=True)
        messages = make_scores(V, L, K, parts["theta"])._asdict()
        nodes, arcs = (V, 2 * E) if self._cuts else (0, 0)
        flow = make_flow(nodes, arcs)._asdict()
        return LabelGraphWork(
            **parts,
            **{name: messages[name] for name in messages if name not in ("theta", "y")},
            **{name: flow[name] for name in flow if name != "stamp"},
            **expansion_scratch(nodes, arcs, K),
            y=np.zeros(V, np.int64),
            best=messages["y"],
            dated=flow["stamp"],
            node_direction=np.zeros((own, K)),
            edge_direction=np.zeros((own_edges, Q)),
            has_features=np.zeros(1, np.int64),
        )

    def initial_mu(self, data: LabelGraphData) -> tuple[np.ndarray]:
        """Return the parts of the truths, one graph after the other."""
        mu = np.zeros(int(data.part_off[-1]))
        K, Q = data.n_labels, data.n_pairs
        V = np.diff(data.y_off)
        node = np.arange(len(data.y)) - np.repeat(data.y_off[:-1], V)
        known = data.y >= 0
        mu[(np.repeat(data.part_off[:-1], V) + K * node + data.y)[known]] = 1.0
        E = np.diff(data.edge_off)
        first = np.repeat(data.y_off[:-1], E)
        pair = data.pair[K * data.y[first + data.left] + data.y[first + data.right]]
        edge = np.arange(len(data.left)) - np.repeat(data.edge_off[:-1], E)
        begin = np.repeat(data.part_off[:-1] + K * V, E)
        mu[(begin + Q * edge + pair)[pair >= 0]] = 1.0
        return (mu,)

    def decoded(self, w: np.ndarray, data: LabelGraphData, loss_weight: float) -> np.ndarray:
        return super().decoded(self._checked_weights(w, data), data, loss_weight)

    def _checked_weights(self, w: np.ndarray, data: LabelGraphData) -> np.ndarray:
        """Return w as a checked array; a subclass may raise if its oracle does not support these weights."""
        return weight_vector(w, self.dim, self._owner)

    # --- single outputs ------------------------------------------------------------------------------------------

    def features(self, x: Any, y: Any) -> np.ndarray:
        """Return phi(x, y), (dim,), without the nodes that have label -1 and without their edges."""
        self._check_bound()
        graph = self._read_graph(x, f"{self._owner}: x")
        check_sizes([graph], int(self.n_features or 0), int(self.n_edge_features or 0), self._owner)
        labels = node_labels(y, self.n_labels, graph.n_nodes, f"{self._owner}: y")
        inner = without_unlabelled(graph, labels)
        pair = self._pairs()[labels[inner.edges[:, 0]], labels[inner.edges[:, 1]]]
        unary = summed(graph.nodes, labels, int(self.n_features or 0), int(self.n_labels or 0))
        pairwise = summed(inner.edge_rows, pair, int(self.n_edge_features or 0), self.n_pairs)
        return np.concatenate([unary.ravel(), self._edge_sign * pairwise.ravel()])

    def loss(self, y_true: Any, y: Any) -> float:
        """Return the sum (mean if normalised) of cost[true, predicted] over the nodes that have a true label."""
        self._check_bound()
        truth = node_labels(y_true, self.n_labels, None, f"{self._owner}: y_true")
        labels = node_labels(y, self.n_labels, len(truth), f"{self._owner}: y")
        known = truth != UNLABELLED
        for p in np.flatnonzero(known & (labels == UNLABELLED))[:1]:
            raise InputError(f"{self._owner}: y has no label at node {p}, which has one in y_true")
        costs = self.cost[truth[known], labels[known]]
        return float(costs.sum() / max(known.sum(), 1) if self.normalize else costs.sum())


class PairWeights(LabelGraph):
    """Base of the graph models in which every pair of labels of two neighbours has its own weights.

    With ``symmetric`` the pairs (a, b) and (b, a) share their weights, and the pairs ``a <= b`` are numbered row by
    row.
    """

    symmetric: bool

    def _pairs(self) -> np.ndarray:
        K = int(self.n_labels or 0)
        if not self.symmetric:
            return np.arange(K * K).reshape(K, K)
        pairs = np.zeros((K, K), np.int64)
        upper = np.triu_indices(K)
        pairs[upper] = np.arange(len(upper[0]))
        return np.maximum(pairs, pairs.T)

    def edge_weights(self, w: np.ndarray) -> np.ndarray:
        """Return the (G, K, K) weights W of pairs of labels."""
        K = int(self.n_labels or 0)
        return w[int(self.n_features or 0) * K :].reshape(-1, self.n_pairs)[:, self._pairs()]

    def _message_operations(self, data: LabelGraphData, sweeps: Any) -> float:
        """Return the additions for the scores of all parts and for the messages.

        ``sweeps`` is the number of messages along every link: one number, or an array with one number per graph.
        """
        K, Q = data.n_labels, data.n_pairs
        messages = np.sum(sweeps * np.diff(data.link_off))
        return float(K * len(data.values) + Q * len(data.edge_values) + K * K * messages)


def summed(rows: Rows, column: np.ndarray, n_rows: int, n_columns: int) -> np.ndarray:
    """Return an (n_rows, n_columns) array: column k is the sum of the feature rows whose ``column`` is k.

    Rows with a negative column are left out.
    """
    out = np.zeros((n_rows, n_columns))
    spread = np.repeat(column, np.diff(rows.indptr))
    kept = spread >= 0
    np.add.at(out, (rows.indices[kept], spread[kept]), rows.values[kept])
    return out


def own_features(rows: Rows, row_off: np.ndarray, n_features: int) -> dict[str, np.ndarray]:
    """Return fields of the record for rows whose features are renumbered within each block.

    ``row_off`` (n + 1,) has the offsets of the blocks in the rows.
    """
    indices = rows.indices.copy()
    columns, col_off = np.zeros(len(indices), np.uint32), np.zeros(len(row_off), np.int64)
    owner, place = np.full(n_features, -1, np.int64), np.zeros(n_features, np.int64)
    entry(number_columns)(rows.indptr, row_off, indices, owner, place, col_off, columns)
    return {
        "indptr": rows.indptr,
        "indices": indices,
        "values": rows.values.copy(),
        "columns": columns[: col_off[-1]].astype(np.int64),
        "col_off": col_off,
    }


def stacked_links(layouts: list[LinkLayout]) -> dict[str, np.ndarray]:
    """Return the links of all graphs, one after the other, as fields of the record."""
    names = ("link", "order", "middle", "lo", "hi", "arc")
    arrays = {name: stacked([getattr(one, name) for one in layouts], np.int64) for name in names}
    return arrays | {
        "flip": stacked([one.flip for one in layouts], np.bool_),
        "link_first": stacked([one.first for one in layouts], np.int64),
        "link_off": offsets([len(one.lo) for one in layouts]),
        "forest": np.array([one.forest for one in layouts]),
    }


def expansion_scratch(n_nodes: int, n_arcs: int, n_labels: int) -> dict[str, np.ndarray]:
    """Return the scratch of alpha-expansion besides maximum flow: the possible labels, and the graph of one cut."""
    nodes = {name: np.zeros(n_nodes, np.int64) for name in ("only", "place", "movable")}
    arcs = {name: np.zeros(n_arcs, np.int32) for name in ("cut_head", "cut_sister", "cut_arc")}
    return {"possible": np.zeros((n_nodes, n_labels)), "cut_off": np.zeros(n_nodes + 1, np.int32), **nodes, **arcs}


def balance(labels: list[np.ndarray], n_labels: int, owner: str, sample_weight: Any = None) -> np.ndarray:
    """Return the (K,) weights ``N / (K N_k)`` of the labels k.

    N_k is the (weighted) number of nodes with label k, and N is the sum of all N_k.
    """
    weight = np.repeat(np.ones(len(labels)) if sample_weight is None else sample_weight, [len(one) for one in labels])
    counts = np.bincount(np.concatenate(labels) + 1, weights=weight, minlength=n_labels + 1)[1:]
    for k in np.flatnonzero(counts == 0)[:1]:
        every = "both labels" if n_labels == 2 else "every label"
        raise InputError(f"{owner}: class_balance needs nodes of {every}, but no node has label {k}")
    return counts.sum() / (n_labels * counts)
