"""Features as CSR rows: one matrix for all examples, or one per sequence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError
from bcfw.inputs.matrices import AT_ONCE, sequence_matrix, stacked_matrix
from bcfw.inputs.numbers import LARGEST, kept_real, no_feature, offsets, packed_type, real, writable
from bcfw.inputs.sequences import Sequences, read_sequences

#: From this share of entries that are not zero on, all entries of dense matrices are kept: nothing has to be copied.
DENSE_SHARE = 0.9

#: Rows with at least this share of entries that are not zero are multiplied as dense ones, which is faster.
PRODUCT_SHARE = 0.1


class Rows:
    """Rows of features as arrays of fixed types; the one form in which features enter compiled code.

    Row r has the values ``values[indptr[r]:indptr[r + 1]]``, and as many column numbers in ``indices`` from
    ``index_at[r]`` on. In CSR these begin at ``indptr[r]``, too. Rows of a dense matrix share the list of all columns,
    so that its values stay where they are.

    Parameters
    ----------
    indptr : (N + 1,) offsets of the rows
    indices, values : column numbers, which rise in every row, and values
    n_features : F
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
        # Unsigned: compiled code need not test for < 0. The bits are the same, so that scipy's int32 are not copied.
        self.indices = writable(indices.view(np.uint32) if indices.dtype == np.int32 else indices, np.uint32)
        self.values = writable(values, packed_type(values.dtype))
        self.n_features = n_features
        self.index_at = self.indptr[:-1] if index_at is None else index_at

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    def spread(self, packed: Any = None) -> Rows:
        """The same as CSR without zeros; no rows share column numbers. Values have the type ``packed``, if given."""
        values = self.values if packed is None else self.values.astype(packed, copy=False)
        given = values != 0.0
        ends = np.append(0, np.cumsum(given))[self.indptr]
        return Rows(ends, columns_of(self)[given], values[given], self.n_features)

    def take(self, chosen: np.ndarray) -> Rows:
        """Some of the rows, in the order of their numbers ``chosen``, as CSR."""
        some = csr_of(self)[chosen]
        return Rows(some.indptr, some.indices, some.data, self.n_features)

    def check_width(self, n_features: int | None, owner: str) -> None:
        """Raise unless the rows have as many features as a model is bound to."""
        if self.n_features != n_features:
            raise InputError(f"{owner}: X has {self.n_features} features, expected {n_features}")


def pieces(indptr: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Ranges of rows that together have about ``AT_ONCE`` entries, and the ranges of these."""
    start, n_rows = 0, len(indptr) - 1
    while start < n_rows:
        stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + AT_ONCE, side="right")) - 1)
        yield slice(start, stop), slice(int(indptr[start]), int(indptr[stop]))
        start = stop


def columns_of(rows: Any, some: slice = slice(None)) -> np.ndarray:
    """The column number of every entry of some rows; ``rows`` are :class:`Rows`, or a record with the same fields."""
    ends = rows.indptr[some.start : None if some.stop is None else some.stop + 1]
    counts = np.diff(ends)
    begin = rows.index_at[some] - ends[:-1]
    if not begin.any():
        return rows.indices[ends[0] : ends[-1]]  # type: ignore[no-any-return]
    return rows.indices[np.arange(ends[0], ends[-1]) + np.repeat(begin, counts)]  # type: ignore[no-any-return]


def numbers_of(indptr: np.ndarray, some: slice) -> np.ndarray:
    """The row of every entry of some rows, counted from the first of them."""
    return np.repeat(np.arange(some.stop - some.start), np.diff(indptr[some.start : some.stop + 1]))


def row_sqnorms(indptr: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(N,) squared norm of every row."""
    out = np.zeros(len(indptr) - 1)
    for some, inside in pieces(indptr):
        squares = values[inside].astype(np.float64) ** 2
        out[some] = np.bincount(numbers_of(indptr, some), weights=squares, minlength=some.stop - some.start)
    return out


def csr_of(rows: Any) -> Any:
    """Rows, or a record with the same fields, as a sparse matrix of float64."""
    values = rows.values.astype(np.float64, copy=False)
    shape = (len(rows.indptr) - 1, rows.n_features)
    return sp.csr_array((values, columns_of(rows).astype(np.int64), rows.indptr), shape=shape)


def matrix_of(rows: Any) -> Any:
    """The same as a dense matrix, unless few entries are not zero."""
    shape = (len(rows.indptr) - 1, rows.n_features)
    if rows.indptr[-1] < PRODUCT_SHARE * shape[0] * shape[1]:
        return csr_of(rows)
    out = np.zeros(shape)
    for some, inside in pieces(rows.indptr):
        out[some][numbers_of(rows.indptr, some), columns_of(rows, some)] = rows.values[inside]
    return out


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
        used = csr.indptr[-1]  # scipy allows for room behind
        return Rows(csr.indptr, csr.indices[:used], kept_real(csr.data[:used], owner), csr.shape[1])
    matrix = kept_real(X, owner)
    if matrix.ndim != 2:
        raise InputError(f"{owner}: X must be a 2-D array or a sparse matrix, got {matrix.ndim} dimensions")
    room = int(np.count_nonzero(matrix))
    if room >= DENSE_SHARE * matrix.size:
        return all_entries(matrix)
    step = max(1, AT_ONCE // max(1, matrix.shape[1]))
    parts = (dense_rows(matrix[a : a + step]) for a in range(0, len(matrix), step))
    return assembled(parts, len(matrix), room, matrix.shape[1], packed_type(matrix.dtype))


def all_entries(matrix: np.ndarray) -> Rows:
    """Rows of a dense (N, F) matrix of numbers, zeros included; not copied if type and layout are right."""
    n_rows, n_features = matrix.shape
    ends, columns = np.arange(n_rows + 1) * n_features, np.arange(n_features, dtype=np.uint32)
    values = np.ascontiguousarray(matrix, packed_type(matrix.dtype)).ravel()
    return Rows(ends, columns, values, n_features, np.zeros(n_rows, np.int64))


def dense_rows(matrix: np.ndarray) -> Rows:
    """CSR rows of a dense (N, F) matrix of numbers, without its zeros."""
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
        for bad in start + np.flatnonzero(~(np.abs(rows.values[start : start + AT_ONCE]) <= np.float64(LARGEST)))[:1]:
            row = int(np.searchsorted(rows.indptr, bad, side="right")) - 1
            wrong, feature = no_feature(rows.values[bad]), columns_of(rows, slice(row, row + 1))[bad - rows.indptr[row]]
            raise InputError(f"{name(row)} has {wrong} in feature {feature}; clean X")


def sequence_rows(X: Any, owner: str) -> tuple[Rows, np.ndarray]:
    """Rows of all sequences (T_i, F), dense or sparse; also return the (n + 1,) position offsets."""
    given = read_sequences(X, owner)
    if isinstance(given, Sequences):
        rows, y_off = unchecked_rows(stacked_matrix(given, owner), owner), writable(given.offsets, np.int64)
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
    packed = packed_type(*{matrix.dtype for matrix in matrices})
    room = sum(matrix.nnz if sp.issparse(matrix) else int(np.count_nonzero(matrix)) for matrix in matrices)
    if room >= DENSE_SHARE * y_off[-1] * n_features and not any(map(sp.issparse, matrices)):
        return all_entries(np.concatenate(matrices, dtype=packed)), y_off
    parts = list(alike(matrices, y_off * n_features))
    if len(parts) == 1:
        return some_rows(matrices, parts[0], owner), y_off
    each = (some_rows(matrices, part, owner) for part in parts)
    return assembled(each, int(y_off[-1]), room, n_features, packed), y_off


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


def joined(parts: list[Rows]) -> Rows:
    """CSR rows of several parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    n_rows, room = sum(part.n_rows for part in parts), sum(len(part.values) for part in parts)
    packed = packed_type(*{part.values.dtype for part in parts})
    return assembled(iter(parts), n_rows, room, parts[0].n_features, packed)


def assembled(parts: Iterator[Rows], n_rows: int, room: int, n_features: int, packed: Any) -> Rows:
    """The same for parts that are made one by one, with values of the type ``packed``.

    Each part is made when its turn comes, and is not needed after it was copied: no more than one is there at a time.
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
    """The name of a row of stacked sequences in messages."""
    i = int(np.searchsorted(y_off, row, side="right")) - 1
    return f"{owner}: example {i}: position {row - y_off[i]}"
