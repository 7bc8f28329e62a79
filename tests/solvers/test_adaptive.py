"""Several blocks at once with adaptive steps: the steps of the naive method, exact ones for single blocks."""

from __future__ import annotations

import numpy as np
import pytest

from bcfw.selection import SAMPLINGS
from bcfw.solvers import BCFW, AdaptiveBCFW
from problems import CASES
from reference import naive_groups

# Steps add rounding of the last place of numbers of order ten.
ROUNDING = 1e-9

SOME_CASES = ["multiclass-cost", "chain-cost", "multilabel-tree", "dense-features", "sparse-features"]


def orders(case, n_passes):
    """The orders that a run with seed 0 draws."""
    rng = np.random.default_rng(0)
    blocks = np.arange(len(case.y))
    return np.concatenate([SAMPLINGS["permuted"].order(rng, blocks) for _ in range(n_passes)])


@pytest.mark.parametrize("metric", ["weights", "alpha"])
@pytest.mark.parametrize("name", SOME_CASES)
def test_groups_follow_the_naive_method(name, metric):
    """Groups do not reach over the end of a pass: here they divide the number of examples, or are all of them."""
    case = CASES[name]
    n, n_passes = len(case.y), 4
    for size in (1, next(b for b in range(2, n + 1) if n % b == 0), n):
        result = case.few_passes(n_passes, solver=AdaptiveBCFW(block_size=size, metric=metric))
        *_, state = naive_groups(case.enumerated(), orders(case, n_passes), size, metric == "alpha")
        np.testing.assert_allclose(result.w, state.w, rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(result.snapshot["ell"], state.ell_blocks, rtol=0, atol=ROUNDING)


def test_groups_of_one_take_exact_steps(case):
    a, b = (case.few_passes(4, solver=solver) for solver in (AdaptiveBCFW(block_size=1), BCFW()))
    if case.box is None:
        np.testing.assert_allclose(a.w, b.w, rtol=0, atol=1e-10)
    else:  # these steps are short where w has bounds
        assert a.dual <= case.enumerated().optimum.primal + 1e-9


@pytest.mark.parametrize("metric", ["weights", "alpha"])
@pytest.mark.parametrize("size", [3, 100])
@pytest.mark.parametrize("name", ["chain-cost", "bounded-multiclass-cost", "graph-cost"])
def test_groups_of_any_size_reach_the_optimum(name, size, metric):
    case = CASES[name]
    result = case.train(solver=AdaptiveBCFW(block_size=size, metric=metric, gap_every=1), tol=0.02, max_passes=5000)
    assert result.status == "converged"
    assert result.primal - case.enumerated().optimum.primal <= result.gap + 1e-9
    assert np.all(np.diff(result.history["dual"]) >= -1e-13)


def test_few_kept_outputs_only_change_the_distance():
    case = CASES["chain-cost"]
    solver = AdaptiveBCFW(metric="alpha", max_labelings=2)
    result = case.train(solver=solver, tol=0.02, max_passes=5000)
    assert result.status == "converged"
