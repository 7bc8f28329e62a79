"""Forests over labels: checks, an order for dynamic programming, and Chow and Liu's tree of a set of labelings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree

from bcfw.errors import OptionError
from bcfw.inputs.graphs import read_pairs


class Forest(NamedTuple):
    """A forest with a root in every tree, as dynamic programs read it.

    Attributes
    ----------
    order : (L,) nodes, each after the one above it
    above : (L,) the node above, -1 for a root
    link : (L,) the edge to the node above, -1 for a root
    stride : (L,) how far the node's own state counts in the four joint states of that edge: 2 if the node comes first
        in its pair, 1 if second; the state above counts 3 - stride
    """

    order: np.ndarray
    above: np.ndarray
    link: np.ndarray
    stride: np.ndarray


def read_tree(tree: Any, owner: str) -> np.ndarray:
    """(E, 2) int64 array of the pairs that a user gave."""
    demand = f"{owner}: tree must be None, 'auto' or an (E, 2) array of label pairs"
    return read_pairs(tree, OptionError, demand, "got {dtype} of shape {shape}").astype(np.int64)


def check_forest(edges: np.ndarray, n_labels: int, owner: str, nodes: str = "labels", option: str = "tree") -> None:
    """Raise with the first pair that is no pair of two nodes, or that closes a cycle.

    ``nodes`` and ``option`` are what messages call the nodes and the pairs.
    """
    root = np.arange(n_labels)
    for e, (a, b) in enumerate(edges.tolist()):
        if not (0 <= a < n_labels and 0 <= b < n_labels) or a == b:
            raise OptionError(
                f"{owner}: edge {e} of {option} is ({a}, {b}); it must join two different {nodes} of "
                f"0 .. {n_labels - 1}"
            )
        if root[a] == root[b]:
            raise OptionError(f"{owner}: edge {e} of {option}, ({a}, {b}), closes a cycle; leave it out")
        root[root == root[b]] = root[a]


def orient(edges: np.ndarray, n_labels: int) -> Forest:
    """Root every tree of a forest at its smallest label."""
    neighbours: list[list[tuple[int, int, int]]] = [[] for _ in range(n_labels)]
    for e, (a, b) in enumerate(edges.tolist()):
        neighbours[a].append((b, e, 1))
        neighbours[b].append((a, e, 2))
    above, link, stride = np.full(n_labels, -1), np.full(n_labels, -1), np.zeros(n_labels, np.int64)
    order: list[int] = []
    seen = np.zeros(n_labels, bool)
    for root in range(n_labels):
        waiting = [] if seen[root] else [root]
        while waiting:
            node = waiting.pop()
            seen[node] = True
            order.append(node)
            for below, e, place in neighbours[node]:
                if not seen[below]:
                    above[below], link[below], stride[below] = node, e, place
                    waiting.append(below)
    return Forest(np.array(order, np.int64), above, link, stride)


def mutual_information(Y: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """(L, L) ``I(a, b) = sum_{s, t} p_ab(s, t) log(p_ab(s, t) / (p_a(s) p_b(t)))`` of the columns of Y (n, L), 0/1."""
    c = np.ones(len(Y)) if weight is None else np.asarray(weight, np.float64)
    total = c.sum()
    sides = [1.0 - Y, np.asarray(Y, np.float64)]
    counts = [c @ side for side in sides]
    information = np.zeros((Y.shape[1], Y.shape[1]))
    for s in (0, 1):
        for t in (0, 1):
            joint = (c[:, None] * sides[s]).T @ sides[t]
            # Without ratios of rounded probabilities the logarithm is exactly 0 for a label that never changes.
            ratio = np.divide(joint * total, np.outer(counts[s], counts[t]), out=np.ones_like(joint), where=joint > 0)
            information += joint / total * np.log(ratio)
    return information


def chow_liu_tree(Y: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Edges (E, 2) of the maximum spanning tree of the labels' mutual information (Chow and Liu, 1968).

    Pairs without mutual information are left out, so a label that is independent of all others stays alone.

    Parameters
    ----------
    Y : (n, L) array of 0/1
    weight : (n,) array or None
        Weights of the examples, 1 for None.
    """
    tree = minimum_spanning_tree(-np.triu(mutual_information(Y, weight), 1)).tocoo()
    edges = np.column_stack([tree.row, tree.col]).astype(np.int64)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]
