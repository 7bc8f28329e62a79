"""Reading of graphs: node features, edges and edge features as checked arrays, and layouts of edges for the oracles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError
from bcfw.inputs.examples import read_list
from bcfw.inputs.labels import UNLABELLED
from bcfw.inputs.numbers import LARGEST, dense, kept_real, offsets, real, unmasked
from bcfw.inputs.rows import Rows, matrix_rows


class Graph(NamedTuple):
    """One graph with dense edge features: rows of (V, F) node features, (E, 2) edges, an (E, G) array."""

    nodes: Rows
    edges: np.ndarray
    edge_values: np.ndarray

    @property
    def n_nodes(self) -> int:
        return len(self.nodes.indptr) - 1

    @property
    def n_edge_features(self) -> int:
        return int(self.edge_values.shape[1])

    def with_edges(self, chosen: np.ndarray) -> Graph:
        """Return the graph with the chosen edges only."""
        return self._replace(edges=self.edges[chosen], edge_values=self.edge_values[chosen])


class RowGraph(NamedTuple):
    """One graph with sparse edge features: rows of (V, F) node features, (E, 2) edges, rows of (E, G) edge features."""

    nodes: Rows
    edges: np.ndarray
    edge_rows: Rows

    @property
    def n_nodes(self) -> int:
        return self.nodes.n_rows

    @property
    def n_edge_features(self) -> int:
        return self.edge_rows.n_features

    def with_edges(self, chosen: np.ndarray) -> RowGraph:
        """Return the graph with the chosen edges only."""
        return self._replace(edges=self.edges[chosen], edge_rows=self.edge_rows.take(chosen))


AnyGraph = TypeVar("AnyGraph", Graph, RowGraph)


class Arcs(NamedTuple):
    """The edges of one graph as arcs sorted by tail, two per edge (see :mod:`bcfw.algorithms.max_flow`).

    Attributes
    ----------
    off : (V + 1,) index of each node's first arc
    head, sister, edge : (2 E,) the node that an arc leads to, the reverse arc, the edge that the arc belongs to
    """

    off: np.ndarray
    head: np.ndarray
    sister: np.ndarray
    edge: np.ndarray


def read_graph(x: Any, where: str) -> Graph:
    """Return the checked graph ``x = (node_features, edges, edge_features)``; ``where`` names the example in errors."""
    nodes, ends, edge_features = read_nodes_and_edges(x, where)
    return Graph(nodes, ends, read_edge_features(edge_features, len(ends), where))


def read_row_graph(x: Any, where: str, signed: bool = True) -> RowGraph:
    """Return the checked graph x, whose edge features may be sparse, None (a constant) or, if ``signed``, negative."""
    nodes, ends, edge_features = read_nodes_and_edges(x, where)
    return RowGraph(nodes, ends, read_edge_rows(edge_features, len(ends), where, signed))


def one_node(sizes: Mapping[str, Any]) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a graph with a single node, no edges, and ``n_features`` node and ``n_edge_features`` edge features."""
    return sp.csr_array((1, sizes["n_features"])), np.zeros((0, 2), np.int64), np.zeros((0, sizes["n_edge_features"]))


def read_nodes_and_edges(x: Any, where: str) -> tuple[Rows, np.ndarray, Any]:
    """Return the rows of the nodes, the (E, 2) edges, and the edge features as the user gave them."""
    if not isinstance(x, Sequence) or len(x) != 3:
        raise InputError(f"{where} must be a tuple (node_features, edges, edge_features)")
    features, edges, edge_features = x
    nodes = matrix_rows(node_matrix(features, where), where, unit="node").spread()
    n_nodes = len(nodes.indptr) - 1
    if n_nodes == 0:
        raise InputError(f"{where} is a graph without nodes; leave it out")
    return nodes, read_edges(edges, n_nodes, where), edge_features


def node_matrix(features: Any, where: str) -> Any:
    """Return the (V, F) node features, dense or sparse; raise unless they are two-dimensional real numbers."""
    matrix = features if sp.issparse(features) else kept_real(features, where)
    if matrix.ndim != 2:
        raise InputError(f"{where}: node features must be a (V, F) array, got shape {matrix.shape}")
    return matrix


def read_pairs(edges: Any, error_class: type[Exception], demand: str, got: str) -> np.ndarray:
    """Return pairs of integers as an (E, 2) array; (0, 2) for an empty list of any shape.

    Parameters
    ----------
    edges : the value that a user gave
    error_class : class of the error to raise if the value is not an (E, 2) array of integers
    demand, got : parts of the error's message: what is expected, and a format string with the value's ``shape`` and
        ``dtype``
    """
    unmasked(edges, f"{demand}, but it", error_class)
    try:
        array = np.asarray(edges)
    except ValueError as error:
        raise error_class(f"{demand} ({error})") from error
    if array.size == 0:
        return np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise error_class(f"{demand}, {got.format(shape=array.shape, dtype=array.dtype)}")
    return array


def read_edges(edges: Any, n_nodes: int, where: str) -> np.ndarray:
    """Return the edges as (E, 2) int32 pairs of different nodes; an empty list of any shape means no edges."""
    demand = f"{where}: edges must be an (E, 2) array of whole numbers"
    array = read_pairs(edges, InputError, demand, "got shape {shape} of {dtype}")
    for e in np.flatnonzero(((array < 0) | (array >= n_nodes)).any(axis=1))[:1]:
        raise InputError(f"{where}: edge {e} joins nodes {array[e].tolist()}; nodes are 0 .. {n_nodes - 1}")
    for e in np.flatnonzero(array[:, 0] == array[:, 1])[:1]:
        raise InputError(f"{where}: edge {e} joins node {array[e, 0]} with itself; leave it out")
    return array.astype(np.int32)


def read_edge_features(edge_features: Any, n_edges: int, where: str) -> np.ndarray:
    """Return edge features as an (E, G) array of finite numbers >= 0."""
    array = real(dense(edge_features), where, "edge_features")
    if n_edges == 0 and array.size == 0:
        return np.zeros((0, array.shape[1] if array.ndim == 2 else 0))
    if array.ndim != 2 or len(array) != n_edges:
        raise InputError(f"{where}: edge features must have shape ({n_edges}, G), got {array.shape}")
    for e in np.flatnonzero(~((array >= 0) & (array <= LARGEST)).all(axis=1))[:1]:
        raise InputError(
            f"{where}: edge {e} has features {array[e].tolist()}; they must be finite and >= 0 (and <= {LARGEST:g})"
        )
    return array


def read_edge_rows(edge_features: Any, n_edges: int, where: str, signed: bool) -> Rows:
    """Return edge features, (E, G) finite numbers, dense or sparse, as rows; None is one feature that is always 1.

    Unless ``signed``, raise for negative features.
    """
    if edge_features is None:
        edge_features = np.ones((n_edges, 1))
    matrix = edge_features if sp.issparse(edge_features) else real(edge_features, where, "edge_features")
    if n_edges == 0 and 0 in matrix.shape:
        matrix = np.zeros((0, matrix.shape[1] if matrix.ndim == 2 else 0))
    if matrix.ndim != 2 or matrix.shape[0] != n_edges:
        raise InputError(f"{where}: edge features must have shape ({n_edges}, G), got {matrix.shape}")
    rows = matrix_rows(matrix, where, unit="edge").spread(np.float64)
    for k in np.flatnonzero(rows.values < 0)[: 0 if signed else 1]:
        e = int(np.searchsorted(rows.indptr, k, side="right")) - 1
        raise InputError(f"{where}: edge {e} has {rows.values[k]:g} in feature {rows.indices[k]}; it must be >= 0")
    return rows


def read_graphs(X: Any, owner: str, read: Callable[[Any, str], AnyGraph]) -> list[AnyGraph]:
    """Return all graphs of X, each read by the function ``read``."""
    examples = read_list(X, "X", owner)
    if not examples:
        raise InputError(f"{owner}: X is empty; give at least one graph")
    return [read(x, f"{owner}: example {i}") for i, x in enumerate(examples)]


def edge_feature_count(graphs: Sequence[Graph | RowGraph]) -> int:
    """Return the number G of edge features of the first graph that has any; 0 if no graph has edge features."""
    return next((count for graph in graphs if (count := graph.n_edge_features)), 0)


def check_sizes(graphs: Sequence[Graph | RowGraph], n_features: int, n_edge_features: int, owner: str) -> None:
    """Raise unless every graph has the given numbers of features; edge features count only in graphs with edges."""
    for i, graph in enumerate(graphs):
        if graph.nodes.n_features != n_features:
            raise InputError(f"{owner}: example {i} has {graph.nodes.n_features} node features, expected {n_features}")
        if len(graph.edges) and graph.n_edge_features != n_edge_features:
            raise InputError(
                f"{owner}: example {i} has {graph.n_edge_features} edge features, expected {n_edge_features}"
            )


def without_unlabelled(graph: AnyGraph, labels: np.ndarray) -> AnyGraph:
    """Return the graph without the edges at nodes that have no label."""
    keep = (labels[graph.edges] != UNLABELLED).all(axis=1)
    return graph if keep.all() else graph.with_edges(np.flatnonzero(keep))  # type: ignore[return-value]


def make_arcs(edges: np.ndarray, n_nodes: int) -> Arcs:
    """Return the arcs of a graph: both directions of every edge, sorted by tail."""
    n_edges = len(edges)
    order = np.argsort(edges.T.ravel(), kind="stable")  # order of the arcs p -> q, followed by q -> p
    place = np.empty(2 * n_edges, np.int32)
    place[order] = np.arange(2 * n_edges)
    off = offsets(np.bincount(edges.ravel(), minlength=n_nodes)).astype(np.int32)
    head = edges[:, ::-1].T.ravel()[order]
    return Arcs(off, head.astype(np.int32), np.roll(place, n_edges)[order], (order % max(n_edges, 1)).astype(np.int32))


def closing_edge(edges: np.ndarray, n_nodes: int) -> int:
    """Return the first edge that closes a cycle, -1 if there is none; parallel edges count as one edge."""
    above, seen = list(range(n_nodes)), set()

    def root(node: int) -> int:
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    for e, (p, q) in enumerate(np.sort(edges, axis=1).tolist()):
        if (p, q) not in seen:
            seen.add((p, q))
            one, two = root(p), root(q)
            if one == two:
                return e
            above[one] = two
    return -1


class LinkLayout(NamedTuple):
    """One graph in the layout of :mod:`bcfw.algorithms.message_passing`; all edges between two nodes form one link.

    Attributes
    ----------
    link : (E,) the link that each edge belongs to
    flip : (E,) whether the edge was given from the later node to the earlier node of the order
    order, lo, hi, first, middle, arc : see :class:`bcfw.algorithms.message_passing.Links`
    forest : whether the links form no cycle; then each node has at most one link to earlier nodes
    """

    link: np.ndarray
    flip: np.ndarray
    order: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    first: np.ndarray
    middle: np.ndarray
    arc: np.ndarray
    forest: bool


def make_links(edges: np.ndarray, n_nodes: int) -> LinkLayout:
    """Return the links of a graph. Nodes keep their order; in a forest, each tree is in breadth-first order."""
    pairs, link = np.unique(np.sort(edges, axis=1).astype(np.int64), axis=0, return_inverse=True)
    n_links = len(pairs)
    matrix = sp.csr_array((np.ones(n_links), (pairs[:, 0], pairs[:, 1])), shape=(n_nodes, n_nodes))
    n_trees, tree = sp.csgraph.connected_components(matrix, directed=False)
    forest = n_links == n_nodes - n_trees
    order = np.arange(n_nodes)
    if forest and n_links:
        roots = np.unique(tree, return_index=True)[1]
        found = [sp.csgraph.breadth_first_order(matrix, root, directed=False)[0] for root in roots]
        order = np.concatenate(found).astype(np.int64)
    rank = np.argsort(order)
    swap = rank[pairs[:, 0]] > rank[pairs[:, 1]]
    lo, hi = np.where(swap, pairs[:, 1], pairs[:, 0]), np.where(swap, pairs[:, 0], pairs[:, 1])
    nodes = np.concatenate([hi, lo])  # each node's links to earlier nodes come before its links to later nodes
    first = offsets(np.bincount(nodes, minlength=n_nodes))
    middle = first[:-1] + np.bincount(hi, minlength=n_nodes)
    arc = np.argsort(nodes, kind="stable") % max(n_links, 1)
    flip = rank[edges[:, 0]] > rank[edges[:, 1]]
    return LinkLayout(link.ravel(), flip, order, lo, hi, first, middle, arc, bool(forest))
