"""Forests over labels: reading and checks, an order for dynamic programming, and the Chow-Liu tree of labelings."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree

from bcfw.errors import OptionError
from bcfw.inputs.node_graphs import read_pairs


class Forest(NamedTuple):
    """A rooted forest in the layout that dynamic programming needs.

    Attributes
    ----------
    order : (L,) all nodes; each node comes after its parent
    above : (L,) the parent of each node, -1 for a root
    link : (L,) the edge between each node and its parent, -1 for a root
    stride : (L,) factor of the node's own state in the index of the four joint states of that edge: 2 if the node is
        first in its pair, 1 if it is second; the factor of the parent's state is 3 - stride
    """

    order: np.ndarray
    above: np.ndarray
    link: np.ndarray
    stride: np.ndarray


def read_tree(tree: Any, owner: str) -> np.ndarray:
    """Return the user's pairs of labels as an (E, 2) int64 array."""
    demand = f"{owner}: tree must be None, 'auto' or an (E, 2) array of label pairs"
    return read_pairs(tree, OptionError, demand, "got {dtype} of shape {shape}").astype(np.int64)


def check_forest(edges: np.ndarray, n_labels: int, owner: str, nodes: str = "labels", option: str = "tree") -> None:
    """Raise unless the pairs form a forest; the error names the first pair that is invalid or closes a cycle.

    ``nodes`` and ``option`` are the words for the nodes and for the pairs in the message.
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
    """Return the forest with every tree rooted at its smallest label."""
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
    """Return the (L, L) mutual information of the columns of Y (n, L), which holds 0 and 1.

    ``I(a, b) = sum_{s, t} p_ab(s, t) log(p_ab(s, t) / (p_a(s) p_b(t)))``. The examples may have weights.
    """
    c = np.ones(len(Y)) if weight is None else np.asarray(weight, np.float64)
    total = c.sum()
    sides = [1.0 - Y, np.asarray(Y, np.float64)]
    counts = [c @ side for side in sides]
    information = np.zeros((Y.shape[1], Y.shape[1]))
    for s in (0, 1):
        for t in (0, 1):
            joint = (c[:, None] * sides[s]).T @ sides[t]
            # The ratio uses counts, not rounded probabilities: for a label that never changes, its log is exactly 0.
            ratio = np.divide(joint * total, np.outer(counts[s], counts[t]), out=np.ones_like(joint), where=joint > 0)
            information += joint / total * np.log(ratio)
    return information


def chow_liu_tree(Y: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Return the edges (E, 2) of the maximum spanning tree of the labels' mutual information (Chow and Liu, 1968).

    Pairs with zero mutual information are left out, so a label that is independent of all other labels has no edge.

    Parameters
    ----------
    Y : (n, L) array of 0/1
    weight : (n,) array or None
        Weights of the examples; None gives every example the weight 1.
    """
    tree = minimum_spanning_tree(-np.triu(mutual_information(Y, weight), 1)).tocoo()
    edges = np.column_stack([tree.row, tree.col]).astype(np.int64)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]
