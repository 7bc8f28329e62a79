"""Warm starts and checkpoints of any solver on any model: never worse, same mass, nothing changed behind the back."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from bcfw.solvers import BCFW
from problems import CASES, ends_at_its_best_dual_value, first_row, same_run

# Steps add rounding of the last place of numbers of order one; a few hundred of them stay below this.
ROUNDING = 1e-10


@pytest.mark.part(0, of=16)
@pytest.mark.continued
def test_warm_start_is_never_worse(case, solver):
    first = case.few_passes(3, solver=solver)
    reached = first if first.last is None else first.last
    second = case.few_passes(2, solver=solver, warm_start=first)
    if ends_at_its_best_dual_value(solver):  # else the best dual value may be that of another dual point
        assert second.history["dual"][0] >= reached.dual - 1e-12
    assert second.history["primal"][0] == pytest.approx(first.primal, abs=ROUNDING)


@pytest.mark.parametrize("lam", [0.01, 1.0])
def test_warm_start_with_another_lam_keeps_alpha(case, lam):
    """v follows lam: the same dual variables give v lam_old / lam_new, which is feasible for the new problem."""
    first = case.few_passes(3, solver="bcfw")
    start = case.few_passes(1, lam=lam, warm_start=first, solver="bcfw")
    v, ell = first.snapshot["w"], first.snapshot["ell"].sum()
    assert case.enumerated().dual(v, ell) == pytest.approx(first.dual, abs=ROUNDING)
    primal, dual = first_row(case, first.snapshot, lam)
    assert start.history["primal"][0] == pytest.approx(primal, abs=ROUNDING)
    assert start.history["dual"][0] == pytest.approx(dual, abs=ROUNDING)
    result = case.train(lam=lam, tol=0.05, max_passes=5000, warm_start=first)
    assert (result.status, result.lam) == ("converged", lam)
    assert result.primal - case.enumerated(lam=lam).optimum.primal <= result.gap + 1e-9


def test_warm_start_with_other_sample_weights(case):
    s = 0.2 + np.random.default_rng(0).random(len(case.y))
    result = case.train(sample_weight=s, tol=0.05, max_passes=5000, warm_start=case.few_passes(3))
    assert result.primal - case.enumerated(s).optimum.primal <= result.gap + 1e-9


def test_warm_start_at_the_solution_converges_at_once(case):
    first = case.train(tol=0.05)
    again = case.train(tol=0.051, warm_start=first)
    assert (again.status, again.n_passes) == ("converged", 0)


@pytest.mark.part(1, of=16)
@pytest.mark.continued
def test_warm_start_does_not_change_the_result_it_starts_from(case, solver):
    first = case.few_passes(2, solver=solver)
    before = copy.deepcopy(first.snapshot), first.w.copy()
    case.few_passes(2, solver=solver, warm_start=first)
    np.testing.assert_array_equal(first.w, before[1])
    assert before[0].keys() == first.snapshot.keys()
    for key, value in before[0].items():
        np.testing.assert_array_equal(first.snapshot[key], value)


@pytest.mark.parametrize("step_size", ["exact", "decay"])
def test_two_halves_are_a_whole(case, step_size):
    """In cyclic order a run that is interrupted and continued takes the same steps, predefined ones included."""
    solver = BCFW(sampling="cyclic", step_size=step_size)
    whole = case.few_passes(7, solver=solver)
    half = case.few_passes(3, solver=solver)
    again = case.few_passes(4, solver=solver, warm_start=half)
    np.testing.assert_allclose(again.snapshot["w"], whole.snapshot["w"], rtol=0, atol=ROUNDING)


@pytest.mark.part(2, of=16)
@pytest.mark.continued
def test_checkpoint_resumes_as_the_result_itself(case, solver, tmp_path):
    path = tmp_path / "state.npz"
    first = case.few_passes(3, solver=solver, checkpoint=path)
    assert [file.name for file in tmp_path.iterdir()] == ["state.npz"]
    same_run(case.few_passes(2, solver=solver, warm_start=path), case.few_passes(2, solver=solver, warm_start=first))
    same_run(
        case.few_passes(2, solver=solver, warm_start=str(path)), case.few_passes(2, solver=solver, warm_start=first)
    )


def test_batch_steps_are_counted_for_predefined_step_sizes():
    """A warm start of predefined steps goes on where the batch method ended instead of throwing its state away."""
    case = CASES["multiclass-cost"]
    first = case.few_passes(30, solver="batch-fw")
    decay = case.few_passes(1, solver=BCFW(step_size="decay"), warm_start=first)
    assert decay.dual > 0.9 * first.dual


def test_a_warm_start_with_averaging_returns_the_average():
    """Not the weights that it began with, whose certificate would be another."""
    case = CASES["chain-cost"]
    first = case.few_passes(3, solver=BCFW(averaging=True))
    result = case.few_passes(3, solver=BCFW(averaging=True), warm_start=first)
    assert result.primal == pytest.approx(case.enumerated().primal(result.w), abs=1e-12)
    assert not np.array_equal(result.w, first.w)
