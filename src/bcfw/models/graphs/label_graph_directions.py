"""Directions of graphs with K labels per node, in part space, and their features ``B_i d``.

The parts are described in :mod:`bcfw.models.graphs.label_graph_routines`. A direction is zero outside its list of moved
parts at any time, so that the cost of the difference of two labelings is the number of places where they differ. The
features of a direction are indexed by the block's own numbers of features, and computed only when they are needed.
"""

from __future__ import annotations

from bcfw.models.shared.labelings import slot_offset
from bcfw.models.shared.part_vectors import list_moved


def edge_part(data, i, e, y):
    """Return the part that edge e of block i has in labeling y; -1 if it has none."""
    K, Q = data.n_labels, data.n_pairs
    a, b = y[data.left[data.edge_off[i] + e]], y[data.right[data.edge_off[i] + e]]
    if a < 0 or b < 0:
        return -1
    k = data.pair[a * K + b]
    return -1 if k < 0 else (data.y_off[i + 1] - data.y_off[i]) * K + e * Q + k


def start_direction(data, i, work):
    """Set ``d = 0`` at the parts that the last direction moved; d is zero elsewhere."""
    for m in range(work.n_moved[0]):
        work.d[work.moved[m]] = 0.0
    work.n_moved[0] = 0


def add_parts(data, i, s, y, work):
    """Add ``s z(y)`` to d."""
    for p in range(y.shape[0]):
        if y[p] >= 0:
            work.d[p * data.n_labels + y[p]] += s
    for e in range(data.edge_off[i + 1] - data.edge_off[i]):
        part = edge_part(data, i, e, y)
        if part >= 0:
            work.d[part] += s


def end_direction(data, i, work):
    """List the moved parts, and mark the features ``B_i d`` as not yet computed."""
    list_moved(data, i, work)
    work.has_features[0] = 0


def difference(data, i, slot, other, labelings, work):
    """Make ``d = z(y) - z(y')`` for two stored labelings, touching only the parts in which they differ."""
    V = data.y_off[i + 1] - data.y_off[i]
    a = slot_offset(data, i, slot, labelings)
    b = slot_offset(data, i, other, labelings)
    one, two = labelings[a : a + V], labelings[b : b + V]
    start_direction(data, i, work)
    for p in range(V):
        if one[p] != two[p]:
            move_part(p * data.n_labels + one[p] if one[p] >= 0 else -1, 1.0, work)
            move_part(p * data.n_labels + two[p] if two[p] >= 0 else -1, -1.0, work)
    for e in range(data.edge_off[i + 1] - data.edge_off[i]):
        part, before = edge_part(data, i, e, one), edge_part(data, i, e, two)
        if part != before:
            move_part(part, 1.0, work)
            move_part(before, -1.0, work)
    work.has_features[0] = 0


def move_part(part, s, work):
    """Set ``d[part] = s`` and list the part; do nothing if ``part < 0``."""
    if part >= 0:
        work.d[part] = s
        work.moved[work.n_moved[0]] = part
        work.n_moved[0] += 1


def set_features(data, i, work):
    """Compute ``B_i d``, the sums of ``d x_p`` and of ``d f_e``, unless it is known already."""
    if work.has_features[0] == 1:
        return
    work.has_features[0] = 1
    K, Q = data.n_labels, data.n_pairs
    start = data.y_off[i]
    n_node_parts = (data.y_off[i + 1] - start) * K
    clear_rows(work.node_direction, data.col_off[i + 1] - data.col_off[i])
    clear_rows(work.edge_direction, data.edge_col_off[i + 1] - data.edge_col_off[i])
    for m in range(work.n_moved[0]):
        part = work.moved[m]
        d = work.d[part]
        if part < n_node_parts:
            a = part % K
            for j in range(data.indptr[start + part // K], data.indptr[start + part // K + 1]):
                work.node_direction[data.indices[j], a] += d * data.values[j]
        else:
            e = data.edge_off[i] + (part - n_node_parts) // Q
            k = (part - n_node_parts) % Q
            for j in range(data.edge_indptr[e], data.edge_indptr[e + 1]):
                work.edge_direction[data.edge_indices[j], k] += d * data.edge_values[j]


def clear_rows(matrix, count):
    """Set the first ``count`` rows to zero."""
    for j in range(count):
        row = matrix[j]
        for a in range(row.shape[0]):
            row[a] = 0.0


def sqnorm(data, i, work):
    """Return ``|B_i d|^2``."""
    set_features(data, i, work)
    nodes = square_sum(work.node_direction, data.col_off[i + 1] - data.col_off[i])
    return nodes + square_sum(work.edge_direction, data.edge_col_off[i + 1] - data.edge_col_off[i])


def square_sum(matrix, count):
    """Return the sum of squares of the first ``count`` rows."""
    total = 0.0
    for j in range(count):
        row = matrix[j]
        for a in range(row.shape[0]):
            total += row[a] * row[a]
    return total


def apply(data, i, s, work, w):
    """Add ``s B_i d`` to w."""
    set_features(data, i, work)
    add_matrix(data.columns[data.col_off[i] : data.col_off[i + 1]], s, work.node_direction, w)
    weights = w[data.n_features * data.n_labels :]
    add_matrix(data.edge_columns[data.edge_col_off[i] : data.edge_col_off[i + 1]], s, work.edge_direction, weights)


def add_matrix(columns, s, matrix, w):
    """Add ``s matrix[j]`` to ``W[columns[j]]`` for all j; W is the matrix at the beginning of w."""
    size = matrix.shape[1]
    for j in range(columns.shape[0]):
        f = columns[j] * size
        weights = w[f : f + size]
        row = matrix[j]
        for a in range(size):
            weights[a] += s * row[a]


def touched(data, i, work, out):
    """List all weights of the features that the block's nodes and edges have."""
    K, Q = data.n_labels, data.n_pairs
    columns = data.columns[data.col_off[i] : data.col_off[i + 1]]
    edge_columns = data.edge_columns[data.edge_col_off[i] : data.edge_col_off[i + 1]]
    if columns.shape[0] * K + edge_columns.shape[0] * Q > out.shape[0]:
        return -1
    listed = 0
    for j in range(columns.shape[0]):
        for a in range(K):
            out[listed] = columns[j] * K + a
            listed += 1
    for j in range(edge_columns.shape[0]):
        for k in range(Q):
            out[listed] = data.n_features * K + edge_columns[j] * Q + k
            listed += 1
    return listed
