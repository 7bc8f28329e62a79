"""Gradients that are not those of f are found before anything is certified, and right ones are never suspected."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bcfw
from bcfw.domains import Birkhoff, Box, Hull, KSparse, L1Ball, L2Ball, LinfBall, NuclearBall, Simplex, Spectraplex
from bcfw.objectives import Function, LeastSquares
from bcfw.product.derivatives import contradiction

POINTS = np.random.default_rng(3).standard_normal((7, 6))


def sets_of_size(r):
    """One of every kind, of the size r where it has one."""
    return [
        Simplex(6, r),
        Box(-r, r, 6),
        L1Ball(6, r),
        L2Ball((2, 3), r),
        LinfBall(6, r),
        KSparse(6, 2, r),
        Hull(r * POINTS),
        NuclearBall((2, 3), r),
        Spectraplex(3),
        Birkhoff(3),
    ]


SETS = sets_of_size(1.0)

WRONG = {
    "sign": lambda g: -g,
    "twice": lambda g: 2.0 * g,
    "half": lambda g: 0.5 * g,
    "zero": lambda g: 0.0 * g,
    "constant": lambda g: np.ones_like(g),
    "other": lambda g: g + 5.0 * np.abs(g).max() * np.sin(1.0 + np.arange(g.size)).reshape(g.shape),
}


def functions(rng, n):
    """Functions of n numbers and their gradients: easy, ill conditioned, nearly not smooth, wavy, far from zero."""
    k = 5
    A, b = rng.standard_normal((k, n)), rng.standard_normal(k)
    spread = np.logspace(0, -8, k)
    return {
        "least squares": (lambda z: 0.5 * np.sum((A @ z - b) ** 2), lambda z: A.T @ (A @ z - b)),
        "no residual": (lambda z: 0.5 * np.sum((A @ z) ** 2), lambda z: A.T @ (A @ z)),
        "ill conditioned": (
            lambda z: 0.5 * np.sum(spread * (A @ z - b) ** 2),
            lambda z: A.T @ (spread * (A @ z - b)),
        ),
        "logistic": (lambda z: np.logaddexp(0, A @ z).mean(), lambda z: A.T @ (1.0 / (1.0 + np.exp(-(A @ z)))) / k),
        "huber": (
            lambda z: np.sum(np.where(abs(A @ z - b) < 1e-4, 5e3 * (A @ z - b) ** 2, abs(A @ z - b) - 5e-5)),
            lambda z: A.T @ np.clip((A @ z - b) / 1e-4, -1, 1),
        ),
        "power": (
            lambda z: np.sum(abs(A @ z) ** 1.1),
            lambda z: A.T @ (1.1 * np.sign(A @ z) * abs(A @ z) ** 0.1),
        ),
        "waves": (lambda z: np.cos(30 * A @ z).sum(), lambda z: A.T @ (-30 * np.sin(30 * A @ z))),
        "offset": (lambda z: 1e8 + 0.5 * np.sum((A @ z - b) ** 2), lambda z: A.T @ (A @ z - b)),
        "cancelling": (
            lambda z: 0.5 * np.sum(((A @ z + 1e7) - (b + 1e7)) ** 2),
            lambda z: A.T @ ((A @ z + 1e7) - (b + 1e7)),
        ),
        "linear": (lambda z: A[0] @ z, lambda z: A[0]),
        "constant": (lambda z: 3.3, lambda z: 0.0 * z),
    }


NAMES = list(functions(np.random.default_rng(0), 6))


def of_blocks(value, gradient, sets, unit=1.0, dtype=np.float64):
    """The functions of the blocks, from those of one vector; values and gradients in multiples of a unit."""
    ends = np.cumsum([int(np.prod(domain.shape)) for domain in sets])[:-1]

    def join(x):
        return np.concatenate([np.ravel(block) for block in x]).astype(dtype).astype(np.float64)

    def split(z):
        return [part.reshape(domain.shape) for part, domain in zip(np.split(z, ends), sets, strict=True)]

    return (
        lambda x: dtype(unit * value(join(x))),
        lambda x: [part.astype(dtype) for part in split(unit * gradient(join(x)))],
    )


def run(objective, sets, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        return bcfw.minimize(objective, sets, **options)


# --- wrong ones ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("domain", SETS, ids=lambda domain: type(domain).__name__)
@pytest.mark.parametrize("name", ["least squares", "ill conditioned", "logistic", "huber"])
def test_a_wrong_gradient_is_found(kind, domain, name):
    value, gradient = functions(np.random.default_rng(1), int(np.prod(domain.shape)))[name]
    wrong = WRONG[kind]
    pair = (
        lambda x: value(x.ravel()),
        lambda x: wrong(gradient(x.ravel())).reshape(x.shape),
    )
    with pytest.raises(bcfw.ObjectiveError, match=r"the gradient does not belong to f: .*bcfw.check_objective"):
        run(pair, domain, max_iters=10)


@pytest.mark.parametrize(
    ("kind", "words"), [("sign", "is its sign wrong"), ("twice", "2 times"), ("half", "0.5 times")]
)
def test_the_logistic_loss_of_l1_regression(kind, words):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 60))
    pair = (
        lambda x: np.logaddexp(0, -A @ x).mean(),
        lambda x: WRONG[kind](-A.T @ (1 / (1 + np.exp(A @ x))) / 40),
    )
    with pytest.raises(bcfw.ObjectiveError, match=words):
        bcfw.minimize(pair, L1Ball(60, 5.0), tol=1e-4)


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1e6, 1e12])
@pytest.mark.parametrize("kind", ["sign", "twice", "zero"])
def test_a_wrong_gradient_of_any_scale(unit, kind):
    value, gradient = functions(np.random.default_rng(1), 12)["least squares"]
    sets = [Simplex(6, 1e3), L2Ball(6, 1e-3)]
    f, grad = of_blocks(value, gradient, sets, unit)
    with pytest.raises(bcfw.ObjectiveError):
        run((f, lambda x: [WRONG[kind](g) for g in grad(x)]), sets, tol=0)


def test_a_gradient_that_becomes_wrong():
    """Right at the start, which it was tried at; the last certificate finds it."""

    def gradient(x):
        return x - 0.3 if x[0] == 1.0 else 2.0 * (x - 0.3)

    with pytest.raises(bcfw.ObjectiveError, match="the gradient"):
        bcfw.minimize((lambda x: 0.5 * float(np.sum((x - 0.3) ** 2)), gradient), Simplex(4), tol=1e-3)


def test_a_gradient_of_the_point_before():
    """It is right as soon as it is asked for a second time, as the test does."""
    target, before = np.array([0.9, -0.1, 0.2]), [np.zeros(3)]

    def gradient(x):
        answer, before[0] = before[0] - target, x.copy()
        return answer

    with pytest.raises(bcfw.ObjectiveError, match="another one at the same point"):
        bcfw.minimize((lambda x: 0.5 * np.sum((x - target) ** 2), gradient), Box(-10.0, 10.0, 3), max_iters=1)


def test_where_all_blocks_are_at_their_vertices_others_are_tried():
    """The gradient of the wrong sign holds x in the corner where it starts."""
    pair = (lambda x: 0.5 * float(x @ x), lambda x: -x)
    with pytest.raises(bcfw.ObjectiveError, match="is its sign wrong"):
        bcfw.minimize(pair, Box(-1.0, 1.0, 4), x0=np.ones(4))

    class Own:
        def argmin(self, direction):
            return np.where(direction > 0.0, -1.0, 1.0)

    with pytest.raises(bcfw.ObjectiveError, match="is its sign wrong"):
        bcfw.minimize(pair, Own(), x0=np.ones(4))


def test_a_block_that_hardly_moves_hides_no_other_one():
    """Block 1 is as good as optimal. In single precision, f would change by 1e-7 if the entries of block 1 moved."""
    near, far = np.array([3e-6, 4e-6]), np.array([3.0, 4.0])

    def value(x):
        return 0.5 * float(np.sum((x[0] - 1e-2) ** 2)) + 0.5 * float(np.sum((x[1] - far) ** 2))

    def gradient(x):
        return [0.0 * x[0], x[1] - far]  # block 0 is wrong

    x0 = [near, far / 5.0 * (1.0 - 1e-10)]
    with pytest.raises(bcfw.ObjectiveError, match=r"f changes at the rate .*, but its gradient says"):
        run((value, gradient), [L2Ball(2, 1e-5), L2Ball(2, 1.0)], x0=x0, tol=1e-8)


@pytest.mark.parametrize("kind", ["sign", "twice", "half", "zero"])
def test_the_gradient_of_a_block_that_steps_use(kind):
    rng = np.random.default_rng(0)
    parts, b = [rng.standard_normal((5, 3)) for _ in range(3)], rng.standard_normal(5)

    def residual(x):
        return sum(A @ block for A, block in zip(parts, x, strict=True)) - b

    objective = Function(
        lambda x: 0.5 * residual(x) @ residual(x),
        lambda x: [A.T @ residual(x) for A in parts],
        lambda x, i: WRONG[kind](parts[i].T @ residual(x)) if i == 1 else parts[i].T @ residual(x),
    )
    with pytest.raises(bcfw.ObjectiveError, match=r"block_gradient\(x, 1\) does not belong to f"):
        bcfw.minimize(objective, [Simplex(3)] * 3, x0=[np.full(3, 1 / 3)] * 3, tol=1e-2)


def test_sparse_gradients_are_refused_by_name():
    import scipy.sparse as sp

    pair = (lambda x: float(x[1].sum()), lambda x: [np.zeros(3), sp.csr_array(np.ones((1, 3)))])
    with pytest.raises(
        bcfw.InputError, match=r"block 1: the gradient must be an array .* got a csr_array; use .toarray"
    ):
        bcfw.minimize(pair, [Simplex(3)] * 2)


# --- right ones ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    place=st.integers(0, len(SETS) - 1),
    size=st.sampled_from([1e-6, 1.0, 1e6]),
    unit=st.sampled_from([1e-12, 1e-5, 1.0, 1e12]),
    dtype=st.sampled_from([np.float64, np.float64, np.float32]),
    iterations=st.sampled_from([0, 3, 20]),
)
def test_right_gradients_are_never_suspected(name, seed, place, size, unit, dtype, iterations):
    """Whatever the scales of x and f, at any point of a run, in both precisions, of one block and of two."""
    rng = np.random.default_rng(seed)
    sets = [sets_of_size(size)[place], Simplex(6, size)]
    n = sum(int(np.prod(one.shape)) for one in sets)
    value, gradient = functions(rng, n)[name]
    f, grad = of_blocks(lambda z: value(z / size), lambda z: gradient(z / size) / size, sets, unit, dtype)
    start = [one.argmin(rng.standard_normal(one.shape)) for one in sets] if seed % 2 else None
    run((f, grad), sets, x0=start, max_iters=iterations, tol=0, step="line-search" if seed % 3 else "adaptive")


def test_functions_that_are_defined_in_the_set_only():
    """The entropy of a mixture, whose logarithms know no negative numbers, and the distance to the edge of a ball."""

    def value(x):
        assert (x[0] > 0.0).all()
        assert x[1] @ x[1] < 1.0
        return float(x[0] @ np.log(x[0])) - np.sqrt(1.0 - x[1] @ x[1])

    def gradient(x):
        return [1.0 + np.log(x[0]), x[1] / np.sqrt(1.0 - x[1] @ x[1])]

    inner = Hull(0.8 * np.eye(4) + 0.05)
    result = bcfw.minimize((value, gradient), [inner, L2Ball(3, 0.9)], tol=1e-4)
    assert result.status == "converged"


def test_the_tests_cost_little():
    """At most two values and two gradients at each of few certificates."""
    calls = {"f": 0, "grad": 0}

    def value(x):
        calls["f"] += 1
        return 0.5 * float(np.sum((x - 0.1) ** 2))

    def gradient(x):
        calls["grad"] += 1
        return x - 0.1

    counts = {}
    for tested in (True, False):
        calls.update(f=0, grad=0)
        objective = Function(value, gradient)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("bcfw.product.trackers.FunctionTracker.tested", tested)
            result = run(objective, Simplex(8), max_iters=400, tol=0)
        counts[tested] = dict(calls)
        assert len(result.history["gap"]) == 41
    assert counts[True]["f"] - counts[False]["f"] <= 2 * 7  # certificates 1, 2, 4, 8, 16, 32 and 41
    assert counts[True]["grad"] - counts[False]["grad"] <= 2 * 7


def test_a_kink_is_no_contradiction():
    """A subgradient of |t - 1/64|: where slopes jump between two points, nothing can be told."""
    for side in (-1.0, 0.0, 1.0):
        assert contradiction(abs, lambda t, side=side: np.sign(t) or side) is None
    assert contradiction(lambda t: 5.0, lambda t: 1e-3) is None  # may be rounded away in single precision ...
    assert contradiction(lambda t: 5.0, lambda t: 1.0) is not None  # ... but not that


# --- what is certified --------------------------------------------------------------------------------------------


def test_certified_says_what_is_known_of_convexity():
    target = np.array([0.5, 0.4, 0.1])
    value, gradient = (lambda x: 0.5 * float(np.sum((x - target) ** 2))), (lambda x: x - target)
    for convex, certified, words in (
        (None, True, "(certified if f is convex)"),
        (True, True, "(certified)"),
        (False, False, "(of a function that is not convex)"),
    ):
        result = bcfw.minimize(Function(value, gradient, convex=convex), Simplex(3), tol=1e-2)
        assert (result.status, result.certified, result.convex) == ("converged", certified, convex)
        assert result.summary().endswith(words)
    assert bcfw.minimize(LeastSquares(np.eye(3), target), Simplex(3), tol=1e-2).summary().endswith("(certified)")


# --- one block without a list -------------------------------------------------------------------------------------


class Distance:
    """An object with methods of an array."""

    convex = True
    smoothness = 1.0
    block_smoothness = 1.0

    def value(self, x):
        return 0.5 * float(np.sum((x - 0.3) ** 2))

    def gradient(self, x):
        return x - 0.3


@pytest.mark.parametrize("step", ["adaptive", "short", "line-search"])
@pytest.mark.parametrize(
    "objective",
    [
        Distance(),
        Function(Distance().value, Distance().gradient, smoothness=1.0),
        LeastSquares(np.eye(6), np.full(6, 0.3)),
    ],
    ids=["object", "function", "product"],
)
def test_one_block_without_a_list(objective, step):
    domain, seen = L2Ball((2, 3), 0.5), []
    start = np.zeros((2, 3))
    result = bcfw.minimize(objective, domain, x0=start, step=step, callbacks=[lambda info: seen.append(info.x)])
    listed = bcfw.minimize(LeastSquares(np.eye(6), np.full(6, 0.3)), [domain], x0=[start], step=step)
    assert isinstance(result.x, np.ndarray)
    assert result.x.shape == seen[0].shape == (2, 3)
    np.testing.assert_allclose(result.x, listed.x[0], atol=1e-3)
    assert (result.block_gaps.shape, result.lmo_calls.shape) == ((1,), (1,))
    assert result.value == pytest.approx(objective.value(result.x))
    assert objective.gradient(result.x).shape == (2, 3)
    assert bcfw.check_objective(objective, domain) == []


def test_a_pair_of_functions_of_an_array():
    target = np.array([0.9, 0.4, -0.2])
    result = bcfw.minimize((lambda x: 0.5 * ((x - target) ** 2).sum(), lambda x: x - target), Simplex(3))
    np.testing.assert_allclose(result.x, [0.75, 0.25, 0.0], atol=1e-5)
    with pytest.raises(bcfw.InputError, match=r"block 0: the gradient has shape \(1, 3\), the block \(3,\)"):
        bcfw.minimize((lambda x: 0.5 * ((x - target) ** 2).sum(), lambda x: [x - target]), Simplex(3))


def test_a_slow_run_hears_of_other_directions():
    objective, domain = LeastSquares(np.eye(5), [0.5, 0.4, 0.3, -0.3, -0.3]), Simplex(5)
    with pytest.warns(bcfw.ConvergenceWarning, match="direction='pairwise' often takes far fewer iterations"):
        bcfw.minimize(objective, domain, max_iters=5)
    with pytest.warns(bcfw.ConvergenceWarning) as caught:
        bcfw.minimize(objective, domain, max_iters=1, direction="pairwise")
    assert "pairwise" not in str(caught[0].message)
