"""The base class of domains, the wrapper ``Counted``, and readers of constructor arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bcfw.errors import InputError, OptionError
from bcfw.options import Count, Positive
from bcfw.run import now


class Domain:
    """A compact convex set C of arrays of one shape, with a linear minimisation oracle.

    A user's own set needs the method :meth:`argmin` only, and need not derive from this class. These methods and
    attributes are used if the set has them: ``start``, ``shape``, ``contains``, ``exact`` and ``lower_bound``. A set
    without ``start`` and ``shape`` needs an explicit ``x0``.

    Attributes
    ----------
    shape : tuple
        The shape of the set's points.
    exact : bool
        Whether :meth:`argmin` always finds the minimum (up to rounding). If not, the gap of a run is certified only if
        :meth:`lower_bound` returns a bound.
    """

    shape: tuple[int, ...]
    exact: bool = True

    def argmin(self, direction: Any) -> np.ndarray:
        """Return a new array: a point v of the set, if possible an extreme point, that minimises ``<direction, v>``."""
        raise NotImplementedError

    def lower_bound(self, direction: Any) -> float | None:
        """Return a proven lower bound of ``min_{v in C} <direction, v>``, or None.

        Certificates call it if :meth:`argmin` is not exact.
        """
        return None

    def start(self) -> np.ndarray:
        """Return a point of the set."""
        return self.argmin(np.zeros(self.shape))

    def violation(self, x: np.ndarray) -> float:
        """Return by how much x violates the constraints of the set; at most zero, up to rounding, for points inside."""
        raise NotImplementedError

    def contains(self, x: Any, tol: float = 1e-9) -> bool:
        """Return whether x has the right shape and violates no constraint by more than ``tol max(1, max |x_j|)``."""
        point = np.asarray(x, dtype=np.float64)
        if point.shape != self.shape or not np.isfinite(point).all():
            return False
        return self.violation(point) <= tol * max(1.0, float(np.abs(point).max(initial=0.0)))

    @property
    def diameter(self) -> float:
        """The largest Euclidean distance between two points of the set."""
        raise NotImplementedError

    def for_one_block(self) -> Domain:
        """Return the domain for one block of one run: this object, unless its oracle has a state; then a fresh copy."""
        return self

    def _read(self, direction: Any) -> np.ndarray:
        """Return the direction as an array; raise InputError if it does not have the set's shape."""
        array = np.asarray(direction, dtype=np.float64)
        if array.shape != self.shape:
            raise InputError(f"{self!r}: the direction has shape {array.shape}, expected {self.shape}")
        return array


class Counted:
    """A wrapper that counts and times the calls of a domain's ``argmin``; all else is left to the wrapped domain.

    Attributes
    ----------
    calls : int
        Number of calls so far.
    seconds : float
        Total time of these calls.

    Examples
    --------
    >>> import bcfw
    >>> domain = bcfw.domains.Counted(bcfw.domains.Simplex(3))
    >>> domain.argmin([3.0, 1.0, 2.0]), domain.calls
    (array([0., 1., 0.]), 1)
    """

    def __init__(self, domain: Any) -> None:
        self.domain = domain
        self._tally = {"calls": 0, "seconds": 0.0}

    @property
    def calls(self) -> int:
        return int(self._tally["calls"])

    @property
    def seconds(self) -> float:
        return self._tally["seconds"]

    def argmin(self, direction: Any) -> Any:
        began = now()
        answer = self.domain.argmin(direction)
        self._tally["seconds"] += now() - began
        self._tally["calls"] += 1
        return answer

    def for_one_block(self) -> Counted:
        """Return a wrapper for one block; it shares its counts with this one, so that all blocks count together."""
        counted = Counted(self.domain.for_one_block() if hasattr(self.domain, "for_one_block") else self.domain)
        counted._tally = self._tally
        return counted

    def __getattr__(self, name: str) -> Any:
        if name == "domain":  # not set yet: this object is being unpickled or copied
            raise AttributeError(name)
        return getattr(self.domain, name)

    def __repr__(self) -> str:
        return f"Counted({self.domain!r})"


def read_shape(owner: str, shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple, from one positive whole number or a sequence of them."""
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    for size in sizes:
        Count(1).check(owner, "shape", size)
    return tuple(int(size) for size in sizes)


def read_count(owner: str, name: str, value: Any) -> int:
    return int(Count(1).check(owner, name, value))


def read_radius(owner: str, radius: Any) -> float:
    return float(Positive(1.0).check(owner, "radius", radius))


def read_points(owner: str, name: str, values: Any) -> np.ndarray:
    """Return a new float64 array; raise OptionError unless ``values`` are finite real numbers of one shape."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{owner}: {name} must hold real numbers of one shape ({error})") from error
    if not np.isfinite(array).all():
        raise OptionError(f"{owner}: {name} holds nan or infinite numbers")
    return array


def norm(x: np.ndarray) -> float:
    """Return the Euclidean norm of all entries."""
    flat = x.ravel()
    return math.sqrt(flat.dot(flat))
