"""The master problem of cutting planes with one slack variable: a small dense QP over a simplex.

    maximise  D(a) = ell'a - a'G a/2   over  a >= 0, sum_j a_j = 1,        G_jk = lam <v_j, v_k>

PIQP, an interior-point method for dense problems (extra ``[qp]``), solves the QP to an accuracy relative to the largest
numbers in G and ell. If features are large, D and the best masses are far smaller than these numbers. Therefore an
active-set method (Wolfe, 1976) continues from PIQP's solution; its accuracy is limited only by the rounding of the
numbers that it uses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.errors import BcfwError
from bcfw.passes.steps import exact_step

#: Accuracy required of PIQP, for an objective that is scaled to numbers of order one.
ACCURACY = 1e-10

#: Masses of PIQP up to this number are set to zero: an interior point has no zero masses.
NO_MASS = 1e-9

#: The rounding of slopes, relative to the numbers that are added up in a slope; the number that is added to curvatures
#: scaled to one, so that planes may be nearly equal; and the largest number of active-set rounds per plane.
SLOPE_ROUNDING = 1e-16
SINGULAR = 1e-14
MOST_ROUNDS = 2


class QPUnavailableError(BcfwError, ImportError):
    """No QP solver is installed."""


def require_qp_solver() -> Any:
    """Return the module of the QP solver. Raise an error that says how to install it if it is missing."""
    try:
        import piqp
    except ImportError as error:
        raise QPUnavailableError("CuttingPlane(slack='one') needs a QP solver: pip install 'bcfw[qp]'") from error
    return piqp


def master_masses(gram: np.ndarray, ell: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return (J,) masses that maximise D up to rounding.

    The masses are at least as good as the best masses between ``start`` and the last plane.

    Parameters
    ----------
    gram : (J, J) the matrix G
    ell : (J,) the ell of every plane
    start : (J,) feasible masses, with no mass on the last plane
    """
    best = after_line_search(gram, ell, start)
    found = solve_qp(gram, ell)
    if found is not None and value(gram, ell, found) > value(gram, ell, best):
        best = found
    return polished(gram, ell, best)


def polished(gram: np.ndarray, ell: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Improve the masses by rounds of an active-set method until a round gains nothing; return the best masses.

    A round maximises D over the planes with mass and the plane with the largest slope. If this gains nothing, because
    planes are too similar, the round moves mass from one plane to another instead.
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
    """Return the masses after the exact step that moves mass to the plane with the largest slope.

    The step takes the mass from the plane that has the smallest slope among the planes with mass.
    """
    slope = ell - gram @ mass
    best, worst = np.argmax(slope), np.argmin(np.where(mass > 0.0, slope, np.inf))
    curvature = gram[best, best] - 2.0 * gram[best, worst] + gram[worst, worst]
    step = exact_step(float(slope[best] - slope[worst]), float(max(curvature, 0.0)), float(mass[worst]))
    better = mass.copy()
    better[best] += step
    better[worst] -= step
    return better


def gains(gram: np.ndarray, ell: np.ndarray, mass: np.ndarray, better: np.ndarray) -> bool:
    """Return whether the change of the masses increases D by more than the rounding of the slope along the change."""
    change = better - mass
    slope, size = ell - gram @ mass, np.abs(ell) + np.abs(gram) @ mass
    gain = float(slope @ change - 0.5 * change @ (gram @ change))
    return gain > SLOPE_ROUNDING * float(size @ np.abs(change))


def best_on_face(gram: np.ndarray, ell: np.ndarray, mass: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Return the best masses on the planes of ``support``; a plane that loses its mass on the way is left out."""
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
    """Return the change of the masses of ``others`` that maximises D if masses may be negative.

    The mass of the heaviest plane changes by minus the sum of these changes.
    """
    if not len(others):
        return np.zeros(0)
    row = gram[heaviest, others]
    curvature = gram[np.ix_(others, others)] - row - row[:, None] + gram[heaviest, heaviest]
    rounding = SLOPE_ROUNDING * (np.diag(gram)[others] + gram[heaviest, heaviest])
    size = np.sqrt(np.maximum(np.diag(curvature), rounding + np.finfo(float).tiny))
    scaled = curvature / size / size[:, None]
    np.fill_diagonal(scaled, 1.0 + SINGULAR)
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            step = np.linalg.solve(scaled, (slope[others] - slope[heaviest]) / size) / size
        except np.linalg.LinAlgError:  # planes that differ by rounding only
            return np.zeros(len(others))
    return step if np.isfinite(step).all() else np.zeros(len(others))


def value(gram: np.ndarray, ell: np.ndarray, mass: np.ndarray) -> float:
    """Return D of the given masses."""
    return float(ell @ mass - 0.5 * mass @ (gram @ mass))


def after_line_search(gram: np.ndarray, ell: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the masses after the exact step from ``start`` towards the last plane, a step of batch Frank-Wolfe."""
    direction = -start
    direction[-1] += 1.0
    image = gram @ direction
    return start + exact_step(float(ell @ direction - start @ image), float(direction @ image), 1.0) * direction


def solve_qp(gram: np.ndarray, ell: np.ndarray) -> np.ndarray | None:
    """Return the QP solver's masses, without tiny ones and rescaled to sum to one; None if it found no solution."""
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
