"""Routines of multilabel models: the parts are the L labels that are on, and the four joint states of every edge.

The parts of a labeling are ``z(y) = [y (L), [y_a = s, y_b = t] (E, 2, 2)]``. The part of a label has the features x;
the part of an edge has a single feature, which is 1. Therefore ``|B d|^2 = |x|^2 |d_labels|^2 + |d_edges|^2``. The
weights are ``[U (F, L), V (E, 2, 2)]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.models.shared.block_solve_routines import NO_CURVATURE, SCORE_ROUNDING, keep_moved
from bcfw.models.shared.feature_rows import add_row_outer, add_rows, column_product, list_row_outer
from bcfw.models.shared.labelings import slot_offset
from bcfw.models.shared.part_vectors import score_part, start_direction
from bcfw.models.shared.sum_product import log_sum_of_two
from bcfw.passes.records import ALL_PARTS


class MultilabelData(NamedTuple):
    """The packed examples of a multilabel model.

    Attributes
    ----------
    indptr, index_at, indices, values : the (n, F) features, see :class:`bcfw.inputs.rows.Rows`
    y : (n L,) true labels, 0 or 1, example after example
    y_off, part_off : (n + 1,) 0, L, ..., n L and 0, L + 4E, ..., n (L + 4E)
    sqnorms : (n,) |x_i|^2
    edges : (E, 2) pairs of labels
    order, above, link, stride : (L,) each; see :class:`bcfw.models.shared.label_tree.Forest`
    loss_scale : loss of one wrong label: 1/L if the loss is normalised, else 1
    n_features, n_labels : F and L
    """

    indptr: np.ndarray
    index_at: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    y: np.ndarray
    y_off: np.ndarray
    part_off: np.ndarray
    sqnorms: np.ndarray
    edges: np.ndarray
    order: np.ndarray
    above: np.ndarray
    link: np.ndarray
    stride: np.ndarray
    loss_scale: float
    n_features: int
    n_labels: int


class MultilabelWork(NamedTuple):
    """Scratch of one thread.

    Attributes
    ----------
    best : (L, 2) best score of the subtree below each label, for each state of the label
    y : (L,) the current labeling
    theta, d, moved, n_moved, stamp, tick : for L + 4E parts (see :mod:`bcfw.models.shared.part_vectors`); labels
        come before edges in ``moved``. Theta holds no scores of edges: they are the weights V
    """

    best: np.ndarray
    y: np.ndarray
    theta: np.ndarray
    d: np.ndarray
    moved: np.ndarray
    n_moved: np.ndarray
    stamp: np.ndarray
    tick: np.ndarray


def edge_offset(data):
    """Return the offset of edge weights: the weight of part j >= L is ``w[edge_offset(data) + j]``."""
    return (data.n_features - 1) * data.n_labels


def edge_part(data, e, y):
    """Return the part that edge e has in labeling y."""
    return data.n_labels + 4 * e + 2 * int(y[data.edges[e, 0]]) + int(y[data.edges[e, 1]])


def n_moved_labels(data, work):
    """Return how many of the moved parts are labels; they are the first in the list."""
    count = 0
    while count < work.n_moved[0] and work.moved[count] < data.n_labels:
        count += 1
    return count


def loss_part(data, place):
    """Return what turning a label on adds to the loss: ``L_i(y) = sum_l loss_part (y_l - y_il)``."""
    return data.loss_scale * (1.0 - 2.0 * data.y[place])


def scores(data, i, w, loss_weight, work):
    """Write ``theta[l] = loss_weight loss_part + x_i'U[:, l]``, the score of label l if it is on; off, it scores 0."""
    start = data.y_off[i]
    labels = work.theta[: data.n_labels]
    for label in range(data.n_labels):
        labels[label] = loss_weight * loss_part(data, start + label)
    add_rows(data, i, w, labels)


def theta_of(data, i, label, w):
    """Return ``loss_part + x_i'U[:, l]``."""
    return loss_part(data, data.y_off[i] + label) + column_product(data, i, label, w)


def score_labeling(data, i, y, w, work):
    """Compute theta at the labels that are on."""
    for label in range(data.n_labels):
        if y[label] == 1:
            score_part(data, i, label, w, work)


def direction_scores(data, i, w, work):
    """Compute theta at the moved labels."""
    for j in range(n_moved_labels(data, work)):
        score_part(data, i, work.moved[j], w, work)


def argmax(data, i, w, work):
    """Find the best labeling by max-sum from the leaves to the roots; then fix every label after its parent."""
    V = w[data.n_features * data.n_labels :]
    L = data.n_labels
    for label in range(L):
        work.best[label, 0] = 0.0
        work.best[label, 1] = work.theta[label]
    value = 0.0
    for j in range(L - 1, -1, -1):
        label = data.order[j]
        above = data.above[label]
        if above < 0:
            value += max(work.best[label, 0], work.best[label, 1])
            continue
        for state in range(2):
            off, on = states_below(data, label, state, V, work)
            work.best[above, state] += max(off, on)
    for j in range(L):
        label = data.order[j]
        if data.above[label] < 0:
            work.y[label] = int(work.best[label, 1] > work.best[label, 0])
        else:
            off, on = states_below(data, label, work.y[data.above[label]], V, work)
            work.y[label] = int(on > off)
    return value


def states_below(data, label, state, V, work):
    """Return the scores of a label's subtree and of the edge to its parent: one for the label off, one for it on.

    ``state`` is the state of the parent.
    """
    stride = data.stride[label]
    first = 4 * data.link[label] + (3 - stride) * state
    return work.best[label, 0] + V[first], work.best[label, 1] + V[first + stride]


def value_of(data, i, y, w, work):
    """Return the sum of theta over the labels that are on, plus V of every edge's joint state."""
    total = 0.0
    for label in range(data.n_labels):
        if y[label] == 1:
            total += work.theta[label]
    offset = edge_offset(data)
    for e in range(data.edges.shape[0]):
        total += w[offset + edge_part(data, e, y)]
    return total


def loss(data, i, work):
    """Return the number of wrong labels times ``loss_scale``."""
    start = data.y_off[i]
    wrong = 0
    for label in range(data.n_labels):
        wrong += int(work.y[label] != data.y[start + label])
    return data.loss_scale * wrong


def add_parts(data, i, s, y, work):
    """Add ``s z(y)`` to d: s at the labels that are on, and at every edge's joint state."""
    for label in range(data.n_labels):
        work.d[label] += s * y[label]
    for e in range(data.edges.shape[0]):
        work.d[edge_part(data, e, y)] += s


def difference(data, i, slot, other, labelings, work):
    """Make ``d = z(y) - z(y')`` for two stored labelings, valid only at the listed parts.

    The list holds the labels and the states of edges in which the labelings differ.
    """
    L = data.n_labels
    begin = slot_offset(data, i, slot, labelings)
    y = labelings[begin : begin + L]
    begin = slot_offset(data, i, other, labelings)
    z = labelings[begin : begin + L]
    count = 0
    for label in range(L):
        if y[label] != z[label]:
            work.d[label] = float(y[label] - z[label])
            work.moved[count] = label
            count += 1
        else:
            work.d[label] = 0.0
    for e in range(data.edges.shape[0]):
        gained, lost = edge_part(data, e, y), edge_part(data, e, z)
        if gained != lost:
            work.d[gained] = 1.0
            work.d[lost] = -1.0
            work.moved[count] = gained
            work.moved[count + 1] = lost
            count += 2
    work.n_moved[0] = count


def slope(data, i, w, work):
    """Return ``theta_labels'd_labels + V'd_edges``."""
    n_labels = n_moved_labels(data, work)
    total = 0.0
    for j in range(n_labels):
        total += work.theta[work.moved[j]] * work.d[work.moved[j]]
    offset = edge_offset(data)
    for j in range(n_labels, work.n_moved[0]):
        total += w[offset + work.moved[j]] * work.d[work.moved[j]]
    return total


def sqnorm(data, i, work):
    """Return ``|x_i|^2 |d_labels|^2 + |d_edges|^2``."""
    n_labels = n_moved_labels(data, work)
    labels = 0.0
    for j in range(n_labels):
        labels += work.d[work.moved[j]] * work.d[work.moved[j]]
    edges = 0.0
    for j in range(n_labels, work.n_moved[0]):
        edges += work.d[work.moved[j]] * work.d[work.moved[j]]
    return data.sqnorms[i] * labels + edges


def apply(data, i, s, work, w):
    """Add ``s x_i d_labels'`` to U and ``s d_edges`` to V."""
    n_labels = n_moved_labels(data, work)
    add_row_outer(data, i, s, n_labels, work, data.n_labels // 4, w)
    offset = edge_offset(data)
    for j in range(n_labels, work.n_moved[0]):
        w[offset + work.moved[j]] += s * work.d[work.moved[j]]


def touched(data, i, work, out):
    """List the coordinates of U at the features of x_i and the moved labels, and of V at the moved states of edges."""
    n_labels = n_moved_labels(data, work)
    listed = list_row_outer(data, i, work.moved, n_labels, out)
    if listed < 0 or listed + work.n_moved[0] - n_labels > out.shape[0]:
        return -1
    offset = edge_offset(data)
    for j in range(n_labels, work.n_moved[0]):
        out[listed] = offset + work.moved[j]
        listed += 1
    return listed


def part_loss(data, i, label):
    """Return what turning a label of block i on adds to the loss."""
    return loss_part(data, data.y_off[i] + label)


def solve_parts(data, i, scale, mu, work):
    """Solve a block without edges: ``mu = clip(mu_i + theta_i/A, 0, 1)`` per label, or the best corner if A = 0."""
    average = mu[0][data.part_off[i] :]
    start_direction(data, i, work)
    curvature = scale * data.sqnorms[i]
    gap = 0.0
    for j in range(work.n_moved[0]):
        label = work.moved[j]
        theta = work.theta[label]
        gain = max(theta, 0.0) - theta * average[label]
        gap += gain
        if gain <= SCORE_ROUNDING * data.loss_scale:
            work.d[label] = 0.0
        elif curvature > NO_CURVATURE:
            work.d[label] = min(max(theta / curvature, -average[label]), 1.0 - average[label])
        else:
            work.d[label] = (1.0 if theta > 0.0 else 0.0) - average[label]
    keep_moved(work)
    return gap


def list_parts(data, i, slack, mu, work, out):
    """List the labels with mass between 0 and 1, and the labels that would move if their score changed by the slack."""
    average = mu[0][data.part_off[i] :]
    near = slack * data.loss_scale
    count = 0
    for label in range(data.n_labels):
        theta = work.theta[label]
        stays_off = average[label] <= 0.0 and theta < -near
        stays_on = average[label] >= 1.0 and theta > near
        if not stays_off and not stays_on:
            if count == out.shape[0]:
                return ALL_PARTS
            out[count] = label
            count += 1
    return count


def part_scores(data, i, w, work, out):
    """Write theta of the labels, then V, to ``out``."""
    for label in range(data.n_labels):
        out[label] = work.theta[label]
    offset = edge_offset(data)
    for part in range(data.n_labels, out.shape[0]):
        out[part] = w[offset + part]


def part_marginals(data, i, work, out):
    """Write the marginals to ``out`` and return ``log Z``; here theta holds the scores of all parts, edges included.

    Sums go from the leaves to the roots; then every label gets its probabilities, given its parent.
    """
    L = data.n_labels
    for label in range(L):
        work.best[label, 0] = 0.0
        work.best[label, 1] = work.theta[label]
    total = 0.0
    for j in range(L - 1, -1, -1):
        label = data.order[j]
        above = data.above[label]
        if above < 0:
            total += log_sum_of_two(work.best[label, 0], work.best[label, 1])
            continue
        for state in range(2):
            off, on = states_below(data, label, state, work.theta[L:], work)
            work.best[above, state] += log_sum_of_two(off, on)
    for j in range(L):
        label = data.order[j]
        above = data.above[label]
        if above < 0:
            out[label] = np.exp(work.best[label, 1] - log_sum_of_two(work.best[label, 0], work.best[label, 1]))
            continue
        out[label] = 0.0
        stride = data.stride[label]
        for state in range(2):
            off, on = states_below(data, label, state, work.theta[L:], work)
            here = out[above] if state == 1 else 1.0 - out[above]
            share = np.exp(on - log_sum_of_two(off, on))
            first = L + 4 * data.link[label] + (3 - stride) * state
            out[first] = here * (1.0 - share)
            out[first + stride] = here * share
            out[label] += here * share
    return total
