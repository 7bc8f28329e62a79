"""Every solver reaches the optimum of the enumerated problem within the gap it reports."""

from __future__ import annotations

import numpy as np
import pytest

from problems import CASES, in_turn

TOL = 0.03

# The reference certifies itself to this.
EXACT = 1e-9


def test_reference_certifies_itself(case):
    """Weak duality proves the optimum that the other tests compare with."""
    for lam in (0.003, 0.1, 10.0):
        best = case.enumerated(lam=lam).optimum
        assert -1e-12 <= best.primal - best.dual <= EXACT


def check_within_gap(result, objective):
    """P(w) >= P* >= D, and both within the reported gap, with the objective evaluated independently."""
    best = objective.optimum
    assert result.primal == pytest.approx(objective.primal(result.w), abs=1e-10)
    assert result.primal >= best.dual - EXACT
    if not result.certified:
        assert np.isnan(result.gap)
        return
    assert result.dual <= best.primal + EXACT
    assert result.primal - best.primal <= result.gap + EXACT
    assert best.dual - result.dual <= result.gap + EXACT
    # Strong convexity: lam/2 |w - w*|^2 <= P(w) - P*.
    assert 0.5 * objective.lam * np.sum((result.w - best.w) ** 2) <= result.gap + EXACT


def enough_passes(solver):
    """For the tolerance; few for a solver without a dual point, which does not know when it is there.

    Steps measured by the mass that they move are short where features are large.
    """
    if not solver.certifies:
        return 20
    return 50_000 if getattr(solver, "metric", None) == "alpha" else 5000


@pytest.mark.part(0, of=4)
def test_solver_reaches_the_optimum(case, solver):
    result = case.train(solver=solver, tol=TOL, max_passes=enough_passes(solver))
    objective = case.enumerated()
    check_within_gap(result, objective)
    if result.certified:
        assert result.status == "converged"
        assert result.gap <= TOL * objective.primal(np.zeros_like(result.w)) * (1 + 1e-12)
    if result.last is not None:
        check_within_gap(result.last, objective)


@pytest.mark.part(1, of=4)
def test_solver_reaches_the_weighted_optimum(case, solver):
    s = np.random.default_rng(7).integers(0, 4, size=len(case.y)) * 0.5
    s[0] = 2.5
    result = case.train(solver=solver, tol=TOL, max_passes=enough_passes(solver), sample_weight=s)
    objective = case.enumerated(s)
    check_within_gap(result, objective)
    if result.certified:
        assert result.gap <= TOL * objective.primal(np.zeros_like(result.w)) * (1 + 1e-12)


@pytest.mark.part(2, of=4)
@pytest.mark.parametrize("lam", in_turn([0.003, 10.0]))
def test_solver_reaches_the_optimum_for_small_and_large_lam(case, solver, lam):
    """Few passes do not converge for small lam, but what is reported must still bracket the optimum."""
    result = case.few_passes(12, solver=solver, lam=lam)
    check_within_gap(result, case.enumerated(lam=lam))


def test_tight_tolerance_gives_the_optimal_weights():
    case = CASES["multiclass-cost"]
    result = case.train(tol=1e-4, max_passes=100_000)
    best = case.enumerated().optimum
    assert result.status == "converged"
    assert result.primal - best.primal <= 1.5e-4
    np.testing.assert_allclose(result.w, best.w, atol=np.sqrt(2 * result.gap / case.lam))


def test_reference_solves_a_problem_with_a_known_optimum():
    """Two points on a line with 0/1 loss: w* = (1/2, -1/2)/x as soon as the margin can be met."""
    from reference import Enumerated

    psi = [np.array([[0.0, 0.0], [1.0, -1.0]]), np.array([[0.0, 0.0], [1.0, -1.0]])]
    loss = [np.array([0.0, 1.0])] * 2
    best = Enumerated(psi, loss, np.array([0.5, 0.5]), 0.1).optimum
    np.testing.assert_allclose(best.w, [0.5, -0.5], atol=1e-7)
    assert best.primal == pytest.approx(0.1 / 2 * 0.5, abs=1e-12)
