"""Shared routines that multiply rows of features with U, the (F, K) matrix at the beginning of w, a column per label.

The model's data must have the fields ``indptr``, ``index_at``, ``indices``, ``values`` (see
:class:`bcfw.inputs.rows.Rows`) and ``n_labels`` (K). Values may be float32; products and sums are float64.
"""

from __future__ import annotations


def add_rows(data, token, w, out):
    """Add ``U'x_token`` to ``out``, four features at a time."""
    K = out.shape[0]
    indices = data.indices[data.index_at[token] :]
    values = data.values[data.indptr[token] : data.indptr[token + 1]]
    fours = values.shape[0] // 4
    for quarter in range(fours):
        j = 4 * quarter
        a, b, c, e = values[j], values[j + 1], values[j + 2], values[j + 3]
        fa, fb, fc, fe = indices[j], indices[j + 1], indices[j + 2], indices[j + 3]
        ua, ub = w[fa * K : fa * K + K], w[fb * K : fb * K + K]
        uc, ue = w[fc * K : fc * K + K], w[fe * K : fe * K + K]
        for k in range(K):
            out[k] += (a * ua[k] + b * ub[k]) + (c * uc[k] + e * ue[k])
    for j in range(4 * fours, values.shape[0]):
        a = values[j]
        fa = indices[j]
        ua = w[fa * K : fa * K + K]
        for k in range(K):
            out[k] += a * ua[k]


def column_product(data, row, k, w):
    """Return ``x_row'U[:, k]``."""
    K = data.n_labels
    column = w[k:]
    indices = data.indices[data.index_at[row] :]
    values = data.values[data.indptr[row] : data.indptr[row + 1]]
    total = 0.0
    for j in range(values.shape[0]):
        total += values[j] * column[indices[j] * K]
    return total


def column_pair_product(data, row, k, l, w):
    """Return ``x_row'U[:, k]`` and ``x_row'U[:, l]``."""
    K = data.n_labels
    first, second = w[k:], w[l:]
    indices = data.indices[data.index_at[row] :]
    values = data.values[data.indptr[row] : data.indptr[row + 1]]
    a = 0.0
    b = 0.0
    for j in range(values.shape[0]):
        start = indices[j] * K
        a += values[j] * first[start]
        b += values[j] * second[start]
    return a, b


def add_row_outer(data, row, s, count, work, few, w):
    """Add ``s x_row d'`` to U; up to ``few`` moved labels are added one by one, more as whole rows, which vectorises.

    ``work.d`` has one entry per label; the first ``count`` entries of ``work.moved`` are the labels with ``d != 0``.
    """
    K = data.n_labels
    if count == 0:
        return
    indices = data.indices[data.index_at[row] :]
    values = data.values[data.indptr[row] : data.indptr[row + 1]]
    for j in range(values.shape[0]):
        f = indices[j]
        weights = w[f * K : f * K + K]
        c = s * values[j]
        if count <= few:
            for m in range(count):
                weights[work.moved[m]] += c * work.d[work.moved[m]]
        else:
            for k in range(K):
                weights[k] += c * work.d[k]


def list_row_outer(data, row, labels, count, out):
    """Write the coordinates of U at the features of ``row`` and the first ``count`` of ``labels`` to ``out``.

    Returns their number, or -1 if they do not fit.
    """
    K = data.n_labels
    size = data.indptr[row + 1] - data.indptr[row]
    if size * count > out.shape[0]:
        return -1
    indices = data.indices[data.index_at[row] :]
    listed = 0
    for j in range(size):
        for m in range(count):
            out[listed] = indices[j] * K + labels[m]
            listed += 1
    return listed
