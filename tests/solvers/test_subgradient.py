"""The stochastic subgradient method: the steps of the naive one, lazily averaged, and results without a certificate."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import bcfw
from bcfw.solvers import BCFW, Subgradient
from problems import CASES
from reference import naive_subgradient, weighted_average

# Steps add rounding of the last place of numbers of order ten.
ROUNDING = 1e-10

SOME_CASES = ["multiclass-cost", "chain-wide", "multilabel-tree", "matching-costs", "dense-features", "sparse-features"]
BOUNDED = ["bounded-multiclass-cost", "graph-cost"]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", SOME_CASES + BOUNDED)
def test_cyclic_steps_follow_the_naive_method(name, weighted):
    case = CASES[name]
    s = 0.2 + np.random.default_rng(3).random(len(case.y)) if weighted else None
    for max_passes in (0.3, 4):
        result = case.train(
            solver=Subgradient(averaging=True, sampling="cyclic"), max_passes=max_passes, sample_weight=s
        )
        order = [k % len(case.y) for k in range(round(result.n_passes * len(case.y)))]
        states = list(naive_subgradient(case.enumerated(s), order))
        np.testing.assert_allclose(result.last.w, states[-1], rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(result.w, weighted_average(states), rtol=0, atol=ROUNDING)
        assert result.primal == pytest.approx(case.enumerated(s).primal(result.w), abs=ROUNDING)


@pytest.mark.parametrize("name", ["chain-cost", "bounded-multiclass-cost"])
def test_it_approaches_the_optimum_and_says_nothing(name):
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = case.train(solver=Subgradient(averaging=True), max_passes=1000, tol=0.5)
    best = case.enumerated().optimum.primal
    assert best <= result.primal <= 1.05 * best
    assert (result.status, result.certified, result.n_passes) == ("max_passes", False, 1000)
    assert np.isnan([result.dual, result.gap]).all()
    assert "not certified" in result.summary()


def test_two_halves_are_a_whole():
    """The number of steps is kept, and with it the size of the next ones."""
    case = CASES["chain-cost"]
    solver = Subgradient(sampling="cyclic")
    half = case.train(solver=solver, max_passes=3)
    whole = case.train(solver=solver, max_passes=7)
    np.testing.assert_allclose(
        case.train(solver=solver, max_passes=4, warm_start=half).w, whole.w, rtol=0, atol=ROUNDING
    )


@pytest.mark.parametrize("name", ["chain-cost", "bounded-multiclass-cost"])
def test_the_average_of_a_continued_run_is_that_of_its_own_iterates(name):
    case = CASES[name]
    n = len(case.y)
    half = case.train(solver=Subgradient(sampling="cyclic"), max_passes=3)
    result = case.train(solver=Subgradient(sampling="cyclic", averaging=True), max_passes=2, warm_start=half)
    iterates = [
        case.train(solver=Subgradient(sampling="cyclic"), max_passes=k / n, warm_start=half).w
        for k in range(1, 2 * n + 1)
    ]
    weights = 3 * n + np.arange(1, 2 * n + 1)
    np.testing.assert_allclose(result.w, np.average(iterates, axis=0, weights=weights), rtol=0, atol=ROUNDING)


def test_the_dual_solvers_go_on_from_their_own_point():
    """What a subgradient run returns is certified first; a dual point is made out of nothing."""
    case = CASES["multiclass-cost"]
    first = case.train(solver=Subgradient(), max_passes=200)
    result = case.train(solver=BCFW(), tol=0.01, warm_start=first)
    assert result.history["primal"][0] == pytest.approx(first.primal, abs=1e-12)
    assert result.history["dual"][0] == 0.0
    assert result.status == "converged"


def test_gaps_do_not_choose_blocks():
    with pytest.raises(bcfw.OptionError, match="sampling must be 'uniform' or 'permuted' or 'cyclic', got 'gap'"):
        Subgradient(sampling="gap")
    with pytest.raises(bcfw.OptionError, match="sampling must be"):
        Subgradient(sampling=bcfw.selection.Gap())
