"""Arithmetic on dense vectors, and on sparse vectors given by sorted indices and values."""

from __future__ import annotations


def dense_combine(a, s, b, out):
    for j in range(a.shape[0]):
        out[j] = a[j] + s * b[j]


def dense_between(a, b, w):
    """Return ``<a - b, w>`` of dense vectors."""
    total = 0.0
    for j in range(a.shape[0]):
        total += (a[j] - b[j]) * w[j]
    return total


def dense_direct(a, s, b, w, out):
    """Write ``d = a + s b`` and return ``<d, w>`` and ``<d, d>``."""
    dense_combine(a, s, b, out)
    return dense_products(out, w)


def dense_products(a, w):
    """Return ``<a, w>`` and ``<a, a>``."""
    along = 0.0
    square = 0.0
    for j in range(a.shape[0]):
        along += a[j] * w[j]
        square += a[j] * a[j]
    return along, square


def dense_add(w, s, a):
    for j in range(a.shape[0]):
        w[j] += s * a[j]


def sparse_read(index, value, out_index, out_value):
    """Copy indices and values to arrays of fixed types; return whether the indices increase."""
    before = -1
    increasing = True
    for j in range(index.shape[0]):
        out_index[j] = index[j]
        out_value[j] = value[j]
        increasing = increasing and out_index[j] > before
        before = out_index[j]
    return increasing


def sparse_combine(a_index, a_value, s, b_index, b_value, index, value):
    """Write ``a + s b`` without its zeros; return the number of entries."""
    a = b = count = 0
    while a < a_index.shape[0] or b < b_index.shape[0]:
        if b == b_index.shape[0] or (a < a_index.shape[0] and a_index[a] < b_index[b]):
            index[count], value[count] = a_index[a], a_value[a]
            a += 1
        elif a == a_index.shape[0] or b_index[b] < a_index[a]:
            index[count], value[count] = b_index[b], s * b_value[b]
            b += 1
        else:
            index[count], value[count] = a_index[a], a_value[a] + s * b_value[b]
            a += 1
            b += 1
        if value[count] != 0.0:
            count += 1
    return count


def sparse_between(a_index, a_value, b_index, b_value, w):
    """Return ``<a - b, w>`` of sparse vectors a and b and a dense w."""
    return sparse_products(a_index, a_value, w)[0] - sparse_products(b_index, b_value, w)[0]


def sparse_direct(a_index, a_value, s, b_index, b_value, w, index, value):
    """Write ``d = a + s b``; return its number of entries, ``<d, w>`` and ``<d, d>``."""
    count = sparse_combine(a_index, a_value, s, b_index, b_value, index, value)
    along, square = sparse_products(index[:count], value[:count], w)
    return count, along, square


def sparse_products(index, value, w):
    """Return ``<a, w>`` and ``<a, a>`` of a sparse vector a and a dense w."""
    along = 0.0
    square = 0.0
    for j in range(index.shape[0]):
        along += value[j] * w[index[j]]
        square += value[j] * value[j]
    return along, square


def sparse_add(w, s, index, value):
    for j in range(index.shape[0]):
        w[index[j]] += s * value[j]


def first_argmax(row):
    """Return the label of the largest score in a row of scores; among equals, the first."""
    best = 0
    for k in range(1, row.shape[0]):
        if row[k] > row[best]:
            best = k
    return best
