"""Sets and objectives of campaign_minimize.py, written a second time: support functions, projections, references.

Nothing here asks the package's domains or trackers for anything. A set knows the minimum of a linear function over it
in closed form, how far a point is outside, and a linear image of a set that is easy to project to, on which accelerated
projected gradients find the minimum of an objective.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import nnls

import bcfw

Vector = np.ndarray


@dataclasses.dataclass
class Place:
    """A set of flat vectors: ``{image @ a : a in the set that project projects to}``; image None is the identity.

    ``least(g)`` is ``min <g, v>`` over the set, ``outside(x)`` how far x breaks its constraints.
    """

    domain: Any
    shape: tuple[int, ...]
    least: Callable[[Vector], float]
    outside: Callable[[Vector], float]
    project: Callable[[Vector], Vector]
    image: Any = None
    radius: float = 1.0
    exact: bool = True
    start: Any = None  # a point, for a user's set that offers none
    polytope: bool = True

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def parts(self) -> int:
        """Entries of the points that ``project`` takes."""
        return self.size if self.image is None else int(self.image.shape[1])

    def point(self, a: Vector) -> Vector:
        return a if self.image is None else self.image @ a


# --- projections --------------------------------------------------------------------------------------------------


def to_simplex(z: Vector, radius: float = 1.0) -> Vector:
    """By sorting."""
    z = z - z.max()
    descending = np.sort(z)[::-1]
    excess = np.cumsum(descending) - radius
    k = np.flatnonzero(descending * np.arange(1, len(z) + 1) > excess)[-1]
    return np.maximum(z - excess[k] / (k + 1.0), 0.0)


def to_l1(z: Vector, radius: float) -> Vector:
    if np.abs(z).sum() <= radius:
        return z
    return np.sign(z) * to_simplex(np.abs(z), radius)


def to_ksparse(z: Vector, k: int, radius: float) -> Vector:
    """Entries at most radius, their sum at most k radius: soft thresholds, by bisection."""
    low, high = 0.0, float(np.abs(z).max(initial=0.0))

    def at(threshold: float) -> Vector:
        return np.sign(z) * np.minimum(np.maximum(np.abs(z) - threshold, 0.0), radius)

    if np.abs(at(0.0)).sum() <= k * radius:
        return at(0.0)
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.abs(at(middle)).sum() > k * radius else (low, middle)
    return at(high)


def to_spectraplex(z: Vector, s: int) -> Vector:
    matrix = z.reshape(s, s)
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return ((vectors * to_simplex(values)) @ vectors.T).ravel()


def to_nuclear(z: Vector, shape: tuple[int, ...], radius: float) -> Vector:
    left, values, right = np.linalg.svd(z.reshape(shape), full_matrices=False)
    return ((left * to_l1(values, radius)) @ right).ravel()


# --- sets ---------------------------------------------------------------------------------------------------------


def distance_to_hull(rows: np.ndarray, x: Vector) -> float:
    scale = float(np.abs(rows).max()) or 1.0
    system = np.vstack([(rows - x).T / scale, np.ones(len(rows))])
    mass, _ = nnls(system, np.append(np.zeros(len(x)), 1.0), maxiter=50 * len(rows))
    return scale * float(np.linalg.norm(system[:-1] @ mass) / mass.sum())


def hull(domain: Any, rows: np.ndarray, shape: tuple[int, ...], **options: Any) -> Place:
    return Place(
        domain,
        shape,
        lambda g: float((rows @ g).min()),
        lambda x: distance_to_hull(rows, x),
        to_simplex,
        rows.T,
        radius=float(np.abs(rows).max()) or 1.0,
        **options,
    )


def simplex(rng: np.random.Generator, r: float) -> Place:
    n = int(rng.integers(1, 8))
    return Place(
        bcfw.domains.Simplex(n, r),
        (n,),
        lambda g: r * float(g.min()),
        lambda x: max(-float(x.min()), abs(float(x.sum()) - r)),
        lambda z: to_simplex(z, r),
        radius=r,
    )


def box(rng: np.random.Generator, r: float) -> Place:
    shape = [(int(rng.integers(1, 7)),), (2, 3)][rng.integers(2)]
    low, high = -r * rng.random(shape), r * rng.random(shape)
    if rng.random() < 0.3:
        low, high = low - 0.7 * r, high - 0.7 * r
    a, b = low.ravel(), high.ravel()
    return Place(
        bcfw.domains.Box(low, high),
        shape,
        lambda g: float(np.minimum(g * a, g * b).sum()),
        lambda x: float(np.maximum(a - x, x - b).max()),
        lambda z: np.clip(z, a, b),
        radius=r,
    )


def l1_ball(rng: np.random.Generator, r: float) -> Place:
    shape = [(int(rng.integers(1, 8)),), (2, 2)][rng.integers(2)]
    return Place(
        bcfw.domains.L1Ball(shape, r),
        shape,
        lambda g: -r * float(np.abs(g).max()),
        lambda x: float(np.abs(x).sum()) - r,
        lambda z: to_l1(z, r),
        radius=r,
    )


def l2_ball(rng: np.random.Generator, r: float) -> Place:
    n = int(rng.integers(1, 8))

    def project(z: Vector) -> Vector:
        length = float(np.linalg.norm(z))
        return z if length <= r else z * (r / length)

    return Place(
        bcfw.domains.L2Ball(n, r),
        (n,),
        lambda g: -r * float(np.linalg.norm(g)),
        lambda x: float(np.linalg.norm(x)) - r,
        project,
        radius=r,
        polytope=False,
    )


def linf_ball(rng: np.random.Generator, r: float) -> Place:
    n = int(rng.integers(1, 7))
    return Place(
        bcfw.domains.LinfBall((n,), r),
        (n,),
        lambda g: -r * float(np.abs(g).sum()),
        lambda x: float(np.abs(x).max()) - r,
        lambda z: np.clip(z, -r, r),
        radius=r,
    )


def ksparse(rng: np.random.Generator, r: float) -> Place:
    n = int(rng.integers(1, 8))
    k = int(rng.integers(1, n + 1))
    return Place(
        bcfw.domains.KSparse(n, k, r),
        (n,),
        lambda g: -r * float(np.sort(np.abs(g))[-k:].sum()),
        lambda x: max(float(np.abs(x).max()) - r, float(np.abs(x).sum()) - k * r),
        lambda z: to_ksparse(z, k, r),
        radius=r,
    )


def hull_of_points(rng: np.random.Generator, r: float) -> Place:
    shape = [(int(rng.integers(1, 5)),), (2, 2)][rng.integers(2)]
    points = r * rng.standard_normal((int(rng.integers(1, 8)), *shape))
    return hull(bcfw.domains.Hull(points), points.reshape(len(points), -1), shape)


def spectraplex(rng: np.random.Generator, r: float, orders: tuple[int, int] = (1, 5)) -> Place:
    s = int(rng.integers(*orders))

    def least(g: Vector) -> float:
        return float(np.linalg.eigvalsh(0.5 * (g.reshape(s, s) + g.reshape(s, s).T))[0])

    def outside(x: Vector) -> float:
        matrix = x.reshape(s, s)
        values = np.linalg.eigvalsh(0.5 * (matrix + matrix.T))
        return max(-float(values[0]), abs(float(np.trace(matrix)) - 1.0), float(np.abs(matrix - matrix.T).max()))

    return Place(bcfw.domains.Spectraplex(s), (s, s), least, outside, lambda z: to_spectraplex(z, s), polytope=False)


def nuclear_ball(rng: np.random.Generator, r: float, orders: tuple[int, int] = (1, 5)) -> Place:
    shape = (int(rng.integers(*orders)), int(rng.integers(*orders)))

    def values(x: Vector) -> Vector:
        return np.linalg.svd(x.reshape(shape), compute_uv=False)

    return Place(
        bcfw.domains.NuclearBall(shape, r),
        shape,
        lambda g: -r * float(values(g)[0]),
        lambda x: float(values(x).sum()) - r,
        lambda z: to_nuclear(z, shape, r),
        radius=r,
        polytope=False,
    )


def birkhoff(rng: np.random.Generator, r: float) -> Place:
    """All permutation matrices are listed."""
    n = int(rng.integers(1, 5))
    rows = np.array([np.eye(n)[list(order)].ravel() for order in itertools.permutations(range(n))])
    return hull(bcfw.domains.Birkhoff(n), rows, (n, n))


class Points:
    """A user's set: nothing but argmin over a list of points, from a buffer that is used again and again."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows
        self.buffer = np.empty(rows.shape[1])

    def argmin(self, direction: Any) -> np.ndarray:
        self.buffer[:] = self.rows[(self.rows @ direction).argmin()]
        return self.buffer


class ShapedPoints(Points):
    """The same with a shape."""

    @property
    def shape(self) -> int:
        return int(self.rows.shape[1])


class Careless(Points):
    """Not exact: returns some point that is not worse than half of the others; knows a lower bound, or not."""

    exact = False

    def __init__(self, rows: np.ndarray, bound: bool) -> None:
        super().__init__(rows)
        self.bound = bound

    def argmin(self, direction: Any) -> np.ndarray:
        values = self.rows @ direction
        return self.rows[np.argsort(values, kind="stable")[min(1, len(values) - 1)]].copy()

    def lower_bound(self, direction: Any) -> float | None:
        return float((self.rows @ direction).min()) if self.bound else None


class Ellipsoid:
    """A user's set ``{centre + B u : |u| <= 1}``."""

    def __init__(self, centre: Vector, B: np.ndarray) -> None:
        self.centre, self.B = centre, B

    def start(self) -> Vector:
        return self.centre

    def argmin(self, direction: Any) -> Vector:
        image = self.B.T @ direction
        length = float(np.linalg.norm(image))
        return self.centre - (self.B @ image / length if length > 0.0 else 0.0)


def users_points(rng: np.random.Generator, r: float) -> Place:
    rows = r * rng.standard_normal((int(rng.integers(1, 7)), int(rng.integers(1, 5))))
    kind = rng.integers(4)
    if kind == 0:
        return hull(ShapedPoints(rows), rows, rows.shape[1:])
    domain = [None, Points(rows), Careless(rows, bound=True), Careless(rows, bound=False)][kind]
    exact = kind != 3
    return hull(domain, rows, rows.shape[1:], start=rows[0].copy(), exact=exact)


def ellipsoid(rng: np.random.Generator, r: float) -> Place:
    n = int(rng.integers(1, 5))
    centre, B = r * rng.standard_normal(n), r * rng.standard_normal((n, n)) + r * np.eye(n)
    inverse = np.linalg.pinv(B)

    def project(z: Vector) -> Vector:  # of u; the last entry is always one, for the centre
        length = float(np.linalg.norm(z[:-1]))
        return np.append(z[:-1] / max(1.0, length), 1.0)

    return Place(
        Ellipsoid(centre, B),
        (n,),
        lambda g: float(centre @ g) - float(np.linalg.norm(B.T @ g)),
        lambda x: (float(np.linalg.norm(inverse @ (x - centre))) - 1.0) * r * 1e-6,  # B may be ill-conditioned
        project,
        np.column_stack([B, centre]),
        radius=r,
        polytope=False,
    )


#: Sets in the words of the table.
PLACES: dict[str, Callable[[np.random.Generator, float], Place]] = {
    "Simplex": simplex,
    "Box": box,
    "L1Ball": l1_ball,
    "L2Ball": l2_ball,
    "LinfBall": linf_ball,
    "KSparse": ksparse,
    "Hull": hull_of_points,
    "Spectraplex": spectraplex,
    "NuclearBall": nuclear_ball,
    "Birkhoff": birkhoff,
    "user's points": users_points,
    "user's ellipsoid": ellipsoid,
}

#: Sets so large that their oracle is Lanczos's method.
LARGE: dict[str, Callable[[np.random.Generator, float], Place]] = {
    "Spectraplex, order 200": functools.partial(spectraplex, orders=(200, 210)),
    "NuclearBall, order 200": functools.partial(nuclear_ball, orders=(200, 210)),
}


# --- references ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Smooth:
    """An objective of one flat vector, written out: value, gradient, and the terms that the value is a sum of.

    ``smoothness`` is a Lipschitz constant of the gradient; None where L D^2, D the diameter of the sets, is about as
    large as the terms.
    """

    value: Callable[[Vector], float]
    gradient: Callable[[Vector], Vector]
    terms: Callable[[Vector], float]
    convex: bool
    smoothness: float | None = None


def best_value(objective: Smooth, places: list[Place], start: Vector, steps: int) -> float:
    """The smallest value that accelerated projected gradients with restarts find, for all blocks together."""
    ends = np.cumsum([place.size for place in places])[:-1]
    parts = [place.parts for place in places]
    cuts = np.cumsum(parts)[:-1]

    def point(a: Vector) -> Vector:
        return np.concatenate([place.point(one) for place, one in zip(places, np.split(a, cuts), strict=True)])

    def slope(x: Vector) -> Vector:
        pieces = np.split(objective.gradient(x), ends)
        return np.concatenate(
            [g if place.image is None else place.image.T @ g for place, g in zip(places, pieces, strict=True)]
        )

    def project(a: Vector) -> Vector:
        return np.concatenate([place.project(one) for place, one in zip(places, np.split(a, cuts), strict=True)])

    given = zip(places, np.split(start, ends), strict=True)
    a = project(np.concatenate([x if place.image is None else np.zeros(place.parts) for place, x in given]))
    ahead, momentum, L = a, 1.0, 1e-12
    value = best = objective.value(point(a))
    for _ in range(steps):
        g, base = slope(point(ahead)), objective.value(point(ahead))
        while True:
            new = project(ahead - g / L)
            step = new - ahead
            found = objective.value(point(new))
            if found <= base + g @ step + 0.5 * L * step @ step + 1e-14 * abs(base) or L > 1e30:
                break
            L *= 4.0
        best = min(best, found)
        gained, moved = value - found, float(step @ step)
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        if gained < 0.0:  # restart
            if momentum == 1.0:
                break
            ahead, momentum = a, 1.0
            continue
        ahead, a, momentum = new + (momentum - 1.0) / following * (new - a), new, following
        value, L = found, 0.9 * L
        if moved == 0.0 or (gained <= 1e-15 * abs(found) and momentum > 10.0):
            break
    return best
