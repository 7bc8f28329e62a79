"""The Viterbi algorithm, the best path through a chain of scores, and decoding of sequences with sparse weights."""

from __future__ import annotations

from bcfw.algorithms.sparse_vectors import first_argmax


def best_path(theta, trans, T, best, y):
    """Write the labels of the best path to y and return its score ``sum_t theta[t, y_t] + sum_t trans[y_{t-1}, y_t]``.

    The forward loop stores only maxima; the backward loop finds the predecessors again. ``theta`` and the scratch
    ``best`` are at least (T, K); ``trans`` holds the (K, K) transitions one row after the other.
    """
    K = theta.shape[1]
    for k in range(K):
        best[0, k] = theta[0, k]
    for t in range(1, T):
        forward(best[t - 1], trans, theta[t], best[t])
    k = first_argmax(best[T - 1])
    value = best[T - 1, k]
    y[T - 1] = k
    for t in range(T - 1, 0, -1):
        before = best[t - 1]
        top = before[0] + trans[k]
        p = 0
        for q in range(1, K):
            v = before[q] + trans[q * K + k]
            if v > top:
                top = v
                p = q
        y[t - 1] = p
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


def decode_sparse(indptr, columns, values, offsets, starts, labels, weights, first, last, trans, theta, best, y, out):
    """Write the best labels of every sequence, with sparse weights, to ``out``.

    Parameters
    ----------
    indptr, columns, values, offsets
        Features of all positions; see :class:`bcfw.text.attributes.vocabulary.Encoded`.
    starts, labels, weights, first, last, trans
        See :class:`bcfw.text.decoder.ChainDecoder`; ``trans`` is flat.
    theta, best, y
        Scratch: (T, K), (T, K) and (T,), for the longest sequence.
    out : (N,) labels of all positions
    """
    K = first.shape[0]
    for i in range(offsets.shape[0] - 1):
        begin, T = offsets[i], offsets[i + 1] - offsets[i]
        if T == 0:
            continue
        for t in range(T):
            row = theta[t]
            for k in range(K):
                row[k] = 0.0
            for j in range(indptr[begin + t], indptr[begin + t + 1]):
                column = columns[j]
                if column >= 0:
                    value = values[j] if values.shape[0] > 0 else 1.0
                    for m in range(starts[column], starts[column + 1]):
                        row[labels[m]] += value * weights[m]
        for k in range(K):
            theta[0, k] += first[k]
            theta[T - 1, k] += last[k]
        best_path(theta, trans, T, best, y)
        for t in range(T):
            out[begin + t] = y[t]
