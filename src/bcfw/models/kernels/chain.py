"""Kernels of linear-chain models: scores, Viterbi, and directions in part space.

A chain with T positions and K labels has two kinds of parts: label k at position t, row t of a (T, K) matrix, and the
transition from label a to label b, row a of a (K, K) one. (Transitions are counted over all positions because their
weights do not depend on the position.) An average of labelings uses few of these parts, so a block keeps a list of
parts and their mass in a common pool, positions first; a list that outgrows its room moves to the end of the pool.

Weights are ``[U (F, K), first (K), last (K), trans (K, K)]``; rows of U are contiguous so that a sparse position adds
whole rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.models.kernels.costs import cost_of, write_costs
from bcfw.models.kernels.feature_rows import add_rows, column_product, first_argmax
from bcfw.models.kernels.labelings import slot_offset


class ChainData(NamedTuple):
    """All sequences, positions stacked.

    Attributes
    ----------
    indptr, indices, values : CSR of the (N, F) stacked position features
    y : (N,) true labels
    y_off : (n + 1,) position offsets of the sequences
    gram : X X' of each short sequence, (T, T) flat
    gram_off : (n + 1,) offsets into ``gram``; an empty range means: use the scratch vector
    cost : (K, K) loss of predicting the column for the row; empty for the Hamming loss
    loss_scale : (n,) factor of the summed cost (1/T when normalised)
    n_features, n_labels : F and K
    ends : 1 with biases of the first and last label, else 0
    """

    indptr: np.ndarray
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
    """Averaged parts of all blocks: lists in a pool.

    Attributes
    ----------
    part, mass : the pool, two arrays of one length; a part is ``row << 32 | label``, one number to read instead of two
    start, size, room : (n,) where block i's list begins, how long it is, and how long it may become
    positions : (n,) how many of its parts are labels of positions; transitions follow
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
    theta, best : (T, K) scores; best score of a prefix that ends in a label
    y : (T,) the current labeling
    size : (2,) number of the current direction's entries, for positions and for transitions
    row, label, d : its entries, in the order of the block's list, new parts last; transitions begin at entry T K
    mass : of the entries' parts in the average from which the direction starts
    slot : (T + K, K) entry of a part, -1 for none; transitions begin at row T
    stamp, tick : (T, K) and (1,) in which round a score was computed, and the current round
    head, next : (K,) and per entry: chains of entries with the same label, -1 at the end
    features : (F K,) for the norms of long sequences; empty without them
    """

    theta: np.ndarray
    best: np.ndarray
    y: np.ndarray
    size: np.ndarray
    row: np.ndarray
    label: np.ndarray
    d: np.ndarray
    mass: np.ndarray
    slot: np.ndarray
    stamp: np.ndarray
    tick: np.ndarray
    head: np.ndarray
    next: np.ndarray
    features: np.ndarray


#: The two kinds of parts.
POSITION, TRANSITION = range(2)


def transition_offset(data):
    """Where the (K, K) transition weights begin in w."""
    return (data.n_features + 2 * data.ends) * data.n_labels


def scores(data, i, w, loss_weight, work):
    """``theta[t, k] = loss_weight loss_scale_i cost[y_it, k] + x_t'U[:, k]``, and the biases of the ends."""
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
    """Viterbi: forward maxima only; the predecessors are found again on the way back."""
    K = data.n_labels
    trans = w[transition_offset(data) :]
    T = data.y_off[i + 1] - data.y_off[i]
    for k in range(K):
        work.best[0, k] = work.theta[0, k]
    for t in range(1, T):
        forward(work.best[t - 1], trans, work.theta[t], work.best[t])
    k = first_argmax(work.best[T - 1])
    value = work.best[T - 1, k]
    work.y[T - 1] = k
    for t in range(T - 1, 0, -1):
        before = work.best[t - 1]
        top = before[0] + trans[k]
        p = 0
        for q in range(1, K):
            v = before[q] + trans[q * K + k]
            if v > top:
                top = v
                p = q
        work.y[t - 1] = p
        k = p
    return value


def forward(before, trans, theta, out):
    """Write ``out[k] = theta[k] + max_p (before[p] + trans[p, k])``, four predecessors at a time."""
    K = before.shape[0]
    for k in range(K):
        out[k] = before[0] + trans[k]
    p = 1
    while p + 4 <= K:
        a, b, c, e = before[p], before[p + 1], before[p + 2], before[p + 3]
        ta, tb = trans[p * K : (p + 1) * K], trans[(p + 1) * K : (p + 2) * K]
        tc, te = trans[(p + 2) * K : (p + 3) * K], trans[(p + 3) * K : (p + 4) * K]
        for k in range(K):
            va = a + ta[k]
            vb = b + tb[k]
            vc = c + tc[k]
            ve = e + te[k]
            va = va if va > vb else vb
            vc = vc if vc > ve else ve
            va = va if va > vc else vc
            out[k] = va if va > out[k] else out[k]
        p += 4
    while p < K:
        a = before[p]
        ta = trans[p * K : (p + 1) * K]
        for k in range(K):
            va = a + ta[k]
            out[k] = va if va > out[k] else out[k]
        p += 1
    for k in range(K):
        out[k] += theta[k]


def value_of(data, i, y, w, work):
    """``sum_t theta[t, y_t] + sum_t trans[y_{t-1}, y_t]``."""
    trans = w[transition_offset(data) :]
    value = work.theta[0, y[0]]
    for t in range(1, y.shape[0]):
        value += work.theta[t, y[t]] + trans[y[t - 1] * data.n_labels + y[t]]
    return value


def start_parts(data, i, w, work):
    """From now on no score is known."""
    work.tick[0] += 1


def score_labeling(data, i, y, w, work):
    """Theta at the labels of all positions."""
    for t in range(y.shape[0]):
        score_part(data, i, t, y[t], w, work)


def direction_scores(data, i, w, work):
    """Theta at the direction's labels of positions."""
    for e in range(work.size[POSITION]):
        score_part(data, i, work.row[e], work.label[e], w, work)


def score_part(data, i, t, k, w, work):
    """``theta[t, k]`` with the loss, unless this round has computed it."""
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
    """``loss_scale_i sum_t cost[y_it, y_t]``."""
    start = data.y_off[i]
    total = 0.0
    for t in range(data.y_off[i + 1] - start):
        total += cost_of(data, data.y[start + t], work.y[t])
    return total * data.loss_scale[i]


def slot_value(data, i, slot, labelings, by_parts, w, work):
    """``theta'z(y)`` of a kept labeling; scores and their sum in one go over the positions."""
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


def difference(data, i, slot, other, labelings, work):
    """Only positions and transitions in which the two labelings differ enter the direction."""
    T = data.y_off[i + 1] - data.y_off[i]
    begin = slot_offset(data, i, slot, labelings)
    y = labelings[begin : begin + T]
    begin = slot_offset(data, i, other, labelings)
    z = labelings[begin : begin + T]
    start_direction(data, i, work)
    for t in range(T):
        if y[t] != z[t]:
            add_part(POSITION, t, y[t], 1.0, work)
            add_part(POSITION, t, z[t], -1.0, work)
        if t > 0 and (y[t] != z[t] or y[t - 1] != z[t - 1]):
            add_part(TRANSITION, y[t - 1], y[t], 1.0, work)
            add_part(TRANSITION, z[t - 1], z[t], -1.0, work)
    end_direction(data, i, work)


def first_entry(kind, work):
    """Where the direction's entries of a kind begin."""
    return kind * work.theta.shape[0] * work.theta.shape[1]


def start_direction(data, i, work):
    """``d = 0``: empty lists."""
    work.size[POSITION] = 0
    work.size[TRANSITION] = 0


def add_average(data, i, s, mu, work):
    """``d = s mu_i``: the average's parts are distinct and come first, so each is a new entry."""
    average = ChainAverage(*mu)
    start = average.start[i]
    middle = start + average.positions[i]
    read_entries(average, start, middle, POSITION, s, work)
    read_entries(average, middle, start + average.size[i], TRANSITION, s, work)


def read_entries(average, begin, end, kind, s, work):
    """Make the parts of one kind in a piece of the pool the entries of the direction, with s times their mass."""
    first = first_entry(kind, work)
    row_of_slot = kind * work.theta.shape[0]
    for m in range(end - begin):
        e = first + m
        row = average.part[begin + m] >> 32
        label = average.part[begin + m] & 0xFFFFFFFF
        work.row[e] = row
        work.label[e] = label
        work.mass[e] = average.mass[begin + m]
        work.d[e] = s * average.mass[begin + m]
        work.slot[row_of_slot + row, label] = e
    work.size[kind] = end - begin


def add_parts(data, i, s, y, work):
    """``d += s z(y)``: every position's label and every transition."""
    add_part(POSITION, 0, y[0], s, work)
    for t in range(1, y.shape[0]):
        add_part(POSITION, t, y[t], s, work)
        add_part(TRANSITION, y[t - 1], y[t], s, work)


def add_part(kind, row, label, s, work):
    """Add s to the direction at one part."""
    row_of_slot = kind * work.theta.shape[0] + row
    e = work.slot[row_of_slot, label]
    if e < 0:
        e = first_entry(kind, work) + work.size[kind]
        work.size[kind] += 1
        work.row[e] = row
        work.label[e] = label
        work.mass[e] = 0.0
        work.d[e] = 0.0
        work.slot[row_of_slot, label] = e
    work.d[e] += s


def end_direction(data, i, work):
    """Forget which entry a part has."""
    for kind in range(2):
        first = first_entry(kind, work)
        row_of_slot = kind * work.theta.shape[0]
        for e in range(first, first + work.size[kind]):
            work.slot[row_of_slot + work.row[e], work.label[e]] = -1


def slope(data, i, w, work):
    """``theta'd``; the score of a transition is its weight."""
    trans = w[transition_offset(data) :]
    total = 0.0
    for e in range(work.size[POSITION]):
        total += work.d[e] * work.theta[work.row[e], work.label[e]]
    first = first_entry(TRANSITION, work)
    for e in range(first, first + work.size[TRANSITION]):
        total += work.d[e] * trans[work.row[e] * data.n_labels + work.label[e]]
    return total


def sqnorm(data, i, work):
    """``|B_i d|^2``: U's share, then those of the biases of the ends and of the transitions."""
    T = data.y_off[i + 1] - data.y_off[i]
    if data.gram_off[i + 1] > data.gram_off[i]:
        total = unary_sqnorm_by_gram(data, i, T, work)
    else:
        total = unary_sqnorm_by_scratch(data, i, T, work)
    if data.ends == 1:
        for e in range(work.size[POSITION]):
            if work.row[e] == 0:
                total += work.d[e] * work.d[e]
            if work.row[e] == T - 1:
                total += work.d[e] * work.d[e]
    first = first_entry(TRANSITION, work)
    for e in range(first, first + work.size[TRANSITION]):
        total += work.d[e] * work.d[e]
    return total


def unary_sqnorm_by_gram(data, i, T, work):
    """``sum_k sum_{t, s} d[t, k] d[s, k] x_t'x_s``; entries of one label are chained."""
    gram = data.gram[data.gram_off[i] : data.gram_off[i + 1]]
    total = 0.0
    for e in range(work.size[POSITION]):
        t, k, d = work.row[e], work.label[e], work.d[e]
        if d == 0.0:
            continue
        inner = 0.0
        f = work.head[k]
        while f >= 0:
            inner += gram[t * T + work.row[f]] * work.d[f]
            f = work.next[f]
        total += d * (2.0 * inner + gram[t * T + t] * d)
        work.next[e] = work.head[k]
        work.head[k] = e
    for e in range(work.size[POSITION]):
        work.head[work.label[e]] = -1
    return max(total, 0.0)


def unary_sqnorm_by_scratch(data, i, T, work):
    """Accumulate ``sum_t x_t d_t'`` in the scratch matrix, add up its squares, and clear what was touched."""
    K = data.n_labels
    start = data.y_off[i]
    add_outer(data, start, 1.0, work, work.features)
    total = 0.0
    for e in range(work.size[POSITION]):
        t, k = work.row[e], work.label[e]
        if work.d[e] == 0.0:
            continue
        for j in range(data.indptr[start + t], data.indptr[start + t + 1]):
            value = work.features[data.indices[j] * K + k]
            total += value * value
            work.features[data.indices[j] * K + k] = 0.0
    return total


def reserve(data, i, mu, work):
    """Give block i's list room for the direction's new parts; False when the pool is used up."""
    average = ChainAverage(*mu)
    needed = work.size[POSITION] + work.size[TRANSITION]
    if needed <= average.room[i]:
        return True
    room = max(needed, 2 * average.room[i])
    start = average.tail[0]
    if start + room > average.mass.shape[0]:
        return False
    old = average.start[i]
    for e in range(average.size[i]):
        average.part[start + e] = average.part[old + e]
        average.mass[start + e] = average.mass[old + e]
    average.start[i] = start
    average.room[i] = room
    average.tail[0] = start + room
    return True


def advance(data, i, gamma, work, mu):
    """``mu_i += gamma d``; entries whose mass is gone leave the list."""
    average = ChainAverage(*mu)
    start = average.start[i]
    middle = write_entries(gamma, POSITION, work, start, average)
    end = write_entries(gamma, TRANSITION, work, middle, average)
    average.positions[i] = middle - start
    average.size[i] = end - start


def write_entries(gamma, kind, work, begin, average):
    """Write the entries of one kind, moved by gamma, into the pool from ``begin`` on; returns where they end."""
    first = first_entry(kind, work)
    end = begin
    for e in range(first, first + work.size[kind]):
        mass = work.mass[e] + gamma * work.d[e]
        if mass > 0.0:
            average.part[end] = np.int64(work.row[e]) << 32 | work.label[e]
            average.mass[end] = mass
            end += 1
    return end


def apply(data, i, s, work, w):
    """``w += s B_i d``."""
    K = data.n_labels
    F = data.n_features
    start = data.y_off[i]
    add_outer(data, start, s, work, w)
    if data.ends == 1:
        last = data.y_off[i + 1] - start - 1
        for e in range(work.size[POSITION]):
            if work.row[e] == 0:
                w[F * K + work.label[e]] += s * work.d[e]
            if work.row[e] == last:
                w[F * K + K + work.label[e]] += s * work.d[e]
    trans = w[transition_offset(data) :]
    first = first_entry(TRANSITION, work)
    for e in range(first, first + work.size[TRANSITION]):
        trans[work.row[e] * K + work.label[e]] += s * work.d[e]


def add_outer(data, start, s, work, out):
    """``out += s sum_t x_t d_t'``, a flat (F, K) matrix."""
    K = data.n_labels
    for e in range(work.size[POSITION]):
        t, k, change = work.row[e], work.label[e], s * work.d[e]
        if change != 0.0:
            column = out[k:]
            indices = data.indices[data.indptr[start + t] : data.indptr[start + t + 1]]
            values = data.values[data.indptr[start + t] : data.indptr[start + t + 1]]
            for j in range(indices.shape[0]):
                column[indices[j] * K] += change * values[j]


def touched(data, i, work, out):
    """Features of the moved positions in the columns of their labels, moved transitions and biases of the ends."""
    K, F = data.n_labels, data.n_features
    start = data.y_off[i]
    T = data.y_off[i + 1] - start
    if work.size[TRANSITION] > out.shape[0]:
        return -1
    first = first_entry(TRANSITION, work)
    for e in range(work.size[TRANSITION]):
        out[e] = transition_offset(data) + work.row[first + e] * K + work.label[first + e]
    listed = work.size[TRANSITION]
    for e in range(work.size[POSITION]):
        row, label = work.row[e], work.label[e]
        begin, end = data.indptr[start + row], data.indptr[start + row + 1]
        if listed + end - begin + 2 > out.shape[0]:
            return -1
        for j in range(begin, end):
            out[listed] = data.indices[j] * K + label
            listed += 1
        if data.ends == 1:
            if row == 0:
                out[listed] = F * K + label
                listed += 1
            if row == T - 1:
                out[listed] = F * K + K + label
                listed += 1
    return listed


def grams(indptr, indices, values, y_off, gram_off, out):
    """Gram matrix ``X X'`` of every sequence that has room in ``out``; column indices are sorted."""
    for i in range(y_off.shape[0] - 1):
        start = y_off[i]
        T = y_off[i + 1] - start
        if gram_off[i + 1] == gram_off[i]:
            continue
        for t in range(T):
            for s in range(t + 1):
                a, a_stop = indptr[start + t], indptr[start + t + 1]
                b, b_stop = indptr[start + s], indptr[start + s + 1]
                total = 0.0
                while a < a_stop and b < b_stop:
                    if indices[a] == indices[b]:
                        total += values[a] * values[b]
                        a += 1
                        b += 1
                    elif indices[a] < indices[b]:
                        a += 1
                    else:
                        b += 1
                out[gram_off[i] + t * T + s] = total
                out[gram_off[i] + s * T + t] = total
