"""Input kernels k(x, x'): linear, polynomial, Gaussian, a function of the user, or precomputed values.

An input kernel ``k(x, x') = <f(x), f(x')>`` is the inner product of features f(x) that are never computed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError, OptionError, nearest
from bcfw.options import Option, Positive

#: Names of input kernels. A function of two matrices (N, F) and (N', F) that returns the (N, N') kernel values is also
#: an input kernel.
INPUT_KERNELS = ("linear", "rbf", "poly", "precomputed")

#: Names of all kernels; "joint" is the model's own kernel between pairs of input and output.
KERNELS = (*INPUT_KERNELS, "joint")

#: About this many kernel values are computed at once if they are not stored.
AT_ONCE = 2**22

#: For the diagonal, a user's function is called with blocks of this many inputs.
FEW = 32

#: Relative tolerance of the check that precomputed kernel values are symmetric.
ASYMMETRY = 1e-8


class KernelChoice(Option):
    """Option that is a name in :data:`KERNELS` or a function."""

    def allowed(self) -> str:
        return " or ".join(map(repr, KERNELS)) + ", or a function of two matrices"

    def accepts(self, value: Any) -> bool:
        return callable(value) or (isinstance(value, str) and value in KERNELS)

    def check(self, owner: str, name: str, value: Any) -> Any:
        if isinstance(value, str) and not self.accepts(value):
            raise OptionError(f"{owner}: {name} {value!r} is unknown; {nearest(value, KERNELS)}")
        return super().check(owner, name, value)


class GammaChoice(Option):
    """Option that is a number > 0, "scale" or "auto"."""

    def allowed(self) -> str:
        return "a number > 0, 'scale' or 'auto'"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str):
            return value in ("scale", "auto")
        return Positive(1.0).accepts(value)


class InputKernel(NamedTuple):
    """An input kernel k(x, z) with its parameters, named as in scikit-learn's SVC.

        linear       x'z
        rbf          exp(-gamma |x - z|^2)
        poly         (gamma x'z + coef0)^degree
        precomputed  the row of an input holds its kernel values with all training inputs

    ``bias^2`` is added to every kernel value: each input has a further feature, whose value is ``bias``.
    """

    kind: Any
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    bias: float = 0.0

    def values(self, A: Any, B: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Return the (N, M) kernel values of rows A (N, F) and B (M, F), dense or sparse, in ``out`` if it is given."""
        if not callable(self.kind):
            return self.from_factors(self.left(A), self.right(B), out)
        found = self._of_the_user(A, B)
        found += self.bias**2
        if out is None:
            return found
        out[:] = found
        return out

    def left(self, A: Any) -> Any:
        """Return the first factor: kernel values are a function of ``left(A) right(B)'``.

        For "rbf" the product is ``-gamma |x - z|^2 = (2 gamma x, 1, -gamma |x|^2)'(z, -gamma |z|^2, 1)``.
        """
        if self.kind != "rbf":
            return A
        return with_columns(2.0 * self.gamma * A, np.ones(A.shape[0]), -self.gamma * square_sums(A))

    def right(self, B: Any) -> Any:
        """Return the second factor, see :meth:`left`."""
        if self.kind != "rbf":
            return B
        return with_columns(B, -self.gamma * square_sums(B), np.ones(B.shape[0]))

    def from_factors(self, left: Any, right: Any, out: np.ndarray | None) -> np.ndarray:
        """Return the kernel values of the two factors, in ``out`` if it is given."""
        if sp.issparse(left) or sp.issparse(right):
            product = left @ right.T
            found = product.toarray() if sp.issparse(product) else np.asarray(product)
            if out is not None:
                out[:] = found
                found = out
        else:
            found = np.matmul(left, right.T, out=out)
        if self.kind == "rbf":
            np.exp(found, out=found)
        elif self.kind == "poly":
            found *= self.gamma
            found += self.coef0
            found **= self.degree
        if self.bias:
            found += self.bias**2
        return found

    def _of_the_user(self, A: Any, B: Any) -> np.ndarray:
        try:
            found = np.array(self.kind(A, B), dtype=np.float64)
        except Exception as error:
            raise InputError(
                f"kernel: the function raised {type(error).__name__}: {error}; it gets two matrices of inputs"
            ) from error
        if found.shape != (A.shape[0], B.shape[0]):
            raise InputError(
                f"kernel: for {A.shape[0]} and {B.shape[0]} inputs the function must return an array of shape "
                f"{(A.shape[0], B.shape[0])}, got {found.shape}"
            )
        if not np.isfinite(found).all():
            raise InputError("kernel: the function returned a NaN or an infinity")
        return found


class TrainingKernel:
    """The kernel values among N training inputs.

    Parameters
    ----------
    kernel : InputKernel
    X : (N, F) matrix
        For a precomputed kernel the (N, N) values.
    """

    def __init__(self, kernel: InputKernel, X: Any) -> None:
        self.kernel = kernel
        self.X = X
        self.size = X.shape[0]
        if kernel.kind == "precomputed":
            check_symmetric(X)
        self._right = X if callable(kernel.kind) else kernel.right(X)

    def rows(self, positions: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Return the (M, N) kernel values of some inputs with all inputs, in ``out`` if it is given."""
        if callable(self.kernel.kind):
            return self.kernel.values(self.X[positions], self.X, out)
        if self.kernel.kind != "precomputed":
            return self.kernel.from_factors(self.kernel.left(self.X[positions]), self._right, out)
        some = self.X[positions]
        found = np.empty(some.shape) if out is None else out
        np.add(some.toarray() if sp.issparse(some) else some, self.kernel.bias**2, out=found)
        return found

    def among(self, begin: int, end: int) -> np.ndarray:
        """Return the kernel values among the inputs ``begin .. end - 1``."""
        if self.kernel.kind == "precomputed":
            return self.rows(slice(begin, end))[:, begin:end]
        return self.kernel.values(self.X[begin:end], self.X[begin:end])

    def diagonal(self) -> np.ndarray:
        """Return the (N,) kernel values of every input with itself."""
        kind, X = self.kernel.kind, self.X
        if kind == "precomputed":
            return np.asarray(X.diagonal(), dtype=np.float64) + self.kernel.bias**2
        if callable(kind):
            pieces = [self.among(a, min(a + FEW, self.size)) for a in range(0, self.size, FEW)]
            return np.concatenate([np.diagonal(piece) for piece in pieces])
        if kind == "rbf":
            return np.full(self.size, 1.0 + self.kernel.bias**2)
        squares = square_sums(X)
        if kind == "poly":
            squares = (self.kernel.gamma * squares + self.kernel.coef0) ** self.kernel.degree
        return squares + self.kernel.bias**2

    def support(self, positions: np.ndarray) -> Any:
        """Return what :func:`product` needs of some inputs: their rows, or their positions for precomputed values."""
        return positions if self.kernel.kind == "precomputed" else self.X[positions]


def product(kernel: InputKernel, X: Any, support: Any, coefficients: np.ndarray) -> np.ndarray:
    """Return ``sum_s k(x_p, x_s) beta_s`` for new inputs X, computed in pieces.

    Parameters
    ----------
    kernel : InputKernel
    X : (N, F) matrix of the new inputs x_p
    support : M training inputs x_s, made by :meth:`TrainingKernel.support`
    coefficients : (M, K) array of the beta_s

    Returns
    -------
    (N, K) array
    """
    out = np.zeros((X.shape[0], coefficients.shape[1]))
    step = max(1, AT_ONCE // max(1, len(coefficients)))
    for begin in range(0, len(out), step) if len(coefficients) else ():
        some = X[begin : begin + step]
        if kernel.kind == "precomputed":
            chosen = some[:, support]
            values = (chosen.toarray() if sp.issparse(chosen) else chosen) + kernel.bias**2
        else:
            values = kernel.values(some, support)
        out[begin : begin + step] = values @ coefficients
    return out


def make_kernel(kind: Any, gamma: Any, degree: int, coef0: float, bias: float, X: Any) -> InputKernel:
    """Return the kernel for training inputs X (N, F); gamma "scale" is ``1 / (F var(X))``, "auto" is ``1 / F``."""
    return InputKernel(kind, gamma_of(gamma, X), int(degree), float(coef0), float(bias))


def gamma_of(gamma: Any, X: Any) -> float:
    """Return gamma as a number; "scale" is one if X does not vary, as in scikit-learn."""
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / max(1, X.shape[1])
    mean = X.mean()
    variance = float((X.multiply(X).mean() - mean**2) if sp.issparse(X) else X.var())
    return 1.0 / (X.shape[1] * variance) if variance > 0.0 else 1.0


def with_columns(A: Any, *columns: np.ndarray) -> Any:
    """Return the matrix A (N, F), dense or sparse, with columns appended."""
    if sp.issparse(A):
        return sp.hstack([A, *(sp.csr_array(column[:, None]) for column in columns)], format="csr")
    return np.column_stack([A, *columns])


def square_sums(A: Any) -> np.ndarray:
    """Return the (N,) squared norms of the rows of A."""
    return np.asarray(A.multiply(A).sum(axis=1)).ravel() if sp.issparse(A) else np.einsum("ij,ij->i", A, A)


def check_symmetric(X: Any) -> None:
    """Raise unless precomputed values are a symmetric (N, N) matrix."""
    if X.shape[0] != X.shape[1]:
        raise InputError(
            f"kernel='precomputed': X must have the kernel values of {X.shape[0]} training inputs with each other, a "
            f"square matrix, got shape {X.shape}"
        )
    step = max(1, AT_ONCE // max(1, X.shape[0]))
    largest = abs(X).max()
    for begin in range(0, X.shape[0], step):
        difference = X[begin : begin + step] - X[:, begin : begin + step].T
        if abs(difference).max() > ASYMMETRY * largest:
            raise InputError("kernel='precomputed': X is not symmetric; k(x, x') and k(x', x) must be equal")
