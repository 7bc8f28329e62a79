"""The rate of bcfw-2013, Theorem 2: ``E[D* - D(alpha_k)] <= 2n/(k + 2n) (sum_i C_i + h_0)`` for uniform sampling."""

from __future__ import annotations

import numpy as np
import pytest

from bcfw.solvers import BCFW
from problems import CASES

RUNS = 12


def curvature(objective):
    """``sum_i C_i``: C_i is the largest squared distance of two corners of block i, ``lam |v_s - v_t|^2``."""
    total = 0.0
    for c, psi in zip(objective.c, objective.psi, strict=True):
        differences = psi[:, None, :] - psi[None, :, :]
        total += c**2 / objective.lam * np.max(np.sum(differences**2, axis=2))
    return total


@pytest.mark.parametrize("step_size", ["exact", "decay"])
@pytest.mark.parametrize("lam", [0.003, 0.1])
@pytest.mark.parametrize("name", ["multiclass-cost", "chain-cost", "multilabel-tree"])
def test_mean_suboptimality_is_below_the_bound(name, lam, step_size):
    case = CASES[name]
    objective = case.enumerated(lam=lam)
    best, n = objective.optimum.primal, objective.n
    solver = BCFW(sampling="uniform", step_size=step_size, gap_every=1)
    runs = [case.few_passes(30, solver=solver, lam=lam, seed=seed).history for seed in range(RUNS)]
    left = best - np.mean([history["dual"] for history in runs], axis=0)
    k = runs[0]["passes"] * n
    bound = 2.0 * n / (k + 2.0 * n) * (curvature(objective) + best)  # h_0 = D*, for D is 0 at the start
    assert np.all(left <= bound + 1e-9)
