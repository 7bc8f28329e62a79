"""Oracles that do not minimise, and answers that are no points: found before anything is certified."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bcfw
from bcfw import domains
from bcfw.objectives import LeastSquares

UNIT = np.eye(5)


def nearest(target):
    """1/2 |x - target|^2, of one block without a list."""
    return lambda x: 0.5 * float(np.sum((x - target) ** 2)), lambda x: x - target


class Answers:
    """A set whose oracle is a function."""

    shape = (5,)

    def __init__(self, argmin, **more):
        self.argmin = argmin
        self.__dict__.update(more)


def best(direction):
    return UNIT[direction.argmin()]


def worst(direction):
    return UNIT[direction.argmax()]


@pytest.mark.parametrize("direction", ["fw", "away", "pairwise", "blended"])
@pytest.mark.parametrize("target", [UNIT[2], np.array([0.1, 0.2, 0.7, 0.0, 0.0]), 5.0 * UNIT[1]])
@pytest.mark.parametrize("x0", [None, UNIT[4], np.full(5, 0.2)])
def test_an_oracle_that_maximises(direction, target, x0):
    """From the vertex that it returns again and again, too, where the gap is zero."""
    for objective in (nearest(target), LeastSquares(UNIT, target)):
        with pytest.raises(bcfw.OracleError, match=r"block 0: .*does it maximise\?.*bcfw.check_domain") as caught:
            bcfw.minimize(objective, Answers(worst), x0=x0, direction=direction)
        assert caught.value.example == 0


def test_an_oracle_that_maximises_at_a_vertex_while_other_blocks_move():
    """In one dimension, all directions of one sign have one answer, where the gap of the block is always zero."""

    def slope(x):
        return [np.ones(1), x[1] - UNIT[:2].sum(axis=0) / 2.0]

    objective = (lambda x: float(x[0][0]) + 0.5 * float(np.sum((x[1] - UNIT[:2].sum(axis=0) / 2.0) ** 2)), slope)
    upper = Answers(lambda d: np.sign(d), shape=(1,))
    with pytest.raises(bcfw.OracleError, match=r"block 0: .*does it maximise"):
        bcfw.minimize(objective, [upper, domains.Simplex(5)], x0=[np.ones(1), None], tol=1e-3, max_iters=3)
    right = bcfw.minimize(objective, [Answers(lambda d: -np.sign(d), shape=(1,)), domains.Simplex(5)], tol=1e-3)
    assert right.status == "converged"


def test_a_linear_program_with_the_sign_flipped():
    rng = np.random.default_rng(0)
    A, b, target = rng.random((4, 5)), np.ones(4), rng.standard_normal(5)

    def argmin(sign, direction):
        return scipy.optimize.linprog(sign * direction, A_ub=A, b_ub=b, bounds=[(0, 1)] * 5).x

    right = bcfw.minimize(nearest(target), Answers(lambda d: argmin(1, d)), tol=1e-2)
    assert right.status == "converged"
    with pytest.raises(bcfw.OracleError, match="block 0"):
        bcfw.minimize(nearest(target), Answers(lambda d: argmin(-1, d)), tol=1e-2)


def test_an_infeasible_linear_program():
    def argmin(direction):
        return scipy.optimize.linprog(direction, A_eq=np.ones((1, 5)), b_eq=[-1.0]).x

    with pytest.raises(bcfw.OracleError, match=r"block 0: argmin returned None; .*an array of shape \(5,\)"):
        bcfw.minimize(nearest(UNIT[0]), Answers(argmin))
    with pytest.raises(bcfw.OracleError, match="block 1: argmin returned None"):
        bcfw.minimize(LeastSquares(np.eye(10), np.ones(10)), [Answers(best), Answers(argmin)], x0=[None, UNIT[0]])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, r"block 0: argmin returned None; it must return a point of the domain, an array of shape \(5,\)"),
        (np.ones(4), r"block 0: argmin returned an array of shape \(4,\), but points of the domain have shape \(5,\)"),
        (3.0, r"block 0: argmin returned an array of shape \(\), but points"),
        ("best", "block 0: argmin returned 'best'; it must return an array of real numbers"),
        (1j * np.ones(5), "block 0: argmin returned numbers of type complex128"),
        ([[1.0], [1.0, 2.0]], "block 0: argmin returned something that is no array"),
        (sp.csr_array(np.eye(1, 5)), "block 0: argmin returned a sparse csr_array; .* use .toarray"),
        (np.full(5, np.nan), "block 0: argmin returned nan or infinite numbers"),
        (np.full(5, np.inf), "block 0: argmin returned nan or infinite numbers"),
    ],
)
def test_answers_that_are_no_points(answer, message):
    with pytest.raises(bcfw.OracleError, match=message):
        bcfw.minimize(nearest(UNIT[2]), Answers(lambda d: answer), x0=UNIT[0])


def test_a_shape_that_holds_numpy_numbers():
    class Wide(domains.Simplex):
        shape = None

    wide = Wide(3)
    wide.shape = (np.int64(30),)
    with pytest.raises(bcfw.InputError, match=r"the start has shape \(3,\), its domain \(30,\)"):
        bcfw.minimize(nearest(np.zeros(3)), wide, x0=np.ones(3))


@pytest.mark.parametrize("direction", ["fw", "pairwise"])
def test_an_oracle_that_becomes_wrong(direction):
    """After some calls only half of the vertices are found: what was returned before is remembered."""
    calls = [0]

    def argmin(given):
        calls[0] += 1
        return best(given if calls[0] < 50 else np.where(np.arange(5) < 3, given, np.inf))

    target = np.array([0.1, 0.1, 0.1, 0.3, 0.4])
    with pytest.raises(bcfw.OracleError, match="block 0"):
        bcfw.minimize(LeastSquares(UNIT, target), Answers(argmin), direction=direction, tol=0)


def test_a_lower_bound_that_is_too_high():
    with pytest.raises(bcfw.OracleError, match=r"block 0: lower_bound\(direction\) is .*, but argmin returned a point"):
        bcfw.minimize(nearest(-UNIT[2]), Answers(best, exact=False, lower_bound=lambda d: d.min() + 0.1))


def test_a_counted_set_is_trusted_no_more_than_what_it_counts():
    with pytest.raises(bcfw.OracleError, match="does it maximise"):
        bcfw.minimize(nearest(UNIT[2]), domains.Counted(Answers(worst)))


def test_an_oracle_may_change_its_argument():
    def argmin(direction):
        vertex = best(direction)
        direction[:] = 0.0
        return vertex

    result = bcfw.minimize(nearest(np.full(5, 0.2)), Answers(argmin), tol=1e-3)
    right = bcfw.minimize(nearest(np.full(5, 0.2)), domains.Simplex(5), tol=1e-3)
    np.testing.assert_array_equal(result.x, right.x)


def test_single_precision_is_no_mistake():
    """Vertices that are found and returned in float32, a little worse than the mixture that x is."""
    rng = np.random.default_rng(0)
    points = rng.standard_normal((30, 5)).astype(np.float32)

    def argmin(direction):
        return points[(points @ direction.astype(np.float32)).argmin()]

    result = bcfw.minimize(nearest(points.mean(axis=0)), Answers(argmin), tol=1e-6, direction="pairwise")
    assert result.status == "converged"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("direction", ["fw", "away", "pairwise", "blended"])
@given(seed=st.integers(0, 1000), radius=st.sampled_from([1e-6, 1.0, 1e6]), unit=st.sampled_from([1e-12, 1.0, 1e12]))
@settings(max_examples=15)
def test_right_oracles_are_never_suspected(direction, dtype, seed, radius, unit):
    """Sets of ours as a user's, in both precisions, of any scale."""
    rng = np.random.default_rng(seed)
    hull = domains.Hull(radius * rng.standard_normal((9, 5)))
    ours = [
        domains.Simplex(5, radius),
        domains.L1Ball(5, radius),
        domains.L2Ball(5, radius),
        domains.Box(0, radius, 5),
        hull,
    ]
    sets = [Answers(lambda d, one=one: one.argmin(d.astype(dtype)).astype(dtype)) for one in rng.permutation(ours)[:2]]
    A, b = np.sqrt(unit) / radius * rng.standard_normal((4, 10)), np.sqrt(unit) * rng.standard_normal(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        bcfw.minimize(LeastSquares(A, b), sets, direction=direction, tol=0, max_iters=60, gap_every=5)


def test_oracles_that_are_made_for_positive_directions_are_asked_for_no_others():
    """Shortest paths through a grid where traffic has its price, by a method that knows no negative costs."""
    side = 4
    edges = [(r * side + c, (r + a) * side + c + 1 - a) for r in range(side) for c in range(side) for a in (0, 1)]
    edges = [(i, j) for i, j in edges if j < side * side and (j % side or j - i == side)]
    tails, heads = np.array(edges).T

    def argmin(costs):
        assert (costs > 0.0).all()
        graph = sp.csr_array((costs, (tails, heads)), shape=(side * side, side * side))
        _, before = sp.csgraph.dijkstra(graph, indices=0, return_predecessors=True)
        path, node = np.zeros(len(edges)), side * side - 1
        while node:
            path[edges.index((int(before[node]), int(node)))] = 1.0
            node = before[node]
        return path

    free = np.random.default_rng(0).uniform(1.0, 2.0, len(edges))
    objective = (lambda x: float(np.sum(free * (x + 0.5 * x**2))), lambda x: free * (1.0 + x))
    result = bcfw.minimize(objective, Answers(argmin, shape=None), x0=argmin(free), tol=1e-3, direction="pairwise")
    assert result.status == "converged"
