"""Sequences are stacked before they are converted: the rows are those of each sequence by itself."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from bcfw.inputs import rows
from bcfw.inputs.rows import matrix_of, matrix_rows, sequence_rows
from bcfw.inputs.sequences import Sequences


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
        found, expected = found.spread(), matrix_rows(np.concatenate(X), "Chain").spread()
        np.testing.assert_array_equal(y_off, np.cumsum([0, *(len(x) for x in X)]))
        for name in ("indptr", "indices", "values"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
            assert getattr(found, name).dtype == getattr(expected, name).dtype


@pytest.mark.parametrize("stack", [False, True])
@pytest.mark.parametrize(("packed", "size"), [(np.float32, 4), (np.float64, 8), (np.int32, 8)])
@pytest.mark.parametrize("zeros", [0.0, 0.05, 0.5])
def test_memory_of_reading(monkeypatch, stack, packed, size, zeros):
    """The peak is what is kept, and a few pieces. Of dense rows, and of CSR with its columns, no more than one copy."""
    monkeypatch.setattr(rows, "AT_ONCE", 2**14)
    rng = np.random.default_rng(0)
    matrix = (rng.integers(1, 9, size=(2**13, 2**7)) * (rng.random((2**13, 2**7)) >= zeros)).astype(packed)
    cut = Sequences(matrix, np.arange(0, len(matrix) + 1, 64))
    given = cut if stack else list(cut)
    tracemalloc.start()
    found, _ = sequence_rows(given, "Chain")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(matrix_of(found), matrix)
    kept = (size + 4) * np.count_nonzero(matrix) if zeros == 0.5 else size * matrix.size
    assert found.values.nbytes + found.indices.nbytes == kept + (0 if zeros == 0.5 else 4 * matrix.shape[1])
    own = np.shares_memory(found.values, matrix)
    assert own == (stack and packed != np.int32 and zeros < 0.5)
    assert peak < (0 if own else kept) + 64 * 2**14


def test_columns_of_scipy_are_not_copied():
    csr = sp.random_array((50, 30), density=0.2, format="csr", rng=np.random.default_rng(0))
    found, _ = sequence_rows(Sequences(csr, [0, 20, 50]), "Chain")
    assert np.shares_memory(found.values, csr.data)
    assert np.shares_memory(found.indices, csr.indices)
