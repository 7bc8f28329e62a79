"""Sequences are stacked before they are converted: the rows are those of each sequence by itself."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from bcfw.inputs import rows
from bcfw.inputs.rows import matrix_rows, sequence_rows


def unsorted(matrix):
    """A CSR array whose column indices fall, with the last entry of each row split in two, and room at its end."""
    coo = sp.coo_array(matrix)
    order = np.lexsort((-coo.coords[1], coo.coords[0]))
    row, column, value = coo.coords[0][order], coo.coords[1][order], coo.data[order]
    row, column, value = np.repeat(row, 2), np.repeat(column, 2), np.repeat(value / 2, 2)
    indptr = np.searchsorted(row, np.arange(len(matrix) + 1))
    room = np.full(3, 1)
    return sp.csr_array((np.append(value, room), np.append(column, room), indptr), shape=matrix.shape)


def test_stacked_rows_are_those_of_single_sequences(monkeypatch):
    monkeypatch.setattr(rows, "AT_ONCE", 20)  # several pieces
    rng = np.random.default_rng(0)
    X = [rng.integers(3, size=(T, 4)).astype(float) for T in rng.integers(1, 6, size=40)]
    X[3][:] = 0.0
    forms = [np.asarray, sp.csr_array, sp.coo_matrix, unsorted, lambda x: x.astype(np.int8), np.ndarray.tolist]
    given = [forms[rng.integers(len(forms))](x) for x in X]
    for examples in (given, X, [sp.csr_array(x) for x in X], [unsorted(x) for x in X]):
        found, y_off = sequence_rows(examples, "Chain")
        expected = matrix_rows(np.concatenate(X), "Chain")
        np.testing.assert_array_equal(y_off, np.cumsum([0, *(len(x) for x in X)]))
        for name in ("indptr", "indices", "values"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
            assert getattr(found, name).dtype == getattr(expected, name).dtype
