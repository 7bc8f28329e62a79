"""Routines of linear-chain models: the records of packed sequences and scratch, scores, and the Viterbi algorithm.

A chain with T positions and K labels has two kinds of parts: label k at position t, entry (t, k) of a (T, K) matrix,
and the transition from label a to label b, entry (a, b) of a (K, K) matrix. (Transitions are counted over all positions
because their weights do not depend on the position.) An average of labelings has mass on few of these parts.
Therefore each block has a list of the parts with mass, positions first, in a pool that all blocks share; a list that
outgrows its room moves to the end of the pool.

The weights are ``[U (F, K), first (K), last (K), trans (K, K)]``. Rows of U are contiguous, so that the score of a
sparse position is a sum of whole rows. Directions and averages are in :mod:`bcfw.models.chain.chain_directions`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.algorithms.viterbi import best_path
from bcfw.models.shared.costs import cost_of, write_costs
from bcfw.models.shared.feature_rows import add_rows, column_product
from bcfw.models.shared.labelings import slot_offset


class ChainData(NamedTuple):
    """All sequences, positions stacked.

    Attributes
    ----------
    indptr, index_at, indices, values : the (N, F) stacked position features, see :class:`bcfw.inputs.rows.Rows`
    y : (N,) true labels
    y_off : (n + 1,) position offsets of the sequences
    gram : Gram matrices of the positions' features of the short sequences, biases of the ends included; of each matrix
        the lower triangle, row by row
    gram_off : (n + 1,) offsets into ``gram``; a sequence with an empty range uses the scratch vector ``features``
    cost : (K, K) ``cost[truth, prediction]``; empty for the Hamming loss
    loss_scale : (n,) factor of the summed cost (1/T if the loss is normalised)
    n_features, n_labels : F and K
    ends : 1 if the first and the last label have biases, else 0
    """

    indptr: np.ndarray
    index_at: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    y: np.ndarray
    y_off: np.ndarray
    gram: np.ndarray
    gram_off: np.ndarray
    cost: np.ndarray
    loss_scale: np.ndarray
    n_features: int
    n_labels: int
    ends: int


class ChainAverage(NamedTuple):
    """Averaged parts of all blocks, as lists in a pool.

    Attributes
    ----------
    part, mass : the pool, two arrays of the same length. Label k at position t is the number ``t << 32 | k``; the
        transition from label a to label b is the number ``a K + b``. Labels of positions are sorted by position
    start, size, room : (n,) where block i's list begins, its length, and the length that it may grow to
    positions : (n,) how many parts of the list are labels of positions; the transitions follow
    tail : (1,) end of the used part of the pool
    """

    part: np.ndarray
    mass: np.ndarray
    start: np.ndarray
    size: np.ndarray
    positions: np.ndarray
    room: np.ndarray
    tail: np.ndarray


class ChainWork(NamedTuple):
    """Scratch of one thread, for the longest sequence (T) and K labels.

    Attributes
    ----------
    theta : (T, K) scores of the labels at the positions
    best : (T, K) best score of a prefix that ends in a label
    y : (T,) the current labeling
    size : (2,) number of entries of the current direction, for positions and for transitions
    part, d : the entries of the direction, with parts numbered as in the average; transitions begin at entry T K
    mass : the mass of each entry's part in the average from which the direction starts
    slot : ((T + K) K,) the entry of a part, -1 if it has none; labels of positions are at ``t K + k``, transitions
        follow
    stamp, tick : (T, K) and (1,) the round in which each score was computed, and the current round
    head, next : (K,) and one per entry, linked lists of the entries with the same label, -1 at the end
    features : (F K,) scratch for the norms of long sequences; empty if there are none
    """

    theta: np.ndarray
    best: np.ndarray
    y: np.ndarray
    size: np.ndarray
    part: np.ndarray
    d: np.ndarray
    mass: np.ndarray
    slot: np.ndarray
    stamp: np.ndarray
    tick: np.ndarray
    head: np.ndarray
    next: np.ndarray
    features: np.ndarray


def transition_offset(data):
    """Return where the (K, K) transition weights begin in w."""
    return (data.n_features + 2 * data.ends) * data.n_labels


def scores(data, i, w, loss_weight, work):
    """Write ``theta[t, k] = loss_weight loss_scale_i cost[y_it, k] + x_t'U[:, k]`` plus the biases of the ends."""
    K = data.n_labels
    start = data.y_off[i]
    T = data.y_off[i + 1] - start
    scale = loss_weight * data.loss_scale[i]
    for t in range(T):
        theta = work.theta[t]
        write_costs(data, data.y[start + t], scale, theta)
        add_rows(data, start + t, w, theta)
    if data.ends == 1:
        F = data.n_features
        first = w[F * K : F * K + K]
        last = w[F * K + K : F * K + 2 * K]
        for k in range(K):
            work.theta[0, k] += first[k]
            work.theta[T - 1, k] += last[k]


def argmax(data, i, w, work):
    """Find the best labeling by the Viterbi algorithm."""
    T = data.y_off[i + 1] - data.y_off[i]
    return best_path(work.theta, w[transition_offset(data) :], T, work.best, work.y)


def value_of(data, i, y, w, work):
    """Return ``sum_t theta[t, y_t] + sum_t trans[y_{t-1}, y_t]``."""
    trans = w[transition_offset(data) :]
    value = work.theta[0, y[0]]
    for t in range(1, y.shape[0]):
        value += work.theta[t, y[t]] + trans[y[t - 1] * data.n_labels + y[t]]
    return value


def start_parts(data, i, w, work):
    """Begin a new round: mark all scores as unknown."""
    work.tick[0] += 1


def score_labeling(data, i, y, w, work):
    """Compute theta at the labels that y has at its positions."""
    for t in range(y.shape[0]):
        score_part(data, i, t, y[t], w, work)


def score_part(data, i, t, k, w, work):
    """Compute ``theta[t, k]``, loss included, unless it was computed in this round."""
    if work.stamp[t, k] == work.tick[0]:
        return
    work.stamp[t, k] = work.tick[0]
    K = data.n_labels
    token = data.y_off[i] + t
    total = data.loss_scale[i] * cost_of(data, data.y[token], k) + column_product(data, token, k, w)
    if data.ends == 1:
        if t == 0:
            total += w[data.n_features * K + k]
        if token == data.y_off[i + 1] - 1:
            total += w[data.n_features * K + K + k]
    work.theta[t, k] = total


def loss(data, i, work):
    """Return ``loss_scale_i sum_t cost[y_it, y_t]``."""
    start = data.y_off[i]
    total = 0.0
    for t in range(data.y_off[i + 1] - start):
        total += cost_of(data, data.y[start + t], work.y[t])
    return total * data.loss_scale[i]


def slot_value(data, i, slot, labelings, by_parts, w, work):
    """Return ``theta'z(y)`` of a stored labeling, with scores and sum computed in one loop over the positions."""
    T = data.y_off[i + 1] - data.y_off[i]
    begin = slot_offset(data, i, slot, labelings)
    y = labelings[begin : begin + T]
    trans = w[transition_offset(data) :]
    value = 0.0
    for t in range(T):
        if by_parts:
            score_part(data, i, t, y[t], w, work)
        value += work.theta[t, y[t]]
        if t > 0:
            value += trans[y[t - 1] * data.n_labels + y[t]]
    return value


def grams(indptr, index_at, indices, values, y_off, ends, gram_off, out):
    """Write the lower triangle of the Gram matrix ``X X'`` of every sequence that has room in ``out``.

    With ``ends``, the first and the last position have one more feature each, the features of the biases.
    """
    for i in range(y_off.shape[0] - 1):
        start = y_off[i]
        T = y_off[i + 1] - start
        if gram_off[i + 1] == gram_off[i]:
            continue
        for t in range(T):
            for s in range(t + 1):
                total = row_product(indptr, index_at, indices, values, start + t, start + s)
                out[gram_off[i] + t * (t + 1) // 2 + s] = total
        out[gram_off[i]] += ends
        out[gram_off[i + 1] - 1] += ends


def row_product(indptr, index_at, indices, values, row, other):
    """Return ``x_row'x_other`` in float64; columns are sorted, and rows that share a list of columns skip the merge."""
    total = 0.0
    x, z = values[indptr[row] : indptr[row + 1]], values[indptr[other] : indptr[other + 1]]
    if index_at[row] == index_at[other] and x.shape[0] == z.shape[0]:  # an empty row begins where the next one does
        for j in range(x.shape[0]):
            total += np.float64(x[j]) * np.float64(z[j])
        return total
    x_columns, z_columns = indices[index_at[row] :], indices[index_at[other] :]
    a = 0
    b = 0
    while a < x.shape[0] and b < z.shape[0]:
        if x_columns[a] == z_columns[b]:
            total += np.float64(x[a]) * np.float64(z[b])
            a += 1
            b += 1
        elif x_columns[a] < z_columns[b]:
            a += 1
        else:
            b += 1
    return total
