"""Functions that certify a point of a problem by a pass of the oracle: its current state, a dual point, or weights."""

from __future__ import annotations

import numpy as np

from bcfw.dual.certificates import Certificate, certificate, dual_value, hinge_sums
from bcfw.dual.problem import DualProblem

#: If the sum of the block gaps and P - D differ by more than this, relatively, then w (or v and ell) no longer agrees
#: with the block averages, because of accumulated rounding.
DRIFT = 1e-9


def certify_state(problem: DualProblem) -> Certificate:
    """Return the certificate of the current state, by one pass of the oracle over all blocks.

    The pass also stores every block gap. The sum of the block gaps must equal ``P - D``; if it does not, because of
    rounding, w is rebuilt from the block averages and the pass is repeated.
    """
    found = certificate_from_hinge_losses(problem, problem.hinge_losses())
    if abs(found.gap - problem.state.gap.sum()) > DRIFT * (abs(found.primal) + abs(found.dual)):
        problem.rebuild()
        found = certificate_from_hinge_losses(problem, problem.hinge_losses())
    return found


def certificate_from_hinge_losses(problem: DualProblem, hinge_losses: np.ndarray) -> Certificate:
    """Return the certificate of the current state from its (2, n) hinge losses: found values and upper bounds."""
    hinge = hinge_sums(problem.state.c, hinge_losses)
    return certificate(problem.regulariser(problem.state.w), hinge, problem.dual_value())


def certify_dual_point(problem: DualProblem, v: np.ndarray, ell: float) -> Certificate:
    """Return the certificate of a feasible dual point ``v = A alpha``, ``ell = b'alpha`` and its weights ``clip(v)``.

    The stored block gaps do not change.
    """
    w = problem.clip(v)
    hinge = hinge_sums(problem.state.c, problem.hinge_losses_at(w))
    return certificate(problem.regulariser(w), hinge, dual_value(problem.lam, v, w, ell))


def certify_primal(problem: DualProblem, w: np.ndarray) -> Certificate:
    """Return a certificate with the primal value of any w within the bounds; its dual value and gap are NaN.

    Methods without a dual point use it.
    """
    return certificate(problem.regulariser(w), hinge_sums(problem.state.c, problem.hinge_losses_at(w)), float("nan"))


def certify_weights(problem: DualProblem, w: np.ndarray) -> Certificate:
    """Return the certificate of any w within the bounds and the dual value of the current state.

    The block gaps at w must sum to ``h - ell + lam v'w``, where h is the sum of the hinge losses at w. If they do not,
    because of rounding, v and ell are rebuilt from the block averages. The stored block gaps do not change.
    """
    gaps = np.zeros(problem.n_blocks)
    hinge = hinge_sums(problem.state.c, problem.hinge_losses_at(w, gaps))
    along = problem.lam * float(problem.v @ w)
    off = abs(gaps.sum() - (hinge.found - problem.ell + along))
    if not off <= DRIFT * (abs(hinge.found) + abs(problem.ell) + abs(along)):
        problem.rebuild()
    return certificate(problem.regulariser(w), hinge, problem.dual_value())
