"""Graphs as flat arrays: node features, edges and edge features of all examples, checked one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError
from bcfw.inputs.examples import read_list
from bcfw.inputs.labels import UNLABELLED
from bcfw.inputs.numbers import LARGEST, dense, offsets, real
from bcfw.inputs.rows import Rows, matrix_rows


class Graph(NamedTuple):
    """One graph: rows of (V, F) node features, (E, 2) edges, (E, G) edge features."""

    nodes: Rows
    edges: np.ndarray
    edge_values: np.ndarray

    @property
    def n_nodes(self) -> int:
        return len(self.nodes.indptr) - 1


class Arcs(NamedTuple):
    """The edges of one graph as arcs sorted by tail, two per edge (see :mod:`bcfw.kernels.maxflow`).

    Attributes
    ----------
    off : (V + 1,) where the arcs of a node begin
    head, sister, edge : (2 E,) the node an arc leads to, the arc back, the edge it belongs to
    """

    off: np.ndarray
    head: np.ndarray
    sister: np.ndarray
    edge: np.ndarray


def read_graph(x: Any, where: str) -> Graph:
    """Check and convert ``x = (node_features, edges, edge_features)``; ``where`` names the example in errors."""
    if not isinstance(x, Sequence) or len(x) != 3:
        raise InputError(f"{where} must be a tuple (node_features, edges, edge_features)")
    features, edges, edge_features = x
    nodes = matrix_rows(node_matrix(features, where), where, unit="node")
    n_nodes = len(nodes.indptr) - 1
    if n_nodes == 0:
        raise InputError(f"{where} is a graph without nodes; leave it out")
    ends = read_edges(edges, n_nodes, where)
    return Graph(nodes, ends, read_edge_features(edge_features, len(ends), where))


def node_matrix(features: Any, where: str) -> Any:
    """(V, F) node features, dense or sparse."""
    matrix = features if sp.issparse(features) else real(features, where)
    if matrix.ndim != 2:
        raise InputError(f"{where}: node features must be a (V, F) array, got shape {matrix.shape}")
    return matrix


def read_pairs(edges: Any, error_class: type[Exception], demand: str, got: str) -> np.ndarray:
    """(E, 2) integers as given, or (0, 2) for an empty list of any shape.

    Parameters
    ----------
    edges : what a user gave
    error_class : the error to raise if it is anything else
    demand, got : its message: what is expected, and a format of ``shape`` and ``dtype`` that says what was given
    """
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
    """(E, 2) int32 pairs of different nodes; an empty list of any shape is a graph without edges."""
    demand = f"{where}: edges must be an (E, 2) array of whole numbers"
    array = read_pairs(edges, InputError, demand, "got shape {shape} of {dtype}")
    for e in np.flatnonzero(((array < 0) | (array >= n_nodes)).any(axis=1))[:1]:
        raise InputError(f"{where}: edge {e} joins nodes {array[e].tolist()}; nodes are 0 .. {n_nodes - 1}")
    for e in np.flatnonzero(array[:, 0] == array[:, 1])[:1]:
        raise InputError(f"{where}: edge {e} joins node {array[e, 0]} with itself; leave it out")
    return array.astype(np.int32)


def read_edge_features(edge_features: Any, n_edges: int, where: str) -> np.ndarray:
    """(E, G) finite numbers >= 0."""
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


def read_graphs(X: Any, owner: str) -> list[Graph]:
    """All graphs, with one number of node features and, apart from graphs without edges, of edge features."""
    examples = read_list(X, "X", owner)
    if not examples:
        raise InputError(f"{owner}: X is empty; give at least one graph")
    return [read_graph(x, f"{owner}: example {i}") for i, x in enumerate(examples)]


def edge_feature_count(graphs: Sequence[Graph]) -> int:
    """G, from the first graph that tells it; 0 if none does."""
    return next((count for graph in graphs if (count := graph.edge_values.shape[1])), 0)


def check_sizes(graphs: Sequence[Graph], n_features: int, n_edge_features: int, owner: str) -> None:
    """Raise with the first graph that has another number of features; without edges the second number is free."""
    for i, graph in enumerate(graphs):
        if graph.nodes.n_features != n_features:
            raise InputError(f"{owner}: example {i} has {graph.nodes.n_features} node features, expected {n_features}")
        if len(graph.edges) and graph.edge_values.shape[1] != n_edge_features:
            raise InputError(
                f"{owner}: example {i} has {graph.edge_values.shape[1]} edge features, expected {n_edge_features}"
            )


def without_unlabelled(graph: Graph, labels: np.ndarray) -> Graph:
    """The graph without the edges that touch a node without label."""
    keep = (labels[graph.edges] != UNLABELLED).all(axis=1)
    return graph if keep.all() else graph._replace(edges=graph.edges[keep], edge_values=graph.edge_values[keep])


def make_arcs(edges: np.ndarray, n_nodes: int) -> Arcs:
    """Both directions of every edge, sorted by tail."""
    n_edges = len(edges)
    order = np.argsort(edges.T.ravel(), kind="stable")  # first the arcs p -> q of all edges {p, q}, then q -> p
    place = np.empty(2 * n_edges, np.int32)
    place[order] = np.arange(2 * n_edges)
    off = offsets(np.bincount(edges.ravel(), minlength=n_nodes)).astype(np.int32)
    head = edges[:, ::-1].T.ravel()[order]
    return Arcs(off, head.astype(np.int32), np.roll(place, n_edges)[order], (order % max(n_edges, 1)).astype(np.int32))
