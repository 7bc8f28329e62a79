"""Sample weights: whole ones are repetitions, zeros are removals, and only ratios matter."""

from __future__ import annotations

import numpy as np
import pytest

from bcfw.solvers import BCFW, BatchFW
from problems import CASES, repeats_visits

# Steps add rounding of the last place of numbers of order one; a few hundred of them stay below this.
ROUNDING = 1e-10


@pytest.mark.part(10, of=16)
@pytest.mark.certified
def test_whole_weights_are_repetitions(case, solver):
    """The same objective, and the same optimum within the two gaps."""
    s = np.random.default_rng(5).integers(1, 4, size=len(case.y))
    repeated = case.take(np.repeat(np.arange(len(s)), s))
    weighted = case.train(solver=solver, tol=0.05, max_passes=5000, sample_weight=s)
    other = repeated.train(solver=solver, tol=0.05, max_passes=5000)
    assert weighted.primal == pytest.approx(repeated.enumerated().primal(weighted.w), abs=ROUNDING)
    assert weighted.history["primal"][0] == pytest.approx(other.history["primal"][0], abs=1e-12)
    assert abs(weighted.primal - other.primal) <= max(weighted.gap, other.gap) + 1e-9


def test_whole_weights_are_repetitions_step_by_step_in_batch(case):
    """Repeated blocks move together under batch steps, so that the two runs coincide."""
    s = np.random.default_rng(5).integers(1, 4, size=len(case.y))
    repeated = case.take(np.repeat(np.arange(len(s)), s))
    a = case.few_passes(8, solver=BatchFW(), sample_weight=s)
    b = repeated.few_passes(8, solver=BatchFW())
    np.testing.assert_allclose(a.w, b.w, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(a.history["gap"], b.history["gap"], rtol=0, atol=ROUNDING)


@pytest.mark.part(11, of=16)
def test_zero_weights_are_removals(case, solver):
    """The same steps as if the examples were not there, whatever they contain."""
    s = np.ones(len(case.y))
    s[[1, 3]] = 0.0
    removed = case.take(np.flatnonzero(s))
    a = case.few_passes(4, solver=solver, sample_weight=s)
    b = removed.few_passes(4, solver=solver)
    if repeats_visits(solver):
        assert abs(a.primal - b.primal) <= max(a.gap, b.gap) + ROUNDING
        return
    np.testing.assert_allclose(a.w, b.w, rtol=0, atol=ROUNDING)
    assert (a.n_passes, a.n_oracle_calls) == (b.n_passes, b.n_oracle_calls)
    assert a.gap == pytest.approx(b.gap, abs=ROUNDING, nan_ok=True)


@pytest.mark.part(12, of=16)
def test_only_the_ratio_of_weights_matters(case, solver):
    s = 0.2 + np.random.default_rng(6).random(len(case.y))
    a, b = (case.few_passes(3, solver=solver, sample_weight=factor * s) for factor in (1.0, 1024.0))
    np.testing.assert_allclose(a.w, b.w, rtol=0, atol=ROUNDING)
    c = case.few_passes(3, solver=solver, sample_weight=np.full(len(s), 7.0))
    np.testing.assert_allclose(c.w, case.few_passes(3, solver=solver).w, rtol=0, atol=ROUNDING)


def test_a_block_that_lost_its_weight_keeps_its_loss():
    """It has moved in a run that gave it weight; when it gets weight again, its averaged loss must still be known."""
    case = CASES["multiclass-cost"]
    some = np.where(np.arange(len(case.y)) < 3, 0.0, 1.0)
    first = case.few_passes(5, solver=BCFW())
    second = case.few_passes(3, solver=BCFW(step="pairwise"), warm_start=first, sample_weight=some)
    third = case.few_passes(10, solver=BCFW(step="pairwise", averaging=True), warm_start=second)
    assert third.dual <= case.enumerated().optimum.primal + 1e-9
    assert third.gap >= 0.0
