"""Objectives: values and gradients against plain formulas, and what trackers keep against computing it anew."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad

import bcfw
from bcfw.objectives import Function, LeastSquares, Logistic, Quadratic
from bcfw.product.trackers import union

SHAPES = [(3,), (2, 2), (), (4,)]
SIZES = [3, 4, 1, 4]
K = 6


def sparse_matrices(rng):
    """The second reaches rows 2 and 3 only, the third no row at all, the last the rows 0, 2, 5."""
    matrices = [rng.standard_normal((K, n)) for n in SIZES]
    matrices[1][[0, 1, 4, 5]] = 0.0
    matrices[2][:] = 0.0
    matrices[3][[1, 3, 4]] = 0.0
    return matrices


def make(name, form, seed=0):
    """An objective and its value as a function of one long vector, written from the formula."""
    rng = np.random.default_rng(seed)
    matrices = sparse_matrices(rng)
    A = np.hstack(matrices)
    given_as = {
        "dense": matrices,
        "sparse": [sp.csr_array(one) for one in matrices],
        "one": A,
        "one sparse": sp.coo_matrix(A),
    }
    b, y = rng.standard_normal(K), np.where(rng.random(K) < 0.5, -1.0, 1.0)
    H = rng.standard_normal((K, K))
    H = H + H.T
    c = rng.standard_normal(sum(SIZES))
    parts = [part.reshape(shape) for part, shape in zip(np.split(c, np.cumsum(SIZES)[:-1]), SHAPES, strict=True)]
    if name == "least squares":
        return LeastSquares(given_as[form], b), lambda z: 0.5 * np.sum((A @ z - b) ** 2)
    if name == "logistic":
        return Logistic(given_as[form], y), lambda z: np.mean(np.log(1 + np.exp(-y * (A @ z))))
    if name == "quadratic":
        return Quadratic(given_as[form], H, parts), lambda z: 0.5 * (A @ z) @ H @ (A @ z) + c @ z
    return Quadratic(given_as[form], c=c), lambda z: 0.5 * np.sum((A @ z) ** 2) + c @ z


FORMS = ["dense", "sparse", "one", "one sparse"]
NAMES = ["least squares", "logistic", "quadratic", "sum of squares"]


def split(z):
    return [part.reshape(shape) for part, shape in zip(np.split(z, np.cumsum(SIZES)[:-1]), SHAPES, strict=True)]


def join(blocks):
    return np.concatenate([np.ravel(block) for block in blocks])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_values_and_gradients(name, form):
    objective, formula = make(name, form)
    rng = np.random.default_rng(1)
    for _ in range(5):
        z = rng.standard_normal(sum(SIZES))
        assert objective.value(split(z)) == pytest.approx(formula(z), rel=1e-12)
        assert [one.shape for one in objective.gradient(split(z))] == SHAPES
        assert check_grad(formula, lambda z: join(objective.gradient(split(z))), z) < 1e-5


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 1000))
def test_a_tracker_agrees_with_computing_anew(name, form, seed):
    """After random moves of random blocks: gradients, values, Bregman distances, changes of the gradient."""
    objective, formula = make(name, form)
    rng = np.random.default_rng(seed)
    x = [rng.standard_normal(n) for n in SIZES]
    tracker = objective.track(x, SHAPES)
    for _ in range(4):
        blocks = rng.permutation(4)[: rng.integers(1, 5)].tolist()
        directions = [rng.standard_normal(SIZES[i]) for i in blocks]
        gammas = rng.random(len(blocks)).tolist()
        z, g = join(x), join(objective.gradient(split(join(x))))
        step = np.zeros(sum(SIZES))
        for i, direction, gamma in zip(blocks, directions, gammas, strict=True):
            step[sum(SIZES[:i]) : sum(SIZES[: i + 1])] = gamma * direction
        np.testing.assert_allclose(np.concatenate(tracker.gradients()), g, atol=1e-10)
        probe = tracker.probe(blocks, directions, [0.0] * len(blocks))
        change = join(objective.gradient(split(z + step))) - g
        assert probe.bregman(gammas) == pytest.approx(formula(z + step) - formula(z) - g @ step, abs=1e-9)
        np.testing.assert_allclose(probe.gradient_change(gammas), [change @ change, change @ step], atol=1e-9)
        probe.move(gammas)
        np.testing.assert_allclose(join(x), z + step, atol=1e-14)
        assert tracker.value() == pytest.approx(formula(z + step), abs=1e-10)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("blocks", [[0], [1, 3]])
def test_the_line_search_finds_the_minimum(name, form, blocks):
    objective, formula = make(name, form)
    rng = np.random.default_rng(2)
    for _ in range(20):
        x = [rng.standard_normal(n) for n in SIZES]
        z, gradients = join(x), [one.ravel() for one in objective.gradient(split(join(x)))]
        directions = [rng.standard_normal(SIZES[i]) for i in blocks]
        tops = rng.uniform(0.5, 3.0, len(blocks)).tolist()
        ray = np.zeros(sum(SIZES))
        for i, direction, top in zip(blocks, directions, tops, strict=True):
            ray[sum(SIZES[:i]) : sum(SIZES[: i + 1])] = top * direction
        slope = float(np.concatenate(gradients) @ ray)
        if slope >= 0:
            continue
        best = objective.track(x, SHAPES).probe(blocks, directions, []).best_fraction(tops, slope)
        values = [formula(z + t * ray) for t in np.linspace(0, 1, 201)]
        assert 0.0 <= best <= 1.0
        assert formula(z + best * ray) <= min(values) + 1e-12 * abs(min(values)) or name == "quadratic"
        assert formula(z + best * ray) <= values[0]


def test_bregman_distances_do_not_cancel():
    """Of a tiny step, where the difference of values is nothing but rounding."""
    objective, _ = make("logistic", "dense")
    x = [np.full(n, 0.3) for n in SIZES]
    direction = np.array([1.0, -2.0, 0.5])
    probe = objective.track(x, SHAPES).probe([0], [direction], [0.0])
    curvature = 2.0 * probe.bregman([1e-4]) / 1e-8
    assert 2.0 * probe.bregman([1e-7]) / 1e-14 == pytest.approx(curvature, rel=1e-2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["dense", "one sparse"])
def test_smoothness_bounds_the_change_of_gradients(name, form):
    objective, _ = make(name, form)
    rng = np.random.default_rng(3)
    tracker = objective.track([np.zeros(n) for n in SIZES], SHAPES)
    sharpest = 0.0
    for _ in range(200):
        z, s = rng.standard_normal((2, sum(SIZES)))
        z, s = (0.0 * z, 1e-6 * s) if name == "logistic" else (z, s)
        change = join(objective.gradient(split(z + s))) - join(objective.gradient(split(z)))
        assert np.linalg.norm(change) <= objective.smoothness * np.linalg.norm(s) * (1 + 1e-9)
        sharpest = max(sharpest, np.linalg.norm(change) / np.linalg.norm(s))
        for i in range(len(SIZES)):
            own = np.zeros(sum(SIZES))
            place = slice(sum(SIZES[:i]), sum(SIZES[: i + 1]))
            own[place] = s[place]
            change = join(objective.gradient(split(z + own)))[place] - join(objective.gradient(split(z)))[place]
            bound = tracker.block_smoothness[i] * np.linalg.norm(own)
            assert np.linalg.norm(change) <= bound * (1 + 1e-9) + 1e-12
            assert tracker.block_smoothness[i] <= objective.smoothness * (1 + 1e-9)
    assert sharpest > 0.5 * objective.smoothness


def test_smoothness_of_a_large_problem_by_lanczos():
    A = sp.random(400, 700, density=0.02, rng=np.random.default_rng(0), format="csr")
    exact = np.linalg.norm(A.toarray(), 2) ** 2
    assert exact <= LeastSquares(A, np.zeros(400)).smoothness <= 1.002 * exact
    H = sp.diags_array(np.linspace(-3.0, 1.0, 700))
    assert 3.0 <= Quadratic(H=H).smoothness <= 3.01
    assert not Quadratic(H=H).convex
    assert Quadratic(H=-H @ H.T @ sp.eye_array(700) * -1.0).convex


@pytest.mark.parametrize("n", [2, 50, 300])
def test_what_is_convex_up_to_rounding(n):
    """H = R R' always is, whatever its rank; an eigenvalue below zero by more than rounding never is."""
    rng = np.random.default_rng(n)
    for rank in (1, n // 2, n):
        R = rng.standard_normal((n, rank)) * 10.0 ** rng.integers(-3, 4, size=(n, 1))
        assert Quadratic(H=R @ R.T).convex
        assert Quadratic(H=1e-12 * (R @ R.T)).convex
    for dent in (1e-3, 1e-9, 1e-12):
        spectrum = np.append(-dent, rng.random(n - 1) + 1e-3)
        basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
        assert Quadratic(H=basis @ np.diag(spectrum) @ basis.T).convex is False


def test_convexity_of_large_matrices():
    """A factorisation of dense ones, a dominant diagonal of sparse ones, a vector that disproves it; else unknown."""
    n = 1100
    rng = np.random.default_rng(0)
    R = rng.standard_normal((n, 3))
    assert Quadratic(H=R @ R.T).convex is True
    assert Quadratic(H=R @ R.T - 1e-6 * np.eye(n)).convex is False
    path = sp.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1])
    assert Quadratic(H=path).convex is True
    assert Quadratic(H=path - 3.0 * sp.eye_array(n)).convex is False
    assert Quadratic(H=sp.diags_array(np.append(-1e-3, np.ones(n)))).convex is False
    assert Quadratic(H=path @ path).convex is None


def test_a_dent_that_a_large_domain_makes_deep_is_not_certified():
    objective = Quadratic(H=np.diag([1.0, -0.9e-10]))
    with pytest.warns(bcfw.ConvergenceWarning):
        result = bcfw.minimize(
            objective, [bcfw.domains.Box(-1e6, 1e6, 2)], x0=[np.array([1.0, 0.0])], step="line-search", max_iters=20
        )
    assert objective.convex is False
    assert not result.certified
    assert objective.value([np.array([0.0, 1e6])]) < -44.0


def test_a_matrix_that_is_symmetric_up_to_rounding_is_made_so():
    """Its gradient is that of its value, also where a large domain makes the difference large."""
    objective = Quadratic(H=[[1.0, 1e-10], [0.0, 1.0]])
    gradient = objective.gradient([np.array([0.0, 1e6])])[0]
    assert gradient[0] == pytest.approx(0.5e-4, rel=1e-12)


def test_the_product_is_refreshed_against_drift():
    """After 10^5 moves the kept product still belongs to the point."""
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((5, 40)), rng.standard_normal(5)
    objective = LeastSquares(A, b)
    domains = [bcfw.domains.Simplex(4)] * 10
    with pytest.warns(bcfw.ConvergenceWarning):
        result = bcfw.minimize(objective, domains, tol=0, max_iters=20_000, step="open-loop", gap_every=20_000)
    direct = 0.5 * np.sum((A @ np.concatenate(result.x) - b) ** 2)
    assert result.value == pytest.approx(direct, rel=1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LeastSquares([np.eye(2), np.ones((3, 2))], [0, 0]), r"same number of rows, got \[2, 3\]"),
        (lambda: LeastSquares(np.eye(2), [0, 0, 0]), r"b has shape \(3,\), but A has 2 rows"),
        (lambda: LeastSquares([[1.0, np.inf]], [0]), r"A\[0\] must be a matrix, got an array of shape \(2,\)"),
        (lambda: LeastSquares(np.array([[1.0, np.inf]]), [0]), "A holds nan or infinite"),
        (lambda: Logistic(np.eye(2), [0, 1]), "y must hold -1 and 1 only"),
        (lambda: Quadratic(H=[[1.0, 2.0], [0.0, 1.0]]), "H must be symmetric"),
        (lambda: Quadratic(np.eye(3), H=np.eye(2)), r"H has shape \(2, 2\), expected \(3, 3\)"),
        (lambda: Quadratic(), "give A, H or both"),
        (lambda: Function(abs, abs, smoothness=0.0), "smoothness must be a finite number > 0"),
        (lambda: Function(abs, abs, convex="no"), "convex must be True or False"),
    ],
)
def test_wrong_objectives(call, message):
    with pytest.raises(bcfw.BcfwError, match=message):
        call()


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (LeastSquares([np.eye(2)], [0, 0]), "A has 1 matrices, but there are 2 blocks"),
        (LeastSquares([np.ones((2, 3)), np.eye(2)], [0, 0]), r"A\[1\] has 2 columns, but block 1 has 3 entries"),
        (LeastSquares(np.eye(2), [0, 0]), "A has 2 columns, but the blocks have 6 entries"),
        (Quadratic(H=np.eye(6), c=[1.0, 2.0]), "c must be finite numbers, one array per block"),
        (Function(abs, abs, block_smoothness=[1.0]), "block_smoothness must be 2 positive numbers"),
    ],
)
def test_objectives_that_do_not_fit_the_blocks(objective, message):
    with pytest.raises(bcfw.InputError, match=message):
        bcfw.minimize(objective, [bcfw.domains.Simplex(3)] * 2)


@given(st.lists(st.sampled_from([slice(0, 2), slice(2, 5), slice(0, 0), slice(None), np.array([1, 4])]), max_size=4))
def test_rows_that_several_blocks_reach(several):
    """As the set of all their rows; a slice, which needs no copies, where that is every row."""
    wanted = sorted({row for rows in several for row in np.arange(5)[rows]})
    found = union(several, 5)
    assert np.arange(5)[found].tolist() == wanted
    assert isinstance(found, slice) == (len(wanted) == 5)
