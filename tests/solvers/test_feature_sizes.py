"""Features of any size: no run says that it has stalled while exact steps still gain."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.dual.certify import certify_state
from bcfw.models import Multiclass, Multilabel
from bcfw.passes.order import in_order
from bcfw.passes.records import GAIN
from bcfw.solvers import BCFW, BatchFW, BlockSolves, CuttingPlane, MultiPlane

SIZES = [1e-160, 1e-150, 1e-145, 1e-30, 1e-4, 1.0, 1e4, 1e8]
SOLVERS = ["auto", BlockSolves(), BlockSolves(acceleration=0), BCFW(), MultiPlane(clock="count"), BatchFW()]


def problem_of(n_labels=None, n=40):
    """Model, features and labels: three classes that overlap."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    X = rng.standard_normal((n, 6))
    X[np.arange(n), y] += 1.0
    return Multiclass(n_labels), X, y


@pytest.mark.filterwarnings("ignore::bcfw.ConvergenceWarning")
@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_a_run_goes_on_while_it_gains(size, solver):
    model, X, y = problem_of()
    result = bcfw.train(model, size * X, y, lam=0.1, solver=solver, max_passes=100)
    assert result.status in ("converged", "max_passes")
    if size < 1.0:
        assert result.status == "converged"
        assert result.dual == pytest.approx(1.0, abs=1e-3)
    elif solver != "auto":
        assert result.dual > 0.0


@pytest.mark.filterwarnings("ignore::bcfw.ConvergenceWarning")
@pytest.mark.parametrize("size", SIZES)
def test_lists_and_labels_that_are_on_or_off_go_on_too(size):
    """With block solves of their own."""
    model, X, y = problem_of(1000)
    many = bcfw.train(model, size * X, y, lam=0.1, solver="block-solves", max_passes=20)
    each = bcfw.train(Multilabel(), size * X, np.eye(3, dtype=int)[y], lam=0.1, solver="block-solves", max_passes=20)
    for result in (many, each):
        assert result.status in ("converged", "max_passes")
        assert result.dual > 0.0


@pytest.mark.parametrize("solver", ["auto", BlockSolves(), BlockSolves(acceleration=0)], ids=str)
@pytest.mark.parametrize("size", [1e-160, 1e-145, 1e-8, 1e-4, 1.0])
def test_without_a_tolerance_it_converges_to_rounding(size, solver):
    model, X, y = problem_of()
    result = bcfw.train(model, size * X, y, lam=0.1, solver=solver, tol=0.0, max_passes=3000)
    assert result.status in ("converged", "rounding")
    assert result.gap <= 1e-13


@pytest.mark.parametrize("n_labels", [None, 1000], ids=["few", "many"])
@pytest.mark.parametrize("size", [1e-145, 1.0, 1e4, 1e8])
def test_a_solved_block_has_nothing_left_to_gain(size, n_labels):
    """However little mass has to move; and the gain of a visit is that of the dual, relative to it.

    Of many labels a visit takes some.
    """
    model, X, y = problem_of(n_labels, n=8)
    problem = bcfw.dual.open_problem(model, size * X, y, 0.1)
    problem.open_lists(0.1)
    for i in range(len(y)):
        before = problem.dual_value()
        problem.counters[:] = 0.0
        problem.visit(in_order(np.array([i])), problem.rule())
        after = problem.dual_value()
        assert after > before or i > 0
        assert problem.counters[GAIN] == pytest.approx(after - before, rel=1e-6, abs=1e-9 * after)
        certify_state(problem)
        assert n_labels == 1000 or problem.state.gap[i] == pytest.approx(0.0, abs=1e-13)
        problem.open_lists(0.1)


@pytest.mark.parametrize("exponent", [-400, -40, 27])
def test_a_run_does_not_depend_on_units(exponent):
    """Features times 2^e with lam times 4^e: the same masses, and weights times 2^-e, to the last bit."""
    model, X, y = problem_of()
    unit = 2.0**exponent
    options = {"solver": BlockSolves(acceleration=0), "tol": 1e-6}
    one = bcfw.train(model, X, y, lam=0.1, **options)
    other = bcfw.train(model, unit * X, y, lam=0.1 * unit**2, **options)
    np.testing.assert_array_equal(other.w * unit, one.w)
    assert (other.primal, other.dual, other.n_passes) == (one.primal, one.dual, one.n_passes)


def test_scores_may_be_far_larger_than_they_differ():
    """Their rounding does not make an oracle a wrong one."""
    model, X, y = problem_of()
    X = np.column_stack([X, np.ones(len(y))])
    result = bcfw.train(model, X, y, lam=0.1)
    problem = bcfw.dual.open_problem(model, X, y, 0.1)
    bcfw.dual.snapshots.restore(problem, result.snapshot)
    w = problem.state.w.copy()
    before = problem.hinge_losses_at(w)
    w.reshape(7, 3)[-1] += 1e8
    np.testing.assert_allclose(problem.hinge_losses_at(w), before, rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("size", [1.0, 140.0])
def test_one_slack_converges_for_features_of_any_size(seed, size):
    """Its master problem is solved to the rounding of its own numbers, not of the largest."""
    pytest.importorskip("piqp")
    rng = np.random.default_rng(seed)
    n, K, lam = rng.integers(2, 20), int(rng.integers(2, 5)), 10.0 ** rng.uniform(-3, -1)
    X, y = size * rng.standard_normal((n, 3)), rng.integers(K, size=n)
    result = bcfw.train(Multiclass(K), X, y, lam=lam, solver=CuttingPlane(), tol=1e-6, max_passes=500)
    assert (result.status, result.certified) == ("converged", True)
    assert np.all(np.diff(result.history["dual"]) >= -1e-15)
