"""The gap of any solver on any model, recomputed from scratch, and the history that leads to it."""

from __future__ import annotations

import numpy as np
import pytest

from bcfw.dual import snapshots
from bcfw.dual.certify import certify_state
from bcfw.solvers import BCFW
from problems import block_state, continue_with, returns_the_dual_point
from reference import naive_bcfw

KEYS = {"passes", "seconds", "primal", "dual", "gap", "oracle_calls"}

# The objective is of order one and a certificate is a few thousand additions.
ROUNDING = 1e-11


@pytest.mark.part(13, of=16)
@pytest.mark.certified
def test_certificate_holds_when_recomputed_from_scratch(case, solver):
    """Each block's (v_i, ell_i) is a convex combination of its corners, so D is a lower bound; P is enumerated."""
    result = case.few_passes(4, solver=solver)
    objective = case.enumerated()
    point = result if result.last is None else result.last
    assert result.certified
    for one in {id(result): result, id(point): point}.values():
        assert one.gap >= 0.0
        assert one.primal == pytest.approx(objective.primal(one.w), abs=ROUNDING)
        assert one.gap == pytest.approx(one.primal - one.dual, abs=ROUNDING)
    problem = case.problem()
    snapshots.restore(problem, result.snapshot)
    blocks = [block_state(problem, i) for i in range(len(case.y))]
    for i, (v_i, ell_i) in enumerate(blocks):
        assert objective.outside(i, v_i, ell_i) <= 1e-9
    v = sum(v_i for v_i, _ in blocks)
    dual = objective.dual(v, sum(ell_i for _, ell_i in blocks))
    if returns_the_dual_point(solver):
        assert dual == pytest.approx(point.dual, abs=ROUNDING)
        assert (
            point.primal <= objective.primal(case.clip(v)) + ROUNDING
        )  # weights of an earlier certificate may be better
    else:  # the largest dual value so far may be that of an earlier point
        assert dual - ROUNDING <= point.dual <= objective.optimum.primal + 1e-9


@pytest.mark.part(5, of=16)
@pytest.mark.certified
def test_no_certified_weights_are_given_up(case, solver):
    """The primal value never rises from one certificate to the next, and is at most P(0) where w = 0 is allowed."""
    if "gap_every" in type(solver)._options:
        solver = type(solver)(**{key: getattr(solver, key) for key in type(solver)._options} | {"gap_every": 1})
    result = case.few_passes(6, solver=solver)
    primal, gap = result.history["primal"], result.history["gap"]
    zero = np.zeros(case.dim)
    if np.array_equal(case.clip(zero), zero):
        assert primal[0] <= case.enumerated().primal(zero) + ROUNDING
    if np.isfinite(result.history["gap_bound"]).all():
        assert np.all(np.diff(primal) <= 0.0)
        assert result.primal == primal[-1] == pytest.approx(case.enumerated().primal(result.w), abs=ROUNDING)
    assert np.all(gap >= 0.0)


@pytest.mark.parametrize("sample_weight", [False, True])
def test_block_gaps_sum_to_the_gap(case, sample_weight):
    s = 0.5 + np.random.default_rng(1).random(len(case.y)) if sample_weight else None
    problem, objective = case.problem(s), case.enumerated(s)
    order = list(range(len(case.y))) * 3
    *_, state = naive_bcfw(objective, order)
    continue_with(problem, BCFW(sampling="cyclic"), 3)
    certificate = certify_state(problem)
    corners = [objective.corner(i, state.w) for i in range(objective.n)]
    gaps = [
        objective.lam * (state.v_blocks[i] - v_s) @ state.w - state.ell_blocks[i] + ell_s
        for i, (v_s, ell_s) in enumerate(corners)
    ]
    np.testing.assert_allclose(problem.state.gap, gaps, rtol=0, atol=ROUNDING)
    assert problem.state.gap.sum() == pytest.approx(certificate.gap, abs=ROUNDING)
    assert certificate.gap == pytest.approx(
        objective.primal(state.w) - objective.dual(state.v, state.ell), abs=ROUNDING
    )


def test_first_row_is_the_mean_worst_loss(case):
    """At w = 0; where that is not allowed, at the nearest weights that are."""
    objective = case.enumerated()
    history = case.few_passes(1).history
    w = case.clip(np.zeros(case.dim))
    worst = objective.primal(w) if w.any() else objective.c @ [loss.max() for loss in objective.loss]
    assert history["primal"][0] == pytest.approx(worst, abs=1e-12)
    assert history["dual"][0] == pytest.approx(0.5 * case.lam * w @ w, abs=1e-14 if w.any() else 0.0)


@pytest.mark.part(14, of=16)
@pytest.mark.certified
def test_tolerance_is_relative_to_the_mean_worst_loss(case, solver):
    """The run ends at the first certificate with gap <= tol P(0)."""
    worst = case.enumerated().primal(np.zeros(case.dim))
    result = case.train(solver=solver, tol=0.2)
    above = result.history["gap"][:-1]
    assert result.gap <= 0.2 * worst
    assert np.all(above > 0.2 * worst)


@pytest.mark.part(15, of=16)
def test_history_has_equal_columns_and_ends_at_the_result(case, solver):
    result = case.few_passes(4, solver=solver)
    history = result.history
    assert set(history) >= KEYS
    assert {len(column) for column in history.values()} == {len(history["passes"])}
    assert history["passes"][0] == 0.0
    assert history["passes"][-1] == result.n_passes
    assert np.all(np.diff(history["passes"]) > 0)
    assert np.all(np.diff(history["seconds"]) >= 0)
    assert np.all(np.diff(history["oracle_calls"]) >= len(case.y))
    assert history["seconds"][-1] <= result.seconds
    np.testing.assert_allclose(history["gap"], history["primal"] - history["dual"], rtol=0, atol=1e-14)
    if not solver.certifies:
        assert history["primal"][-1] == result.primal
        assert np.isnan([*history["dual"], *history["gap"], result.dual, result.gap]).all()
        return
    assert history["dual"][-1] == result.dual
    proved = "gap" if result.gap == history["gap"][-1] else "gap_bound"  # what a heuristic oracle has found stays
    assert history[proved][-1] == result.gap
    assert history["primal"][-1] - history["gap"][-1] + result.gap == pytest.approx(result.primal, abs=ROUNDING)
    assert np.all(history["gap"] >= 0.0)


@pytest.mark.part(0, of=16)
def test_exact_steps_never_decrease_the_dual(case, exact_solver):
    solver = exact_solver
    if "gap_every" in type(solver)._options:
        solver = type(solver)(**{key: getattr(solver, key) for key in type(solver)._options} | {"gap_every": 1})
    result = case.few_passes(15, solver=solver)
    dual = result.history["dual"]
    assert len(dual) >= 15 or result.status in ("stalled", "rounding")
    assert np.all(np.diff(dual) >= -1e-13)
