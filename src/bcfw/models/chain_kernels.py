"""Kernels of linear-chain models: scores, Viterbi, and directions in part space.

Parts of a chain with T positions and K labels: the position-label indicators (T, K) and the transition counts (K, K),
aggregated over positions because transition weights do not depend on the position. Weights are
``[U (F, K), first (K), last (K), trans (K, K)]``; rows of U are contiguous so that a sparse position adds whole rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class ChainData(NamedTuple):
    """All sequences, positions stacked.

    Attributes
    ----------
    indptr, indices, values : CSR of the (N, F) stacked position features
    y : (N,) true labels
    y_off : (n + 1,) position offsets of the sequences
    gram : X X' of each short sequence, (T, T) flat
    gram_off : (n + 1,) offsets into ``gram``; an empty range means: use the scratch vector
    cost : (K, K) loss of predicting the column for the row
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


class ChainWork(NamedTuple):
    """Scratch of one thread, for the longest sequence (T) and K labels.

    Attributes
    ----------
    theta, best : (T, K) scores; best score of a prefix that ends in a label
    y : (T,) the current labeling
    d, d_trans : (T, K) and (K, K) the current direction
    n_moved, moved : (T,) and (T, K) how many, and which, labels the direction moves at a position
    n_rows, rows, is_row : (1,), (K,) and (K,) how many, and which, rows of d_trans may be non-zero
    features : (F, K) for the norms of long sequences; empty without them
    """

    theta: np.ndarray
    best: np.ndarray
    y: np.ndarray
    d: np.ndarray
    d_trans: np.ndarray
    n_moved: np.ndarray
    moved: np.ndarray
    n_rows: np.ndarray
    rows: np.ndarray
    is_row: np.ndarray
    features: np.ndarray


#: Up to this many moved labels are updated one by one; more are updated as a whole row, which vectorises.
FEW_LABELS = 4


def unary_weights(data, w):
    return w[: data.n_features * data.n_labels].reshape((data.n_features, data.n_labels))


def transition_weights(data, w):
    K = data.n_labels
    return w[(data.n_features + 2 * data.ends) * K :].reshape((K, K))


def scores(data, i, w, loss_weight, work):
    K = data.n_labels
    U = unary_weights(data, w)
    start = data.y_off[i]
    T = data.y_off[i + 1] - start
    scale = loss_weight * data.loss_scale[i]
    for t in range(T):
        theta = work.theta[t]
        cost = data.cost[data.y[start + t]]
        for k in range(K):
            theta[k] = scale * cost[k]
        add_rows(data, start + t, U, theta)
    if data.ends == 1:
        F = data.n_features
        first = w[F * K : F * K + K]
        last = w[F * K + K : F * K + 2 * K]
        for k in range(K):
            work.theta[0, k] += first[k]
            work.theta[T - 1, k] += last[k]


def add_rows(data, token, U, out):
    """Add U'x to ``out`` for one position, four features at a time."""
    j = data.indptr[token]
    stop = data.indptr[token + 1]
    while j + 4 <= stop:
        a, b, c, e = data.values[j], data.values[j + 1], data.values[j + 2], data.values[j + 3]
        ua, ub = U[data.indices[j]], U[data.indices[j + 1]]
        uc, ue = U[data.indices[j + 2]], U[data.indices[j + 3]]
        for k in range(out.shape[0]):
            out[k] += (a * ua[k] + b * ub[k]) + (c * uc[k] + e * ue[k])
        j += 4
    while j < stop:
        a = data.values[j]
        ua = U[data.indices[j]]
        for k in range(out.shape[0]):
            out[k] += a * ua[k]
        j += 1


def argmax(data, i, w, work):
    """Viterbi: forward maxima only; the predecessors are found again on the way back."""
    K = data.n_labels
    trans = transition_weights(data, w)
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
        top = before[0] + trans[0, k]
        p = 0
        for q in range(1, K):
            v = before[q] + trans[q, k]
            if v > top:
                top = v
                p = q
        work.y[t - 1] = p
        k = p
    return value


def forward(before, trans, theta, out):
    """Write out[k] = theta[k] + max_p before[p] + trans[p, k], four predecessors at a time."""
    K = before.shape[0]
    for k in range(K):
        out[k] = before[0] + trans[0, k]
    p = 1
    while p + 4 <= K:
        a, b, c, e = before[p], before[p + 1], before[p + 2], before[p + 3]
        ta, tb, tc, te = trans[p], trans[p + 1], trans[p + 2], trans[p + 3]
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
        ta = trans[p]
        for k in range(K):
            va = a + ta[k]
            out[k] = va if va > out[k] else out[k]
        p += 1
    for k in range(K):
        out[k] += theta[k]


def first_argmax(row):
    best = 0
    for k in range(1, row.shape[0]):
        if row[k] > row[best]:
            best = k
    return best


def truth_value(data, i, w, work):
    trans = transition_weights(data, w)
    start = data.y_off[i]
    T = data.y_off[i + 1] - start
    value = work.theta[0, data.y[start]]
    for t in range(1, T):
        value += work.theta[t, data.y[start + t]] + trans[data.y[start + t - 1], data.y[start + t]]
    return value


def loss(data, i, work):
    start = data.y_off[i]
    total = 0.0
    for t in range(data.y_off[i + 1] - start):
        total += data.cost[data.y[start + t], work.y[t]]
    return total * data.loss_scale[i]


def direction(data, i, mu, work):
    unary, transitions = mu
    K = data.n_labels
    start = data.y_off[i]
    T = data.y_off[i + 1] - start
    for k in range(K):
        work.is_row[k] = 0
    for t in range(T):
        average = unary[start + t]
        d = work.d[t]
        chosen = work.y[t]
        count = 0
        for k in range(K):
            mass = average[k]
            d[k] = -mass
            if mass != 0.0 and k != chosen:
                work.moved[t, count] = k
                count += 1
        d[chosen] += 1.0
        if count > 0 or d[chosen] != 0.0:
            work.moved[t, count] = chosen
            count += 1
        work.n_moved[t] = count
        if t < T - 1:
            work.is_row[chosen] = 1
            for j in range(count):
                work.is_row[work.moved[t, j]] = 1
    collect_rows(K, work)
    for j in range(work.n_rows[0]):
        a = work.rows[j]
        for b in range(K):
            work.d_trans[a, b] = -transitions[i, a, b]
    for t in range(1, T):
        work.d_trans[work.y[t - 1], work.y[t]] += 1.0


def collect_rows(K, work):
    """List the rows of the transition matrix that the average or the labeling uses."""
    count = 0
    for k in range(K):
        if work.is_row[k] == 1:
            work.rows[count] = k
            count += 1
    work.n_rows[0] = count


def slope(data, i, w, work):
    K = data.n_labels
    trans = transition_weights(data, w)
    total = 0.0
    for t in range(data.y_off[i + 1] - data.y_off[i]):
        for j in range(work.n_moved[t]):
            k = work.moved[t, j]
            total += work.theta[t, k] * work.d[t, k]
    for j in range(work.n_rows[0]):
        a = work.rows[j]
        for b in range(K):
            total += trans[a, b] * work.d_trans[a, b]
    return total


def sqnorm(data, i, work):
    K = data.n_labels
    T = data.y_off[i + 1] - data.y_off[i]
    if data.gram_off[i + 1] > data.gram_off[i]:
        total = unary_sqnorm_by_gram(data, i, T, work)
    else:
        total = unary_sqnorm_by_scratch(data, i, T, work)
    if data.ends == 1:
        total += row_dot(work, 0, 0) + row_dot(work, T - 1, T - 1)
    for j in range(work.n_rows[0]):
        a = work.rows[j]
        for b in range(K):
            total += work.d_trans[a, b] * work.d_trans[a, b]
    return total


def row_dot(work, t, s):
    """<d_t, d_s> over the labels that move at t (d_s is zero wherever it does not move)."""
    total = 0.0
    for j in range(work.n_moved[t]):
        k = work.moved[t, j]
        total += work.d[t, k] * work.d[s, k]
    return total


def unary_sqnorm_by_gram(data, i, T, work):
    gram = data.gram[data.gram_off[i] : data.gram_off[i + 1]].reshape((T, T))
    total = 0.0
    for t in range(T):
        if work.n_moved[t] == 0:
            continue
        total += gram[t, t] * row_dot(work, t, t)
        for s in range(t):
            if work.n_moved[s] > 0 and gram[t, s] != 0.0:
                total += 2.0 * gram[t, s] * row_dot(work, t, s)
    return max(total, 0.0)


def unary_sqnorm_by_scratch(data, i, T, work):
    """Accumulate sum_t x_t d_t' in the scratch matrix, add up its squares, and clear what was touched."""
    start = data.y_off[i]
    add_outer(data, start, T, 1.0, work, work.features)
    total = 0.0
    for t in range(T):
        if work.n_moved[t] == 0:
            continue
        for j in range(data.indptr[start + t], data.indptr[start + t + 1]):
            row = work.features[data.indices[j]]
            for k in range(row.shape[0]):
                total += row[k] * row[k]
                row[k] = 0.0
    return total


def advance(data, i, gamma, work, mu):
    unary, transitions = mu
    start = data.y_off[i]
    for t in range(data.y_off[i + 1] - start):
        for j in range(work.n_moved[t]):
            k = work.moved[t, j]
            unary[start + t, k] += gamma * work.d[t, k]
    for j in range(work.n_rows[0]):
        a = work.rows[j]
        for b in range(data.n_labels):
            transitions[i, a, b] += gamma * work.d_trans[a, b]


def apply(data, i, s, work, w):
    K = data.n_labels
    F = data.n_features
    start = data.y_off[i]
    T = data.y_off[i + 1] - start
    add_outer(data, start, T, s, work, unary_weights(data, w))
    if data.ends == 1:
        first = w[F * K : F * K + K]
        last = w[F * K + K : F * K + 2 * K]
        for k in range(K):
            first[k] += s * work.d[0, k]
            last[k] += s * work.d[T - 1, k]
    trans = transition_weights(data, w)
    for j in range(work.n_rows[0]):
        a = work.rows[j]
        for b in range(K):
            trans[a, b] += s * work.d_trans[a, b]


def add_outer(data, start, T, s, work, U):
    """Add to U: s sum_t x_t d_t'."""
    for t in range(T):
        d = work.d[t]
        count = work.n_moved[t]
        if count == 0:
            continue
        for j in range(data.indptr[start + t], data.indptr[start + t + 1]):
            row = U[data.indices[j]]
            c = s * data.values[j]
            if count <= FEW_LABELS:
                for m in range(count):
                    k = work.moved[t, m]
                    row[k] += c * d[k]
            else:
                for k in range(row.shape[0]):
                    row[k] += c * d[k]


def grams(indptr, indices, values, y_off, gram_off, out):
    """Gram matrix X X' of every sequence that has room in ``out``; column indices are sorted."""
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
