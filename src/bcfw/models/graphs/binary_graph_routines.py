"""Routines of binary graph models: scores, minimum cut, and directions in part space.

The parts of a graph with V nodes and E edges describe the difference between a labeling y and the truth t:
``z_p = y_p - t_p`` for the nodes and ``z_e = [y_p != y_q] - [t_p != t_q]`` for the edges, in one vector of length
V + E, nodes first. The truth has z = 0, so that ``theta'z(y)`` is H(y). The scores are ``theta_p``, the score of label
1 at node p minus the score of label 0, and ``theta_e = -<w_edge, f_e>``. A node without a label is ignored: every
labeling is -1 there, and packing leaves out its edges.

Features that no node of a block has cost nothing: each block numbers its own features (``columns``), and the vectors
over features in the scratch are indexed by these numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.algorithms.max_flow import SOURCE, Flow, max_flow
from bcfw.models.shared.labelings import labeling_value, slot_offset
from bcfw.models.shared.part_vectors import list_moved, start_direction


class BinaryGraphData(NamedTuple):
    """All graphs; nodes, edges and arcs are stacked and numbered from 0 in every graph.

    Attributes
    ----------
    indptr, indices, values : CSR of the (N, F) node features; ``indices`` are the block's own numbers of features
    columns, col_off : the feature that each block's own number stands for, and (n + 1,) offsets of the blocks
    y : (N,) true labels, -1 for none
    y_off : (n + 1,) node offsets of the graphs
    part_off : (n + 1,) offsets of the graphs' parts, ``y_off + edge_off``
    left, right : (E,) the two nodes of each edge
    edge_values : (E, G) edge features
    edge_off : (n + 1,) edge offsets of the graphs; the arc offsets are twice these
    arc_off : (N + n,) for each graph with V nodes, V + 1 offsets of the nodes' arcs
    head, sister, arc_edge : (2 E,) for each arc: the node that it leads to, the reverse arc, the edge
    cost : (2, 2) ``cost[truth, prediction]``
    loss_scale : (n,) factor of the summed cost
    n_features : F
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    columns: np.ndarray
    col_off: np.ndarray
    y: np.ndarray
    y_off: np.ndarray
    part_off: np.ndarray
    left: np.ndarray
    right: np.ndarray
    edge_values: np.ndarray
    edge_off: np.ndarray
    arc_off: np.ndarray
    head: np.ndarray
    sister: np.ndarray
    arc_edge: np.ndarray
    cost: np.ndarray
    loss_scale: np.ndarray
    n_features: int


class BinaryGraphWork(NamedTuple):
    """Scratch of one thread, for the largest numbers of nodes V, edges E and features S of a block.

    Attributes
    ----------
    theta, d, moved, n_moved : for V + E parts (see :mod:`bcfw.models.shared.part_vectors`)
    base : (1,) score of the truth
    y : (V,) the current labeling
    contrast : (S,) weight of label 1 minus weight of label 0, for each feature of the block
    node_direction, edge_direction : (S,) and (G,) features ``B_i d`` of the direction, for label 1 and for the edges
    has_features : (1,) 1 if these features belong to the current direction, else 0
    cap, excess, tree, parent, dated, dist, next, orphans, queue : see :class:`bcfw.algorithms.max_flow.Flow`
    """

    theta: np.ndarray
    d: np.ndarray
    moved: np.ndarray
    n_moved: np.ndarray
    base: np.ndarray
    y: np.ndarray
    contrast: np.ndarray
    node_direction: np.ndarray
    edge_direction: np.ndarray
    has_features: np.ndarray
    cap: np.ndarray
    excess: np.ndarray
    tree: np.ndarray
    parent: np.ndarray
    dated: np.ndarray
    dist: np.ndarray
    next: np.ndarray
    orphans: np.ndarray
    queue: np.ndarray


def scores(data, i, w, loss_weight, work):
    """Write theta of all nodes and edges, and the score of the truth."""
    set_contrast(data, i, w, work)
    V = data.y_off[i + 1] - data.y_off[i]
    for p in range(V):
        work.theta[p] = node_score(data, i, p, loss_weight, work)
    for e in range(data.edge_off[i + 1] - data.edge_off[i]):
        work.theta[V + e] = edge_score(data, i, e, w)
    work.base[0] = 0.0
    work.base[0] = value_of(data, i, data.y[data.y_off[i] : data.y_off[i + 1]], w, work)


def set_contrast(data, i, w, work):
    """Write the weight of label 1 minus the weight of label 0, for each feature of the block."""
    columns = data.columns[data.col_off[i] : data.col_off[i + 1]]
    for j in range(columns.shape[0]):
        work.contrast[j] = w[2 * columns[j] + 1] - w[2 * columns[j]]


def node_score(data, i, p, loss_weight, work):
    """Return ``theta_p = loss_weight l_p + x_p'(U[:, 1] - U[:, 0])``; zero if node p has no label."""
    node = data.y_off[i] + p
    truth = data.y[node]
    if truth < 0:
        return 0.0
    total = loss_weight * data.loss_scale[i] * (data.cost[truth, 1] - data.cost[truth, 0])
    indices = data.indices[data.indptr[node] : data.indptr[node + 1]]
    values = data.values[data.indptr[node] : data.indptr[node + 1]]
    for j in range(indices.shape[0]):
        total += values[j] * work.contrast[indices[j]]
    return total


def edge_score(data, i, e, w):
    """Return ``theta_e = -<w_edge, f_e>``."""
    values = data.edge_values[data.edge_off[i] + e]
    weights = w[2 * data.n_features :]
    total = 0.0
    for g in range(values.shape[0]):
        total -= values[g] * weights[g]
    return total


def argmax(data, i, w, work):
    """Find the best labeling by a minimum cut: nodes on the source's side get label 1."""
    start = data.y_off[i]
    V = data.y_off[i + 1] - start
    first = 2 * data.edge_off[i]
    stop = 2 * data.edge_off[i + 1]
    for p in range(V):
        work.excess[p] = work.theta[p]
    for a in range(stop - first):
        work.cap[a] = -work.theta[V + data.arc_edge[first + a]]
    max_flow(
        data.arc_off[start + i : start + i + V + 1],
        data.head[first:stop],
        data.sister[first:stop],
        Flow(
            work.cap,
            work.excess,
            work.tree,
            work.parent,
            work.dated,
            work.dist,
            work.next,
            work.orphans,
            work.queue,
        ),
    )
    for p in range(V):
        work.y[p] = -1 if data.y[start + p] < 0 else int(work.tree[p] == SOURCE)
    return labeling_value(data, i, w, work)


def truth_value(data, i, w, work):
    """Return zero, because ``z(y_i) = 0``."""
    return 0.0


def loss(data, i, work):
    """Return ``loss_scale_i sum_p cost[t_p, y_p]`` over the labelled nodes."""
    start = data.y_off[i]
    total = 0.0
    for p in range(data.y_off[i + 1] - start):
        if data.y[start + p] >= 0:
            total += data.cost[data.y[start + p], work.y[p]]
    return total * data.loss_scale[i]


def value_of(data, i, y, w, work):
    """Return ``theta'z(y)``, the score of y minus the score of the truth.

    The loops have no branches: a mispredicted branch would cost more than the sum.
    """
    V = y.shape[0]
    left = data.left[data.edge_off[i] : data.edge_off[i + 1]]
    right = data.right[data.edge_off[i] : data.edge_off[i + 1]]
    theta = work.theta[V:]
    total = -work.base[0]
    for p in range(V):
        total += y[p] * work.theta[p]  # theta is zero at nodes without a label
    for e in range(left.shape[0]):
        total += int(y[left[e]] != y[right[e]]) * theta[e]
    return total


def add_parts(data, i, s, y, work):
    """Add ``s z(y)`` to the direction; the truth has z = 0."""
    add_difference(data, i, s, y, data.y[data.y_off[i] : data.y_off[i + 1]], work)


def add_difference(data, i, s, y, other, work):
    """Add ``s (z(y) - z(other))`` to the direction."""
    V = y.shape[0]
    first = data.edge_off[i]
    for p in range(V):
        work.d[p] += s * (y[p] - other[p])
    for e in range(data.edge_off[i + 1] - first):
        p, q = data.left[first + e], data.right[first + e]
        work.d[V + e] += s * (int(y[p] != y[q]) - int(other[p] != other[q]))


def difference(data, i, slot, other, labelings, work):
    """Make ``d = z(y) - z(y')`` the direction, in one loop over the edges."""
    V = data.y_off[i + 1] - data.y_off[i]
    a = slot_offset(data, i, slot, labelings)
    b = slot_offset(data, i, other, labelings)
    start_direction(data, i, work)
    add_difference(data, i, 1.0, labelings[a : a + V], labelings[b : b + V], work)
    end_direction(data, i, work)


def end_direction(data, i, work):
    """List the moved parts, and mark the features ``B_i d`` as not yet computed."""
    list_moved(data, i, work)
    work.has_features[0] = 0


def set_features(data, i, work):
    """Compute the features ``B_i d`` unless they are known already.

    They are ``sum_p d_p x_p`` for label 1, ``-sum_p d_p x_p`` for label 0, and ``-sum_e d_e f_e`` for the edges.
    """
    if work.has_features[0] == 1:
        return
    work.has_features[0] = 1
    start = data.y_off[i]
    V = data.y_off[i + 1] - start
    for j in range(data.col_off[i + 1] - data.col_off[i]):
        work.node_direction[j] = 0.0
    for g in range(work.edge_direction.shape[0]):
        work.edge_direction[g] = 0.0
    for m in range(work.n_moved[0]):
        part = work.moved[m]
        d = work.d[part]
        if part < V:
            indices = data.indices[data.indptr[start + part] : data.indptr[start + part + 1]]
            values = data.values[data.indptr[start + part] : data.indptr[start + part + 1]]
            for j in range(indices.shape[0]):
                work.node_direction[indices[j]] += d * values[j]
        else:
            values = data.edge_values[data.edge_off[i] + part - V]
            for g in range(values.shape[0]):
                work.edge_direction[g] -= d * values[g]


def sqnorm(data, i, work):
    """Return ``|B_i d|^2``; the features of the nodes count twice, for label 0 and for label 1."""
    set_features(data, i, work)
    nodes = 0.0
    for j in range(data.col_off[i + 1] - data.col_off[i]):
        nodes += work.node_direction[j] * work.node_direction[j]
    edges = 0.0
    for g in range(work.edge_direction.shape[0]):
        edges += work.edge_direction[g] * work.edge_direction[g]
    return 2.0 * nodes + edges


def apply(data, i, s, work, w):
    """Add ``s B_i d`` to w."""
    set_features(data, i, work)
    columns = data.columns[data.col_off[i] : data.col_off[i + 1]]
    for j in range(columns.shape[0]):
        change = s * work.node_direction[j]
        w[2 * columns[j]] -= change
        w[2 * columns[j] + 1] += change
    weights = w[2 * data.n_features :]
    for g in range(work.edge_direction.shape[0]):
        weights[g] += s * work.edge_direction[g]


def touched(data, i, work, out):
    """List the weights of both labels for each feature of the block, and all edge weights."""
    columns = data.columns[data.col_off[i] : data.col_off[i + 1]]
    n_edges = work.edge_direction.shape[0]
    if 2 * columns.shape[0] + n_edges > out.shape[0]:
        return -1
    for j in range(columns.shape[0]):
        out[2 * j] = 2 * columns[j]
        out[2 * j + 1] = 2 * columns[j] + 1
    listed = 2 * columns.shape[0]
    for g in range(n_edges):
        out[listed + g] = 2 * data.n_features + g
    return listed + n_edges


def margins_pass(data_fields, work_fields, w, out):
    """Template: write the margin of every node to ``out``.

    The margin of node p is the value of the best labeling with label 1 at p minus the value of the best labeling with
    label 0 at p. After the cut for the best labeling, each node takes another cut, in which it is forced to its other
    label.
    """
    data = BinaryGraphData(*data_fields)
    work = BinaryGraphWork(*work_fields)
    for i in range(data.y_off.shape[0] - 1):
        start = data.y_off[i]
        scores(data, i, w, 0.0, work)
        best = argmax(data, i, w, work)
        reach = 1.0
        for j in range(data.part_off[i + 1] - data.part_off[i]):
            reach += abs(work.theta[j])
        for p in range(data.y_off[i + 1] - start):
            out[start + p] = work.y[p]
        for p in range(data.y_off[i + 1] - start):
            sign = 2.0 * out[start + p] - 1.0
            theta = work.theta[p]
            work.theta[p] = -sign * reach
            argmax(data, i, w, work)
            work.theta[p] = theta
            out[start + p] = sign * (best - labeling_value(data, i, w, work))


def number_columns(indptr, y_off, indices, owner, place, col_off, columns):
    """Number the features of each block by their first appearance in it.

    Parameters
    ----------
    indptr, indices : CSR of the (N, F) stacked nodes; the block's own numbers overwrite ``indices``
    y_off : (n + 1,) node offsets of the blocks
    owner, place : (F,) scratch, ``owner`` filled with -1
    col_off : output, (n + 1,) offsets of the blocks in ``columns``
    columns : output, the feature that each block's own number stands for; as long as ``indices``
    """
    count = 0
    for i in range(y_off.shape[0] - 1):
        col_off[i] = count
        for j in range(indptr[y_off[i]], indptr[y_off[i + 1]]):
            f = indices[j]
            if owner[f] != i:
                owner[f] = i
                place[f] = count - col_off[i]
                columns[count] = f
                count += 1
            indices[j] = place[f]
    col_off[y_off.shape[0] - 1] = count
