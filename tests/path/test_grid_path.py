"""Grids of lam: each solved to its tolerance, whatever it begins with; weights at these lam alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import bcfw
from bcfw.solvers import BCFW, MultiPlane
from problems import CASES

LAMBDAS = [0.3, 10.0, 1.0, 0.03, 0.1]


def grid_of(case, lambdas=LAMBDAS, **options):
    return bcfw.grid_path(case.model, case.X, case.y, lambdas, **{"bounds": case.bounds, **options})


@pytest.mark.parametrize("warm_start", ["shrink", "keep", None])
@pytest.mark.parametrize("solver", [None, BCFW(), MultiPlane(acceleration=10, clock="count")], ids=repr)
@pytest.mark.parametrize("name", ["multiclass-cost", "bounded-chain-cost"])
def test_every_lam_is_solved(name, solver, warm_start):
    case = CASES[name]
    grid = grid_of(case, warm_start=warm_start, solver=solver, eps=0.01)
    assert (grid.status, grid.certified) == ("complete", True)
    assert grid.lambdas.tolist() == sorted(LAMBDAS, reverse=True)
    for lam, gap in zip(grid.lambdas, grid.gaps, strict=True):
        problem = dataclasses.replace(case.enumerated(), lam=lam)
        assert gap <= 0.01
        assert problem.primal(grid.weights(lam)) - problem.optimum.dual <= gap + 1e-9
        assert grid.bound(lam) == gap


def test_tol_is_relative_to_the_value_at_zero():
    case = CASES["chain-no-ends-sum-csr"]
    worst = case.enumerated().primal(np.zeros(case.dim))
    assert worst != pytest.approx(1.0)
    grid = grid_of(case, tol=1e-3)
    assert grid.gaps.max() <= 1e-3 * worst


def test_from_scratch_is_training_anew():
    """What was done for a larger lam leaves no trace; cyclic passes do not read the generator."""
    options = {"warm_start": None, "solver": BCFW(sampling="cyclic", step="pairwise"), "tol": 1e-3}
    both, alone = (grid_of(CASES["bounded-chain-cost"], lambdas, **options) for lambdas in ([1.0, 0.1], [0.1]))
    np.testing.assert_array_equal(both.weights(0.1), alone.weights(0.1))
    assert both.gaps[1] == alone.gaps[0]


def test_a_warm_start_saves_calls():
    case = CASES["multiclass-wide"]
    lambdas = 0.1 * 0.9 ** np.arange(20)
    calls = {start: grid_of(case, lambdas, warm_start=start).n_oracle_calls for start in ("shrink", "keep", None)}
    assert calls["shrink"] < 0.8 * calls[None]
    assert calls["keep"] < calls[None]


def test_without_any_loss_zero_serves_all():
    grid = bcfw.grid_path(bcfw.models.Multiclass(n_labels=1), np.ones((3, 2)), [0, 0, 0], [1.0, 0.1])
    assert grid.status == "complete"
    assert not grid.gaps.any()
    assert not grid.weights(0.1).any()


def test_only_the_given_lam_have_weights():
    grid = grid_of(CASES["multiclass-cost"])
    with pytest.raises(bcfw.InputError, match=r"the grid has no lam = 0\.2, the nearest is 0\.3; regularization_path"):
        grid.weights(0.2)


def test_a_limit_cuts_the_grid_off():
    with pytest.warns(bcfw.ConvergenceWarning, match=r"the grid ends at lam = .* \(max_passes\)"):
        grid = grid_of(CASES["multiclass-wide"], max_passes=20, tol=1e-5, solver=BCFW())
    assert grid.status == "max_passes"
    assert len(grid.lambdas) < len(LAMBDAS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lambdas": []}, "lambdas must be a sequence of numbers > 0"),
        ({"lambdas": 0.1}, "lambdas must be a sequence of numbers > 0"),
        ({"lambdas": [0.1, "b"]}, "lambdas must be a sequence of numbers > 0"),
        ({"lambdas": [0.1, 0.0]}, "lambdas must be finite numbers > 0, got 0 among them"),
        ({"lambdas": [0.1, np.nan]}, "lambdas must be finite numbers > 0, got nan"),
        ({"warm_start": "grow"}, "warm_start must be 'shrink' or 'keep' or None"),
        ({"eps": 0}, "eps must be"),
        ({"tol": -1}, "tol must be"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(bcfw.OptionError, match=message):
        grid_of(CASES["multiclass-cost"], **options)
