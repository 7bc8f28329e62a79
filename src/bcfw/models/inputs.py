"""Checks and conversions that turn users' X and y into flat arrays, with the example's index in every error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError, OptionError


class Rows:
    """CSR rows as three arrays of fixed types; the one form in which features enter compiled code."""

    def __init__(self, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, n_features: int) -> None:
        self.indptr = writable(indptr, np.int64)
        self.indices = writable(indices, np.uint32)  # unsigned: compiled code need not test for < 0
        self.values = writable(values, np.float64)
        self.n_features = n_features

    def sqnorms(self) -> np.ndarray:
        """(N,) squared norm of every row."""
        n_rows = len(self.indptr) - 1
        row = np.repeat(np.arange(n_rows), np.diff(self.indptr))
        return np.bincount(row, weights=self.values**2, minlength=n_rows)


def writable(array: Any, dtype: Any) -> np.ndarray:
    """A C-contiguous, writable array of ``dtype``, copied only if needed (read-only arrays are another numba type)."""
    return np.require(array, dtype=dtype, requirements=["C", "A", "W"])


def matrix_rows(X: Any, owner: str, unit: str = "example") -> Rows:
    """Rows of one dense or sparse (N, F) matrix; ``unit`` is what the error calls a row."""
    if sp.issparse(X):
        csr = sp.csr_array(X, copy=False)
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        rows = Rows(csr.indptr, csr.indices, real(csr.data, owner), csr.shape[1])
    else:
        dense = real(X, owner)
        if dense.ndim != 2:
            raise InputError(f"{owner}: X must be a 2-D array or a sparse matrix, got {dense.ndim} dimensions")
        where = np.nonzero(dense)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(where[0], minlength=len(dense)))])
        rows = Rows(indptr, where[1], dense[where], dense.shape[1])
    check_finite(rows, owner, unit)
    return rows


def feature_matrix(X: Any, owner: str) -> Any:
    """X as one (n, F) matrix: an array, a sparse matrix, or a list of vectors or sparse rows."""
    rows = isinstance(X, list | tuple)
    if rows:
        sizes = [int(np.prod(np.shape(x))) for x in X]
        for i in np.flatnonzero(np.diff(sizes))[:1] + 1:
            raise InputError(f"{owner}: example {i} has {sizes[i]} features, the one before it {sizes[i - 1]}")
    if rows and any(sp.issparse(x) for x in X):
        return sp.vstack(
            [x.reshape(1, -1) if sp.issparse(x) else sp.csr_array(real([x], owner)) for x in X], format="csr"
        )
    X = X if sp.issparse(X) else real(X, owner)
    if X.ndim != 2:
        raise InputError(f"{owner}: X must be two-dimensional (n, F), got {X.ndim} dimension(s)")
    return X


def check_finite(rows: Rows, owner: str, unit: str) -> None:
    """Raise with the index of the first row that has a NaN or an infinity."""
    bad = np.flatnonzero(~np.isfinite(rows.values))
    if len(bad):
        row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        raise InputError(f"{owner}: {unit} {row} has a NaN or an infinity in feature {rows.indices[bad[0]]}; clean X")


def dense(values: Any) -> Any:
    """A sparse matrix as an array; anything else as it is."""
    return values.toarray() if sp.issparse(values) else values


def real(values: Any, owner: str) -> np.ndarray:
    """An array of real numbers as float64."""
    try:
        array = np.asarray(values)
        numbers = array if array.dtype.kind == "c" else array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{owner}: X must hold real numbers ({error})") from error
    if numbers.dtype.kind == "c":
        raise InputError(f"{owner}: X is complex; complex data is not supported, only real features are")
    return numbers


def sequence_rows(X: Sequence[Any], n_features: int | None, owner: str) -> tuple[Rows, np.ndarray]:
    """Stack sequences (T_i, F), dense or sparse; also return the (n + 1,) position offsets."""
    if len(X) == 0:
        raise InputError(f"{owner}: X is empty; give at least one sequence")
    pieces = [one_sequence(x, i, owner) for i, x in enumerate(X)]
    for i, piece in enumerate(pieces):
        n_features = piece.n_features if n_features is None else n_features
        if len(piece.indptr) == 1:
            raise InputError(f"{owner}: example {i} is an empty sequence; leave it out")
        if piece.n_features != n_features:
            raise InputError(f"{owner}: example {i} has {piece.n_features} features, expected {n_features}")
    lengths = [len(piece.indptr) - 1 for piece in pieces]
    counts = np.concatenate([np.diff(piece.indptr) for piece in pieces])
    stacked = Rows(
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([piece.indices for piece in pieces]),
        np.concatenate([piece.values for piece in pieces]),
        int(n_features or 0),
    )
    return stacked, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def one_sequence(x: Any, i: int, owner: str) -> Rows:
    return matrix_rows(x, f"{owner}: example {i}", unit="position")


def integer_labels(y: Any, n_labels: int | None, where: Callable[[int], str]) -> np.ndarray:
    """A flat int64 array of labels in 0 .. n_labels - 1 (any >= 0 for None); whole floats and bools are accepted.

    ``where(position)`` names the place of a bad label.
    """
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise InputError(f"{where(0)}: labels must be whole numbers 0, 1, ... ({error})") from error
    if array.dtype.kind not in "iufb":
        raise InputError(f"{where(0)}: labels must be whole numbers 0, 1, ..., got {array.dtype}")
    most = np.inf if n_labels is None else n_labels - 1
    bad = np.flatnonzero(~((array >= 0) & (array <= most) & (array == np.floor(array))))
    if len(bad):
        allowed = "0, 1, ..." if n_labels is None else f"0 .. {n_labels - 1} (n_labels = {n_labels})"
        value = array.ravel()[bad[0]]
        raise InputError(f"{where(int(bad[0]))} has label {value}; labels must be whole numbers {allowed}")
    return array.astype(np.int64)


def label_count(n_labels: Any, owner: str) -> int | None:
    """The option n_labels: a whole number >= 1, or None."""
    if n_labels is None:
        return None
    if not isinstance(n_labels, Integral) or isinstance(n_labels, bool) or n_labels < 1:
        raise OptionError(f"{owner}: n_labels must be a whole number >= 1 or None, got {n_labels!r}")
    return int(n_labels)


def by_position(values: Any) -> Any:
    """Examples that ``[i]`` finds by their position: tables and series (pandas), which look up names, as arrays.

    Sparse matrices that have no rows to look up become CSR.
    """
    if sp.issparse(values):
        return values if values.format == "csr" else values.tocsr()
    return values.to_numpy() if hasattr(values, "iloc") else values


def example_count(values: Any) -> int:
    return int(values.shape[0] if hasattr(values, "shape") else len(values))


def check_same_length(X: Any, y: Any, owner: str) -> None:
    try:
        n_x, n_y = example_count(X), example_count(y)
    except (TypeError, IndexError) as error:
        raise InputError(f"{owner}: X and y must be sequences of examples ({error})") from error
    if n_x != n_y:
        raise InputError(f"{owner}: X has {n_x} examples and y has {n_y}; they must match")
    if n_x == 0:
        raise InputError(f"{owner}: X is empty; give at least one example")


def read_weights(w: Any, dim: int | None, owner: str) -> np.ndarray:
    """W as a (dim,) float64 array that compiled code can take."""
    weights = np.require(w, np.float64, ["C", "W"])
    if weights.shape != (dim,):
        raise InputError(f"{owner}: w has shape {weights.shape}, expected ({dim},)")
    return weights


def cost_matrix(cost: Any, n_labels: int, owner: str) -> np.ndarray:
    """(K, K) cost[true, predicted]; the 0/1 loss for None."""
    if cost is None:
        return 1.0 - np.eye(n_labels)
    try:
        matrix = np.array(cost, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{owner}: cost must be a ({n_labels}, {n_labels}) array of numbers ({error})") from error
    if matrix.shape != (n_labels, n_labels):
        raise OptionError(f"{owner}: cost must have shape ({n_labels}, {n_labels}), got {matrix.shape}")
    if not np.all(np.isfinite(matrix)) or matrix.min() < 0:
        raise OptionError(f"{owner}: cost must be finite and >= 0")
    if np.any(np.diag(matrix) != 0):
        raise OptionError(f"{owner}: cost must have a zero diagonal (the truth costs nothing)")
    return matrix
