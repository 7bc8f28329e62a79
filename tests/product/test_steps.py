"""Step sizes: the bounds that are proved for them, the paper's counter-examples, descent."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import bcfw
from bcfw import selection
from bcfw.domains import Box, L2Ball, LinfBall, Simplex
from bcfw.objectives import Function, LeastSquares, Quadratic
from bcfw.product.steps import STEPS, Adaptive, LineSearch, OpenLoop, Short

M = 4
RULES = [
    selection.Full(),
    selection.Cyclic(),
    selection.Cyclic(size=3),
    selection.Permuted(),
    selection.Permuted(size=2),
    selection.EssentiallyCyclic(6, expensive=[3]),
    selection.Lazy(3, expensive=[3]),
    selection.PQ(2, 3, expensive=[3]),
    selection.QuasiStochastic(5),
    selection.CostAware(3),
]


def values_of_run(objective, domains, iterations, **options):
    """f and the full gap at x_0, x_1, ..., both computed from the objective alone."""
    points = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        start = bcfw.minimize(objective, domains, max_iters=0, **options).x
        bcfw.minimize(
            objective,
            domains,
            tol=0,
            max_iters=iterations,
            gap_every=10**9,
            callbacks=[lambda info: points.append(info.x)],
            **options,
        )
    points = [start, *points]
    points += [points[-1]] * (iterations + 1 - len(points))  # a run may end early, where the gap is zero
    return [objective.value(x) for x in points], [full_gap(objective, domains, x) for x in points]


def full_gap(objective, domains, x):
    return sum(
        np.vdot(g, xi) - np.vdot(g, domain.argmin(g))
        for g, xi, domain in zip(objective.gradient(x), x, domains, strict=True)
    )


@pytest.fixture(scope="module")
def convex():
    """Least squares over simplices and a ball whose optimum lies inside some faces."""
    rng = np.random.default_rng(0)
    objective = LeastSquares(rng.standard_normal((6, 13)), 0.4 * rng.standard_normal(6))
    domains = [Simplex(3), Simplex(3), L2Ball(3, 0.5), Simplex(4)]
    best = bcfw.minimize(objective, domains, direction="pairwise", tol=1e-9, max_iters=10**6)
    return objective, domains, best.value - best.gap


def bound_of(rule, objective, domains):
    K, diameter2 = rule.window(M), sum(domain.diameter**2 for domain in domains)
    return K, 2.0 * K * objective.smoothness * diameter2


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("own_constants", [False, True])
def test_short_steps_stay_below_the_bound_of_convex_functions(convex, rule, own_constants):
    objective, domains, best = convex
    K, bound = bound_of(rule, objective, domains)
    step = Short() if own_constants else Short(smoothness=objective.smoothness)
    values, _ = values_of_run(objective, domains, 30 * K, selection=rule, step=step)
    assert values[K] - best <= bound / 4.0
    for n in range(2, 31):
        assert values[n * K] - best <= bound / (n - 1)


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("test", ["gradients", "values"])
@pytest.mark.parametrize("initial", [None, 0.01])
def test_adaptive_steps_stay_below_the_bound(convex, rule, test, initial):
    """M never exceeds grow times L_f: the bound with this constant holds from the start (Theorem 2.2, n_0 = 0)."""
    objective, domains, best = convex
    K, bound = bound_of(rule, objective, domains)
    step = Spied(initial=initial, test=test)
    values, _ = values_of_run(objective, domains, 30 * K, selection=rule, step=step)
    assert max(step.seen[-1].M) <= step.grow * objective.smoothness
    for n in range(2, 31):
        assert values[n * K] - best <= step.grow * bound / n


def test_adaptive_steps_from_too_large_a_constant(convex):
    """The bound holds from the window n_0 on that Theorem 2.2 names."""
    objective, domains, best = convex
    _, bound = bound_of(selection.Full(), objective, domains)
    M0, tau, eta = 500.0 * objective.smoothness, 2.0, 0.9
    n0 = math.ceil(math.log(tau * objective.smoothness / (eta * M0)) / math.log(eta))
    step = Adaptive(initial=M0, test="gradients")
    values, _ = values_of_run(objective, domains, n0 + 100, selection="full", step=step)
    for n in range(n0 + 2, n0 + 101):
        assert values[n] - best <= tau * bound / (n - n0)


class Spied(Adaptive):
    """Adaptive steps whose estimates can be looked at."""

    @property
    def seen(self):
        return self.__dict__.setdefault("_seen", [])

    def begin(self, tracker):
        self.seen.append(super().begin(tracker))
        return self.seen[-1]


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("step", ["short", "adaptive"])
def test_the_smallest_gap_of_a_function_that_is_not_convex(rule, step):
    """f = x_1'B x_2 + x_3'C x_4 over simplices: its least value is that of a pair of vertices."""
    rng = np.random.default_rng(5)
    B, C = rng.standard_normal((2, 3, 3))
    H = np.zeros((12, 12))
    H[:3, 3:6], H[6:9, 9:] = B, C
    objective, domains = Quadratic(H=H + H.T), [Simplex(3)] * 4
    assert not objective.convex
    x0 = [np.full(3, 1 / 3)] * 4
    K, diameter2, L = rule.window(M), 4 * 2.0, objective.smoothness * (2.0 if step == "adaptive" else 1.0)
    values, gaps = values_of_run(objective, domains, 40 * K, selection=rule, step=step, x0=x0)
    H0 = values[0] - (B.min() + C.min())
    for n in range(1, 41):
        first = 2.0 * H0 / n + K * L * diameter2 / 2.0
        later = 2.0 * math.sqrt(diameter2 * H0 * K * L / n)
        assert min(gaps[p * K] for p in range(n)) <= (first if n <= 2.0 * H0 / (K * L * diameter2) else later)
    assert np.diff(values).max() <= 1e-14


# --- the paper's counter-examples ---------------------------------------------------------------------------------


def example(**constants):
    """(x_1 + x_2)^2 on [-1, 1]^2: the constant is 4 for both blocks and 2 for each alone."""
    return Function(
        lambda x: float(x[0] + x[1]) ** 2,
        lambda x: [2.0 * (x[0] + x[1]), 2.0 * (x[0] + x[1])],
        convex=True,
        **constants,
    )


INTERVALS = [Box(-1.0, 1.0), Box(-1.0, 1.0)]


def test_sizes_for_each_block_alone_cycle():
    """Example 1.1, and 1.2 with the same sizes: from (1, 1) to (-1, -1) and back."""
    x = np.array([1.0, 1.0])
    for _ in range(10):
        g = 2.0 * x.sum()
        v = -np.sign(g)
        gammas = np.minimum(
            1.0, g * (x - v) / (2.0 * (x - v) ** 2)
        )  # both the exact and the short step with constant 2
        x = x + gammas * (v - x)
        assert abs(x.sum()) == 2.0


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("rule", ["full", selection.Permuted(size=2), selection.Lazy(3, expensive=[1])], ids=repr)
def test_blocks_that_move_together_converge(step, rule):
    objective = example(smoothness=4.0, block_smoothness=[2.0, 2.0])
    result = bcfw.minimize(objective, INTERVALS, x0=[1.0, 1.0], selection=rule, step=step, tol=1e-2)
    assert result.status == "converged"
    assert result.value <= 1e-2
    assert [block.shape for block in result.x] == [(), ()]


def test_one_block_at_a_time_uses_its_own_constant():
    """From (1, 1/2) the constant 2 of the first block leads to the minimum at once, the constant 4 half way."""
    objective = example(smoothness=4.0, block_smoothness=[2.0, 2.0])
    own = bcfw.minimize(objective, INTERVALS, x0=[1.0, 0.5], selection="cyclic", step="short", tol=0, max_iters=1)
    assert own.status == "converged"
    assert own.x[0] == pytest.approx(-0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        both = bcfw.minimize(objective, INTERVALS, x0=[1.0, 0.5], selection="full", step="short", tol=0, max_iters=1)
    assert both.x[0] == pytest.approx(0.25)


def test_constants_of_blocks_are_not_enough_for_several():
    with pytest.raises(bcfw.OptionError, match=r"needs the objective's smoothness.*one block at a time only"):
        bcfw.minimize(example(block_smoothness=[2.0, 2.0]), INTERVALS, x0=[1.0, 1.0], selection="full", step="short")
    with pytest.raises(bcfw.OptionError, match="needs the objective's smoothness"):
        bcfw.minimize(example(), INTERVALS, x0=[1.0, 1.0], selection="cyclic", step="short")


# --- descent, formulas, mistakes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["fw", "away", "pairwise", "blended"])
@pytest.mark.parametrize("step", ["short", "adaptive", "line-search"])
@pytest.mark.parametrize("rule", ["permuted", "full"])
def test_the_objective_never_rises(convex, direction, step, rule):
    objective, domains, _ = convex
    values, gaps = values_of_run(objective, domains, 300, direction=direction, step=step, selection=rule)
    assert np.diff(values).max() <= 1e-14 * values[0]
    assert min(gaps) < 1e-2 * gaps[0]


@pytest.mark.parametrize("step", ["adaptive", "line-search"])
@pytest.mark.parametrize("rule", ["permuted", "full"])
def test_a_wavy_function_never_rises(step, rule):
    """Far from convex, with many minima on every line."""
    rng = np.random.default_rng(0)
    A = 8.0 * rng.standard_normal((2, 5, 3))

    def value(x):
        return float(np.cos(A[0] @ x[0] + A[1] @ x[1]).sum())

    def gradient(x):
        slopes = -np.sin(A[0] @ x[0] + A[1] @ x[1])
        return [A[0].T @ slopes, A[1].T @ slopes]

    objective = Function(value, gradient, convex=False)
    values, _ = values_of_run(objective, [Simplex(3), L2Ball(3)], 200, step=step, selection=rule)
    assert np.diff(values).max() <= 1e-12
    assert values[-1] < values[0] - 1.0


def test_the_step_for_blocks_alone_is_exact_for_quadratics(convex):
    """One block at a time: the adaptive step learns the curvature along its direction and finds the exact minimum."""
    objective, domains, _ = convex
    exact, _ = values_of_run(objective, domains, 1, selection="cyclic", step="line-search")
    adaptive, _ = values_of_run(objective, domains, 1, selection="cyclic", step="adaptive")
    assert adaptive[1] == pytest.approx(exact[1], rel=1e-12)


def test_open_loop_sizes():
    seen = []

    class Watched(OpenLoop):
        def begin(self, tracker):
            sizes = super().begin(tracker)
            return lambda move: seen.append(sizes(move)) or seen[-1]

    far = LeastSquares(np.eye(6), np.full(6, 0.1))
    for rule, expected in (("cyclic", [6 / (t + 6) for t in range(4)]), ("full", [2 / (t + 2) for t in range(4)])):
        seen.clear()
        with pytest.warns(bcfw.ConvergenceWarning):
            bcfw.minimize(far, [Simplex(2)] * 3, selection=rule, step=Watched(), tol=0, max_iters=4)
        assert [sizes[0] for sizes in seen] == pytest.approx(expected)


def test_which_test_an_adaptive_step_takes():
    """Gradients are compared only if f is declared convex and computes whole gradients anyway."""
    calls = {"gradient": 0}

    def gradient(x):
        calls["gradient"] += 1
        return [x[0] - 0.3, x[1] - 0.2]

    def value(x):
        return 0.5 * float(np.sum((x[0] - 0.3) ** 2) + np.sum((x[1] - 0.2) ** 2))

    counts = {}
    for convex in (None, True):
        calls["gradient"] = 0
        result = bcfw.minimize(Function(value, gradient, convex=convex), [Simplex(3)] * 2, step="adaptive", tol=1e-3)
        counts[convex] = calls["gradient"] / result.n_iters
    assert counts[None] < 1.5 < counts[True] + 1.0
    with pytest.raises(bcfw.OptionError, match="test='gradients' does not go with an objective that is not convex"):
        bcfw.minimize(Function(value, gradient, convex=False), [Simplex(3)] * 2, step=Adaptive(test="gradients"))


def test_an_objective_that_is_declared_convex_and_is_not():
    concave = Function(lambda x: -float(np.sum(x[0] ** 2)), lambda x: [-2.0 * x[0]], convex=True)
    with pytest.raises(bcfw.InputError, match="the objective is declared convex, but"):
        bcfw.minimize(concave, [Simplex(3)], x0=[[0.4, 0.3, 0.3]])


def test_wrong_steps():
    for call, message in (
        (lambda: Adaptive(shrink=1.5), "shrink must be at most 1"),
        (lambda: Adaptive(grow=1.0), "grow above 1"),
        (lambda: Adaptive(test="hope"), "test must be 'auto' or 'values' or 'gradients', got 'hope'"),
        (lambda: Short(smoothness=-1.0), "Short: smoothness must be a finite number > 0"),
        (
            lambda: bcfw.minimize(example(), INTERVALS, step="adaptve"),
            r"step 'adaptve' is unknown; did you mean 'adaptive'",
        ),
        (lambda: bcfw.minimize(example(), INTERVALS, step=LineSearch), r"the class LineSearch; give an instance"),
        (lambda: bcfw.minimize(example(), INTERVALS, direction="fwd"), "direction 'fwd' is unknown; did you mean 'fw'"),
        (
            lambda: bcfw.minimize(example(), INTERVALS, direction="away", step="open-loop"),
            "step='open-loop' does not go with direction='away'",
        ),
    ):
        with pytest.raises(bcfw.OptionError, match=message):
            call()


@pytest.mark.parametrize("convex", [None, True])
@pytest.mark.parametrize("step", ["adaptive", "line-search"])
@pytest.mark.parametrize(
    ("offset", "dtype", "tol"), [(0.0, np.float64, 1e-11), (1e8, np.float64, 1e-6), (0.0, np.float32, 1e-4)]
)
def test_values_that_cannot_resolve_the_gain(offset, dtype, tol, convex, step):
    """Near the optimum a step gains about the square of the gap, which rounding hides in the values of f."""
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((20, 12)).astype(dtype), rng.standard_normal(20).astype(dtype)

    def residual(x):
        return A @ np.concatenate(x).astype(dtype) - b

    objective = Function(
        lambda x: offset + 0.5 * np.sum(residual(x) ** 2), lambda x: np.split(A.T @ residual(x), 3), convex=convex
    )
    result = bcfw.minimize(objective, [Simplex(4)] * 3, direction="pairwise", step=step, tol=tol, max_iters=3000)
    assert result.status == "converged"


@pytest.mark.parametrize("direction", ["pairwise", "blended"])
@pytest.mark.parametrize("seed", [4, 7])
def test_rounding_of_f_is_no_curvature(seed, direction):
    """f is a sum of sines of large numbers, so that its rounding errors are about a thousand times eps."""
    rng = np.random.default_rng(seed)
    A, b = 1e3 * rng.standard_normal((5, 5)), rng.standard_normal(5)
    objective = Function(lambda x: np.sin(A @ x[0] - b).sum(), lambda x: [A.T @ np.cos(A @ x[0] - b)], convex=False)
    L, step = np.linalg.norm(A, 2) ** 2, Spied(test="values")
    result = bcfw.minimize(objective, [LinfBall(5, 1.0)], direction=direction, step=step, tol=1e-12 * L)
    assert result.status == "converged"
    assert step.seen[-1].M[0] <= step.grow * L


def test_an_estimate_survives_steps_that_values_cannot_test():
    """f has the smoothness 1; it is computed with an error of 1e-9 at all points but the first."""
    start, target = np.array([1.0, 0.0]), np.array([1.0 - 1e-6, 1e-6])

    def value(x):
        error = 0.0 if np.array_equal(x[0], start) else 1e-9
        return 1.0 + 0.5 * float(np.sum((x[0] - target) ** 2)) + error

    step = Spied(initial=1.0, test="values")
    objective = Function(value, lambda x: [x[0] - target])
    result = bcfw.minimize(objective, [Simplex(2)], x0=[start], step=step, tol=1e-7)
    assert result.status == "converged"
    assert step.seen[-1].M[0] <= step.grow


def test_adaptive_steps_go_on_where_values_cannot_tell_a_gain():
    """Steps gain less than the rounding of f as soon as the gap is about sqrt(eps)."""
    objective = Function(lambda x: 0.5 * float(np.sum((x[0] - 0.1) ** 2)), lambda x: [x[0] - 0.1])
    assert bcfw.minimize(objective, [Simplex(8)], tol=1e-14, max_iters=1000).status == "converged"
