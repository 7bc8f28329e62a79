"""The dual of a structural SVM is a quadratic over simplices: ``minimize`` and ``train`` must agree."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from problems import CASES


@pytest.mark.parametrize("name", ["multiclass", "chain"])
@pytest.mark.parametrize("options", [{"direction": "pairwise"}, {"selection": "gap", "direction": "away"}])
def test_the_dual_through_minimize_agrees_with_train(name, options):
    case = next(case for key, case in CASES.items() if key.startswith(name) and case.bounds is None)
    solver = bcfw.solvers.BCFW(step="pairwise")
    trained = bcfw.train(case.model, case.X, case.y, lam=case.lam, solver=solver, tol=1e-7, max_passes=20_000)
    svm = case.enumerated()
    A = [np.sqrt(svm.lam) * c * psi.T / svm.lam for c, psi in zip(svm.c, svm.psi, strict=True)]
    objective = bcfw.objectives.Quadratic(A, c=[-c * loss for c, loss in zip(svm.c, svm.loss, strict=True)])
    result = bcfw.minimize(
        objective, [bcfw.domains.Simplex(len(loss)) for loss in svm.loss], tol=1e-7, max_iters=10**6, **options
    )
    assert result.status == "converged"
    assert -result.value == pytest.approx(trained.dual, abs=result.gap + trained.gap)
    w = sum(c * alpha @ psi for c, alpha, psi in zip(svm.c, result.x, svm.psi, strict=True)) / svm.lam
    assert svm.primal(w) + result.value == pytest.approx(result.gap, abs=1e-12)  # the FW gap is the duality gap
    np.testing.assert_allclose(w, trained.w, atol=np.sqrt(2 * (result.gap + trained.gap) / svm.lam) * 2)
