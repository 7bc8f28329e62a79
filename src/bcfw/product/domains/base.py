"""What a domain is: a compact convex set over which linear functions can be minimised."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bcfw.errors import InputError, OptionError
from bcfw.options import Count, Positive
from bcfw.run import now


class Domain:
    """A compact convex set C of arrays of one shape, with a linear minimisation oracle.

    A user's own set needs :meth:`argmin` only. Whatever else of this class it has is used: ``start`` or ``shape`` (else
    ``x0`` must be given), ``contains``, ``exact`` and ``lower_bound``. Deriving from this class is not needed.

    Attributes
    ----------
    shape : tuple
        The shape of the set's points.
    exact : bool
        Whether :meth:`argmin` always finds the minimum (up to rounding). If not, the gap of a run is certified only if
        :meth:`lower_bound` proves one.
    """

    shape: tuple[int, ...]
    exact: bool = True

    def argmin(self, direction: Any) -> np.ndarray:
        """A point of the set, an extreme one if possible, that minimises ``<direction, v>``; a new array."""
        raise NotImplementedError

    def lower_bound(self, direction: Any) -> float | None:
        """A proven lower bound of ``min_{v in C} <direction, v>``, or None; certificates ask if argmin is not exact."""
        return None

    def start(self) -> np.ndarray:
        """A feasible point."""
        return self.argmin(np.zeros(self.shape))

    def violation(self, x: np.ndarray) -> float:
        """How far x breaks the constraints that describe the set; at most zero (or rounding) inside."""
        raise NotImplementedError

    def contains(self, x: Any, tol: float = 1e-9) -> bool:
        """Whether x has the right shape and breaks no constraint by more than ``tol`` (relative to entries above 1)."""
        point = np.asarray(x, dtype=np.float64)
        if point.shape != self.shape or not np.isfinite(point).all():
            return False
        return self.violation(point) <= tol * max(1.0, float(np.abs(point).max(initial=0.0)))

    @property
    def diameter(self) -> float:
        """The largest Euclidean distance between two points of the set."""
        raise NotImplementedError

    def for_one_block(self) -> Domain:
        """A domain for one block of one run: itself, unless it remembers something between calls."""
        return self

    def _read(self, direction: Any) -> np.ndarray:
        """The direction as an array of the set's shape."""
        array = np.asarray(direction, dtype=np.float64)
        if array.shape != self.shape:
            raise InputError(f"{self!r}: the direction has shape {array.shape}, expected {self.shape}")
        return array


class Counted:
    """A domain whose calls of ``argmin`` are counted and timed; everything else is the wrapped domain's.

    Attributes
    ----------
    calls : int
    seconds : float
        All calls together.

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
        """The calls of all blocks that share the domain are counted together."""
        counted = Counted(self.domain.for_one_block() if hasattr(self.domain, "for_one_block") else self.domain)
        counted._tally = self._tally
        return counted

    def __getattr__(self, name: str) -> Any:
        if name == "domain":  # while it is being unpickled or copied
            raise AttributeError(name)
        return getattr(self.domain, name)

    def __repr__(self) -> str:
        return f"Counted({self.domain!r})"


def read_shape(owner: str, shape: Any) -> tuple[int, ...]:
    """A shape given as a whole number or several."""
    sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    for size in sizes:
        Count(1).check(owner, "shape", size)
    return tuple(int(size) for size in sizes)


def read_count(owner: str, name: str, value: Any) -> int:
    return int(Count(1).check(owner, name, value))


def read_radius(owner: str, radius: Any) -> float:
    return float(Positive(1.0).check(owner, "radius", radius))


def read_points(owner: str, name: str, values: Any) -> np.ndarray:
    """Finite real numbers as a new float64 array."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{owner}: {name} must hold real numbers of one shape ({error})") from error
    if not np.isfinite(array).all():
        raise OptionError(f"{owner}: {name} holds nan or infinite numbers")
    return array


def norm(x: np.ndarray) -> float:
    """Euclidean norm of all entries."""
    flat = x.ravel()
    return math.sqrt(flat.dot(flat))
