"""Domains of vectors and arrays: simplex, box, norm balls, sparse vectors, convex hulls of given points."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from bcfw.errors import OptionError
from bcfw.product.domains.domain import Domain, norm, read_count, read_points, read_radius, read_shape


class Simplex(Domain):
    """``{x in R^n: x >= 0, sum x = radius}``; argmin returns a vector with one non-zero entry, in O(n).

    Examples
    --------
    >>> import bcfw
    >>> bcfw.domains.Simplex(3, radius=2).argmin([1.0, -1.0, 0.0])
    array([0., 2., 0.])
    """

    def __init__(self, n: int, radius: float = 1.0) -> None:
        self.n = read_count("Simplex", "n", n)
        self.radius = read_radius("Simplex", radius)
        self.shape = (self.n,)

    def argmin(self, direction: Any) -> np.ndarray:
        best = self._read(direction).argmin()
        vertex = np.zeros(self.n)
        vertex[best] = self.radius
        return vertex

    def violation(self, x: np.ndarray) -> float:
        return max(-float(x.min()), abs(float(x.sum()) - self.radius))

    @property
    def diameter(self) -> float:
        return self.radius * math.sqrt(2.0) if self.n > 1 else 0.0

    def __repr__(self) -> str:
        return f"Simplex({self.n}, radius={self.radius:g})"


class Box(Domain):
    """``{x: lower <= x <= upper}`` for every entry; numbers and arrays are broadcast to one shape.

    Parameters
    ----------
    lower, upper : numbers or arrays
    shape : int, tuple or None
        Needed only if both ``lower`` and ``upper`` are numbers and the box has more than one entry.

    Examples
    --------
    >>> import bcfw
    >>> bcfw.domains.Box([0.0, 0.0], [1.0, 2.0]).argmin([1.0, -1.0])
    array([0., 2.])
    """

    def __init__(self, lower: Any, upper: Any, shape: Any = None) -> None:
        sides = [read_points("Box", "lower", lower), read_points("Box", "upper", upper)]
        try:
            self.shape = np.broadcast_shapes(*(side.shape for side in sides))
            if shape is not None:
                self.shape = np.broadcast_shapes(self.shape, read_shape("Box", shape))
        except ValueError as error:
            raise OptionError(f"Box: lower, upper and shape do not fit together ({error})") from error
        self.lower, self.upper = (np.array(np.broadcast_to(side, self.shape)) for side in sides)
        if (self.lower > self.upper).any():
            raise OptionError("Box: lower is above upper in some entry; the set is empty")

    def argmin(self, direction: Any) -> np.ndarray:
        return np.asarray(np.where(self._read(direction) > 0.0, self.lower, self.upper))

    def violation(self, x: np.ndarray) -> float:
        return float(np.maximum(self.lower - x, x - self.upper).max())

    @property
    def diameter(self) -> float:
        return norm(self.upper - self.lower)

    def __repr__(self) -> str:
        return f"Box(shape={self.shape})"


class Ball(Domain):
    """Base class of norm balls ``{x: |x| <= radius}`` of arrays of any shape."""

    def __init__(self, shape: Any, radius: float = 1.0) -> None:
        owner = type(self).__name__
        self.shape = read_shape(owner, shape)
        self.radius = read_radius(owner, radius)

    def norm(self, x: np.ndarray) -> float:
        """Return the norm of x that defines the ball."""
        raise NotImplementedError

    def violation(self, x: np.ndarray) -> float:
        return self.norm(x) - self.radius

    @property
    def diameter(self) -> float:
        return 2.0 * self.radius

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape}, radius={self.radius:g})"


class L1Ball(Ball):
    """``{x: sum |x_j| <= radius}``; argmin returns an array with one non-zero entry, in O(n)."""

    def argmin(self, direction: Any) -> np.ndarray:
        flat = self._read(direction).ravel()
        best = np.abs(flat).argmax()
        vertex = np.zeros(self.shape)
        vertex.ravel()[best] = -self.radius if flat[best] > 0.0 else self.radius
        return vertex

    def norm(self, x: np.ndarray) -> float:
        return float(np.abs(x).sum())


class L2Ball(Ball):
    """``{x: sqrt(sum x_j^2) <= radius}``; argmin returns ``-radius direction / |direction|``, in O(n)."""

    def argmin(self, direction: Any) -> np.ndarray:
        wanted = self._read(direction)
        largest = float(np.abs(wanted).max())
        if largest == 0.0:
            return np.zeros(self.shape)
        scaled = wanted / largest  # avoid overflow and underflow of squares
        return np.asarray(scaled * (-self.radius / norm(scaled)))

    def norm(self, x: np.ndarray) -> float:
        return norm(x)


class LinfBall(Ball):
    """``{x: max |x_j| <= radius}``; argmin returns a corner of the cube, in O(n)."""

    def argmin(self, direction: Any) -> np.ndarray:
        return np.asarray(np.where(self._read(direction) > 0.0, -self.radius, self.radius))

    def norm(self, x: np.ndarray) -> float:
        return float(np.abs(x).max())

    @property
    def diameter(self) -> float:
        return 2.0 * self.radius * math.sqrt(math.prod(self.shape))


class KSparse(Domain):
    """Convex hull of vectors with k entries of +-radius: ``{x: max |x_j| <= radius, sum |x_j| <= k radius}``."""

    def __init__(self, n: int, k: int, radius: float = 1.0) -> None:
        self.n, self.k = read_count("KSparse", "n", n), read_count("KSparse", "k", k)
        if self.k > self.n:
            raise OptionError(f"KSparse: k must be at most n = {self.n}, got {self.k}")
        self.radius = read_radius("KSparse", radius)
        self.shape = (self.n,)

    def argmin(self, direction: Any) -> np.ndarray:
        wanted = self._read(direction)
        largest = np.argpartition(np.abs(wanted), self.n - self.k)[self.n - self.k :]
        vertex = np.zeros(self.n)
        vertex[largest] = np.where(wanted[largest] > 0.0, -self.radius, self.radius)
        return vertex

    def violation(self, x: np.ndarray) -> float:
        sizes = np.abs(x)
        return max(float(sizes.max()) - self.radius, float(sizes.sum()) - self.k * self.radius)

    @property
    def diameter(self) -> float:
        return 2.0 * self.radius * math.sqrt(self.k)

    def __repr__(self) -> str:
        return f"KSparse({self.n}, {self.k}, radius={self.radius:g})"


class Hull(Domain):
    """The convex hull of k given points, an array (k, ...) or a sequence of k arrays of one shape.

    argmin compares all points, in O(k n).
    """

    def __init__(self, points: Any) -> None:
        self.points = read_points("Hull", "points", points)
        if self.points.ndim == 0 or self.points.size == 0:
            raise OptionError("Hull: points must be one or more arrays of one shape, not empty")
        self.shape = self.points.shape[1:]
        self._rows = self.points.reshape(len(self.points), -1)

    def argmin(self, direction: Any) -> np.ndarray:
        best = self._rows.dot(self._read(direction).ravel()).argmin()
        return np.array(self.points[best])

    def violation(self, x: np.ndarray) -> float:
        """Return the distance from x to the hull, computed by non-negative least squares."""
        from scipy.optimize import nnls

        differences = (self._rows - x.ravel()).T
        scale = max(1.0, float(np.abs(differences).max()))
        system = np.vstack([differences / scale, np.ones(len(self._rows))])  # last row: the masses sum to one
        mass, _ = nnls(system, np.append(np.zeros(x.size), 1.0), maxiter=30 * len(self._rows))
        return scale * norm(system[:-1] @ (mass / mass.sum()))

    @functools.cached_property
    def _diameter(self) -> float:
        squares = (self._rows**2).sum(axis=1)
        farthest = (squares[:, None] + squares - 2.0 * self._rows @ self._rows.T).max()
        return math.sqrt(max(0.0, float(farthest)))

    @property
    def diameter(self) -> float:
        return self._diameter

    def __repr__(self) -> str:
        return f"Hull({len(self.points)} points of shape {self.shape})"
