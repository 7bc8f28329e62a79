"""Features as CSR rows: one matrix for all examples, or one per sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError
from bcfw.inputs.numbers import offsets, real, writable


class Rows:
    """CSR rows as three arrays of fixed types; the one form in which features enter compiled code."""

    def __init__(self, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, n_features: int) -> None:
        self.indptr = writable(indptr, np.int64)
        self.indices = writable(indices, np.uint32)  # unsigned: compiled code need not test for < 0
        self.values = writable(values, np.float64)
        self.n_features = n_features

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

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
    if sp.issparse(X):
        csr = sp.csr_array(X, copy=False)
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        rows = Rows(csr.indptr, csr.indices, real(csr.data, owner), csr.shape[1])
    else:
        matrix = real(X, owner)
        if matrix.ndim != 2:
            raise InputError(f"{owner}: X must be a 2-D array or a sparse matrix, got {matrix.ndim} dimensions")
        where = np.nonzero(matrix)
        counts = np.bincount(where[0], minlength=len(matrix))
        rows = Rows(offsets(counts), where[1], matrix[where], matrix.shape[1])
    check_finite(rows, owner, unit)
    return rows


def check_finite(rows: Rows, owner: str, unit: str) -> None:
    """Raise with the index of the first row that has a NaN or an infinity."""
    bad = np.flatnonzero(~np.isfinite(rows.values))
    if len(bad):
        row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        raise InputError(f"{owner}: {unit} {row} has a NaN or an infinity in feature {rows.indices[bad[0]]}; clean X")


def sequence_rows(X: Sequence[Any], owner: str) -> tuple[Rows, np.ndarray]:
    """Stack sequences (T_i, F), dense or sparse; also return the (n + 1,) position offsets."""
    if len(X) == 0:
        raise InputError(f"{owner}: X is empty; give at least one sequence")
    pieces = [matrix_rows(x, f"{owner}: example {i}", unit="position") for i, x in enumerate(X)]
    n_features = pieces[0].n_features
    for i, piece in enumerate(pieces):
        if piece.n_rows == 0:
            raise InputError(f"{owner}: example {i} is an empty sequence; leave it out")
        if piece.n_features != n_features:
            raise InputError(f"{owner}: example {i} has {piece.n_features} features, expected {n_features}")
    rows = Rows(
        offsets(np.concatenate([np.diff(piece.indptr) for piece in pieces])),
        np.concatenate([piece.indices for piece in pieces]),
        np.concatenate([piece.values for piece in pieces]),
        n_features,
    )
    return rows, offsets([piece.n_rows for piece in pieces])
