"""Small operations on dense or sparse feature matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError


def with_constant(X: Any, value: float) -> Any:
    """X (N, F), dense or sparse, with a last column that is ``value`` everywhere."""
    if sp.issparse(X):
        return sparse_with_constant(sp.csr_array(X), value)
    X = np.asarray(X)
    return np.hstack([X, np.full((len(X), 1), value, dtype=np.result_type(X.dtype, np.float32))])


def sparse_with_constant(csr: Any, value: float) -> Any:
    """The same for a CSR array; scipy's ``hstack`` costs half a millisecond, too much for each of many sequences."""
    n_rows, n_features = csr.shape
    ends = csr.indptr[1:]
    values = np.insert(csr.data.astype(np.float64, copy=False), ends, value)
    indices = np.insert(csr.indices, ends, n_features)
    indptr = csr.indptr.astype(np.int64) + np.arange(n_rows + 1)
    return sp.csr_array((values, indices, indptr), shape=(n_rows, n_features + 1))


def require_finite(X: Any, owner: str, unit: str = "example") -> None:
    """Raise with the first row of X (N, F), dense or sparse, that has a NaN or an infinity; errors call it ``unit``."""
    values = X.tocsr().data if sp.issparse(X) else X
    if np.isfinite(values.sum()) or np.isfinite(values).all():
        return
    rows, columns = X.tocsr().tocoo().coords if sp.issparse(X) else np.indices(X.shape).reshape(2, -1)
    bad = np.flatnonzero(~np.isfinite(values.ravel()))[0]
    raise InputError(f"{owner}: {unit} {rows[bad]} has a NaN or an infinity in feature {columns[bad]}; clean X")
