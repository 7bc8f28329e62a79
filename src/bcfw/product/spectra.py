"""Spectra of symmetric matrices: the largest absolute eigenvalue, and a test for positive semidefiniteness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Up to this order, :func:`spectral_norm` uses a dense solver; :func:`is_semidefinite` up to four times this order.
DENSE_ORDER = 256

EPS = float(np.finfo(np.float64).eps)


def spectral_norm(multiply: Callable[[np.ndarray], np.ndarray], order: int) -> float:
    """Return the largest absolute eigenvalue of a symmetric operator.

    Above ``DENSE_ORDER`` the estimate of Lanczos's method is returned, increased by one per mille.
    """
    if order <= DENSE_ORDER:
        matrix = np.array([multiply(row) for row in np.eye(order)])
        return float(np.abs(np.linalg.eigvalsh(0.5 * (matrix + matrix.T))).max())
    from scipy.sparse.linalg import LinearOperator, eigsh

    operator = LinearOperator((order, order), matvec=multiply, dtype=np.float64)
    first = np.random.default_rng(0).standard_normal(order)
    return 1.001 * abs(float(eigsh(operator, k=1, which="LM", v0=first, tol=1e-4, return_eigenvectors=False)[0]))


def is_semidefinite(matrix: Any) -> bool | None:
    """Return whether a symmetric matrix H, dense or sparse, is positive semidefinite up to rounding; None if unknown.

    Eigenvalues down to ``-n eps |H|`` count as zero, because rounding the entries of H can move a zero eigenvalue that
    far. Small matrices are decided by their eigenvalues. A large matrix with a dominant diagonal is semidefinite. Any
    other large dense matrix is decided by a Cholesky factorisation. Of any other large sparse matrix, Lanczos's method
    gives a vector v; H is not semidefinite if ``<v, H v>`` is below the limit, and else the answer is unknown.
    """
    order = matrix.shape[0]
    dense = isinstance(matrix, np.ndarray)
    if order <= 4 * DENSE_ORDER:
        values = np.linalg.eigvalsh(matrix if dense else matrix.toarray())
        return bool(values[0] >= -order * EPS * np.abs(values).max())
    rows = np.asarray(abs(matrix).sum(axis=1)).ravel()
    slack = order * EPS * float(rows.max())
    diagonal = matrix.diagonal()
    if (diagonal + abs(diagonal) - rows >= -slack).all():
        return True
    if dense:
        try:
            np.linalg.cholesky(matrix + slack * np.eye(order))
        except np.linalg.LinAlgError:
            return False
        return True
    from scipy.sparse import identity
    from scipy.sparse.linalg import eigsh

    top, first = float(rows.max()), np.random.default_rng(0).standard_normal(order)
    vector = eigsh(top * identity(order) - matrix, k=1, which="LA", v0=first, tol=1e-4)[1][:, 0]
    return False if float(vector @ matrix.dot(vector)) < -slack else None
