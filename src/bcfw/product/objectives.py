"""Objectives of :func:`bcfw.minimize`: users' functions, and ready-made functions of ``sum_i A_i x_i``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bcfw.errors import InputError, OptionError
from bcfw.options import Flag, Positive
from bcfw.product.spectra import is_semidefinite, spectral_norm
from bcfw.product.trackers import FunctionTracker, Outer, ProductTracker, Tracker

#: A block's sparse matrix is stored as a dense one if it has at most DENSE_ENTRIES entries, or if at least the share
#: DENSE_SHARE of its entries is not zero.
DENSE_ENTRIES, DENSE_SHARE = 4096, 0.25


class Function:
    """A differentiable function, given by functions for its value and gradient.

    :func:`bcfw.minimize` turns a pair ``(f, grad)`` into a Function. Each of these functions takes x, a list with one
    array per block, and must not change x.

    Parameters
    ----------
    value : function of x that returns a number
    gradient : function of x that returns a list with one array per block, of the block's shape
    block_gradient : function of x and i that returns the gradient of block i, or None
        Steps cost less if it is cheaper than the whole gradient.
    smoothness : float or None
        Lipschitz constant of the gradient (or a larger number); ``step="short"`` needs it.
    block_smoothness : (m,) array or None
        Entry i is the Lipschitz constant of block i's gradient when block i alone changes. Short steps on one block at
        a time use it.
    convex : bool or None
        Whether f is convex; None: unknown. With False, ``minimize`` returns the point with the smallest gap among all
        points whose gap was computed.

    Examples
    --------
    >>> import bcfw
    >>> f = bcfw.objectives.Function(lambda x: -x[0] @ x[0], lambda x: [-2 * x[0]], smoothness=2.0, convex=False)
    >>> bcfw.minimize(f, [bcfw.domains.Simplex(3)], x0=[[0.5, 0.3, 0.2]]).x
    [array([1., 0., 0.])]
    """

    def __init__(
        self,
        value: Callable[[list[np.ndarray]], float],
        gradient: Callable[[list[np.ndarray]], Sequence[Any]],
        block_gradient: Callable[[list[np.ndarray], int], Any] | None = None,
        smoothness: float | None = None,
        block_smoothness: Any = None,
        convex: bool | None = None,
    ) -> None:
        self.value = value
        self.gradient = gradient
        self.block_gradient = block_gradient
        self.smoothness = Positive(None, or_none=True).check("objective", "smoothness", smoothness)
        self.block_smoothness = block_smoothness
        self.convex = None if convex is None else bool(Flag(True).check("objective", "convex", convex))

    def track(self, x: list[np.ndarray], shapes: list[tuple[int, ...]]) -> Tracker:
        """Return a tracker of this function, which begins at x."""
        if self.block_smoothness is not None:
            constants = np.asarray(self.block_smoothness, dtype=np.float64)
            if constants.shape != (len(x),) or not (constants > 0.0).all():
                raise InputError(f"objective: block_smoothness must be {len(x)} positive numbers, one per block")
        return FunctionTracker(self, x, shapes)


class OfProduct:
    """``f(x) = phi(sum_i A_i x_i) + sum_i <c_i, x_i>``, the base class of the ready-made objectives.

    The product ``sum_i A_i x_i`` is updated at every step, so that a step on one block uses the matrix of this block
    only. ``A`` is a list with one matrix (k, n_i) per block, dense or scipy-sparse; or one matrix, whose first n_1
    columns belong to block 1, the next n_2 columns to block 2, and so on. A_i multiplies the entries of block i in C
    order.
    """

    outer: Outer

    def __init__(self, A: Any, c: Any = None) -> None:
        owner = type(self).__name__
        if isinstance(A, list | tuple):
            self._matrices = [read_matrix(f"{owner}: A[{i}]", matrix) for i, matrix in enumerate(A)]
            heights = {matrix.shape[0] for matrix in self._matrices}
            if len(heights) != 1:
                raise InputError(f"{owner}: the matrices in A must have the same number of rows, got {sorted(heights)}")
        else:
            self._matrices = [read_matrix(f"{owner}: A", A)]
        self._shared_out = not isinstance(A, list | tuple)
        self.n_rows = int(self._matrices[0].shape[0])
        self._c = c
        self._pieces: tuple[list[int], list[tuple[Any, Any, Any]]] | None = None
        self._smoothness: float | None = None

    @property
    def convex(self) -> bool | None:
        """Whether phi is convex; None if unknown."""
        return self.outer.convex

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of the gradient: largest absolute eigenvalue of ``A' phi'' A``, or an upper bound."""
        if self._smoothness is None:
            self._smoothness = self._find_smoothness()
        return self._smoothness

    def value(self, x: Any) -> float:
        """Return f(x) for a list of blocks x; if there is one block only, x may be an array."""
        return self._tracker_at([x] if self._is_one_block(x) else x).value()

    def gradient(self, x: Any) -> Any:
        """Return the gradient at x: a list with one array per block, or an array if x is an array."""
        single = self._is_one_block(x)
        blocks = [x] if single else x
        flat = self._tracker_at(blocks).gradients()
        shaped = [one.reshape(np.shape(block)) for one, block in zip(flat, blocks, strict=True)]
        return shaped[0] if single else shaped

    def _is_one_block(self, x: Any) -> bool:
        """Return whether x is an array and there is one matrix with as many columns as x has entries."""
        return isinstance(x, np.ndarray) and len(self._matrices) == 1 and x.size == self._matrices[0].shape[1]

    def _tracker_at(self, x: Sequence[Any]) -> Tracker:
        blocks = [np.asarray(block, dtype=np.float64) for block in x]
        return self.track([block.ravel() for block in blocks], [block.shape for block in blocks])

    def track(self, x: list[np.ndarray], shapes: list[tuple[int, ...]]) -> Tracker:
        """Return a tracker of this function, which begins at x."""
        sizes = [len(block) for block in x]
        if self._pieces is None or self._pieces[0] != sizes:
            self._pieces = sizes, [as_piece(matrix) for matrix in self._split(sizes)]
        return ProductTracker(self, self._pieces[1], self._linear(sizes), x, self.n_rows)

    def _split(self, sizes: list[int]) -> list[Any]:
        """Return one matrix per block, for blocks with these numbers of entries."""
        owner = type(self).__name__
        if not self._shared_out:
            widths = [matrix.shape[1] for matrix in self._matrices]
            if len(widths) != len(sizes):
                raise InputError(f"{owner}: A has {len(widths)} matrices, but there are {len(sizes)} blocks")
            for i, (width, size) in enumerate(zip(widths, sizes, strict=True)):
                if width != size:
                    raise InputError(f"{owner}: A[{i}] has {width} columns, but block {i} has {size} entries")
            return self._matrices
        (matrix,) = self._matrices
        if matrix.shape[1] != sum(sizes):
            raise InputError(f"{owner}: A has {matrix.shape[1]} columns, but the blocks have {sum(sizes)} entries")
        columns = np.asfortranarray(matrix) if isinstance(matrix, np.ndarray) else matrix.tocsc()
        ends = np.cumsum(sizes)
        return [columns[:, end - size : end] for end, size in zip(ends, sizes, strict=True)]

    def _linear(self, sizes: list[int]) -> list[np.ndarray] | None:
        """Return the c_i as flat arrays, from a list of arrays or one long vector; None if there is no linear term."""
        if self._c is None:
            return None
        owner = type(self).__name__
        if isinstance(self._c, list | tuple) and not all(np.ndim(one) == 0 for one in self._c):
            parts = [np.asarray(one, dtype=np.float64).ravel() for one in self._c]
        else:
            whole = np.asarray(self._c, dtype=np.float64).ravel()
            parts = np.split(whole, np.cumsum(sizes)[:-1]) if whole.size == sum(sizes) else [whole]
        if [len(part) for part in parts] != sizes or not all(np.isfinite(part).all() for part in parts):
            raise InputError(
                f"{owner}: c must be finite numbers, one array per block with as many entries as the block"
            )
        return parts

    def _find_smoothness(self) -> float:
        widths = [matrix.shape[1] for matrix in self._matrices]

        def image(v: np.ndarray) -> np.ndarray:
            parts = np.split(v, np.cumsum(widths)[:-1])
            return np.asarray(sum(matrix.dot(part) for matrix, part in zip(self._matrices, parts, strict=True)))

        def back(p: np.ndarray) -> np.ndarray:
            return np.concatenate([matrix.T.dot(p) for matrix in self._matrices])

        curvature = self.outer.curvature
        if curvature is not None and self.n_rows < sum(widths):  # A A' has the eigenvalues of A' A
            return curvature * spectral_norm(lambda p: image(back(p)), self.n_rows)
        return spectral_norm(lambda v: back(self.outer.hessian(image(v))), sum(widths))

    def block_constants(self, pieces: list[tuple[Any, Any, Any]]) -> Sequence[float]:
        """Return the Lipschitz constants of each block's gradient in this block; they are computed at first use."""
        return BlockConstants(self.outer, pieces, self.n_rows)


class BlockConstants(Sequence[float]):
    """The largest absolute eigenvalue of ``A_i' phi'' A_i`` for every block i, computed at its first use."""

    def __init__(self, outer: Outer, pieces: list[tuple[Any, Any, Any]], n_rows: int) -> None:
        self.outer = outer
        self.pieces = pieces
        self.n_rows = n_rows
        self._known: list[float | None] = [None] * len(pieces)

    def __len__(self) -> int:
        return len(self.pieces)

    def __getitem__(self, i: Any) -> Any:
        if self._known[i] is None:
            self._known[i] = self._find(*self.pieces[i])
        return self._known[i]

    def _find(self, rows: Any, matrix: Any, transposed: Any) -> float:
        if self.outer.curvature is not None:
            return self.outer.curvature * spectral_norm(lambda v: transposed.dot(matrix.dot(v)), matrix.shape[1])

        def second_derivative(v: np.ndarray) -> np.ndarray:
            p = np.zeros(self.n_rows)
            p[rows] = matrix.dot(v)
            return np.asarray(transposed.dot(self.outer.hessian(p)[rows]))

        return spectral_norm(second_derivative, matrix.shape[1])


# --- ready-made objectives ----------------------------------------------------------------------------------------


class LeastSquares(OfProduct):
    """``f(x) = 1/2 |sum_i A_i x_i - b|^2``.

    Parameters
    ----------
    A : list of (k, n_i) matrices, or one (k, sum n_i) matrix, dense or sparse
    b : (k,) array

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> f = bcfw.objectives.LeastSquares([np.eye(2), -np.eye(2)], [0.0, 0.0])  # 1/2 |x_1 - x_2|^2
    >>> f.value([[1.0, 0.0], [0.0, 1.0]]), f.smoothness
    (1.0, 2.0)
    """

    def __init__(self, A: Any, b: Any) -> None:
        super().__init__(A)
        self.b = read_vector("LeastSquares", "b", b, self.n_rows)
        self.outer = HalfSquare(self.b)


class Quadratic(OfProduct):
    """``f(x) = 1/2 <p, H p> + sum_i <c_i, x_i>`` with ``p = sum_i A_i x_i``.

    Parameters
    ----------
    A : list of (k, n_i) matrices, or one (k, sum n_i) matrix, dense or sparse, or None
        None: p is the concatenation of all blocks, so that H is the matrix of a quadratic form in x.
    H : (k, k) symmetric matrix, dense or sparse, or None
        None: the identity. H need not be positive semidefinite. The attribute ``convex`` is True if H is positive
        semidefinite, False if it is not, and None if this is not known, which happens for large sparse matrices only;
        if ``H = R' R``, give R as A instead.
    c : list of arrays, one per block, or one array of all entries, or None
        None: no linear term.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> f = bcfw.objectives.Quadratic(H=np.diag([1.0, 2.0, 3.0]), c=np.array([0.0, 0.0, -1.0]))
    >>> bcfw.minimize(f, [bcfw.domains.Box(-1, 1, 2), bcfw.domains.Box([-1.0], [1.0])]).x
    [array([0., 0.]), array([0.33333333])]
    """

    def __init__(self, A: Any = None, H: Any = None, c: Any = None) -> None:
        if A is None and H is None:
            raise OptionError("Quadratic: give A, H or both")
        if A is None:
            from scipy.sparse import identity

            A = identity(read_matrix("Quadratic: H", H).shape[0], format="csc")
        super().__init__(A, c)
        if H is None:
            self.outer = HalfSquare(np.zeros(self.n_rows))
        else:
            self.outer = QuadraticForm(read_symmetric("Quadratic: H", H, self.n_rows))


class Logistic(OfProduct):
    """``f(x) = 1/k sum_j log(1 + exp(-y_j p_j))`` with ``p = sum_i A_i x_i``: the mean loss of a linear classifier.

    Parameters
    ----------
    A : list of (k, n_i) matrices, or one (k, sum n_i) matrix, dense or sparse; one row per example
    y : (k,) array of -1 and 1
    """

    def __init__(self, A: Any, y: Any) -> None:
        super().__init__(A)
        labels = read_vector("Logistic", "y", y, self.n_rows)
        if not np.isin(labels, (-1.0, 1.0)).all():
            raise InputError("Logistic: y must hold -1 and 1 only")
        self.outer = MeanLogistic(labels)


# --- outer functions phi ------------------------------------------------------------------------------------------


class HalfSquare:
    """``phi(p) = 1/2 |p - b|^2``."""

    quadratic = True
    convex = True
    curvature: float | None = 1.0

    def __init__(self, b: np.ndarray) -> None:
        self.b = b

    def value(self, p: np.ndarray) -> float:
        residual = p - self.b
        return 0.5 * float(residual.dot(residual))

    def gradient(self, p: np.ndarray) -> np.ndarray:
        return np.asarray(p - self.b)

    def hessian(self, p: np.ndarray) -> np.ndarray:
        return p

    def gradient_after(self, p: np.ndarray, r: np.ndarray, rows: Any, q: np.ndarray) -> tuple[Any, np.ndarray]:
        return rows, r[rows] + q

    def bregman(self, p: np.ndarray, r: np.ndarray, rows: Any, q: np.ndarray) -> float:
        return 0.5 * float(q.dot(q))


class QuadraticForm:
    """``phi(p) = 1/2 <p, H p>``."""

    quadratic = True
    curvature: float | None = None

    def __init__(self, H: Any) -> None:
        self.H = H
        self.convex = is_semidefinite(H)

    def value(self, p: np.ndarray) -> float:
        return 0.5 * float(p.dot(self.H.dot(p)))

    def gradient(self, p: np.ndarray) -> np.ndarray:
        return self.hessian(p)

    def hessian(self, p: np.ndarray) -> np.ndarray:
        return np.asarray(self.H.dot(p))

    def gradient_after(self, p: np.ndarray, r: np.ndarray, rows: Any, q: np.ndarray) -> tuple[Any, np.ndarray]:
        return slice(None), r + self.H[:, rows].dot(q)

    def bregman(self, p: np.ndarray, r: np.ndarray, rows: Any, q: np.ndarray) -> float:
        return 0.5 * float(self.H[:, rows].dot(q)[rows].dot(q))


class MeanLogistic:
    """``phi(p) = 1/k sum_j log(1 + exp(-y_j p_j))``."""

    quadratic = False
    convex = True

    def __init__(self, y: np.ndarray) -> None:
        from scipy.special import expit

        self.y = y
        self.curvature: float | None = 0.25 / len(y)
        self._expit = expit

    def value(self, p: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -self.y * p).mean())

    def gradient(self, p: np.ndarray) -> np.ndarray:
        return self._gradient(self.y, p)

    def _gradient(self, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        return np.asarray(y * self._expit(-y * p) / -len(self.y))

    def hessian(self, p: np.ndarray) -> np.ndarray:
        assert self.curvature is not None
        return self.curvature * p

    def gradient_after(self, p: np.ndarray, r: np.ndarray, rows: Any, q: np.ndarray) -> tuple[Any, np.ndarray]:
        return rows, self._gradient(self.y[rows], p[rows] + q)

    def bregman(self, p: np.ndarray, r: np.ndarray, rows: Any, q: np.ndarray) -> float:
        before, change = -self.y[rows] * p[rows], -self.y[rows] * q
        slopes = r[rows] * q * len(self.y)
        if np.abs(change).max(initial=0.0) < 1.0:  # log(1 + e^(a+b)) - log(1 + e^a) without cancellation
            rises = np.log1p(self._expit(before) * np.expm1(change))
        else:
            rises = np.logaddexp(0.0, before + change) - np.logaddexp(0.0, before)
        return float((rises - slopes).sum()) / len(self.y)


# --- readers ------------------------------------------------------------------------------------------------------


def find_objective(objective: Any, single: bool = False) -> Any:
    """Return an objective with a method ``track``, from any objective that :func:`bcfw.minimize` accepts.

    With ``single``, a user's functions take an array instead of a list of arrays.
    """
    if isinstance(objective, type):
        raise OptionError(f"objective is the class {objective.__name__}; give an instance")
    if isinstance(objective, tuple | list):
        if len(objective) != 2 or not all(map(callable, objective)):
            raise OptionError("objective must be a pair of functions (f, grad), or an object with value and gradient")
        objective = Function(*objective)
    if single and not isinstance(objective, OfProduct):
        return of_one_block(named_parts(objective))
    return objective if callable(getattr(objective, "track", None)) else Function(**named_parts(objective))


def named_parts(objective: Any) -> dict[str, Any]:
    """Return the arguments of :class:`Function`, taken from the methods and attributes of a user's object."""
    for name in ("value", "gradient"):
        if not callable(getattr(objective, name, None)):
            raise OptionError(f"objective has no method {name}; give a pair (f, grad), or value(x) and gradient(x)")
    names = ("value", "gradient", "block_gradient", "smoothness", "block_smoothness", "convex")
    return {name: getattr(objective, name, None) for name in names}


def of_one_block(parts: dict[str, Any]) -> Function:
    """Return a Function of a list with one array, from the arguments for a function of an array."""
    value, gradient, constants = parts["value"], parts["gradient"], parts["block_smoothness"]
    return Function(
        lambda x: value(x[0]),
        lambda x: [gradient(x[0])],
        smoothness=parts["smoothness"],
        block_smoothness=None if constants is None else np.atleast_1d(constants),
        convex=parts["convex"],
    )


def read_matrix(owner: str, matrix: Any) -> Any:
    """Return a real matrix as a float64 array or sparse matrix; raise InputError unless all entries are finite."""
    from scipy.sparse import csc_matrix, issparse

    try:
        found = csc_matrix(matrix, dtype=np.float64) if issparse(matrix) else np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{owner} must be a matrix of real numbers ({error})") from error
    if found.ndim != 2:
        raise InputError(f"{owner} must be a matrix, got an array of shape {found.shape}")
    if not np.isfinite(found.data if issparse(found) else found).all():
        raise InputError(f"{owner} holds nan or infinite numbers")
    return found


def read_symmetric(owner: str, matrix: Any, order: int) -> Any:
    """Return a symmetric matrix of this order; raise InputError for any other matrix."""
    found = read_matrix(owner, matrix)
    if found.shape != (order, order):
        raise InputError(f"{owner} has shape {found.shape}, expected ({order}, {order})")
    if float(abs(found - found.T).max()) > 1e-10 * float(abs(found).max()):
        raise InputError(f"{owner} must be symmetric; (H + H') / 2 gives the same objective")
    return 0.5 * (found + found.T)


def read_vector(owner: str, name: str, values: Any, length: int) -> np.ndarray:
    """Return a new vector of this length; raise InputError unless all entries are finite numbers."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{owner}: {name} must hold real numbers ({error})") from error
    if found.shape != (length,):
        raise InputError(f"{owner}: {name} has shape {found.shape}, but A has {length} rows")
    if not np.isfinite(found).all():
        raise InputError(f"{owner}: {name} holds nan or infinite numbers")
    return found


def as_piece(matrix: Any) -> tuple[Any, Any, Any]:
    """Return rows, matrix and transpose of a block.

    The rows are those with non-zero entries if the matrix is sparse, else all rows; the returned matrix has these rows.
    """
    if isinstance(matrix, np.ndarray):
        return slice(None), matrix, matrix.T
    rows = np.unique(matrix.indices[: matrix.nnz])
    compact = matrix.tocsr()[rows] if len(rows) < matrix.shape[0] else matrix.tocsr()
    if math.prod(compact.shape) <= max(DENSE_ENTRIES, compact.nnz / DENSE_SHARE):
        compact = compact.toarray()
    reached: Any = rows
    if len(rows) == matrix.shape[0]:
        reached = slice(None)
    elif len(rows) == 0 or rows[-1] - rows[0] + 1 == len(rows):
        reached = slice(int(rows[0]), int(rows[-1]) + 1) if len(rows) else slice(0, 0)
    return reached, compact, compact.T if isinstance(compact, np.ndarray) else compact.T.tocsr()
