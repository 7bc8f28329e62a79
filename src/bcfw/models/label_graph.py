"""What the models share in which each node of a graph has one of K labels: reading, packing, features and losses."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from bcfw.errors import InputError
from bcfw.inputs.classes import example_of
from bcfw.inputs.examples import check_same_length
from bcfw.inputs.graphs import (
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
from bcfw.inputs.labels import UNLABELLED, cost_matrix, counted_labels, label_count, node_labels
from bcfw.inputs.numbers import offsets, stacked, weight_vector
from bcfw.inputs.rows import Rows, joined
from bcfw.kernels import entry
from bcfw.kernels.maxflow import make_flow
from bcfw.kernels.message_passing import make_scores
from bcfw.models.kernel_model import KernelModel
from bcfw.models.kernels.binary_graph import number_columns
from bcfw.models.kernels.label_graph import LabelGraphData, LabelGraphWork
from bcfw.models.part_vectors import part_scratch
from bcfw.options import Flag

Examples = tuple[list[RowGraph], list[np.ndarray] | None]


class LabelGraph(KernelModel):
    """Base of the graph models with K labels; a subclass says which parts its edges have (``_pairs``).

    The weights are ``w = [U (F, K), W (G, Q)]``. See :mod:`bcfw.models.kernels.label_graph`.
    """

    _unlabelled = UNLABELLED

    #: Whether edge features may be negative, and what their sign is in phi.
    _signed: ClassVar[bool] = True
    _edge_sign: ClassVar[float] = 1.0

    #: Whether the oracle needs the arcs of a maximum flow.
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
        """(K, K) number of an edge's part by the labels of its two nodes; -1 for none."""
        raise self._to_write("_pairs")

    @property
    def n_pairs(self) -> int:
        """Q, the number of weights per edge feature."""
        return max(int(self._pairs().max()) + 1, 1)

    # --- reading -------------------------------------------------------------------------------------------------

    def _read(self, X: Any, y: Any = None) -> Examples:
        """The graphs, and the labels of their nodes or None without y."""
        if y is not None:
            check_same_length(X, y, self._owner)
        graphs = read_graphs(X, self._owner, self._read_graph)
        if y is None:
            return graphs, None
        sizes = [graph.n_nodes for graph in graphs]
        where = f"{self._owner}: example"
        return graphs, [node_labels(one, self.n_labels, sizes[i], f"{where} {i}") for i, one in enumerate(y)]

    def _read_graph(self, x: Any, where: str) -> RowGraph:
        """One graph, checked; ``where`` names it in errors."""
        return read_row_graph(x, where, self._signed)

    def _bound_to(self, examples: Examples, sample_weight: np.ndarray | None) -> Self:
        """A copy with the costs fixed and n_labels, n_features, n_edge_features and dim = F K + G Q set."""
        graphs, labels = examples
        assert labels is not None
        bound = copy.copy(self)
        if bound.n_labels is None:
            bound.n_labels = self._count(labels)
        bound.cost = cost_matrix(self.cost, bound.n_labels, self._owner)
        if self.class_balance:
            bound.cost = balance(labels, bound.n_labels, self._owner, sample_weight)[:, None] * bound.cost
            bound.class_balance = False  # it is in the costs now
        bound.n_features = graphs[0].nodes.n_features
        bound.n_edge_features = edge_feature_count(graphs)
        bound.dim = bound.n_features * bound.n_labels + bound.n_edge_features * bound.n_pairs
        return bound

    def _example_of_sizes(self, sizes: Mapping[str, Any]) -> tuple[Any, Any]:
        return [one_node(sizes)], [[UNLABELLED]]

    def _count(self, labels: list[np.ndarray]) -> int:
        """K, from the largest label of the training data."""
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
        """Iterations of heuristic oracles, as packed; none for exact ones."""
        return 0, 0, 0

    def _flatten(
        self, graphs: list[RowGraph], labels: list[np.ndarray], effort: tuple[int, int, int]
    ) -> LabelGraphData:
        """The record of graphs whose edges join labelled nodes only."""
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
        """Arcs of the edges, both ways; none if the oracle makes no cuts."""
        names = {"arc_off": "off", "head": "head", "sister": "sister", "arc_edge": "edge"}
        if not self._cuts:
            return {name: np.zeros(0, np.int32) for name in names}
        arcs = [make_arcs(graph.edges, graph.n_nodes) for graph in graphs]
        return {name: stacked([getattr(one, field) for one in arcs], np.int32) for name, field in names.items()}

    # --- what solvers ask ----------------------------------------------------------------------------------------

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
        """Parts of the truths, one graph after the other."""
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
        """The array w; a subclass may look whether its oracle can work with it."""
        return weight_vector(w, self.dim, self._owner)

    # --- single outputs ------------------------------------------------------------------------------------------

    def features(self, x: Any, y: Any) -> np.ndarray:
        """phi(x, y), (dim,); nodes with label -1 and their edges are left out."""
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
        """Sum (mean if normalised) of cost[true, predicted] over the nodes that have a true label."""
        self._check_bound()
        truth = node_labels(y_true, self.n_labels, None, f"{self._owner}: y_true")
        labels = node_labels(y, self.n_labels, len(truth), f"{self._owner}: y")
        known = truth != UNLABELLED
        for p in np.flatnonzero(known & (labels == UNLABELLED))[:1]:
            raise InputError(f"{self._owner}: y has no label at node {p}, which has one in y_true")
        costs = self.cost[truth[known], labels[known]]
        return float(costs.sum() / max(known.sum(), 1) if self.normalize else costs.sum())


class PairWeights(LabelGraph):
    """Base of the graph models in which every pair of labels of two neighbours has weights of its own.

    With ``symmetric`` the pairs (a, b) and (b, a) share theirs, and the pairs ``a <= b`` are numbered row by row.
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
        """(G, K, K) weights W of pairs of labels."""
        K = int(self.n_labels or 0)
        return w[int(self.n_features or 0) * K :].reshape(-1, self.n_pairs)[:, self._pairs()]

    def _message_operations(self, data: LabelGraphData, sweeps: Any) -> float:
        """Additions for the scores of all parts, and for so many messages along every link of a graph (or of each)."""
        K, Q = data.n_labels, data.n_pairs
        messages = np.sum(sweeps * np.diff(data.link_off))
        return float(K * len(data.values) + Q * len(data.edge_values) + K * K * messages)


def summed(rows: Rows, column: np.ndarray, n_rows: int, n_columns: int) -> np.ndarray:
    """(n_rows, n_columns) sums of feature rows, each added to its column; those of a negative one are left out."""
    out = np.zeros((n_rows, n_columns))
    spread = np.repeat(column, np.diff(rows.indptr))
    kept = spread >= 0
    np.add.at(out, (rows.indices[kept], spread[kept]), rows.values[kept])
    return out


def own_features(rows: Rows, row_off: np.ndarray, n_features: int) -> dict[str, np.ndarray]:
    """Rows whose features are numbered block by block; ``row_off`` (n + 1,) are the rows of the blocks."""
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
    """The links of all graphs, one after the other, as fields of the record."""
    names = ("link", "order", "middle", "lo", "hi", "arc")
    arrays = {name: stacked([getattr(one, name) for one in layouts], np.int64) for name in names}
    return arrays | {
        "flip": stacked([one.flip for one in layouts], np.bool_),
        "link_first": stacked([one.first for one in layouts], np.int64),
        "link_off": offsets([len(one.lo) for one in layouts]),
        "forest": np.array([one.forest for one in layouts]),
    }


def expansion_scratch(n_nodes: int, n_arcs: int, n_labels: int) -> dict[str, np.ndarray]:
    """What alpha-expansion needs beside maximum flow: the possible labels, and the graph of one cut."""
    nodes = {name: np.zeros(n_nodes, np.int64) for name in ("only", "place", "movable")}
    arcs = {name: np.zeros(n_arcs, np.int32) for name in ("cut_head", "cut_sister", "cut_arc")}
    return {"possible": np.zeros((n_nodes, n_labels)), "cut_off": np.zeros(n_nodes + 1, np.int32), **nodes, **arcs}


def balance(labels: list[np.ndarray], n_labels: int, owner: str, sample_weight: Any = None) -> np.ndarray:
    """(K,) weights ``N / (K N_k)`` of the labels, from the (weighted) numbers N_k of nodes that have them."""
    weight = np.repeat(np.ones(len(labels)) if sample_weight is None else sample_weight, [len(one) for one in labels])
    counts = np.bincount(np.concatenate(labels) + 1, weights=weight, minlength=n_labels + 1)[1:]
    for k in np.flatnonzero(counts == 0)[:1]:
        every = "both labels" if n_labels == 2 else "every label"
        raise InputError(f"{owner}: class_balance needs nodes of {every}, but no node has label {k}")
    return counts.sum() / (n_labels * counts)
