"""Rows: the form of feature matrices in compiled code, read from one matrix or from one matrix per sequence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError
from bcfw.inputs.feature_matrices import AT_ONCE, sequence_matrix, stacked_matrix
from bcfw.inputs.numbers import LARGEST, kept_real, no_feature, offsets, packed_type, real, writable
from bcfw.inputs.sequences import Sequences, read_sequences

#: If at least this fraction of a dense matrix's entries is not zero, all entries are kept, so that none is copied.
DENSE_SHARE = 0.9

#: If at least this fraction of entries is not zero, products use a dense matrix, which is faster.
PRODUCT_SHARE = 0.1


class Rows:
    """Rows of features as arrays of fixed types; the only form in which features enter compiled code.

    Row r has the values ``values[indptr[r]:indptr[r + 1]]``. The column numbers of these values start at
    ``indices[index_at[r]]``. In CSR, ``index_at[r]`` is ``indptr[r]``. All rows of a dense matrix share one list of all
    columns, so that its values need not be copied.

    Parameters
    ----------
    indptr : (N + 1,) offsets of the rows
    indices, values : column numbers, increasing in every row, and values
    n_features : number of columns F
    index_at : (N,) array, or None for CSR
    """

    def __init__(
        self,
        indptr: np.ndarray,
        indices: np.ndarray,
        values: np.ndarray,
        n_features: int,
        index_at: np.ndarray | None = None,
    ) -> None:
        self.indptr = writable(indptr, np.int64)
        # Compiled code need not test unsigned indices for < 0. A view of scipy's int32 as uint32 copies nothing.
        self.indices = writable(indices.view(np.uint32) if indices.dtype == np.int32 else indices, np.uint32)
        self.values = writable(values, packed_type(values.dtype))
        self.n_features = n_features
        self.index_at = self.indptr[:-1] if index_at is None else index_at

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    def spread(self, packed: Any = None) -> Rows:
        """Return the rows as CSR without zeros, where rows do not share column numbers.

        Values have the type ``packed`` if it is given.
        """
        values = self.values if packed is None else self.values.astype(packed, copy=False)
        given = values != 0.0
        ends = np.append(0, np.cumsum(given))[self.indptr]
        return Rows(ends, columns_of(self)[given], values[given], self.n_features)

    def take(self, chosen: np.ndarray) -> Rows:
        """Return the rows with the indices ``chosen``, in this order, as CSR."""
        some = csr_of(self)[chosen]
        return Rows(some.indptr, some.indices, some.data, self.n_features)

    def check_width(self, n_features: int | None, owner: str) -> None:
        """Raise unless the rows have ``n_features`` features."""
        if self.n_features != n_features:
            raise InputError(f"{owner}: X has {self.n_features} features, expected {n_features}")


def pieces(indptr: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Yield ranges of rows that have about ``AT_ONCE`` entries each, together with the ranges of these entries."""
    start, n_rows = 0, len(indptr) - 1
    while start < n_rows:
        stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + AT_ONCE, side="right")) - 1)
        yield slice(start, stop), slice(int(indptr[start]), int(indptr[stop]))
        start = stop


def columns_of(rows: Any, some: slice = slice(None)) -> np.ndarray:
    """Return the column number of every entry of some rows.

    ``rows`` are :class:`Rows` or a record with the fields of :class:`Rows`.
    """
    ends = rows.indptr[some.start : None if some.stop is None else some.stop + 1]
    counts = np.diff(ends)
    begin = rows.index_at[some] - ends[:-1]
    if not begin.any():
        return rows.indices[ends[0] : ends[-1]]  # type: ignore[no-any-return]
    return rows.indices[np.arange(ends[0], ends[-1]) + np.repeat(begin, counts)]  # type: ignore[no-any-return]


def numbers_of(indptr: np.ndarray, some: slice) -> np.ndarray:
    """Return the row of every entry of some rows, counted from the first of these rows."""
    return np.repeat(np.arange(some.stop - some.start), np.diff(indptr[some.start : some.stop + 1]))


def row_sqnorms(indptr: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the (N,) squared norms of the rows."""
    out = np.zeros(len(indptr) - 1)
    for some, inside in pieces(indptr):
        squares = values[inside].astype(np.float64) ** 2
        out[some] = np.bincount(numbers_of(indptr, some), weights=squares, minlength=some.stop - some.start)
    return out


def csr_of(rows: Any) -> Any:
    """Return rows, or a record with the fields of :class:`Rows`, as a sparse matrix of float64."""
    values = rows.values.astype(np.float64, copy=False)
    shape = (len(rows.indptr) - 1, rows.n_features)
    return sp.csr_array((values, columns_of(rows).astype(np.int64), rows.indptr), shape=shape)


def matrix_of(rows: Any) -> Any:
    """Return rows, or a record with the fields of :class:`Rows`, as a float64 matrix for products.

    The matrix is sparse if less than ``PRODUCT_SHARE`` of its entries are stored, otherwise dense.
    """
    shape = (len(rows.indptr) - 1, rows.n_features)
    if rows.indptr[-1] < PRODUCT_SHARE * shape[0] * shape[1]:
        return csr_of(rows)
    out = np.zeros(shape)
    for some, inside in pieces(rows.indptr):
        out[some][numbers_of(rows.indptr, some), columns_of(rows, some)] = rows.values[inside]
    return out


def matrix_rows(X: Any, owner: str, unit: str = "example") -> Rows:
    """Return the rows of one dense or sparse (N, F) matrix of finite numbers; errors call a row ``unit``."""
    rows = unchecked_rows(X, owner)
    check_finite(rows, lambda row: f"{owner}: {unit} {row}")
    return rows


def unchecked_rows(X: Any, owner: str) -> Rows:
    """Return the rows of one dense or sparse (N, F) matrix of any numbers."""
    if sp.issparse(X):
        if X.ndim != 2:
            raise InputError(f"{owner}: X must be a 2-D array or a sparse matrix, got {X.ndim} dimensions")
        csr = sp.csr_array(X, copy=False)
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        used = csr.indptr[-1]  # scipy allows arrays that are longer than their used part
        return Rows(csr.indptr, csr.indices[:used], kept_real(csr.data[:used], owner), csr.shape[1])
    matrix = kept_real(X, owner)
    if matrix.ndim != 2:
        raise InputError(f"{owner}: X must be a 2-D array or a sparse matrix, got {matrix.ndim} dimensions")
    room = int(np.count_nonzero(matrix))
    if room >= DENSE_SHARE * matrix.size:
        return all_entries(matrix)
    step = max(1, AT_ONCE // max(1, matrix.shape[1]))
    parts = (dense_rows(matrix[a : a + step]) for a in range(0, len(matrix), step))
    return concatenated_rows(parts, len(matrix), room, matrix.shape[1], packed_type(matrix.dtype))


def all_entries(matrix: np.ndarray) -> Rows:
    """Return the rows of a dense (N, F) matrix, zeros included; values are not copied if type and layout are right."""
    n_rows, n_features = matrix.shape
    ends, columns = np.arange(n_rows + 1) * n_features, np.arange(n_features, dtype=np.uint32)
    values = np.ascontiguousarray(matrix, packed_type(matrix.dtype)).ravel()
    return Rows(ends, columns, values, n_features, np.zeros(n_rows, np.int64))


def dense_rows(matrix: np.ndarray) -> Rows:
    """Return the CSR rows of a dense (N, F) matrix of numbers, without zeros."""
    given, columns = matrix != 0.0, np.arange(matrix.shape[1], dtype=np.uint32)
    if given.all():
        return Rows(
            np.arange(len(matrix) + 1) * len(columns), np.tile(columns, len(matrix)), matrix.ravel(), len(columns)
        )
    indices = np.broadcast_to(columns, matrix.shape)
    return Rows(offsets(np.count_nonzero(given, axis=1)), indices[given], matrix[given], matrix.shape[1])


def check_finite(rows: Rows, name: Callable[[int], str]) -> None:
    """Raise if a row has a NaN, an infinity, or a number whose square is too large; the error names the first row."""
    for start in range(0, len(rows.values), AT_ONCE):
        for bad in start + np.flatnonzero(~(np.abs(rows.values[start : start + AT_ONCE]) <= np.float64(LARGEST)))[:1]:
            row = int(np.searchsorted(rows.indptr, bad, side="right")) - 1
            wrong, feature = no_feature(rows.values[bad]), columns_of(rows, slice(row, row + 1))[bad - rows.indptr[row]]
            raise InputError(f"{name(row)} has {wrong} in feature {feature}; clean X")


def sequence_rows(X: Any, owner: str) -> tuple[Rows, np.ndarray]:
    """Return the rows of all sequences (T_i, F), dense or sparse, and the (n + 1,) offsets of the sequences."""
    given = read_sequences(X, owner)
    if isinstance(given, Sequences):
        rows, y_off = unchecked_rows(stacked_matrix(given, owner), owner), writable(given.offsets, np.int64)
    else:
        rows, y_off = listed_rows(given, owner)
    check_finite(rows, lambda row: position_name(row, y_off, owner))
    return rows, y_off


def listed_rows(X: list[Any], owner: str) -> tuple[Rows, np.ndarray]:
    """Return the rows of a list of sequences of any numbers, and the (n + 1,) offsets of the sequences.

    Sequences are stacked first and converted together, because calls of numpy or scipy for each sequence take longer.
    """
    matrices = [sequence_matrix(x, f"{owner}: example {i}") for i, x in enumerate(X)]
    if not matrices:
        raise InputError(f"{owner}: X is empty; give at least one sequence")
    n_features = matrices[0].shape[1]
    for i, matrix in enumerate(matrices):
        if matrix.shape[1] != n_features:
            raise InputError(f"{owner}: example {i} has {matrix.shape[1]} features, expected {n_features}")
    y_off = offsets([matrix.shape[0] for matrix in matrices])
    packed = packed_type(*{matrix.dtype for matrix in matrices})
    room = sum(matrix.nnz if sp.issparse(matrix) else int(np.count_nonzero(matrix)) for matrix in matrices)
    if room >= DENSE_SHARE * y_off[-1] * n_features and not any(map(sp.issparse, matrices)):
        return all_entries(np.concatenate(matrices, dtype=packed)), y_off
    parts = list(runs_of_one_kind(matrices, y_off * n_features))
    if len(parts) == 1:
        return rows_of_run(matrices, parts[0], owner), y_off
    each = (rows_of_run(matrices, part, owner) for part in parts)
    return concatenated_rows(each, int(y_off[-1]), room, n_features, packed), y_off


def runs_of_one_kind(matrices: list[Any], sizes: np.ndarray) -> Iterator[range]:
    """Yield ranges of sequences that are all sparse, or all dense and in total not much larger than ``AT_ONCE``."""
    part = (sizes // AT_ONCE).tolist()
    kinds = [None if sp.issparse(matrix) else part[i] for i, matrix in enumerate(matrices)]
    for _, group in itertools.groupby(range(len(kinds)), kinds.__getitem__):
        members = list(group)
        yield range(members[0], members[-1] + 1)


def rows_of_run(matrices: list[Any], part: range, owner: str) -> Rows:
    """Return the CSR rows of the sequences in a range, which are all dense or all sparse."""
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
    """Return rows with increasing column indices; several entries for one column of a row are added."""
    rises = rows.indices[1:] > rows.indices[:-1]
    starts = rows.indptr[1:-1]
    rises[starts[(starts > 0) & (starts < len(rows.indices))] - 1] = True
    if rises.all():
        return rows
    shape = (rows.n_rows, rows.n_features)
    csr = sp.csr_array((rows.values, rows.indices.astype(np.int64), rows.indptr), shape=shape)
    csr.sum_duplicates()
    return Rows(csr.indptr, csr.indices, csr.data, rows.n_features)


def joined(parts: list[Rows]) -> Rows:
    """Return the concatenation of CSR rows."""
    if len(parts) == 1:
        return parts[0]
    n_rows, room = sum(part.n_rows for part in parts), sum(len(part.values) for part in parts)
    packed = packed_type(*{part.values.dtype for part in parts})
    return concatenated_rows(iter(parts), n_rows, room, parts[0].n_features, packed)


def concatenated_rows(parts: Iterator[Rows], n_rows: int, room: int, n_features: int, packed: Any) -> Rows:
    """Return the concatenation of CSR rows from an iterator, with values of the type ``packed``.

    Each part is computed when it is needed and freed after it is copied, so that only one is in memory at a time.
    ``room`` is at least the number of entries of all parts.
    """
    indptr, indices, values = np.zeros(n_rows + 1, np.int64), np.empty(room, np.uint32), np.empty(room, packed)
    row = used = 0
    for part in parts:
        more = len(part.values)
        indptr[row + 1 : row + 1 + part.n_rows] = used + part.indptr[1:]
        indices[used : used + more], values[used : used + more] = part.indices, part.values
        row, used = row + part.n_rows, used + more
    return Rows(indptr, indices[:used], values[:used], n_features)


def position_name(row: int, y_off: np.ndarray, owner: str) -> str:
    """Return the name of a row of stacked sequences for error messages: its example and position."""
    i = int(np.searchsorted(y_off, row, side="right")) - 1
    return f"{owner}: example {i}: position {row - y_off[i]}"
