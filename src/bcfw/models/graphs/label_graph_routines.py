"""Shared routines of graph models in which each node has one of K labels: records, scores, values, message passing.

The parts of a graph with V nodes and E edges form one vector of length V K + E Q. First come ``z[p, a] = [y_p = a]``
for the nodes. Then every edge (p, q) has Q parts; the labeling has the part with the number ``pair[y_p, y_q]``, or no
part if this number is negative. The models differ in Q and ``pair``: each pair of labels has its own part (Q = K^2),
each unordered pair has its own part (Q = K (K + 1) / 2), or unequal labels have one part (Q = 1). The weights are
``w = [U (F, K), W (G, Q)]``, and the scores are

    theta[p, a] = loss of a at p + x_p'U[:, a],        theta[e, k] = f_e'W[:, k].

A node without a label is ignored: its scores are zero, every labeling is -1 there, and packing leaves out its edges.

Features that no node of a block has cost nothing: each block numbers its own features (``columns``). Directions, and
the parts of single edges, are in :mod:`bcfw.models.graphs.label_graph_directions`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.algorithms.message_passing import Links, Scores
from bcfw.models.graphs.label_graph_directions import (
    add_parts,
    apply,
    clear_rows,
    difference,
    edge_part,
    end_direction,
    sqnorm,
    start_direction,
    touched,
)
from bcfw.models.shared.part_vectors import score_part
from bcfw.passes.contract import Data, Work, argmax, upper_bound


class LabelGraphData(NamedTuple):
    """All graphs; nodes, edges and links are stacked and numbered from 0 in every graph.

    Attributes
    ----------
    indptr, indices, values : CSR of the (N, F) node features; ``indices`` are the block's own numbers of features
    columns, col_off : the feature that each block's own number stands for, and (n + 1,) offsets of the blocks
    edge_indptr, edge_indices, edge_values, edge_columns, edge_col_off : the five fields above, for the (E, G) edge
        features
    y : (N,) true labels, -1 for none
    y_off : (n + 1,) node offsets of the graphs
    part_off : (n + 1,) offsets of the graphs' parts
    left, right : (E,) the two nodes of each edge
    edge_off : (n + 1,) edge offsets
    pair : (K K,) number of an edge's part for each pair of labels of its nodes, negative if there is no part
    link, flip : (E,) see :class:`bcfw.inputs.node_graphs.LinkLayout`
    link_off : (n + 1,) link offsets
    order, middle, lo, hi, arc : stacked, see :class:`bcfw.algorithms.message_passing.Links`
    link_first : (N + n,) for each graph with V nodes, V + 1 offsets of the nodes' links
    forest : (n,) whether the graph is a forest
    arc_off, head, sister, arc_edge : stacked arcs of the edges, see :class:`bcfw.inputs.node_graphs.Arcs`; may be empty
    cost : (K, K) ``cost[truth, prediction]``
    loss_scale : (n,) factor of the summed cost
    effort : (3,) iterations of TRW-S in the oracle, of max-product if TRW-S is not tight, and of TRW-S for bounds
    n_features, n_labels, n_pairs : F, K, Q
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    columns: np.ndarray
    col_off: np.ndarray
    edge_indptr: np.ndarray
    edge_indices: np.ndarray
    edge_values: np.ndarray
    edge_columns: np.ndarray
    edge_col_off: np.ndarray
    y: np.ndarray
    y_off: np.ndarray
    part_off: np.ndarray
    left: np.ndarray
    right: np.ndarray
    edge_off: np.ndarray
    pair: np.ndarray
    link: np.ndarray
    flip: np.ndarray
    link_off: np.ndarray
    order: np.ndarray
    middle: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    arc: np.ndarray
    link_first: np.ndarray
    forest: np.ndarray
    arc_off: np.ndarray
    head: np.ndarray
    sister: np.ndarray
    arc_edge: np.ndarray
    cost: np.ndarray
    loss_scale: np.ndarray
    effort: np.ndarray
    n_features: int
    n_labels: int
    n_pairs: int


class LabelGraphWork(NamedTuple):
    """Scratch of one thread, for the largest numbers of nodes V, edges E, links L and features of a block.

    Attributes
    ----------
    theta, d, moved, n_moved, stamp, tick : for V K + E Q parts (see :mod:`bcfw.models.shared.part_vectors`)
    y : (V,) the current labeling
    node_direction, edge_direction : (features of the block, K) and (edge features of the block, Q), the features
        ``B_i d`` of the direction
    has_features : (1,) 1 if these features belong to the current direction, else 0
    T, S, up, down, belief, spare_up, spare_down, h, base, best, trial, rounded, found : see
        :class:`bcfw.algorithms.message_passing.Scores`
    cap, excess, tree, parent, dated, dist, next, orphans, queue : see :class:`bcfw.algorithms.max_flow.Flow`
    possible : (V, K) 1 for the labels of a node that are not ruled out, else 0
    only : (V,) the only possible label of a node, -1 if several labels are possible; 0 for nodes without a label
    movable : (V,) the nodes that an expansion may move
    place : (V,) the number of each node in ``movable``, -1 if it may not move
    cut_off, cut_head, cut_sister : (V + 1,), (2 E,), (2 E,) the arcs between movable nodes, numbered as in ``movable``
    cut_arc : (2 E,) the number that an arc of the graph has among the arcs between movable nodes
    """

    theta: np.ndarray
    d: np.ndarray
    moved: np.ndarray
    n_moved: np.ndarray
    stamp: np.ndarray
    tick: np.ndarray
    y: np.ndarray
    node_direction: np.ndarray
    edge_direction: np.ndarray
    has_features: np.ndarray
    T: np.ndarray
    S: np.ndarray
    up: np.ndarray
    down: np.ndarray
    belief: np.ndarray
    spare_up: np.ndarray
    spare_down: np.ndarray
    h: np.ndarray
    base: np.ndarray
    best: np.ndarray
    trial: np.ndarray
    rounded: np.ndarray
    found: np.ndarray
    cap: np.ndarray
    excess: np.ndarray
    tree: np.ndarray
    parent: np.ndarray
    dated: np.ndarray
    dist: np.ndarray
    next: np.ndarray
    orphans: np.ndarray
    queue: np.ndarray
    possible: np.ndarray
    only: np.ndarray
    place: np.ndarray
    movable: np.ndarray
    cut_off: np.ndarray
    cut_head: np.ndarray
    cut_sister: np.ndarray
    cut_arc: np.ndarray


# --- scores ------------------------------------------------------------------------------------------------------


def scores(data, i, w, loss_weight, work):
    """Write theta of all labels of all nodes, and of all parts of the edges."""
    K, Q = data.n_labels, data.n_pairs
    start = data.y_off[i]
    V = data.y_off[i + 1] - start
    columns = data.columns[data.col_off[i] : data.col_off[i + 1]]
    for p in range(V):
        row = work.theta[p * K : p * K + K]
        truth = data.y[start + p]
        for a in range(K):
            row[a] = 0.0
        if truth >= 0:
            for a in range(K):
                row[a] = loss_weight * data.loss_scale[i] * data.cost[truth, a]
            first, stop = data.indptr[start + p], data.indptr[start + p + 1]
            add_weights(data.indices[first:stop], data.values[first:stop], columns, w, row)
    weights = w[data.n_features * K :]
    edge_columns = data.edge_columns[data.edge_col_off[i] : data.edge_col_off[i + 1]]
    for e in range(data.edge_off[i + 1] - data.edge_off[i]):
        row = work.theta[V * K + e * Q : V * K + e * Q + Q]
        for k in range(Q):
            row[k] = 0.0
        first, stop = data.edge_indptr[data.edge_off[i] + e], data.edge_indptr[data.edge_off[i] + e + 1]
        add_weights(data.edge_indices[first:stop], data.edge_values[first:stop], edge_columns, weights, row)


def add_weights(indices, values, columns, w, out):
    """Add ``sum_j values[j] W[columns[indices[j]]]`` to ``out``; w begins with W, whose rows are as long as ``out``."""
    size = out.shape[0]
    pairs = indices.shape[0] // 2
    for j in range(pairs):
        s, t = values[2 * j], values[2 * j + 1]
        f, g = columns[indices[2 * j]] * size, columns[indices[2 * j + 1]] * size
        one, two = w[f : f + size], w[g : g + size]  # slices vectorise, computed indices do not
        for a in range(size):
            out[a] += s * one[a] + t * two[a]
    for j in range(2 * pairs, indices.shape[0]):
        s = values[j]
        f = columns[indices[j]] * size
        one = w[f : f + size]
        for a in range(size):
            out[a] += s * one[a]


def theta_of(data, i, part, w):
    """Return theta at one part."""
    K, Q = data.n_labels, data.n_pairs
    start = data.y_off[i]
    V = data.y_off[i + 1] - start
    if part >= V * K:
        e = (part - V * K) // Q
        k = (part - V * K) % Q
        first, stop = data.edge_indptr[data.edge_off[i] + e], data.edge_indptr[data.edge_off[i] + e + 1]
        columns = data.edge_columns[data.edge_col_off[i] : data.edge_col_off[i + 1]]
        weights = w[data.n_features * K + k :]
        return column_sum(data.edge_indices[first:stop], data.edge_values[first:stop], columns, weights, Q)
    p = part // K
    a = part % K
    truth = data.y[start + p]
    if truth < 0:
        return 0.0
    first, stop = data.indptr[start + p], data.indptr[start + p + 1]
    columns = data.columns[data.col_off[i] : data.col_off[i + 1]]
    total = column_sum(data.indices[first:stop], data.values[first:stop], columns, w[a:], K)
    return data.loss_scale[i] * data.cost[truth, a] + total


def column_sum(indices, values, columns, w, size):
    """Return ``sum_j values[j] w[columns[indices[j]] size]``."""
    total = 0.0
    for j in range(indices.shape[0]):
        total += values[j] * w[columns[indices[j]] * size]
    return total


# --- labelings ---------------------------------------------------------------------------------------------------


def score_labeling(data, i, y, w, work):
    """Compute theta at the parts of y where it is still unknown."""
    for p in range(y.shape[0]):
        if y[p] >= 0:
            score_part(data, i, p * data.n_labels + y[p], w, work)
    for e in range(data.edge_off[i + 1] - data.edge_off[i]):
        part = edge_part(data, i, e, y)
        if part >= 0:
            score_part(data, i, part, w, work)


def value_of(data, i, y, w, work):
    """Return ``theta'z(y)``, the loss plus the score of y."""
    total = 0.0
    for p in range(y.shape[0]):
        if y[p] >= 0:
            total += work.theta[p * data.n_labels + y[p]]
    for e in range(data.edge_off[i + 1] - data.edge_off[i]):
        part = edge_part(data, i, e, y)
        if part >= 0:
            total += work.theta[part]
    return total


def loss(data, i, work):
    """Return ``loss_scale_i sum_p cost[t_p, y_p]`` over the labelled nodes."""
    start = data.y_off[i]
    total = 0.0
    for p in range(data.y_off[i + 1] - start):
        if data.y[start + p] >= 0:
            total += data.cost[data.y[start + p], work.y[p]]
    return total * data.loss_scale[i]


# --- message passing ---------------------------------------------------------------------------------------------


def links_of(data, i):
    """Return the links of block i, views of the packed arrays."""
    start, stop = data.y_off[i], data.y_off[i + 1]
    first, last = data.link_off[i], data.link_off[i + 1]
    return Links(
        data.order[start:stop],
        data.lo[first:last],
        data.hi[first:last],
        data.link_first[start + i : stop + i + 1],
        data.middle[start:stop],
        data.arc[2 * first : 2 * last],
    )


def scores_of(work):
    """Return the scratch arrays of message passing."""
    return Scores(
        work.theta,
        work.T,
        work.S,
        work.up,
        work.down,
        work.belief,
        work.spare_up,
        work.spare_down,
        work.h,
        work.base,
        work.best,
        work.trial,
        work.rounded,
        work.found,
    )


def set_tables(data, i, work):
    """Write the scores of the links, sums of theta over their edges, to the tables T and their transposes S.

    The labels of the earlier node of a link are the rows of T.
    """
    K, Q = data.n_labels, data.n_pairs
    n_node_parts = (data.y_off[i + 1] - data.y_off[i]) * K
    for link in range(data.link_off[i + 1] - data.link_off[i]):
        clear_rows(work.T[link], K)
    for e in range(data.edge_off[i + 1] - data.edge_off[i]):
        theta = work.theta[n_node_parts + e * Q : n_node_parts + e * Q + Q]
        table = work.T[data.link[data.edge_off[i] + e]]
        flip = data.flip[data.edge_off[i] + e]
        for a in range(K):
            for b in range(K):
                k = data.pair[b * K + a] if flip else data.pair[a * K + b]
                if k >= 0:
                    table[a, b] += theta[k]
    for link in range(data.link_off[i + 1] - data.link_off[i]):
        for a in range(K):
            for b in range(K):
                work.S[link, b, a] = work.T[link, a, b]


def take_labels(data, i, y, work):
    """Make y the current labeling, with -1 at nodes where the truth has no label."""
    start = data.y_off[i]
    for p in range(data.y_off[i + 1] - start):
        work.y[p] = -1 if data.y[start + p] < 0 else y[p]


def brackets_pass(data_fields, work_fields, w, loss_weight, out):
    """Template: write the value of the oracle's labeling and an upper bound of all values to ``out`` (2, n).

    Values include the loss times ``loss_weight``.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    for i in range(out.shape[1]):
        scores(data, i, w, loss_weight, work)
        out[0, i] = argmax(data, i, w, work)
        out[1, i] = max(out[0, i], upper_bound(data, i, w, work))


def changes_pass(data_fields, work_fields, w, labels, out):
    """Template: write to ``out[p, a]`` the score of the given flat labels if only the label of node p changes, to a."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    K, Q = data.n_labels, data.n_pairs
    for i in range(data.y_off.shape[0] - 1):
        start = data.y_off[i]
        V = data.y_off[i + 1] - start
        y = labels[start : start + V]
        scores(data, i, w, 0.0, work)
        value = value_of(data, i, y, w, work)
        for p in range(V):
            for a in range(K):
                out[start + p, a] = value + work.theta[p * K + a] - work.theta[p * K + y[p]]
        for e in range(data.edge_off[i + 1] - data.edge_off[i]):
            p, q = data.left[data.edge_off[i] + e], data.right[data.edge_off[i] + e]
            before = pair_score(data, V * K + e * Q, y[p], y[q], work)
            for a in range(K):
                out[start + p, a] += pair_score(data, V * K + e * Q, a, y[q], work) - before
                out[start + q, a] += pair_score(data, V * K + e * Q, y[p], a, work) - before


def pair_score(data, first, a, b, work):
    """Return theta of the edge whose parts begin at ``first``, for the labels a and b of its nodes."""
    k = data.pair[a * data.n_labels + b]
    return work.theta[first + k] if k >= 0 else 0.0


#: To be added to the routines of graph models, which add ``argmax`` and ``upper_bound``.
LABEL_GRAPH_ROUTINES = {
    "Data": LabelGraphData,
    "Work": LabelGraphWork,
    "scores": scores,
    "theta_of": theta_of,
    "score_labeling": score_labeling,
    "value_of": value_of,
    "loss": loss,
    "start_direction": start_direction,
    "add_parts": add_parts,
    "end_direction": end_direction,
    "difference": difference,
    "sqnorm": sqnorm,
    "apply": apply,
    "touched": touched,
}
