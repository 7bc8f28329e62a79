"""How bounds may be given, how they join those of a model, and wrong ones."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import bcfw
from bcfw.inputs.bounds import join_bounds
from bcfw.solvers import BCFW, BatchFW, MultiPlane
from problems import CASES

INF = np.inf

CASE = CASES["multiclass-cost"]

DIM = CASE.dim


def same_weights(a, b):
    np.testing.assert_array_equal(a.w, b.w)
    assert (a.primal, a.dual, a.n_passes) == (b.primal, b.dual, b.n_passes)


FORMS = {
    "numbers": (-0.1, 0.2),
    "whole numbers of numpy": (np.float32(-0.5), np.int64(1)),
    "arrays": (np.full(DIM, -0.1), np.full(DIM, 0.2)),
    "list in a list": [[-0.1] * DIM, [0.2] * DIM],
    "number and array": (-0.1, np.full(DIM, 0.2)),
    "no lower": (None, 0.2),
    "no upper": (np.full(DIM, -0.1), None),
    "some infinite": (np.where(np.arange(DIM) % 2, -0.1, -INF), np.where(np.arange(DIM) % 3, 0.1, INF)),
}


@pytest.mark.parametrize("bounds", FORMS.values(), ids=FORMS.keys())
def test_forms_of_bounds(bounds):
    low, high = (
        np.full(DIM, default) if side is None else np.broadcast_to(np.array(side, float), (DIM,)).copy()
        for side, default in zip(bounds, (-INF, INF), strict=True)
    )
    result, full = CASE.few_passes(5, bounds=bounds), CASE.few_passes(5, bounds=(low, high))
    same_weights(result, full)
    assert np.all((low <= result.w) & (result.w <= high))
    assert np.any((low == result.w) | (result.w == high)), "no bound is reached: the test shows nothing"


def test_arrays_that_were_given_are_not_changed():
    lower, upper = np.full(DIM, -0.1), np.full(DIM, 0.1)
    CASE.few_passes(2, bounds=(lower, upper))
    assert np.all(lower == -0.1)
    assert np.all(upper == 0.1)


@pytest.mark.parametrize("bounds", [None, (None, None), (-INF, INF), (None, np.full(DIM, INF)), (-INF, None)], ids=str)
@pytest.mark.parametrize("solver", [BCFW(), BCFW(averaging=True), BatchFW(), MultiPlane(clock="count")], ids=repr)
def test_infinite_bounds_are_none(bounds, solver):
    same_weights(CASE.few_passes(4, solver=solver, bounds=bounds), CASE.few_passes(4, solver=solver))


@pytest.mark.parametrize("solver", [BCFW(sampling="cyclic"), BatchFW()], ids=repr)
def test_bounds_that_are_never_reached_change_nothing(solver):
    """Another line search, but the same steps up to rounding."""
    plain = CASE.few_passes(4, solver=solver)
    np.testing.assert_allclose(CASE.few_passes(4, solver=solver, bounds=(-1e6, 1e6)).w, plain.w, rtol=0, atol=1e-10)


def test_a_weight_fixed_at_zero_is_a_feature_left_out():
    fixed = np.zeros((5, 4), bool)
    fixed[[1, 3]] = True
    bounds = np.where(fixed, 0.0, -INF).ravel(), np.where(fixed, 0.0, INF).ravel()
    keep = np.flatnonzero(~fixed[:, 0])
    inside = CASE.few_passes(5, solver=BCFW(sampling="cyclic"), bounds=bounds)
    less = dataclasses.replace(CASE, X=CASE.X[:, keep]).few_passes(5, solver=BCFW(sampling="cyclic"))
    np.testing.assert_allclose(inside.w.reshape(5, 4)[keep], less.w.reshape(3, 4), rtol=0, atol=1e-10)
    assert not inside.w[fixed.ravel()].any()
    assert inside.primal == pytest.approx(less.primal, abs=1e-11)
    assert inside.dual == pytest.approx(less.dual, abs=1e-11)


def test_all_weights_fixed_leave_nothing_to_train():
    """The box is a point: the gap closes by alpha alone, and the primal is that of the point."""
    w = np.random.default_rng(0).standard_normal(DIM)
    result = CASE.train(bounds=(w, w), tol=1e-6)
    np.testing.assert_array_equal(result.w, w)
    assert result.primal == pytest.approx(CASE.enumerated().primal(w), abs=1e-11)
    assert result.dual == pytest.approx(result.primal, abs=1e-5)


def test_bounds_are_joined_with_the_models():
    case = CASES["graph-balanced-csr"]
    edges = np.flatnonzero(case.needs[0] == 0.0)
    free = np.flatnonzero(case.needs[0] != 0.0)
    without = dataclasses.replace(case, needs=None).enumerated().optimum
    assert without.w[edges].min() < -1e-3, "the model's bounds do not matter: the test shows nothing"
    for bounds in (None, (-1e9, None), (None, 1e9)):
        result = case.train(tol=1e-4, bounds=bounds)
        assert result.w[edges].min() == 0.0
        assert abs(result.primal - case.enumerated().optimum.primal) <= result.gap + 1e-9
    tighter = dataclasses.replace(case, bounds=(0.3, np.full(case.dim, 0.5)))
    result = tighter.train(tol=1e-4)
    assert result.w.min() >= 0.3
    assert result.w.max() <= 0.5
    assert result.primal - tighter.enumerated().optimum.primal <= result.gap + 1e-9
    half = dataclasses.replace(case, bounds=(None, 0.05))
    result = half.train(tol=1e-4)
    assert result.w[edges].min() >= 0.0
    assert result.w[free].min() < 0.0
    assert result.primal - half.enumerated().optimum.primal <= result.gap + 1e-9


ERRORS = {
    "crossed": ((0.5, np.where(np.arange(DIM) == 7, 0.25, 1.0)), bcfw.OptionError, r"weight 7 .*0\.5.*above.*0\.25"),
    "too few": ((np.zeros(3), None), bcfw.InputError, rf"lower has shape \(3,\).*\({DIM},\)"),
    "one column": ((None, np.ones((DIM, 1))), bcfw.InputError, rf"upper has shape \({DIM}, 1\)"),
    "nan": ((None, np.where(np.arange(DIM) == 2, np.nan, 1.0)), bcfw.InputError, "upper holds a NaN"),
    "nan number": ((np.nan, None), bcfw.InputError, "lower holds a NaN"),
    "number": (1.0, bcfw.OptionError, "pair"),
    "three": ((0, 1, 2), bcfw.OptionError, "pair"),
    "array": (np.zeros((2, DIM)), bcfw.OptionError, "pair"),
    "words": (("low", "high"), bcfw.OptionError, "lower must hold real numbers"),
    "ragged": ((None, [[1.0], [1.0, 2.0]]), bcfw.OptionError, "upper must hold real numbers"),
    "lower inf": ((INF, None), bcfw.OptionError, "no finite weight 0"),
    "upper -inf": ((None, np.where(np.arange(DIM) == 4, -INF, 1.0)), bcfw.OptionError, "no finite weight 4"),
}


@pytest.mark.parametrize(("bounds", "error", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_wrong_bounds(bounds, error, message):
    with pytest.raises(error, match=rf"bounds.*{message}"):
        CASE.train(bounds=bounds)


def test_bounds_that_contradict_the_models():
    case = CASES["graph-cost"]
    with pytest.raises(bcfw.OptionError, match=r"weight 6 .*lower bound 0 .*upper bound -1 .*model"):
        case.train(bounds=(None, -1.0))


def test_join_bounds_is_the_intersection():
    lower, upper = join_bounds(3, (0.0, None), None, ([-1.0, 1.0, -INF], [2.0, INF, 5.0]), (None, 4.0))
    np.testing.assert_array_equal(lower, [0.0, 1.0, 0.0])
    np.testing.assert_array_equal(upper, [2.0, 4.0, 4.0])
    assert join_bounds(3, None, (None, None), (-INF, INF)) is None
