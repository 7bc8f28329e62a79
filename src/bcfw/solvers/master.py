"""The master problem of cutting planes with one slack variable: a small dense QP over a simplex.

    maximise  D(a) = ell'a - a'G a/2   over  a >= 0, sum_j a_j = 1,        G_jk = lam <v_j, v_k>

It is solved by PIQP, an interior-point method for dense problems (extra ``[qp]``).
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
    return best


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
