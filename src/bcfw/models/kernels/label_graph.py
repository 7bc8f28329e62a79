"""Kernels that models share in which each node of a graph has one of K labels: records, scores, values, messages.

Parts of a graph with V nodes and E edges are ``z[p, a] = [y_p = a]`` for the nodes, then, for every edge (p, q), Q
parts of which the labeling has the one numbered ``pair[y_p, y_q]``, or none if that is negative; in one vector of
length V K + E Q. What Q and ``pair`` are makes the model: each pair of labels its own part (Q = K^2), unordered pairs
(Q = K (K + 1) / 2), or a single part for unequal labels (Q = 1). The weights are ``w = [U (F, K), W (G, Q)]`` and the
scores

    theta[p, a] = loss of a at p + x_p'U[:, a],        theta[e, k] = f_e'W[:, k].

Nodes without a label and their edges are no parts: packing leaves these edges out, scores of these nodes are zero, and
every labeling is -1 at them.

Features that a block does not have are never looked at: a block numbers its own features (``columns``). Directions, and
the parts of single edges, are in :mod:`bcfw.models.kernels.label_graph_directions`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.kernels.message_passing import Links, Scores
from bcfw.models.kernels.label_graph_directions import (
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
from bcfw.models.kernels.part_vectors import score_part
from bcfw.passes.contract import Data, Work, argmax, upper_bound


class LabelGraphData(NamedTuple):
    """All graphs; nodes, edges and links stacked, their numbers starting at 0 in every graph.

    Attributes
    ----------
    indptr, indices, values : CSR of the (N, F) node features; ``indices`` are the block's own numbers of features
    columns, col_off : features by the numbers of their block, (n + 1,) offsets of the blocks
    edge_indptr, edge_indices, edge_values, edge_columns, edge_col_off : the same of the (E, G) edge features
    y : (N,) true labels, -1 for none
    y_off : (n + 1,) node offsets of the graphs
    part_off : (n + 1,) offsets of the graphs' parts
    left, right : (E,) the nodes that an edge joins
    edge_off : (n + 1,) edge offsets
    pair : (K K,) number of an edge's part by the labels of its two nodes, negative for none
    link, flip : (E,) see :class:`bcfw.inputs.graphs.LinkLayout`
    link_off : (n + 1,) link offsets
    order, middle, lo, hi, arc : stacked, see :class:`bcfw.kernels.message_passing.Links`
    link_first : (N + n,) for each graph with V nodes V + 1 offsets of the nodes' links
    forest : (n,) whether the graph is a forest
    arc_off, head, sister, arc_edge : stacked arcs of the edges, see :class:`bcfw.inputs.graphs.Arcs`; may be empty
    cost : (K, K) loss of predicting the column for the row
    loss_scale : (n,) factor of the summed cost
    effort : (3,) iterations of TRW-S in the oracle, of max-product where that is not tight, of TRW-S for bounds
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
    """Scratch of one thread, for the largest numbers of nodes V, edges E, links L and own features.

    Attributes
    ----------
    theta, d, moved, n_moved, stamp, tick : for V K + E Q parts (see :mod:`bcfw.models.kernels.part_vectors`)
    y : (V,) the current labeling
    node_direction, edge_direction : (own features, K) and (own edge features, Q) features of the direction
    has_features : (1,) whether they are those of the current direction
    T, S, up, down, belief, spare_up, spare_down, h, base, best, trial, rounded, found : see
        :class:`bcfw.kernels.message_passing.Scores`
    cap, excess, tree, parent, dated, dist, next, orphans, queue : see :class:`bcfw.kernels.maxflow.Flow`
    possible : (V, K) 1 for the labels of a node that are not ruled out, else 0
    only : (V,) the only possible label of a node, -1 while there are several; 0 for nodes without label
    place, movable : (V,) number of a node among those that an expansion may move, -1 for none; and these nodes
    cut_off, cut_head, cut_sister : (V + 1,), (2 E,), (2 E,) arcs of the movable nodes, by these numbers
    cut_arc : (2 E,) which of these an arc of the graph is
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
    """Theta of all labels of all nodes, and of all parts of the edges."""
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
    """``out += sum_j values[j] W[columns[indices[j]]]``, W with rows as long as ``out`` at the beginning of w."""
    size = out.shape[0]
    pairs = indices.shape[0] // 2
    for j in range(pairs):
        s, t = values[2 * j], values[2 * j + 1]
        f, g = columns[indices[2 * j]] * size, columns[indices[2 * j + 1]] * size
        one, two = w[f : f + size], w[g : g + size]  # slices vectorise, computed places do not
        for a in range(size):
            out[a] += s * one[a] + t * two[a]
    for j in range(2 * pairs, indices.shape[0]):
        s = values[j]
        f = columns[indices[j]] * size
        one = w[f : f + size]
        for a in range(size):
            out[a] += s * one[a]


def theta_of(data, i, part, w):
    """Theta at one part."""
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
    """``sum_j values[j] w[columns[indices[j]] size]``."""
    total = 0.0
    for j in range(indices.shape[0]):
        total += values[j] * w[columns[indices[j]] * size]
    return total


# --- labelings ---------------------------------------------------------------------------------------------------


def score_labeling(data, i, y, w, work):
    """Theta at the parts of y."""
    for p in range(y.shape[0]):
        if y[p] >= 0:
            score_part(data, i, p * data.n_labels + y[p], w, work)
    for e in range(data.edge_off[i + 1] - data.edge_off[i]):
        part = edge_part(data, i, e, y)
        if part >= 0:
            score_part(data, i, part, w, work)


def value_of(data, i, y, w, work):
    """``theta'z(y)``: loss plus score of y."""
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
    """``loss_scale_i sum_p cost[t_p, y_p]`` over the labelled nodes."""
    start = data.y_off[i]
    total = 0.0
    for p in range(data.y_off[i + 1] - start):
        if data.y[start + p] >= 0:
            total += data.cost[data.y[start + p], work.y[p]]
    return total * data.loss_scale[i]


# --- message passing ---------------------------------------------------------------------------------------------


def links_of(data, i):
    """The links of block i."""
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
    """The scratch of message passing."""
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
    """Scores of the links, with the labels of the earlier node in the rows of T: sums of theta over their edges."""
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
    """Make y the current labeling, without labels where the truth has none."""
    start = data.y_off[i]
    for p in range(data.y_off[i + 1] - start):
        work.y[p] = -1 if data.y[start + p] < 0 else y[p]


def brackets_pass(data_fields, work_fields, w, loss_weight, out):
    """Template: value of the oracle's labeling and an upper bound of all values, (2, n), loss included if weighted."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    for i in range(out.shape[1]):
        scores(data, i, w, loss_weight, work)
        out[0, i] = argmax(data, i, w, work)
        out[1, i] = max(out[0, i], upper_bound(data, i, w, work))


def changes_pass(data_fields, work_fields, w, labels, out):
    """Template: ``out[p, a]``, the score of given flat labels with the label of node p alone changed to a."""
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
    """Theta of the edge whose parts begin at ``first``, for labels a and b."""
    k = data.pair[a * data.n_labels + b]
    return work.theta[first + k] if k >= 0 else 0.0


#: For the kernel sets of models: all that they share beside ``argmax`` and ``upper_bound``.
LABEL_GRAPH_KERNELS = {
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
