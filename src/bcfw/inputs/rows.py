"""Features as CSR rows: one matrix for all examples, or one per sequence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError
from bcfw.inputs.matrices import sequence_matrix, stacked_matrix
from bcfw.inputs.numbers import LARGEST, kept_real, no_feature, offsets, real, writable
from bcfw.inputs.sequences import Sequences, read_sequences

#: About so many entries of dense matrices are converted at once, which bounds the memory that it takes.
AT_ONCE = 2**22


class Rows:
    """CSR rows as three arrays of fixed types; the one form in which features enter compiled code."""

    def __init__(self, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, n_features: int) -> None:
        self.indptr = writable(indptr, np.int64)
        # Unsigned: compiled code need not test for < 0. The bits are the same, so that scipy's int32 are not copied.
        self.indices = writable(indices.view(np.uint32) if indices.dtype == np.int32 else indices, np.uint32)
        self.values = writable(values, np.float64)
        self.n_features = n_features

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    def take(self, chosen: np.ndarray) -> Rows:
        """Some of the rows, in the order of their numbers ``chosen``."""
        shape = (self.n_rows, self.n_features)
        some = sp.csr_array((self.values, self.indices.astype(np.int64), self.indptr), shape=shape)[chosen]
        return Rows(some.indptr, some.indices, some.data, self.n_features)

    def check_width(self, n_features: int | None, owner: str) -> None:
        """Raise unless the rows have as many features as a model is bound to."""
        if self.n_features != n_features:
            raise InputError(f"{owner}: X has {self.n_features} features, expected {n_features}")


def row_sqnorms(indptr: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(N,) squared norm of every CSR row."""
    n_rows = len(indptr) - 1
    row = np.repeat(np.arange(n_rows), np.diff(indptr))
    return np.bincount(row, weights=values**2, minlength=n_rows)


def matrix_rows(X: Any, owner: str, unit: str = "example") -> Rows:
    """Rows of one dense or sparse (N, F) matrix; ``unit`` is what the error calls a row."""
    rows = unchecked_rows(X, owner)
    check_finite(rows, lambda row: f"{owner}: {unit} {row}")
    return rows


def unchecked_rows(X: Any, owner: str) -> Rows:
    """Rows of one dense or sparse (N, F) matrix of any numbers."""
    if sp.issparse(X):
        if X.ndim != 2:
            raise InputError(f"{owner}: X must be a 2-D array or a sparse matrix, got {X.ndim} dimensions")
        csr = sp.csr_array(X, copy=False)
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        return Rows(csr.indptr, csr.indices, real(csr.data, owner), csr.shape[1])
    matrix = kept_real(X, owner)
    if matrix.ndim != 2:
        raise InputError(f"{owner}: X must be a 2-D array or a sparse matrix, got {matrix.ndim} dimensions")
    step = max(1, AT_ONCE // max(1, matrix.shape[1]))
    pieces = (dense_rows(matrix[a : a + step]) for a in range(0, len(matrix), step))
    return assembled(pieces, len(matrix), int(np.count_nonzero(matrix)), matrix.shape[1])


def dense_rows(matrix: np.ndarray) -> Rows:
    """Rows of a dense (N, F) matrix of numbers."""
    given, columns = matrix != 0.0, np.arange(matrix.shape[1], dtype=np.uint32)
    if given.all():
        return Rows(
            np.arange(len(matrix) + 1) * len(columns), np.tile(columns, len(matrix)), matrix.ravel(), len(columns)
        )
    indices = np.broadcast_to(columns, matrix.shape)
    return Rows(offsets(np.count_nonzero(given, axis=1)), indices[given], matrix[given], matrix.shape[1])


def check_finite(rows: Rows, name: Callable[[int], str]) -> None:
    """Raise with the name of the first row that has a NaN, an infinity, or a number whose square would be one."""
    for start in range(0, len(rows.values), AT_ONCE):
        for bad in start + np.flatnonzero(~(np.abs(rows.values[start : start + AT_ONCE]) <= LARGEST))[:1]:
            row = int(np.searchsorted(rows.indptr, bad, side="right")) - 1
            wrong, feature = no_feature(rows.values[bad]), rows.indices[bad]
            raise InputError(f"{name(row)} has {wrong} in feature {feature}; clean X")


def sequence_rows(X: Any, owner: str) -> tuple[Rows, np.ndarray]:
    """Rows of all sequences (T_i, F), dense or sparse; also return the (n + 1,) position offsets."""
    given = read_sequences(X, owner)
    if isinstance(given, Sequences):
        rows, y_off = unchecked_rows(stacked_matrix(given, owner), owner), given.offsets
    else:
        rows, y_off = listed_rows(given, owner)
    check_finite(rows, lambda row: position_name(row, y_off, owner))
    return rows, y_off


def listed_rows(X: list[Any], owner: str) -> tuple[Rows, np.ndarray]:
    """The same for a list, of any numbers.

    Sequences are stacked first and converted together: a call of numpy or scipy for each of many takes far longer.
    """
    matrices = [sequence_matrix(x, f"{owner}: example {i}") for i, x in enumerate(X)]
    if not matrices:
        raise InputError(f"{owner}: X is empty; give at least one sequence")
    n_features = matrices[0].shape[1]
    for i, matrix in enumerate(matrices):
        if matrix.shape[1] != n_features:
            raise InputError(f"{owner}: example {i} has {matrix.shape[1]} features, expected {n_features}")
    y_off = offsets([matrix.shape[0] for matrix in matrices])
    parts = list(alike(matrices, y_off * n_features))
    if len(parts) == 1:
        return some_rows(matrices, parts[0], owner), y_off
    room = sum(matrix.nnz if sp.issparse(matrix) else int(np.count_nonzero(matrix)) for matrix in matrices)
    pieces = (some_rows(matrices, part, owner) for part in parts)
    return assembled(pieces, int(y_off[-1]), room, n_features), y_off


def alike(matrices: list[Any], sizes: np.ndarray) -> Iterator[range]:
    """Ranges of sequences that are all sparse, or all dense and together not much larger than ``AT_ONCE``."""
    part = (sizes // AT_ONCE).tolist()
    kinds = [None if sp.issparse(matrix) else part[i] for i, matrix in enumerate(matrices)]
    for _, group in itertools.groupby(range(len(kinds)), kinds.__getitem__):
        members = list(group)
        yield range(members[0], members[-1] + 1)


def some_rows(matrices: list[Any], part: range, owner: str) -> Rows:
    """Rows of the sequences in a range, which are all dense or all sparse."""
    if not sp.issparse(matrices[part[0]]):
        return dense_rows(np.concatenate([matrices[i] for i in part]))
    csr = [matrices[i] if matrices[i].format == "csr" else matrices[i].tocsr() for i in part]
    for i, matrix in zip(part, csr, strict=True):
        if matrix.data.dtype.kind not in "fiub":
            real(matrix.data, f"{owner}: example {i}")
    ends = np.concatenate([matrix.indptr for matrix in csr])
    counts = np.delete(np.diff(ends), np.cumsum([len(matrix.indptr) for matrix in csr[:-1]], dtype=np.int64) - 1)
    indices = np.concatenate([matrix.indices[: matrix.indptr[-1]] for matrix in csr])
    values = np.concatenate([matrix.data[: matrix.indptr[-1]] for matrix in csr])
    return canonical(Rows(offsets(counts), indices, values, csr[0].shape[1]))


def canonical(rows: Rows) -> Rows:
    """The same rows with rising column indices; entries of one place are added up."""
    rises = rows.indices[1:] > rows.indices[:-1]
    starts = rows.indptr[1:-1]
    rises[starts[(starts > 0) & (starts < len(rows.indices))] - 1] = True
    if rises.all():
        return rows
    shape = (rows.n_rows, rows.n_features)
    csr = sp.csr_array((rows.values, rows.indices.astype(np.int64), rows.indptr), shape=shape)
    csr.sum_duplicates()
    return Rows(csr.indptr, csr.indices, csr.data, rows.n_features)


def joined(pieces: list[Rows]) -> Rows:
    """Rows of several pieces, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    n_rows, room = sum(piece.n_rows for piece in pieces), sum(len(piece.values) for piece in pieces)
    return assembled(iter(pieces), n_rows, room, pieces[0].n_features)


def assembled(pieces: Iterator[Rows], n_rows: int, room: int, n_features: int) -> Rows:
    """The same for pieces that are made one by one.

    Each piece is made when its turn comes, and is not needed after it was copied: no more than one is there at a time.
    ``room`` is at least the number of entries of all pieces.
    """
    indptr, indices, values = np.zeros(n_rows + 1, np.int64), np.empty(room, np.uint32), np.empty(room)
    row = used = 0
    for piece in pieces:
        more = len(piece.values)
        indptr[row + 1 : row + 1 + piece.n_rows] = used + piece.indptr[1:]
        indices[used : used + more], values[used : used + more] = piece.indices, piece.values
        row, used = row + piece.n_rows, used + more
    return Rows(indptr, indices[:used], values[:used], n_features)


def position_name(row: int, y_off: np.ndarray, owner: str) -> str:
    """The name of a row of stacked sequences in messages."""
    i = int(np.searchsorted(y_off, row, side="right")) - 1
    return f"{owner}: example {i}: position {row - y_off[i]}"
