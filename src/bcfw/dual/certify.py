"""Certificates of a problem: of its current dual point, of another one, and of any weights against the current one."""

from __future__ import annotations

import numpy as np

from bcfw.dual.certificates import Certificate, certificate, dual_value, hinge_sums
from bcfw.dual.problem import DualProblem

#: Relative difference of the sum of the block gaps and P - D beyond which rounding has separated w from its blocks.
DRIFT = 1e-9


def certify_state(problem: DualProblem) -> Certificate:
    """Primal, dual and gap of the current state, by one pass of the oracle over all blocks.

    The pass also stores every block gap. Their sum must equal ``P - D``; where rounding has separated the two, w is
    rebuilt from the block averages and the pass repeated.
    """
    found = certificate_from_hinges(problem, problem.hinges())
    if abs(found.gap - problem.state.gap.sum()) > DRIFT * (abs(found.primal) + abs(found.dual)):
        problem.rebuild()
        found = certificate_from_hinges(problem, problem.hinges())
    return found


def certificate_from_hinges(problem: DualProblem, hinges: np.ndarray) -> Certificate:
    """Primal, dual and gap of the current state, whose (2, n) hinge losses are known, found and at most."""
    hinge = hinge_sums(problem.state.c, hinges)
    return certificate(problem.regulariser(problem.state.w), hinge, problem.dual_value())


def certify_dual_point(problem: DualProblem, v: np.ndarray, ell: float) -> Certificate:
    """Certificate of any feasible dual point, given by ``v = A alpha`` and ``ell = b'alpha``, at its own weights.

    The stored block gaps are left alone.
    """
    w = problem.clip(v)
    hinge = hinge_sums(problem.state.c, problem.hinges_at(w))
    return certificate(problem.regulariser(w), hinge, dual_value(problem.lam, v, w, ell))


def certify_primal(problem: DualProblem, w: np.ndarray) -> Certificate:
    """Primal value of any w (within the bounds) alone, for methods without a dual point: dual and gap are NaN."""
    return certificate(problem.regulariser(w), hinge_sums(problem.state.c, problem.hinges_at(w)), float("nan"))


def certify_weights(problem: DualProblem, w: np.ndarray) -> Certificate:
    """Primal value of any w (within the bounds) against the dual value of the current state.

    The blocks' gaps at w sum to ``h - ell + lam v'w``, h the hinge losses; where rounding has separated v and ell from
    their blocks, they are rebuilt. The stored block gaps are left alone.
    """
    gaps = np.zeros(problem.n_blocks)
    hinge = hinge_sums(problem.state.c, problem.hinges_at(w, gaps))
    along = problem.lam * float(problem.v @ w)
    off = abs(gaps.sum() - (hinge.found - problem.ell + along))
    if not off <= DRIFT * (abs(hinge.found) + abs(problem.ell) + abs(along)):
        problem.rebuild()
    return certificate(problem.regulariser(w), hinge, problem.dual_value())
