"""The master problem of cutting planes with one slack variable: a small dense QP over a simplex.

    maximise  D(a) = ell'a - a'G a/2   over  a >= 0, sum_j a_j = 1,        G_jk = lam <v_j, v_k>

It is solved by PIQP, an interior-point method for dense problems (extra ``[qp]``), to an accuracy relative to the
largest numbers in G and ell. Where features are large, D and the best masses are far smaller; so an active-set method
goes on from that solution (Wolfe, 1976), for which only the rounding of its own numbers counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.errors import BcfwError
from bcfw.passes.steps import exact_step

#: Accuracy asked for, after the objective has been scaled to numbers of order one.
ACCURACY = 1e-10

#: Masses below this are zero: an interior point has none.
NO_MASS = 1e-9

#: The rounding of slopes, relative to what they are sums of; what is added to curvatures of one, so that planes may be
#: nearly the same; and there are so many rounds of the active-set method per plane at most.
SLOPE_ROUNDING = 1e-16
SINGULAR = 1e-14
MOST_ROUNDS = 2


class QPUnavailableError(BcfwError, ImportError):
    """No QP solver is installed."""


def require_qp_solver() -> Any:
    """The module of the QP solver, or one error that says how to get it."""
    try:
        import piqp
    except ImportError as error:
        raise QPUnavailableError("CuttingPlane(slack='one') needs a QP solver: pip install 'bcfw[qp]'") from error
    return piqp


def master_masses(gram: np.ndarray, ell: np.ndarray, start: np.ndarray) -> np.ndarray:
    """(J,) masses that maximise D, at least as good as the best ones between ``start`` and the last plane.

    Parameters
    ----------
    gram : (J, J) G
    ell : (J,)
    start : (J,) feasible masses, with none on the last plane
    """
    best = stepped(gram, ell, start)
    found = solution(gram, ell)
    if found is not None and value(gram, ell, found) > value(gram, ell, best):
        best = found
    return polished(gram, ell, best)


def polished(gram: np.ndarray, ell: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Better masses, as long as the next ones gain: of the planes with mass, and of the one with the largest slope.

    Where planes are too similar for that, mass moves from one plane to another.
    """
    for _ in range(MOST_ROUNDS * len(ell)):
        support = mass > 0.0
        support[np.argmax(ell - gram @ mass)] = True
        better = best_on_face(gram, ell, mass, support)
        if not gains(gram, ell, mass, better):
            better = pairwise_stepped(gram, ell, mass)
            if not gains(gram, ell, mass, better):
                return mass
        mass = better
    return mass


def pairwise_stepped(gram: np.ndarray, ell: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """The exact step from the plane with the smallest slope, of those with mass, to the one with the largest."""
    slope = ell - gram @ mass
    best, worst = np.argmax(slope), np.argmin(np.where(mass > 0.0, slope, np.inf))
    curvature = gram[best, best] - 2.0 * gram[best, worst] + gram[worst, worst]
    step = exact_step(float(slope[best] - slope[worst]), float(max(curvature, 0.0)), float(mass[worst]))
    better = mass.copy()
    better[best] += step
    better[worst] -= step
    return better


def gains(gram: np.ndarray, ell: np.ndarray, mass: np.ndarray, better: np.ndarray) -> bool:
    """Whether D gains from the change of the masses more than the rounding of its slope there."""
    change = better - mass
    slope, size = ell - gram @ mass, np.abs(ell) + np.abs(gram) @ mass
    gain = float(slope @ change - 0.5 * change @ (gram @ change))
    return gain > SLOPE_ROUNDING * float(size @ np.abs(change))


def best_on_face(gram: np.ndarray, ell: np.ndarray, mass: np.ndarray, support: np.ndarray) -> np.ndarray:
    """The best masses of some planes, or where one after the other has lost its mass on the way there."""
    mass, support = mass.copy(), support.copy()
    while True:
        planes = np.flatnonzero(support)
        heaviest = planes[np.argmax(mass[planes])]
        others = planes[planes != heaviest]
        direction = np.zeros_like(mass)
        direction[others] = newton_step(gram, ell - gram @ mass, others, heaviest)
        direction[heaviest] = -direction[others].sum()
        leaving = np.flatnonzero(direction < 0.0)
        reach = np.min(-mass[leaving] / direction[leaving], initial=1.0)
        blocking = leaving[mass[leaving] + reach * direction[leaving] <= 0.0]
        mass = np.maximum(mass + reach * direction, 0.0)
        mass[blocking] = 0.0
        support[blocking] = False
        if reach == 1.0 or not len(blocking) or not support.any():
            return mass / mass.sum()


def newton_step(gram: np.ndarray, slope: np.ndarray, others: np.ndarray, heaviest: int) -> np.ndarray:
    """How the masses of ``others`` reach the maximum where no mass has bounds; the heaviest plane pays for them."""
    if not len(others):
        return np.zeros(0)
    row = gram[heaviest, others]
    curvature = gram[np.ix_(others, others)] - row - row[:, None] + gram[heaviest, heaviest]
    rounding = SLOPE_ROUNDING * (np.diag(gram)[others] + gram[heaviest, heaviest])
    size = np.sqrt(np.maximum(np.diag(curvature), rounding + np.finfo(float).tiny))
    scaled = curvature / size / size[:, None]
    np.fill_diagonal(scaled, 1.0 + SINGULAR)
    return np.asarray(np.linalg.solve(scaled, (slope[others] - slope[heaviest]) / size) / size)


def value(gram: np.ndarray, ell: np.ndarray, mass: np.ndarray) -> float:
    """D of some masses."""
    return float(ell @ mass - 0.5 * mass @ (gram @ mass))


def stepped(gram: np.ndarray, ell: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The exact step from ``start`` towards the last plane: what batch Frank-Wolfe would do."""
    direction = -start
    direction[-1] += 1.0
    image = gram @ direction
    return start + exact_step(float(ell @ direction - start @ image), float(direction @ image), 1.0) * direction


def solution(gram: np.ndarray, ell: np.ndarray) -> np.ndarray | None:
    """The QP solver's answer as exact masses; None if it has none."""
    piqp = require_qp_solver()
    count = len(ell)
    scale = max(float(np.max(np.diag(gram))), float(np.max(np.abs(ell))), np.finfo(float).tiny)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = ACCURACY
    ones, zeros = np.ones((1, count)), np.zeros(count)
    solver.setup(gram / scale, -ell / scale, ones, np.ones(1), None, None, None, zeros, np.full(count, np.inf))
    solver.solve()
    mass = np.array(solver.result.x)
    mass = np.where(mass > NO_MASS, mass, 0.0)
    total = mass.sum()
    return mass / total if np.isfinite(total) and total > 0.0 else None
