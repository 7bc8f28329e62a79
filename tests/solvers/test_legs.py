"""Training in legs: whatever is lost when a run is stopped, the continued one ends as the whole one does."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.errors import InputError, OptionError
from bcfw.solvers import BCFW, AdaptiveBCFW, BatchFW, BlockSolves, MultiPlane, Subgradient
from problems import CASES

RUNS = [
    ("multiclass-cost", BCFW(), 1e-2),
    ("multiclass-wide", BCFW(step_size="decay"), 0.05),
    ("multiclass-cost", BlockSolves(), 1e-6),
    ("multiclass-cost", BatchFW(), 0.05),
    ("chain-cost", BCFW(sampling="gap", step="pairwise", cache="gap"), 1e-4),
    ("chain-cost", BCFW(averaging=True), 0.02),
    ("chain-wide", MultiPlane(clock="count", acceleration=10), 1e-6),
    ("chain-cost", AdaptiveBCFW(block_size=3), 1e-2),
    ("multilabel-tree", MultiPlane(clock="count", step="fw"), 0.01),
    ("dense-features", BCFW(step="pairwise"), 0.02),
    ("chain-cost", "auto", 1e-6),
]

#: Without a dual point: they end after their passes.
WITHOUT_DUAL = [
    ("multiclass-cost", Subgradient()),
    ("chain-cost", Subgradient(averaging=True, gap_every=1)),
    ("bounded-chain-cost", Subgradient(sampling="permuted", gap_every=2)),
]


class KilledError(Exception):
    """In the place of a signal."""


def kill_after(passes):
    def callback(info):
        if info.n_passes >= passes:
            raise KilledError

    return callback


def without_clocks(history):
    return np.array([column for name, column in history.items() if name != "seconds"])


@pytest.mark.usefixtures("steady_stopwatch")
@pytest.mark.parametrize(("name", "solver", "tol"), RUNS, ids=lambda value: str(value)[:60])
def test_a_run_that_was_killed_ends_as_the_whole_one(tmp_path, name, solver, tol):
    case, passes = CASES[name], 3
    options = {"solver": solver, "tol": tol, "max_passes": 2000, "seed": 5}
    whole = case.train(checkpoint=bcfw.Legs(tmp_path / "whole.npz", passes), **options)
    assert whole.status == "converged"
    assert whole.n_passes > 2 * passes, "the case does not need several legs"
    check_killed_runs(tmp_path, case, passes, options, whole)


@pytest.mark.parametrize(("name", "solver"), WITHOUT_DUAL, ids=str)
def test_a_killed_run_without_a_dual_point_ends_as_the_whole_one(tmp_path, name, solver):
    case, passes = CASES[name], 3
    options = {"solver": solver, "max_passes": 12, "seed": 5}
    whole = case.train(checkpoint=bcfw.Legs(tmp_path / "whole.npz", passes), **options)
    assert np.isnan(whole.history["gap"]).all()
    check_killed_runs(tmp_path, case, passes, options, whole)


def check_killed_runs(tmp_path, case, passes, options, whole):
    """Kill a run twice, and compare what the third one ends with to the whole run."""
    legs = bcfw.Legs(tmp_path / "killed.npz", passes)
    for stop in (1.5 * passes, 2.5 * passes):
        start = {"warm_start": legs.path} if legs.path.exists() else {}
        with pytest.raises(KilledError):
            case.train(checkpoint=legs, callbacks=[kill_after(stop)], **start, **options)
        assert legs.path.exists()
    again = case.train(checkpoint=legs, warm_start=legs.path, **options)
    np.testing.assert_array_equal(again.w, whole.w)
    np.testing.assert_array_equal([again.primal, again.dual, again.gap], [whole.primal, whole.dual, whole.gap])
    assert (again.n_passes, again.n_oracle_calls) == (whole.n_passes, whole.n_oracle_calls)
    assert list(again.history) == list(whole.history)
    np.testing.assert_array_equal(without_clocks(again.history), without_clocks(whole.history))
    assert np.all(np.diff(again.history["seconds"]) >= 0.0)


def test_legs_certify_the_optimum(tmp_path):
    case = CASES["chain-cost"]
    result = case.train(solver="bcfw", tol=0.01, checkpoint=bcfw.Legs(tmp_path / "run.npz", 2))
    best = case.enumerated().optimum
    assert result.dual <= best.primal + 1e-9
    assert result.primal - best.primal <= result.gap + 1e-9


def test_limits_hold_for_all_legs_together(tmp_path):
    case = CASES["chain-cost"]
    legs = bcfw.Legs(tmp_path / "run.npz", 2)
    with pytest.warns(bcfw.ConvergenceWarning):
        result = case.train(solver="bcfw", tol=0.0, max_passes=7, checkpoint=legs)
    assert (result.status, result.n_passes) == ("max_passes", 7)


def test_other_options_than_in_the_file_are_refused(tmp_path):
    case, legs = CASES["chain-cost"], bcfw.Legs(tmp_path / "run.npz", 2)
    case.train(solver="bcfw", tol=0.01, checkpoint=legs)
    for other in ({"seed": 1}, {"solver": BCFW(sampling="uniform")}, {"lam": 0.02}):
        options = {"solver": "bcfw", "tol": 0.01, **other}
        with pytest.raises(OptionError, match="written with other options"):
            case.train(checkpoint=legs, warm_start=legs.path, **options)
    with pytest.raises(OptionError, match="written with other options"):
        case.train(solver="bcfw", checkpoint=bcfw.Legs(legs.path, 3), warm_start=legs.path)


def test_a_checkpoint_by_the_clock_only_gives_its_dual_state(tmp_path):
    case, path = CASES["chain-cost"], tmp_path / "clock.npz"
    case.few_passes(3, solver="bcfw", checkpoint=path)
    result = case.train(solver="bcfw", tol=0.01, checkpoint=bcfw.Legs(tmp_path / "legs.npz", 2), warm_start=path)
    assert result.status == "converged"
    assert result.history["dual"][0] > 0.0


def test_wrong_legs(tmp_path):
    with pytest.raises(OptionError, match="passes must be"):
        bcfw.Legs(tmp_path / "run.npz", 0)
    with pytest.raises(InputError, match="does not exist"):
        CASES["chain-cost"].train(checkpoint=bcfw.Legs(tmp_path / "nowhere" / "run.npz"))


@pytest.mark.parametrize("solver", [BCFW(averaging=True, gap_every=1), MultiPlane(clock="count", acceleration=10)])
@pytest.mark.parametrize("name", ["multiclass-wide", "chain-cost"])
def test_no_leg_gives_up_what_an_earlier_one_has_certified(tmp_path, name, solver):
    case = CASES[name]
    with pytest.warns(bcfw.ConvergenceWarning):
        result = case.train(
            lam=1e-3, tol=1e-9, max_passes=12, solver=solver, checkpoint=bcfw.Legs(tmp_path / "a.npz", 2)
        )
    assert np.all(np.diff(result.history["primal"]) <= 0.0)
    assert np.all(np.diff(result.history["dual"]) >= 0.0)
    assert result.primal == pytest.approx(case.enumerated(lam=1e-3).primal(result.w), abs=1e-11)
