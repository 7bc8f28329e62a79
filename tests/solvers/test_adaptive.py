"""Several blocks at once with adaptive steps: the steps of the naive method, exact ones for single blocks."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.selection import SAMPLINGS
from bcfw.solvers import BCFW, AdaptiveBCFW
from bcfw.solvers.baselines.adaptive import GroupRunner
from bcfw.solvers.counted_run import CountedRun
from problems import CASES, continue_with
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


def random_problem(seed):
    """Arguments of ``train`` for a small problem, and a group size."""
    rng = np.random.default_rng(seed)
    n, F, K = rng.integers(3, 12), rng.integers(1, 5), rng.integers(2, 6)
    X, y = rng.choice([1.0, 30.0]) * rng.standard_normal((n, F)), rng.integers(K, size=n)
    options = {"lam": 10.0 ** rng.uniform(-3, 0), "tol": 1e-3, "max_passes": 60}
    return (bcfw.models.Multiclass(int(K)), X, y), options, int(rng.integers(1, n + 1))


@pytest.mark.filterwarnings("ignore::bcfw.ConvergenceWarning")
@pytest.mark.parametrize("metric", ["weights", "alpha"])
@pytest.mark.parametrize("seed", range(40))
def test_a_warm_start_is_never_lost(tmp_path, seed, metric):
    """No one knows which outputs its mass belongs to; the dual rises all the same, in legs, too."""
    problem, options, size = random_problem(seed)
    few = {"max_labelings": 2 + seed % 4} if metric == "alpha" else {}
    solver = AdaptiveBCFW(metric=metric, block_size=size, gap_every=1, **few)
    first = bcfw.train(*problem, **{**options, "solver": BCFW(), "max_passes": 1 + seed % 5})
    after = bcfw.train(*problem, **options, solver=solver, warm_start=first)
    rounding = 1e-13
    assert after.status in ("converged", "max_passes")
    assert after.primal <= first.primal + rounding
    assert after.dual >= first.dual - rounding
    assert np.all(np.diff(after.history["dual"]) >= -rounding)
    if first.gap > options["tol"]:
        assert after.gap < first.gap
    in_legs = bcfw.train(*problem, **options, solver=solver, checkpoint=bcfw.Legs(tmp_path / "run.npz", 2))
    assert in_legs.status in ("converged", "max_passes")
    assert np.all(np.diff(in_legs.history["dual"]) >= -rounding)


@pytest.mark.filterwarnings("ignore::bcfw.ConvergenceWarning")
@pytest.mark.parametrize("metric", ["weights", "alpha"])
@pytest.mark.parametrize("seed", range(10))
def test_the_gain_of_every_group_is_that_of_the_dual_at_least(seed, metric):
    """Also after a warm start: no step is taken whose test was not passed."""
    problem_arguments, options, size = random_problem(seed)
    problem = bcfw.dual.open_problem(*problem_arguments, options["lam"])
    continue_with(problem, BCFW(), 1 + seed % 5)
    run = CountedRun(problem, 0.0, 1e9)
    runner = GroupRunner(problem, run, AdaptiveBCFW(metric=metric, block_size=size))
    rng = np.random.default_rng(seed)
    for _ in range(20):
        before = problem.dual_value()
        gain = runner.run_pass(SAMPLINGS["permuted"], rng)
        assert gain >= 0.0
        assert problem.dual_value() - before >= gain - 1e-12
    if metric == "alpha":
        group = runner.group
        np.testing.assert_allclose(group.rest + group.mass.sum(axis=1), 1.0, rtol=0, atol=1e-12)
