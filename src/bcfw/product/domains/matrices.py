"""Domains of matrices: spectraplex, nuclear-norm ball, doubly stochastic matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bcfw.errors import OptionError
from bcfw.options import Flag
from bcfw.product.domains.domain import Domain, norm, read_count, read_radius, read_shape

#: Eigenvectors of matrices of this order or more are found by Lanczos's method; below, a dense solver is faster.
LANCZOS_FROM = 200

#: Relative accuracy of Lanczos's method in steps, and in certificates that prove a bound.
STEP_TOLERANCE, PROOF_TOLERANCE = 1e-6, 1e-10


class Leading:
    """Leading eigenvectors of symmetric matrices of one order; the iterative method starts at the previous result."""

    def __init__(self, order: int) -> None:
        self.order = order
        self.iterative = order >= LANCZOS_FROM
        self._last: np.ndarray | None = None

    def __call__(self, dense: Callable[[], np.ndarray], multiply: Any, tol: float = STEP_TOLERANCE) -> np.ndarray:
        """Return the eigenvector of the largest eigenvalue.

        Parameters
        ----------
        dense : function that returns the matrix
        multiply : function that multiplies a vector by the matrix
        tol : relative accuracy of the iterative method
        """
        if self.iterative:
            from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

            operator = LinearOperator((self.order, self.order), matvec=multiply, dtype=np.float64)
            first = np.random.default_rng(0).standard_normal(self.order) if self._last is None else self._last
            try:
                vector = eigsh(operator, k=1, which="LA", v0=first, tol=tol)[1][:, 0]
            except ArpackError:  # no convergence
                vector = leading_dense(dense())
            self._last = vector
            return vector
        return leading_dense(dense())


def leading_dense(matrix: np.ndarray) -> np.ndarray:
    """Return the eigenvector of the largest eigenvalue of a symmetric matrix, computed by a dense solver."""
    from scipy.linalg import eigh

    top = len(matrix) - 1
    return eigh(matrix, subset_by_index=[top, top], check_finite=False)[1][:, 0]  # type: ignore[no-any-return]


def largest_eigenvalue_at_most(matrix: np.ndarray, guess: float) -> float:
    """Return an upper bound of the largest eigenvalue.

    A bound slightly above ``guess`` is returned if a Cholesky factorisation of ``bound I - matrix`` proves it; if not,
    the largest eigenvalue itself is computed by a dense solver.
    """
    from scipy.linalg import LinAlgError, cholesky, eigh

    bound = guess + 1e-9 * max(abs(guess), norm(matrix) / math.sqrt(len(matrix)))
    try:
        cholesky(bound * np.eye(len(matrix)) - matrix, overwrite_a=True, check_finite=False)
    except LinAlgError:
        top = len(matrix) - 1
        return float(eigh(matrix, eigvals_only=True, subset_by_index=[top, top], check_finite=False)[0])
    return bound


class Spectral(Domain):
    """Base class of sets whose oracle computes a leading eigenvector or a pair of leading singular vectors.

    Below order 200 a dense solver finds the vector exactly. From order 200 on, Lanczos's method is faster; it starts at
    the previous vector and has a relative accuracy of 1e-6. Certificates do not rely on Lanczos's method: they prove a
    bound by a Cholesky factorisation, O(order^3 / 3). With ``certify=False`` they use the estimate of Lanczos's method,
    and the result is not certified.
    """

    _order: int

    def _set_solver(self, order: int, certify: bool) -> None:
        self._order = order
        self.certify = bool(Flag(True).check(type(self).__name__, "certify", certify))
        self._leading = Leading(order)

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether :meth:`argmin` uses a dense solver, which is exact."""
        return not self._leading.iterative

    def for_one_block(self) -> Domain:
        fresh = object.__new__(type(self))
        fresh.__dict__.update(self.__dict__, _leading=Leading(self._order))
        return fresh


class Spectraplex(Spectral):
    """Symmetric positive semidefinite (s, s) matrices of trace one; argmin returns ``q q'`` with an eigenvector q.

    Directions need not be symmetric: only their symmetric part matters.
    """

    def __init__(self, s: int, certify: bool = True) -> None:
        self.s = read_count("Spectraplex", "s", s)
        self.shape = (self.s, self.s)
        self._set_solver(self.s, certify)

    def argmin(self, direction: Any) -> np.ndarray:
        vector = self._vector(self._wanted(direction), STEP_TOLERANCE)
        return np.outer(vector, vector)

    def lower_bound(self, direction: Any) -> float | None:
        if not self.certify:
            return None
        wanted = self._wanted(direction)
        vector = self._vector(wanted, PROOF_TOLERANCE)
        return -largest_eigenvalue_at_most(wanted, float(vector @ wanted @ vector))

    def _wanted(self, direction: Any) -> np.ndarray:
        """Return the matrix whose leading eigenvector gives the answer: minus the symmetric part of the direction."""
        wanted = self._read(direction)
        return -0.5 * (wanted + wanted.T)

    def _vector(self, wanted: np.ndarray, tol: float) -> np.ndarray:
        if not wanted.any():
            return np.eye(1, self.s)[0]
        return self._leading(lambda: wanted, wanted.dot, tol)

    def violation(self, x: np.ndarray) -> float:
        values = np.linalg.eigvalsh(0.5 * (x + x.T))
        return max(-float(values[0]), abs(float(np.trace(x)) - 1.0), float(np.abs(x - x.T).max()))

    @property
    def diameter(self) -> float:
        return math.sqrt(2.0) if self.s > 1 else 0.0

    def __repr__(self) -> str:
        return f"Spectraplex({self.s})"


class NuclearBall(Spectral):
    """Matrices whose singular values sum to at most ``radius``.

    argmin returns ``-radius u v'`` with the leading singular vectors u and v of the direction.
    """

    def __init__(self, shape: Any, radius: float = 1.0, certify: bool = True) -> None:
        self.shape = read_shape("NuclearBall", shape)
        if len(self.shape) != 2:
            raise OptionError(f"NuclearBall: shape must be two whole numbers, got {shape!r}")
        self.radius = read_radius("NuclearBall", radius)
        self._set_solver(min(self.shape), certify)

    def argmin(self, direction: Any) -> np.ndarray:
        wanted = self._read(direction)
        left, right, _ = self._pair(wanted, STEP_TOLERANCE)
        return np.outer(left * -self.radius, right)

    def lower_bound(self, direction: Any) -> float | None:
        if not self.certify:
            return None
        wanted = self._read(direction)
        *_, value = self._pair(wanted, PROOF_TOLERANCE)
        tall = wanted if wanted.shape[0] >= wanted.shape[1] else wanted.T
        return -self.radius * math.sqrt(max(0.0, largest_eigenvalue_at_most(tall.T @ tall, value**2)))

    def _pair(self, wanted: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the leading left and right singular vectors and the singular value, from the smaller Gram matrix."""
        tall = wanted if wanted.shape[0] >= wanted.shape[1] else wanted.T
        scale = float(np.abs(tall).max())
        short = np.eye(1, tall.shape[1])[0]
        if scale > 0.0:
            tall = tall / scale  # avoid overflow and underflow of squares
            short = self._leading(lambda: tall.T @ tall, lambda vector: tall.T @ (tall @ vector), tol)
        image = tall @ short
        value = norm(image)
        long = image / value if value > 0.0 else np.eye(1, tall.shape[0])[0]
        pair = (long, short) if wanted.shape[0] >= wanted.shape[1] else (short, long)
        return (*pair, scale * value)

    def violation(self, x: np.ndarray) -> float:
        return float(np.linalg.svd(x, compute_uv=False).sum()) - self.radius

    @property
    def diameter(self) -> float:
        return 2.0 * self.radius

    def __repr__(self) -> str:
        return f"NuclearBall({self.shape}, radius={self.radius:g})"


class Birkhoff(Domain):
    """Doubly stochastic (n, n) matrices.

    argmin returns a permutation matrix, found by scipy's ``linear_sum_assignment``.
    """

    def __init__(self, n: int) -> None:
        self.n = read_count("Birkhoff", "n", n)
        self.shape = (self.n, self.n)

    def argmin(self, direction: Any) -> np.ndarray:
        from scipy.optimize import linear_sum_assignment

        vertex = np.zeros(self.shape)
        vertex[linear_sum_assignment(self._read(direction))] = 1.0
        return vertex

    def violation(self, x: np.ndarray) -> float:
        sums = max(float(np.abs(x.sum(axis=axis) - 1.0).max()) for axis in (0, 1))
        return max(-float(x.min()), sums)

    @property
    def diameter(self) -> float:
        return math.sqrt(2.0 * self.n) if self.n > 1 else 0.0

    def __repr__(self) -> str:
        return f"Birkhoff({self.n})"
