"""Cutting planes: the master QP against the reference, planes without oracle calls, monotone dual values."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import bcfw
from bcfw.dual import snapshots
from bcfw.solvers import BCFW, CuttingPlane
from bcfw.solvers.baselines.master_qp import QPUnavailableError
from problems import CASES, block_state, drift
from reference import minimise_over_simplices

ROUNDING = 1e-11

EXACT_CASES = ["multiclass-cost", "chain-cost", "chain-wide", "multilabel-tree", "matching-costs", "sparse-features"]


@pytest.fixture
def master():
    pytest.importorskip("piqp")
    from bcfw.solvers.baselines import master_qp as master

    return master


def test_the_master_solves_its_qp(master):
    """Also where planes are nearly the same, and for numbers of any size."""
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1.0, 1e5):
        for count in (2, 7, 60):
            V, ell = rng.standard_normal((count, 20)), scale * rng.random(count)
            V[-1] = V[count // 2] * (1.0 + 1e-9)
            V[0], ell[0], ell[-1] = 0.0, 0.0, ell[count // 2]
            gram, start = scale * V @ V.T / 20, np.eye(count)[0]
            mass = master.master_masses(gram, ell, start)
            best = master.value(gram, ell, minimise_over_simplices(gram, ell, [count]))
            assert mass.min() >= 0.0
            assert mass.sum() == pytest.approx(1.0, abs=1e-14)
            assert master.value(gram, ell, mass) >= best - 1e-7 * abs(best)
            assert master.value(gram, ell, mass) >= master.value(gram, ell, master.after_line_search(gram, ell, start))


def test_a_failing_qp_solver_leaves_the_exact_step(master, monkeypatch):
    """Then it is batch Frank-Wolfe over the planes, which converges too."""
    monkeypatch.setattr(master, "solve_qp", lambda gram, ell: None)
    result = CASES["multiclass-cost"].train(solver=CuttingPlane(), tol=0.05, max_passes=5000)
    assert result.status == "converged"


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", EXACT_CASES)
def test_one_slack_is_fully_corrective(name, weighted, master):
    """Few passes to a tight gap, a dual value that never falls, and a dual point that is a mixture of outputs."""
    case = CASES[name]
    s = np.random.default_rng(1).integers(1, 3, size=len(case.y)) if weighted else None
    result = case.train(solver=CuttingPlane(), tol=1e-4, max_passes=200, sample_weight=s)
    objective = case.enumerated(s)
    assert result.status == "converged"
    assert result.primal == pytest.approx(objective.primal(result.w), abs=ROUNDING)
    assert result.primal - objective.optimum.primal <= result.gap + 1e-9
    assert np.all(np.diff(result.history["dual"]) >= -1e-13)
    problem = case.problem(s)
    snapshots.restore(problem, result.snapshot)
    assert max(drift(problem).values()) <= ROUNDING
    assert problem.dual_value() == pytest.approx(result.dual, abs=ROUNDING)
    for i in range(len(case.y)):
        assert objective.outside(i, *block_state(problem, i)) <= 1e-9


def test_cached_outputs_save_oracle_calls(master, monkeypatch):
    case = CASES["chain-wide"]
    from bcfw.solvers.baselines import cutting_plane

    passes = {}
    for share in (np.inf, 0.1):
        monkeypatch.setattr(cutting_plane, "CACHE_SHARE", share)
        passes[share] = case.train(solver=CuttingPlane(), lam=0.01, tol=1e-3, max_passes=500).n_passes
    assert passes[0.1] < passes[np.inf]


def test_one_slack_starts_from_any_dual_point(master):
    """Its mixture has that point as a plane, so that the dual value cannot fall."""
    case = CASES["chain-cost"]
    first = case.few_passes(5, solver=BCFW())
    result = case.train(solver=CuttingPlane(), tol=1e-3, warm_start=first)
    assert result.history["dual"][0] == pytest.approx(first.dual, abs=1e-12)
    assert np.all(np.diff(result.history["dual"]) >= -1e-13)
    again = case.train(solver=BCFW(), tol=1.1e-3, warm_start=result)
    assert (again.status, again.n_passes) == ("converged", 0)


def test_few_cached_outputs_are_enough(master):
    result = CASES["chain-wide"].train(solver=CuttingPlane(max_labelings=2), tol=1e-3, max_passes=500)
    assert result.status == "converged"


@pytest.mark.parametrize("name", ["graph-cost", "bounded-chain-cost"])
def test_one_slack_does_not_go_with_bounds(name, master):
    with pytest.raises(bcfw.OptionError, match="CuttingPlane cannot handle bounds"):
        CASES[name].train(solver=CuttingPlane())
    assert CASES[name].train(solver=CuttingPlane(slack="n"), tol=0.01).status == "converged"


def test_n_slack_needs_few_passes():
    """The master problem is solved between passes of the oracle."""
    case = CASES["chain-wide"]
    result = case.train(solver=CuttingPlane(slack="n"), lam=0.01, tol=1e-3)
    assert result.status == "converged"
    plain, pairwise = (case.train(solver=BCFW(step=step), lam=0.01, tol=1e-3) for step in ("fw", "pairwise"))
    assert result.n_passes < pairwise.n_passes
    assert result.n_passes <= 0.2 * plain.n_passes
    assert np.all(np.diff(result.history["dual"]) >= -1e-13)


def test_without_a_qp_solver_one_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "piqp", None)
    with pytest.raises(
        QPUnavailableError, match=r"CuttingPlane\(slack='one'\) needs a QP solver: pip install 'bcfw\[qp\]'"
    ):
        CASES["multiclass-cost"].train(solver=CuttingPlane())


def test_room_for_the_truth_alone_is_too_little():
    with pytest.raises(bcfw.OptionError, match="max_labelings must be at least 2"):
        CuttingPlane(max_labelings=1)


def test_steps_are_counted_for_runs_that_go_on(master):
    """Predefined step sizes of a run that goes on begin where this one ended, and not with a step of 1."""
    case = CASES["chain-cost"]
    result = case.few_passes(5, solver=CuttingPlane())
    assert result.snapshot["steps"] == 5 * len(case.y)
    after = case.few_passes(1, solver=BCFW(step_size="decay", sampling="cyclic", gap_every=1), warm_start=result)
    assert after.snapshot["steps"] == 6 * len(case.y)


def test_planes_that_cannot_be_told_apart_get_no_newton_step(master):
    """A system of equations without a solution, or without numbers, is no reason to lose a run."""
    others = np.array([1, 2])
    for gram in (np.zeros((3, 3)), np.full((3, 3), 2.0)):
        step = master.newton_step(gram, np.array([0.0, 1.0, -1.0]), others, 0)
        assert np.isfinite(step).all()
