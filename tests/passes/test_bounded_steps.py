"""The piecewise line search along a box: the maximiser, the root of the slope, and the same compiled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from bcfw.compile.specialise import RoutineSet
from bcfw.passes.bounded_steps import box_gain, box_step

INF = np.inf

# Sums of a few numbers of order one.
ROUNDING = 1e-12

#: Halves make coincident kinks, zero directions and bounds that are met exactly frequent.
HALVES = st.integers(-6, 6).map(lambda k: k / 2.0)

NUMBERS = st.one_of(HALVES, st.floats(-3, 3, allow_subnormal=False))


@st.composite
def searches(draw):
    """Slope at 0, curvature of the free part, lam, bound and box of a search; only the slope may be negative."""
    columns = []
    for _ in range(draw(st.integers(0, 7))):
        ends = sorted((draw(NUMBERS), draw(NUMBERS)))
        lower, upper = draw(st.sampled_from([(ends[0], ends[1]), (-INF, ends[1]), (ends[0], INF), (ends[0], ends[0])]))
        columns.append((lower, upper, draw(NUMBERS), draw(NUMBERS)))
    box = np.array(columns, float).reshape(-1, 4).T.copy()
    gap = draw(st.one_of(st.just(0.0), st.floats(1e-3, 8), st.floats(-2, 8)))
    free = draw(st.one_of(st.just(0.0), st.floats(0, 4)))
    return gap, free, draw(st.sampled_from([0.1, 1.0, 3.0])), draw(st.sampled_from([0.25, 1.0, 2.5])), box


def everywhere(box):
    """All coordinates as the ones that a direction moves."""
    return np.arange(box.shape[1])


def dual_along(gamma, gap, free, lam, box):
    """Change of the dual from v to ``v + gamma dv``, from its definition ``ell - lam (v'w - |w|^2/2)``.

    The slope at 0 is ``gap = ell' - lam dv'w``, which gives the change of ell.
    """
    lower, upper, v, dv = box

    def value(v):
        w = np.clip(v, lower, upper)
        return v @ w - 0.5 * w @ w

    ell = gamma * (gap + lam * float(dv @ np.clip(v, lower, upper)))
    return ell - 0.5 * free * gamma**2 - lam * (value(v + gamma * dv) - value(v))


def slope_along(gamma, gap, free, lam, box):
    lower, upper, v, dv = box
    return gap - gamma * free - lam * float(dv @ (np.clip(v + gamma * dv, lower, upper) - np.clip(v, lower, upper)))


@settings(max_examples=400)
@given(searches())
def test_box_step_is_the_maximiser(search):
    gap, free, lam, bound, box = search
    gamma = box_step(gap, free, lam, bound, box, everywhere(box))
    assert 0.0 <= gamma <= bound
    best = dual_along(gamma, gap, free, lam, box)
    for other in np.linspace(0.0, bound, 301):
        assert dual_along(other, gap, free, lam, box) <= best + ROUNDING * 100
    # The slope changes its sign there: more exact than values can be.
    if gamma > 0.0:
        assert slope_along(gamma, gap, free, lam, box) >= -ROUNDING * 100
    if gamma < bound:
        assert slope_along(gamma, gap, free, lam, box) <= ROUNDING * 100


@settings(max_examples=400)
@given(searches())
def test_box_step_is_the_root_of_the_slope(search):
    gap, free, lam, bound, box = search
    free += 0.5  # with curvature everywhere the root is unique
    gamma = box_step(gap, free, lam, bound, box, everywhere(box))
    if gap <= 0.0:
        assert gamma == 0.0
    elif slope_along(bound, gap, free, lam, box) >= 0.0:
        assert gamma == bound
    else:
        root = brentq(slope_along, 0.0, bound, (gap, free, lam, box), xtol=1e-15, rtol=1e-14)
        assert gamma == pytest.approx(root, abs=1e-11)


@settings(max_examples=400)
@given(searches(), st.floats(0, 2.5))
def test_box_gain_is_the_difference_of_the_dual(search, gamma):
    gap, free, lam, _, box = search
    expected = dual_along(gamma, gap, free, lam, box)
    assert box_gain(gamma, gap, free, lam, box, everywhere(box)) == pytest.approx(expected, rel=1e-12, abs=1e-11)


def test_box_step_on_many_coordinates_and_kinks_at_one_point():
    """Kinks that only differ in the last place must not stop the search before its bracket is linear."""
    rng = np.random.default_rng(0)
    for b in (1, 3, 50, 400):
        dv = rng.standard_normal(b)
        v = rng.standard_normal(b)
        upper = v + dv * (0.3 + 1e-17 * rng.standard_normal(b))  # all change at 0.3
        lower = np.where(dv > 0, -INF, upper)
        box = np.array([lower, np.where(dv > 0, upper, INF), v, dv])
        for spread in (0.0, 0.5):
            moved = box.copy()
            moved[:2] += spread * dv * rng.random(b)
            gap = 0.7 * slope_drop(moved, 0.0)
            gamma = box_step(gap, 0.0, 1.0, 1.0, moved, everywhere(moved))
            assert abs(slope_along(gamma, gap, 0.0, 1.0, moved)) <= 1e-12 * gap
            assert 0.0 < gamma < 1.0


def slope_drop(box, free):
    """How much the slope falls on the way to 1."""
    return -slope_along(1.0, 0.0, free, 1.0, box)


def test_box_step_is_the_same_compiled():
    routines = RoutineSet({})
    step, gain = routines.compiled_pass(box_step), routines.compiled_pass(box_gain)
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(300):
        b = rng.integers(0, 9)
        ends = np.sort(rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size=(2, b)), axis=0)
        ends[0, rng.random(b) < 0.3], ends[1, rng.random(b) < 0.3] = -INF, INF
        box = np.vstack([ends, rng.standard_normal((2, b))])
        gap, free = rng.random(), rng.random() * rng.integers(2)
        gamma = box_step(gap, free, 0.5, 1.0, box, everywhere(box))
        inside += 0.0 < gamma < 1.0
        assert step(gap, free, 0.5, 1.0, box, everywhere(box)) == pytest.approx(gamma, abs=1e-12)
        assert gain(gamma, gap, free, 0.5, box, everywhere(box)) == pytest.approx(
            box_gain(gamma, gap, free, 0.5, box, everywhere(box)), abs=1e-12
        )
    assert inside >= 50
