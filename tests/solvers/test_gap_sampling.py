"""Sampling by gaps on the toy problem of gaps-2016, appendix C, where the number of steps can be derived."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import bcfw
from bcfw.dual import open_problem
from bcfw.dual.certify import certify_state
from bcfw.selection import SAMPLINGS
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.pass_runner import PassRunner
from problems import CASES

TOY = runpy.run_path(str(Path(__file__).resolve().parents[2] / "benchmarks" / "toy_gap_sampling.py"))
N, T = 20, 15


def examples(n):
    return [TOY["HARD"]] + [TOY["EASY"]] * (n - 1), [0] * n


def test_the_toy_problem_is_the_one_of_the_paper():
    """Equation 15 and the optimum below it: alpha_1(k) = 1/K, u = 1."""
    K, n = 6, 5
    bcfw.check_model(TOY["Toy"](K), *examples(n))
    result = bcfw.train(TOY["Toy"](K), *examples(n), lam=1.0 / n, tol=1e-12, solver="bcfw")
    np.testing.assert_allclose(result.w, [*[np.sqrt(0.5) / K] * K, 1.0], atol=1e-6)
    assert result.dual == pytest.approx(-((0.25 / K - 1.0) + (0.5 - 1.0)) / n, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_gap_sampling_needs_n_plus_t_steps(seed):
    """All once, t - 1 more visits of the hard example, and one of the easy example that was visited first."""
    assert TOY["steps_needed"]("gap", N, T, seed) == N + T
    assert TOY["gap_after"](N + T, "gap", N, T, seed) == pytest.approx(1.0 / (2 * N * T), rel=1e-9)


def test_uniform_sampling_needs_n_times_t_steps():
    """The t-th visit of one example among n: mean n t, standard deviation below n sqrt(t) for one seed."""
    seeds = range(4)
    mean = np.mean([TOY["steps_needed"]("uniform", N, T, seed) for seed in seeds])
    assert mean == pytest.approx(N * T, abs=3 * N * np.sqrt(T / len(seeds)))


def test_gaps_that_are_infinite_are_unknown():
    """A heuristic path forgets them at each lam; draws in proportion to them would all be of one block."""
    case = CASES["multiclass-cost"]
    problem = open_problem(case.model, case.X, case.y, case.lam)
    run = CountedRun(problem, 1e-3, 100)
    run.start_certificate = certify_state(problem)
    problem.state.gap[:] = np.inf
    runner = PassRunner(problem, run)
    runner.begin()
    runner.run_pass(SAMPLINGS["gap"], np.random.default_rng(0))
    assert np.isfinite(problem.state.gap).all()
