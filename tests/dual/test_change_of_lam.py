"""Another lam on the way: with the same weights or with the same mass, feasible and ready to go on."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.dual import change_lam, snapshots
from bcfw.dual.certify import certify_state
from bcfw.solvers import BCFW, MultiPlane
from problems import CASES, continue_with, drift

ROUNDING = 1e-11

SOLVERS = {
    "averages": BCFW(),
    "cached": BCFW(cache="gap"),
    "active": BCFW(step="pairwise"),
    "folded": BCFW(step="away", max_labelings=2),
    "planes": MultiPlane(clock="count"),
}


@pytest.fixture(params=SOLVERS.values(), ids=SOLVERS.keys())
def moved(request, case):
    """A problem on which a solver has worked, with block gaps known at its w."""
    problem = case.problem()
    continue_with(problem, request.param, 4)
    return case, problem, certify_state(problem), request.param


def test_a_smaller_lam_with_the_same_weights(moved):
    """Weights stay, mass shrinks to the truth, gaps stay known, and the point is feasible and goes on."""
    case, problem, before, solver = moved
    w, v, ell = problem.state.w.copy(), problem.v.copy(), problem.state.ell.copy()
    rho = 0.3
    change_lam(problem, rho * problem.lam, keep="w")
    assert problem.lam == rho * case.lam
    np.testing.assert_array_equal(problem.state.w, w)
    np.testing.assert_allclose(problem.state.ell, rho * ell, rtol=1e-15)
    assert max(drift(problem).values()) < ROUNDING
    objective = case.enumerated(lam=problem.lam)
    assert problem.dual_value() == pytest.approx(objective.dual(v, rho * ell.sum()), abs=ROUNDING)
    gaps = problem.state.gap.copy()
    after = certify_state(problem)
    np.testing.assert_allclose(gaps, problem.state.gap, rtol=0, atol=ROUNDING)
    assert after.gap == pytest.approx(gaps.sum(), abs=ROUNDING)
    # The gap of shrunken mass at the same weights is linear in lam.
    linear = before.gap + (1.0 - rho) * (ell.sum() - case.lam * v @ w)
    assert after.gap == pytest.approx(linear, abs=ROUNDING)
    outcome = continue_with(problem, solver, 3)
    assert outcome.certificate.primal - objective.optimum.primal <= outcome.certificate.gap + 1e-9


def test_another_lam_with_the_same_mass(moved):
    """Mass stays and w follows, exactly as a warm start from the saved state does."""
    case, problem, _, _ = moved
    for lam in (0.3 * case.lam, 4.0 * case.lam):
        fresh = case.problem(lam=lam)
        snapshots.restore(fresh, snapshots.take(problem))
        change_lam(problem, lam, keep="alpha")
        np.testing.assert_allclose(problem.v, fresh.v, rtol=0, atol=1e-9)
        assert problem.dual_value() == pytest.approx(fresh.dual_value(), abs=1e-9)
        assert max(drift(problem).values()) < 1e-9


@pytest.mark.parametrize(
    ("lam", "keep", "message"),
    [
        (0.2, "w", r"smaller lam than 0\.1, got 0\.2; use 'alpha'"),
        (0.0, "w", "lam must be a finite number > 0"),
        (0.05, "beta", "keep must be 'w' or 'alpha'"),
    ],
)
def test_wrong_changes_of_lam(lam, keep, message):
    problem = CASES["multiclass-cost"].problem()
    with pytest.raises(bcfw.OptionError, match=message):
        change_lam(problem, lam, keep)
    assert problem.lam == 0.1
