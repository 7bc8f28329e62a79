"""Directions of :func:`bcfw.minimize`: towards the oracle's vertex, away from an atom, or from an atom to a vertex.

Every direction d has a slope ``-<g, d>``, the rate at which f decreases, and a largest step size. All directions but
"fw" store an active set: each block is a convex combination of *atoms*, which are the vertices of earlier steps and the
start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Atoms with less mass than this are removed from the active set.
LEAST_MASS = 1e-15


class ChosenAtoms(NamedTuple):
    """A direction of one block, its slope ``-<g, d>``, the largest step size, and the two ends for :meth:`settle`."""

    direction: np.ndarray
    slope: float
    top: float
    toward: np.ndarray | None  # the vertex that gains mass; None: all atoms do
    source: int  # the atom that loses mass; -1: all atoms do


class TowardVertex:
    """Plain Frank-Wolfe without an active set: ``d = v - x``."""

    def __init__(self, x: list[np.ndarray]) -> None:
        self.x = x

    def choose(self, i: int, gradient: np.ndarray, vertex: np.ndarray, towards: np.ndarray, gap: float) -> ChosenAtoms:
        """Return the direction of block i; ``towards`` is ``v - x`` and ``gap`` is ``<g, x - v>``."""
        return ChosenAtoms(towards, gap, 1.0, vertex, -1)

    def points(self, i: int) -> np.ndarray | None:
        """Return the atoms of block i, one per row; None if there is no active set."""
        return None

    def settle(self, i: int, choice: ChosenAtoms, gamma: float) -> None:
        """Remove rounding errors from block i after a step of size gamma, and update its active set, if there is one.

        Without an active set, a full step (gamma = 1) then ends exactly at the vertex.
        """
        if gamma == 1.0:
            assert choice.toward is not None
            self.x[i][:] = choice.toward


class WithAtoms(TowardVertex):
    """Base class of directions with active sets; ``x_i = sum_a mass_a atom_a`` holds after every step."""

    def __init__(self, x: list[np.ndarray]) -> None:
        super().__init__(x)
        self.atoms = [Atoms(block) for block in x]

    def points(self, i: int) -> np.ndarray | None:
        return self.atoms[i].points[: self.atoms[i].count]

    def settle(self, i: int, choice: ChosenAtoms, gamma: float) -> None:
        atoms = self.atoms[i]
        atoms.step(choice, gamma)
        self.x[i][:] = atoms.point()


class Away(WithAtoms):
    """Towards the vertex, or away from the worst atom if f decreases faster in that direction (gaps-2016, Alg. 4)."""

    def choose(self, i: int, gradient: np.ndarray, vertex: np.ndarray, towards: np.ndarray, gap: float) -> ChosenAtoms:
        atoms = self.atoms[i]
        worst = int(atoms.values(gradient).argmax())
        direction = self.x[i] - atoms.points[worst]
        slope, mass = -float(gradient.dot(direction)), float(atoms.mass[worst])
        if gap >= slope or atoms.count == 1:
            return ChosenAtoms(towards, gap, 1.0, vertex, -1)
        return ChosenAtoms(direction, slope, mass / (1.0 - mass), None, worst)


class Pairwise(WithAtoms):
    """From the worst atom towards the vertex (gaps-2016, Alg. 3)."""

    def choose(self, i: int, gradient: np.ndarray, vertex: np.ndarray, towards: np.ndarray, gap: float) -> ChosenAtoms:
        atoms = self.atoms[i]
        worst = int(atoms.values(gradient).argmax())
        direction = vertex - atoms.points[worst]
        return ChosenAtoms(direction, -float(gradient.dot(direction)), float(atoms.mass[worst]), vertex, worst)


class Blended(WithAtoms):
    """From the worst atom to the best atom if f decreases at least as fast as towards the vertex; else to the vertex.

    Only steps towards the vertex can add an atom. Blended pairwise conditional gradients: K. Tsuji, K. Tanaka,
    S. Pokutta, ICML 2022.
    """

    def choose(self, i: int, gradient: np.ndarray, vertex: np.ndarray, towards: np.ndarray, gap: float) -> ChosenAtoms:
        atoms = self.atoms[i]
        values = atoms.values(gradient)
        worst, best = int(values.argmax()), int(values.argmin())
        if values[worst] - values[best] < gap or worst == best:
            return ChosenAtoms(towards, gap, 1.0, vertex, -1)
        target = atoms.points[best].copy()
        direction = target - atoms.points[worst]
        return ChosenAtoms(direction, -float(gradient.dot(direction)), float(atoms.mass[worst]), target, worst)


class Atoms:
    """The active set of one block: a convex combination of points.

    Attributes
    ----------
    points : (capacity, n) the atoms; the first ``count`` rows are used
    mass : (capacity,) the masses of the atoms; the first ``count`` are positive and sum to one
    """

    def __init__(self, x: np.ndarray) -> None:
        self.points = np.array(x[None, :])
        self.mass = np.ones(1)
        self.count = 1
        self._places: dict[bytes, int] = {_key(x): 0}

    def values(self, gradient: np.ndarray) -> np.ndarray:
        """Return ``<g, a>`` for every atom a."""
        return np.asarray(self.points[: self.count].dot(gradient))

    def point(self) -> np.ndarray:
        """Return the convex combination ``sum_a mass_a atom_a``."""
        return np.asarray(self.mass[: self.count].dot(self.points[: self.count]))

    def step(self, choice: ChosenAtoms, gamma: float) -> None:
        """Change the masses by a step of size gamma, and remove atoms that have lost their mass."""
        if choice.source < 0:
            self.mass[: self.count] *= 1.0 - gamma
        elif choice.toward is None:
            self.mass[: self.count] *= 1.0 + gamma
            self.mass[choice.source] -= gamma
        else:
            self.mass[choice.source] -= gamma
        if choice.source >= 0 and gamma >= choice.top:
            self.mass[choice.source] = 0.0
        if choice.toward is not None:
            self._add(choice.toward, gamma)
        for place in np.flatnonzero(self.mass[: self.count] < LEAST_MASS)[::-1].tolist():
            self._drop(place)
        self.mass[: self.count] /= self.mass[: self.count].sum()

    def _add(self, point: np.ndarray, mass: float) -> None:
        place = self._places.setdefault(_key(point), self.count)
        if place < self.count:
            self.mass[place] += mass
            return
        if self.count == len(self.mass):
            self.points = np.concatenate([self.points, np.empty_like(self.points)])
            self.mass = np.concatenate([self.mass, np.zeros(len(self.mass))])
        self.points[place] = point
        self.mass[place] = mass
        self.count += 1

    def _drop(self, place: int) -> None:
        """Remove the atom in this row; the last atom moves to the free row."""
        last = self.count - 1
        del self._places[_key(self.points[place])]
        if place != last:
            self.points[place] = self.points[last]
            self.mass[place] = self.mass[last]
            self._places[_key(self.points[place])] = place
        self.mass[last] = 0.0
        self.count = last


def _key(point: np.ndarray) -> bytes:
    """Return a dictionary key; equal points have equal keys (0 and -0 are equal)."""
    return (point + 0.0).tobytes()


#: The words of the option ``direction``.
DIRECTIONS: dict[str, type[TowardVertex]] = {
    "fw": TowardVertex,
    "away": Away,
    "pairwise": Pairwise,
    "blended": Blended,
}
