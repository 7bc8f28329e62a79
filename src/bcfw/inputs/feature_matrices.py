"""Feature matrices, dense or sparse: conversion from lists, checks, a constant column, products in pieces."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError
from bcfw.inputs.numbers import dense, kept_real, real, unmasked
from bcfw.inputs.sequences import Sequences

#: Approximate number of entries of dense matrices that are converted at once; bounds the temporary memory.
AT_ONCE = 2**20


def feature_matrix(X: Any, owner: str) -> Any:
    """Return X, an array, a sparse matrix or a list of vectors or sparse rows, as one (n, F) matrix."""
    rows = isinstance(X, list | tuple)
    if rows:
        unmasked(X, f"{owner}: X")
        sizes = [int(np.prod(np.shape(x))) for x in X]
        for i in np.flatnonzero(np.diff(sizes))[:1] + 1:
            raise InputError(f"{owner}: example {i} has {sizes[i]} features, the one before it {sizes[i - 1]}")
    if rows and any(sp.issparse(x) for x in X):
        return sp.vstack(
            [x.reshape(1, -1) if sp.issparse(x) else sp.csr_array(real([x], owner)) for x in X], format="csr"
        )
    X = X if sp.issparse(X) else kept_real(X, owner)
    if X.ndim != 2:
        raise InputError(f"{owner}: X must be two-dimensional (n, F), got {X.ndim} dimension(s)")
    return X


def require_numbers(X: Any, owner: str) -> None:
    """Raise if X has dates, masked entries or numbers too large for floats; scikit-learn's check misses these."""
    unmasked(X, f"{owner}: X")
    if sp.issparse(X) or hasattr(X, "iloc"):
        return
    try:
        array = np.asarray(X)
        has_dates = array.dtype.kind in "Mm" or (array.dtype.kind == "O" and any(map(is_date, array.flat)))
        if array.dtype.kind == "O" and not has_dates:
            array.astype(np.float64)
    except OverflowError as error:
        raise InputError(f"{owner}: X must hold real numbers ({error})") from error
    except (TypeError, ValueError):
        return  # scikit-learn's own check raises for these
    if has_dates:
        raise InputError(f"{owner}: X must hold real numbers, got dates or durations")


def is_date(value: Any) -> bool:
    return isinstance(value, datetime.date | datetime.timedelta | np.datetime64 | np.timedelta64)


def feature_row(x: Any, n_features: int | None, owner: str) -> np.ndarray:
    """Return one example's features, dense or sparse, as an (F,) array."""
    row = real(dense(x), owner, "x").ravel()
    if len(row) != n_features:
        raise InputError(f"{owner}: x has {len(row)} features, expected {n_features}")
    return row


def sequence_matrix(x: Any, where: str) -> Any:
    """Return one sequence as a (T, F) array or sparse matrix with T > 0; ``where`` names the sequence in errors."""
    matrix = x if sp.issparse(x) else numeric_sequence(x, where)
    if matrix.shape[:1] == (0,):
        raise InputError(f"{where} is an empty sequence; leave it out")
    if matrix.ndim != 2:
        hint = "; for one sequence give [x]" if matrix.ndim == 1 else ""
        raise InputError(f"{where} must be a (T, F) array, got shape {matrix.shape}{hint}")
    return matrix


def numeric_sequence(x: Any, where: str) -> np.ndarray:
    """Return a sequence as an array of numbers; for dicts and strings, the error names classes that convert them."""
    first = x[0] if isinstance(x, list | tuple) and len(x) else x
    if isinstance(first, dict | str):
        raise InputError(
            f"{where} has no numbers but a {type(first).__name__}; give each position a list or dict of attributes "
            "(bcfw.AttributeVectorizer), or let bcfw.PositionWise turn it into features (scikit-learn)"
        )
    return kept_real(x, where)


def stacked_matrix(X: Sequences, owner: str) -> Any:
    """Return the rows of stacked sequences as an (N, F) array or CSR matrix; raise if a sequence is empty."""
    if len(X) == 0:
        raise InputError(f"{owner}: X is empty; give at least one sequence")
    for i in np.flatnonzero(X.lengths == 0)[:1]:
        raise InputError(f"{owner}: example {i} is an empty sequence; leave it out")
    if X.rows.ndim != 2:
        raise InputError(f"{owner}: the rows of X must be an (N, F) matrix, got shape {X.rows.shape}")
    return X.rows if sp.issparse(X.rows) else kept_real(X.rows, owner)


def with_constant(X: Any, value: float) -> Any:
    """Return X (N, F), dense or sparse, with an additional last column that is ``value`` everywhere."""
    if sp.issparse(X):
        return sparse_with_constant(sp.csr_array(X), value)
    X = np.asarray(X)
    return np.hstack([X, np.full((len(X), 1), value, dtype=type_with(X, value))])


def type_with(X: np.ndarray, value: float) -> Any:
    """Return the type that holds the numbers of X and ``value`` without rounding."""
    return np.result_type(X.dtype, np.float32 if np.float32(value) == value else np.float64)


def sparse_with_constant(csr: Any, value: float) -> Any:
    """Return a CSR array with an additional last column that is ``value`` everywhere.

    scipy's ``hstack`` takes half a millisecond, which is too long for each of many sequences.
    """
    n_rows, n_features = csr.shape
    ends = csr.indptr[1:]
    values = np.insert(csr.data.astype(type_with(csr.data, value), copy=False), ends, value)
    indices = np.insert(csr.indices, ends, n_features)
    indptr = csr.indptr.astype(np.int64) + np.arange(n_rows + 1)
    return sp.csr_array((values, indices, indptr), shape=(n_rows, n_features + 1))


def in_pieces(X: Any, factor: np.ndarray) -> np.ndarray:
    """Return ``X @ factor`` as float64, for X (N, F), dense or sparse.

    If X is float32, it is multiplied in pieces, so that no float64 copy of the whole X is made.
    """
    step = X.shape[0] if X.dtype == np.float64 else max(1, AT_ONCE // max(1, X.shape[1]))
    out = np.empty((X.shape[0], factor.shape[1]))
    for begin in range(0, X.shape[0], max(1, step)):
        out[begin : begin + step] = X[begin : begin + step] @ factor
    return out


def require_finite(X: Any, owner: str, unit: str = "example") -> None:
    """Raise if X (N, F), dense or sparse, has a NaN or an infinity; the error names the row, called ``unit``."""
    values = X.tocsr().data if sp.issparse(X) else X
    if np.isfinite(values.sum()) or np.isfinite(values).all():
        return
    rows, columns = X.tocsr().tocoo().coords if sp.issparse(X) else np.indices(X.shape).reshape(2, -1)
    bad = np.flatnonzero(~np.isfinite(values.ravel()))[0]
    raise InputError(f"{owner}: {unit} {rows[bad]} has a NaN or an infinity in feature {columns[bad]}; clean X")
