"""Box constraints on w: the piecewise line search, how bounds may be given, and runs that enter and leave a box."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import bcfw
from bcfw.inputs.bounds import join_bounds
from bcfw.kernels.specialise import KernelSet
from bcfw.passes.box import box_gain, box_step
from bcfw.solvers import BCFW, BatchFW, MultiPlane
from problems import BOUNDED_CASES, CASES

INF = np.inf

# Sums of a few numbers of order one.
ROUNDING = 1e-12


# --- the line search ---------------------------------------------------------------------------------------------

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
    gamma = box_step(gap, free, lam, bound, box)
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
    gamma = box_step(gap, free, lam, bound, box)
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
    assert box_gain(gamma, gap, free, lam, box) == pytest.approx(expected, rel=1e-12, abs=1e-11)


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
            gamma = box_step(gap, 0.0, 1.0, 1.0, moved)
            assert abs(slope_along(gamma, gap, 0.0, 1.0, moved)) <= 1e-12 * gap
            assert 0.0 < gamma < 1.0


def slope_drop(box, free):
    """How much the slope falls on the way to 1."""
    return -slope_along(1.0, 0.0, free, 1.0, box)


def test_box_step_is_the_same_compiled():
    kernels = KernelSet({})
    step, gain = kernels.entry(box_step), kernels.entry(box_gain)
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(300):
        b = rng.integers(0, 9)
        ends = np.sort(rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size=(2, b)), axis=0)
        ends[0, rng.random(b) < 0.3], ends[1, rng.random(b) < 0.3] = -INF, INF
        box = np.vstack([ends, rng.standard_normal((2, b))])
        gap, free = rng.random(), rng.random() * rng.integers(2)
        gamma = box_step(gap, free, 0.5, 1.0, box)
        inside += 0.0 < gamma < 1.0
        assert step(gap, free, 0.5, 1.0, box) == pytest.approx(gamma, abs=1e-12)
        assert gain(gamma, gap, free, 0.5, box) == pytest.approx(box_gain(gamma, gap, free, 0.5, box), abs=1e-12)
    assert inside >= 50


@pytest.mark.parametrize("name", BOUNDED_CASES)
def test_exact_steps_need_no_more_passes_than_short_ones(name):
    """Counted in passes until the same certificate, averaged over a few orders."""
    case = BOUNDED_CASES[name]

    def passes(step_size):
        solver = BCFW(step_size=step_size, gap_every=1)
        runs = [case.train(solver=solver, tol=0.03, max_passes=20_000, seed=seed) for seed in range(4)]
        return sum(run.n_passes for run in runs)

    assert passes("exact") <= passes("short")


def test_short_steps_are_exact_without_bounds():
    case = CASES["chain-cost"]
    short, exact = (case.few_passes(5, solver=BCFW(step_size=word)) for word in ("short", "exact"))
    np.testing.assert_array_equal(short.w, exact.w)


def test_cases_reach_their_bounds_and_leave_others_free():
    """What the bounded cases must have, for the common tests to mean anything."""
    seen = {"all bounded": 0, "some free": 0, "lower only": 0, "upper only": 0, "zero excluded": 0, "at a bound": 0}
    for case in BOUNDED_CASES.values():
        lower, upper = case.box
        free = np.isinf(lower) & np.isinf(upper)
        w = case.enumerated().optimum.w
        seen["all bounded"] += not free.any()
        seen["some free"] += free.any()
        seen["lower only"] += (np.isfinite(lower) & np.isinf(upper)).any()
        seen["upper only"] += (np.isinf(lower) & np.isfinite(upper)).any()
        seen["zero excluded"] += ((lower > 0) | (upper < 0)).any()
        seen["at a bound"] += ((w == lower) | (w == upper)).any() and ((w > lower) & (w < upper) & ~free).any()
    assert min(seen.values()) >= 1, seen


# --- how bounds may be given -------------------------------------------------------------------------------------

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


class Cautious(type(CASES["dense-features"].model)):
    """The Python model, which cannot use its last weights unless they are in [-0.1, 0.05]."""

    def bounds(self):
        lower, upper = np.full(self.dim, -INF), np.full(self.dim, INF)
        lower[-9:], upper[-9:] = -0.1, 0.05
        return lower, upper

    def oracle(self, w, x, y_true=None):
        assert w[-9:].min() >= -0.1
        assert w[-9:].max() <= 0.05
        return super().oracle(w, x, y_true)


def test_oracle_never_sees_weights_outside_the_models_bounds(solver):
    base = CASES["dense-features"]
    model = Cautious(base.model.K, base.model.cost)
    needs = np.repeat([-INF, -0.1], [base.dim - 9, 9]), np.repeat([INF, 0.05], [base.dim - 9, 9])
    case = dataclasses.replace(base, model=model, needs=needs)
    result = case.train(solver=solver, tol=0.03, max_passes=5000)
    assert result.primal - case.enumerated().optimum.primal <= result.gap + 1e-9
    result.predict(case.X)


ERRORS = {
    "crossed": ((0.5, np.where(np.arange(DIM) == 7, 0.25, 1.0)), bcfw.OptionError, r"weight 7 .*0\.5.*above.*0\.25"),
    "too few": ((np.zeros(3), None), bcfw.InputError, rf"lower has shape \(3,\).*\({DIM},\)"),
    "one column": ((None, np.ones((DIM, 1))), bcfw.InputError, rf"upper has shape \({DIM}, 1\)"),
    "nan": ((None, np.where(np.arange(DIM) == 2, np.nan, 1.0)), bcfw.InputError, "upper holds a NaN"),
    "nan number": ((np.nan, None), bcfw.InputError, "lower holds a NaN"),
    "number": (1.0, bcfw.OptionError, "pair"),
    "three": ((0, 1, 2), bcfw.OptionError, "pair"),
    "array": (np.zeros((2, DIM)), bcfw.OptionError, "pair"),
    "words": (("low", "high"), bcfw.OptionError, "lower must be a number"),
    "ragged": ((None, [[1.0], [1.0, 2.0]]), bcfw.OptionError, "upper must be a number"),
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


# --- into the box and out of it ----------------------------------------------------------------------------------

PAIRS = [("bounded-multiclass-cost", "multiclass-cost"), ("bounded-chain-cost", "chain-cost")]
PAIRS += [("bounded-dense-features", "dense-features"), ("bounded-graph-cost", "graph-cost")]
MOVES = [BCFW(), BCFW(step="pairwise", cache="gap", sampling="gap"), BatchFW(), MultiPlane(clock="count")]


def check_start(result, case, snapshot):
    """The first certificate is that of the snapshot's dual point in the case's box."""
    objective = case.enumerated()
    v, ell = snapshot["w"], snapshot["ell"].sum()
    assert result.history["dual"][0] == pytest.approx(objective.dual(v, ell), abs=1e-10)
    assert result.history["primal"][0] == pytest.approx(objective.primal(case.clip(v)), abs=1e-10)


@pytest.mark.parametrize("solver", MOVES, ids=repr)
@pytest.mark.parametrize(("bounded", "free"), PAIRS)
def test_warm_start_into_a_box_and_back(bounded, free, solver):
    """The dual variables know nothing of bounds: any of them start any other run."""
    inside, outside = CASES[bounded], CASES[free]
    first = outside.few_passes(4, solver=solver)
    second = inside.train(solver=solver, tol=0.03, max_passes=5000, warm_start=first)
    check_start(second, inside, first.snapshot)
    np.testing.assert_array_equal(second.w, inside.clip(second.w))
    assert second.primal - inside.enumerated().optimum.primal <= second.gap + 1e-9
    third = outside.train(solver=solver, tol=0.03, max_passes=5000, warm_start=second)
    check_start(third, outside, second.snapshot)
    assert third.primal - outside.enumerated().optimum.primal <= third.gap + 1e-9


@pytest.mark.parametrize("name", BOUNDED_CASES)
def test_checkpoint_of_a_bounded_run(name, tmp_path):
    """The file holds v, which the box cannot give back, and resumes in cyclic order as if never interrupted."""
    case, path = BOUNDED_CASES[name], tmp_path / "state.npz"
    solver = BCFW(sampling="cyclic")
    first = case.few_passes(3, solver=solver, checkpoint=path)
    v = np.load(path)["w"]
    np.testing.assert_array_equal(case.clip(v), first.w)
    resumed = case.few_passes(3, solver=solver, warm_start=path)
    whole = case.few_passes(6, solver=solver)
    np.testing.assert_allclose(resumed.w, whole.w, rtol=0, atol=1e-10)
    assert resumed.dual == pytest.approx(whole.dual, abs=1e-10)


def test_checkpoints_of_the_cases_lie_outside_their_boxes():
    """Else the tests above would not see the difference of v and w."""
    outside = [case.few_passes(3) for case in BOUNDED_CASES.values()]
    assert sum(np.any(run.snapshot["w"] != run.w) for run in outside) >= 4


@pytest.mark.parametrize("solver", [BCFW(averaging=True), MultiPlane(clock="count", averaging=True)], ids=repr)
@pytest.mark.parametrize("name", BOUNDED_CASES)
def test_averages_lie_in_the_box_and_are_certified(name, solver):
    case = BOUNDED_CASES[name]
    result = case.train(solver=solver, tol=0.03, max_passes=5000)
    objective, best = case.enumerated(), case.enumerated().optimum
    for one in (result, result.last):
        np.testing.assert_array_equal(one.w, case.clip(one.w))
        assert one.primal == pytest.approx(objective.primal(one.w), abs=1e-11)
        assert one.dual <= best.primal + 1e-9
        assert one.primal - best.primal <= one.gap + 1e-9
    assert result.gap <= 0.03 * objective.primal(np.zeros(case.dim)) * (1 + 1e-12)


@pytest.mark.parametrize("name", BOUNDED_CASES)
def test_tight_tolerance_gives_the_optimal_weights(name):
    case = BOUNDED_CASES[name]
    result = case.train(tol=1e-6, max_passes=100_000, solver=BCFW(step="pairwise", sampling="gap"))
    best = case.enumerated().optimum
    assert result.status == "converged"
    assert result.primal == pytest.approx(best.primal, abs=result.gap + 1e-9)
    np.testing.assert_allclose(result.w, best.w, rtol=0, atol=np.sqrt(2 * (result.gap + 1e-9) / case.lam))
