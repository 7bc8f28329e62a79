"""``minimize``: known optima, certificates, ends of runs, callbacks, users' own sets, mistakes."""

from __future__ import annotations

import itertools
import signal
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp

import bcfw
from bcfw import selection
from bcfw.domains import Birkhoff, Box, Hull, KSparse, L1Ball, L2Ball, LinfBall, NuclearBall, Simplex, Spectraplex
from bcfw.objectives import Function, LeastSquares, Logistic, Quadratic


def largest_gap(t, rng, gaps):
    """A user's own rule."""
    return gaps.argmax()


DIRECTIONS = ["fw", "away", "pairwise", "blended"]
RULES = [
    *selection.RULES,
    selection.Cyclic(2),
    selection.Permuted(2),
    selection.Uniform(2),
    selection.EssentiallyCyclic(7, expensive=[1]),
    selection.Lazy(3, expensive=[1]),
    selection.PQ(1, 3, expensive=[1]),
    selection.QuasiStochastic(4),
    selection.CostAware(3),
    largest_gap,
]


def apart(a, b):
    """1/2 |x_1 - x_2|^2 for two blocks of n entries."""
    n = int(np.prod(a.shape))
    assert a.shape == b.shape
    return LeastSquares([sp.identity(n), -sp.identity(n)], np.zeros(n))


def naive_gaps(objective, domains, x):
    pairs = zip(objective.gradient(x), x, domains, strict=True)
    return [np.vdot(g, xi - domain.argmin(g)) for g, xi, domain in pairs]


# --- known optima -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_point_in_an_intersection(direction):
    """A simplex and a box that cuts off its corners."""
    sets = [Simplex(5), Box(np.zeros(5), np.full(5, 0.3))]
    result = bcfw.minimize(apart(*sets), sets, direction=direction, tol=1e-8, max_iters=10**5)
    assert result.value <= result.gap <= 1e-8
    assert all(domain.contains(x) for domain, x in zip(sets, result.x, strict=True))
    assert sets[1].contains(result.x[0], tol=2e-4)


def test_the_distance_of_two_sets():
    """Of the unit ball and a box: the nearest points are known."""
    sets = [L2Ball(2), Box([2.0, 0.5], [3.0, 2.0])]
    result = bcfw.minimize(apart(*sets), sets, tol=1e-9, max_iters=10**5)
    corner = np.array([2.0, 0.5])
    assert result.value == pytest.approx(0.5 * (np.linalg.norm(corner) - 1.0) ** 2, abs=1e-9)
    np.testing.assert_allclose(result.x[1], corner, atol=1e-4)
    np.testing.assert_allclose(result.x[0], corner / np.linalg.norm(corner), atol=1e-4)


def test_the_cube_and_the_spectraplex():
    """The first experiment of flexible-blocks-2026, small: the sets meet, in I/s for instance."""
    s = 8
    sets = [Box(np.full((s, s), -1.0), np.full((s, s), 1.0 / s)), Spectraplex(s)]
    rule = selection.Lazy(5, expensive=[1])
    result = bcfw.minimize(apart(*sets), sets, selection=rule, step="short", tol=1e-3, max_iters=10**5)
    assert result.status == "converged"
    assert result.value <= 1e-3
    assert result.lmo_calls[0] == result.n_iters
    assert result.lmo_calls[1] == -(-result.n_iters // 5)
    assert sets[1].contains(result.x[1])


@pytest.mark.parametrize("direction", ["away", "pairwise", "blended"])
@pytest.mark.parametrize("rule", ["permuted", "full", selection.Permuted(2)], ids=repr)
@pytest.mark.parametrize("step", ["adaptive", "line-search", "short"])
def test_least_squares_over_simplices(direction, rule, step):
    rng = np.random.default_rng(1)
    sizes = [4, 3, 5]
    A, b = rng.standard_normal((8, 12)), rng.standard_normal(8)
    ends = np.cumsum(sizes)
    sums = [
        {"type": "eq", "fun": lambda z, s=s, e=e: z[s:e].sum() - 1} for s, e in zip(ends - sizes, ends, strict=True)
    ]
    reference = scipy.optimize.minimize(
        lambda z: 0.5 * np.sum((A @ z - b) ** 2),
        np.concatenate([np.full(n, 1 / n) for n in sizes]),
        jac=lambda z: A.T @ (A @ z - b),
        bounds=[(0, 1)] * 12,
        constraints=sums,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    domains = [Simplex(n) for n in sizes]
    result = bcfw.minimize(LeastSquares(A, b), domains, selection=rule, direction=direction, step=step, max_iters=10**5)
    assert result.status == "converged"
    assert result.gap <= 1e-6
    assert result.value == pytest.approx(reference.fun, abs=2e-6)
    np.testing.assert_allclose(np.concatenate(result.x), reference.x, atol=1e-2)


def test_projection_onto_a_nuclear_ball():
    """The projection shrinks the singular values, as a projection onto an l1 ball does."""
    rng = np.random.default_rng(2)
    Y, radius = rng.standard_normal((12, 9)), 6.0
    u, values, vt = np.linalg.svd(Y, full_matrices=False)
    cut = scipy.optimize.brentq(lambda c: np.maximum(values - c, 0).sum() - radius, 0, values[0])
    expected = u @ np.diag(np.maximum(values - cut, 0)) @ vt
    objective = LeastSquares([sp.identity(108)], Y.ravel())
    least = 0.5 * np.sum((expected - Y) ** 2)
    result = bcfw.minimize(objective, [NuclearBall((12, 9), radius)], tol=1e-3 * least, max_iters=10**5)
    assert result.status == "converged"
    assert least <= result.value <= least + result.gap
    np.testing.assert_allclose(result.x[0], expected, atol=2 * np.sqrt(2 * result.gap))


@pytest.mark.parametrize(("s", "accuracy"), [(12, 1e-3), (220, 2e-2)])
def test_matrix_completion(s, accuracy):
    """Half of the entries of a matrix of rank 2, by a dense solver and by Lanczos's method; the least value is 0."""
    rng = np.random.default_rng(3)
    truth = rng.standard_normal((s, 2)) @ rng.standard_normal((2, s))
    known = np.flatnonzero(rng.random(s * s) < 0.5)
    pick = sp.csr_matrix((np.ones(len(known)), (np.arange(len(known)), known)), (len(known), s * s))
    objective = LeastSquares([pick], truth.ravel()[known])
    ball = NuclearBall((s, s), np.linalg.norm(truth, "nuc"))
    start = objective.value([np.zeros((s, s))])
    result = bcfw.minimize(objective, [ball], x0=[np.zeros((s, s))], step="line-search", tol=accuracy * start)
    assert result.status == "converged"
    assert result.certified
    assert ball.contains(result.x[0])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: getattr(rule, "__name__", str(rule)))
@pytest.mark.parametrize("step", ["adaptive", "line-search", "short", "open-loop"])
def test_every_rule_with_every_step(rule, step):
    """Logistic loss over three different sets; its optimum by another method."""
    rng = np.random.default_rng(4)
    A, y = rng.standard_normal((20, 9)), np.where(rng.random(20) < 0.5, -1.0, 1.0)
    domains = [Simplex(3), L2Ball(3, 0.5), L1Ball(3, 0.7)]
    result = bcfw.minimize(Logistic(A, y), domains, selection=rule, step=step, tol=1e-3, max_iters=50_000)
    assert result.status == "converged"
    best = bcfw.minimize(Logistic(A, y), domains, direction="pairwise", step="line-search", tol=1e-8, max_iters=10**5)
    assert best.value - 1e-8 <= result.value <= best.value + result.gap
    assert result.lmo_calls.sum() >= result.n_iters


def test_other_directions_need_the_smallest_of_faces():
    """Birkhoff's polytope and a hull: pairwise directions reach what plain ones do not."""
    rng = np.random.default_rng(5)
    target = rng.standard_normal((4, 4))
    points = rng.standard_normal((8, 16))
    objective = LeastSquares([np.eye(16), -np.eye(16)], target.ravel())
    domains = [Birkhoff(4), Hull(points.reshape(8, 4, 4))]
    result = bcfw.minimize(objective, domains, direction="pairwise", step="line-search", tol=1e-9, max_iters=10**5)
    assert result.status == "converged"
    with pytest.warns(bcfw.ConvergenceWarning):
        plain = bcfw.minimize(objective, domains, step="line-search", tol=1e-9, max_iters=result.n_iters)
    assert plain.gap > 100 * result.gap


def test_pairs_objects_and_products_agree():
    """The same problem in all forms, the same points: what is kept up to date changes nothing."""
    rng = np.random.default_rng(6)
    A, b = rng.standard_normal((5, 6)), rng.standard_normal(5)
    parts = [A[:, :2], A[:, 2:]]

    def residual(x):
        return parts[0] @ x[0] + parts[1] @ x[1].ravel() - b

    class Problem:
        convex = True
        smoothness = float(np.linalg.norm(A, 2) ** 2)

        def value(self, x):
            return 0.5 * float(residual(x) @ residual(x))

        def gradient(self, x):
            return [self.block_gradient(x, 0), self.block_gradient(x, 1)]

        def block_gradient(self, x, i):
            return (parts[i].T @ residual(x)).reshape(x[i].shape)

    problem = Problem()
    domains = [Simplex(2), LinfBall((2, 2), 0.3)]
    for step, rule in itertools.product(
        ["line-search", "adaptive", bcfw.steps.Short(problem.smoothness)], ["permuted", "full"]
    ):
        options = {"step": step, "selection": rule, "max_iters": 60, "tol": 0}
        with pytest.warns(bcfw.ConvergenceWarning):
            runs = [
                bcfw.minimize(objective, domains, **options)
                for objective in ((problem.value, problem.gradient), problem, LeastSquares(parts, b))
            ]
        for other in runs[1:]:
            assert other.value == pytest.approx(runs[0].value, rel=1e-9)
            for a, b_ in zip(runs[0].x, other.x, strict=True):
                np.testing.assert_allclose(a, b_, atol=1e-6)


def test_a_run_is_what_the_algorithm_says():
    """Short steps, cyclic: Alg. 3 written from the paper."""
    rng = np.random.default_rng(7)
    A, b = rng.standard_normal((5, 9)), rng.standard_normal(5)
    domains = [Simplex(3), L1Ball(3), Simplex(3)]
    L = np.linalg.norm(A, 2) ** 2
    x = [domain.start() for domain in domains]
    for t in range(50):
        i = t % 3
        g = A[:, 3 * i : 3 * i + 3].T @ (A @ np.concatenate(x) - b)
        v = domains[i].argmin(g)
        if (v != x[i]).any():
            x[i] = x[i] + min(1.0, g @ (x[i] - v) / (L * np.sum((x[i] - v) ** 2))) * (v - x[i])
    with pytest.warns(bcfw.ConvergenceWarning):
        result = bcfw.minimize(
            LeastSquares(A, b), domains, selection="cyclic", step=bcfw.steps.Short(L), tol=0, max_iters=50
        )
    np.testing.assert_allclose(np.concatenate(result.x), np.concatenate(x), atol=1e-12)


# --- the certificate ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_certificate_is_that_of_the_returned_point(direction):
    rng = np.random.default_rng(8)
    objective = LeastSquares(rng.standard_normal((6, 10)), rng.standard_normal(6))
    domains = [Simplex(3), L2Ball((2, 2)), KSparse(3, 2)]
    with pytest.warns(bcfw.ConvergenceWarning, match="max_iters"):
        result = bcfw.minimize(objective, domains, direction=direction, tol=0, max_iters=37, gap_every=10)
    assert result.value == pytest.approx(objective.value(result.x), rel=1e-12)
    np.testing.assert_allclose(result.block_gaps, naive_gaps(objective, domains, result.x), atol=1e-12)
    assert result.gap == pytest.approx(result.block_gaps.sum())
    history = result.history
    assert history["iters"].tolist() == [0, 10, 20, 30, 37]
    assert history["certificate_calls"].tolist() == [3, 6, 9, 12, 15]
    assert history["gap"][-1] == result.gap
    assert history["lmo_calls"][-1] == result.lmo_calls.sum() == 37
    assert (np.diff(history["seconds"]) >= 0).all()
    assert "max_iters after 37 iterations" in result.summary()


def test_the_best_point_of_a_function_that_is_not_convex():
    rng = np.random.default_rng(17)
    H = rng.standard_normal((8, 8))
    objective, domains = Quadratic(H=H + H.T), [LinfBall(4), L2Ball(4)]
    seen = []
    options = {"step": "open-loop", "tol": 0, "max_iters": 60, "gap_every": 1}
    with pytest.warns(bcfw.ConvergenceWarning):
        result = bcfw.minimize(objective, domains, callbacks=[lambda info: seen.append(info.x)], **options)
    gaps = [sum(naive_gaps(objective, domains, x)) for x in seen]
    assert result.gap == pytest.approx(min(gaps)) == pytest.approx(result.history["gap"].min())
    assert result.gap < result.history["gap"][-1]
    np.testing.assert_allclose(np.concatenate(result.x), np.concatenate(seen[int(np.argmin(gaps))]))
    assert result.value == pytest.approx(objective.value(result.x))


@pytest.mark.parametrize("rule", ["full", "permuted"])
def test_the_start_may_be_good_enough(rule):
    objective = LeastSquares(np.eye(4), [1.0, 0.0, 1.0, 0.0])
    result = bcfw.minimize(objective, [Simplex(2)] * 2, selection=rule, tol=0)
    assert (result.status, result.n_iters, result.gap) == ("converged", 0, 0.0)
    assert result.lmo_calls.tolist() == [0, 0]
    assert result.certificate_calls == 2


def test_full_steps_stop_as_soon_as_their_gap_is_small():
    objective = LeastSquares(np.eye(3), np.full(3, 0.2))
    result = bcfw.minimize(objective, [Simplex(3)], selection="full", step="line-search", tol=1e-2, gap_every=10**6)
    assert result.status == "converged"
    assert result.n_iters < 1000


class Careless:
    """A simplex whose oracle takes the second best vertex at times, and says so."""

    exact = False
    shape = (3,)

    def __init__(self):
        self.calls = 0

    def argmin(self, direction):
        self.calls += 1
        return np.eye(3)[np.argsort(direction)[1 if self.calls % 7 == 0 else 0]]


class Bounded(Careless):
    def lower_bound(self, direction):
        return direction.min() - 1e-4


class Loose(Bounded):
    """Always the best vertex, but it proves less."""

    def argmin(self, direction):
        return np.eye(3)[direction.argmin()]


def test_an_inexact_oracle_gives_an_estimate():
    objective = LeastSquares(np.eye(3), [0.5, 0.4, 0.1])
    result = bcfw.minimize(objective, [Careless()], tol=1e-3)
    assert (result.status, result.certified) == ("estimated", False)
    proven = bcfw.minimize(objective, [Bounded()], tol=1e-3)
    assert (proven.status, proven.certified) == ("converged", True)
    assert proven.gap >= sum(naive_gaps(objective, [Simplex(3)], proven.x)) + 0.99e-4
    with pytest.warns(bcfw.ConvergenceWarning):
        assert bcfw.minimize(objective, [Bounded()], tol=0.5e-4).status == "stalled"


def test_lanczos_is_certified_or_says_that_it_is_not():
    s = 210
    target = np.random.default_rng(0).standard_normal((s, s))
    objective = LeastSquares([sp.identity(s * s)], 0.1 * (target + target.T).ravel())
    for certify in (True, False):
        domain = NuclearBall((s, s), 3.0, certify=certify)
        result = bcfw.minimize(objective, [domain], tol=5.0, step="line-search")
        assert result.certified is certify
        assert result.status == ("converged" if certify else "estimated")
        exact = -3.0 * np.linalg.norm(objective.gradient(result.x)[0], 2)
        gap = np.vdot(objective.gradient(result.x)[0], result.x[0]) - exact
        assert result.gap == pytest.approx(gap, rel=1e-5)
        if certify:
            assert result.gap >= gap * (1 - 1e-12)


# --- iterates -----------------------------------------------------------------------------------------------------


def noise(shapes, seed=0):
    """An objective whose gradient is another one at every point, so that steps lead everywhere."""
    rng = np.random.default_rng(seed)
    kept = {}

    def gradient(x):
        point = tuple(np.concatenate([block.ravel() for block in x]).tolist())  # -0.0 is 0.0
        if point not in kept:
            kept.clear()
            kept[point] = [rng.standard_normal(shape) for shape in shapes]
        return kept[point]

    return Function(lambda x: 0.0, gradient, lambda x, i: rng.standard_normal(shapes[i]), smoothness=0.7)


@pytest.mark.parametrize(
    ("direction", "steps"), [("fw", 10**5), ("away", 10**4), ("pairwise", 10**5), ("blended", 10**4)]
)
def test_iterates_stay_feasible(direction, steps):
    """To 1e-12, however many steps are taken."""
    domains = [
        Simplex(6, radius=3.0),
        Box([-1.0, 0.0, 0.1], [1.0, 1e-3, 0.1]),
        L1Ball(5, 2.0),
        LinfBall((2, 3), 0.1),
        KSparse(6, 2),
        Birkhoff(4),
        *([L2Ball(4), Spectraplex(3), NuclearBall((3, 2), 2.0)] if direction == "fw" else []),
    ]
    objective = noise([domain.shape for domain in domains])
    with pytest.warns(bcfw.ConvergenceWarning):
        result = bcfw.minimize(
            objective, domains, direction=direction, step="short", tol=0, max_iters=steps, gap_every=10**6
        )
    assert result.n_iters == steps
    for domain, x in zip(domains, result.x, strict=True):
        assert domain.violation(x) <= 1e-12


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_runs_are_reproducible(direction):
    rng = np.random.default_rng(10)
    A, b = rng.standard_normal((6, 230 + 6)), rng.standard_normal(6)
    domains = [Simplex(3), Simplex(3), Hull(rng.standard_normal((400, 230)))]
    options = {"direction": direction, "tol": 0, "max_iters": 100, "selection": selection.Uniform(2)}
    with pytest.warns(bcfw.ConvergenceWarning):
        one, two = (bcfw.minimize(LeastSquares(A, b), domains, seed=3, **options) for _ in range(2))
    with pytest.warns(bcfw.ConvergenceWarning):
        other = bcfw.minimize(LeastSquares(A, b), domains, seed=4, **options)
    assert all((a == b).all() for a, b in zip(one.x, two.x, strict=True))
    assert any((a != b).any() for a, b in zip(one.x, other.x, strict=True))


def test_a_warm_started_oracle_forgets_between_runs():
    """And one domain that stands for several blocks remembers each of them by itself."""
    s = 205
    rng = np.random.default_rng(11)
    shared = NuclearBall((s, s), 1.0)
    objective = LeastSquares([sp.identity(s * s), -sp.identity(s * s)], rng.standard_normal(s * s))
    runs = []
    for domains in ([shared, shared], [shared, shared], [NuclearBall((s, s), 1.0), NuclearBall((s, s), 1.0)]):
        with pytest.warns(bcfw.ConvergenceWarning):
            runs.append(bcfw.minimize(objective, domains, tol=0, max_iters=6, step="line-search"))
    for run in runs[1:]:
        assert all((a == b).all() for a, b in zip(runs[0].x, run.x, strict=True))


def test_what_users_see_is_theirs():
    """x0 is not changed, the functions cannot change x, and copies do not change later."""
    start = [np.array([0.2, 0.1, 0.7])]
    kept = []

    def value(x):
        with pytest.raises(ValueError, match="read-only"):
            x[0][0] = 5.0
        return 0.5 * float((x[0] - 0.1) @ (x[0] - 0.1))

    result = bcfw.minimize(
        (value, lambda x: [x[0] - 0.1]), [Simplex(3)], x0=start, callbacks=[lambda i: kept.append(i.x)]
    )
    assert start[0].tolist() == [0.2, 0.1, 0.7]
    assert kept[0][0].tolist() != kept[-1][0].tolist()
    assert result.x[0].flags.writeable


class OneArray:
    """A simplex that writes all its answers to one array."""

    shape = (3,)
    answer = np.zeros(3)

    def argmin(self, direction):
        self.answer[:] = np.arange(3) == direction.argmin()
        return self.answer


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("step", ["adaptive", "line-search"])
def test_what_users_return_may_change_later(direction, step):
    """The gradient is x itself, and all blocks share one answer."""
    objective = Function(lambda x: 0.5 * sum(float(b @ b) for b in x), lambda x: x, convex=True)
    start = [np.eye(3)[i] for i in range(3)]
    options = {"x0": start, "selection": "full", "direction": direction, "step": step, "tol": 1e-6}
    shared = bcfw.minimize(objective, [OneArray()] * 3, **options)
    clean = bcfw.minimize(LeastSquares(np.eye(9), np.zeros(9)), [Simplex(3)] * 3, **options)
    assert shared.status == clean.status == "converged"
    np.testing.assert_allclose(shared.x, np.full((3, 3), 1 / 3), atol=2e-3)


# --- ends of runs -------------------------------------------------------------------------------------------------


def slow():
    """A problem that plain steps do not finish."""
    return LeastSquares(np.eye(5), [0.5, 0.4, 0.3, -0.3, -0.3]), [Simplex(5)]


def test_limits_callbacks_and_interrupts(clock):
    objective, domains = slow()
    infos = []
    stopped = bcfw.minimize(objective, domains, tol=0, callbacks=[lambda i: infos.append(i) or i.n_iters >= 5])
    assert (stopped.status, stopped.n_iters, len(infos)) == ("stopped", 5, 5)
    assert infos[-1].certified_iters == 0
    assert infos[-1].value == stopped.history["value"][0]
    with pytest.warns(bcfw.ConvergenceWarning, match=r"not converged \(max_seconds\)"):
        timed = bcfw.minimize(objective, domains, tol=0, max_seconds=10, callbacks=[lambda i: clock.advance(4.0)])
    assert (timed.status, timed.n_iters) == ("max_seconds", 3)
    interrupted = bcfw.minimize(
        objective, domains, tol=0, callbacks=[lambda i: signal.raise_signal(signal.SIGINT) if i.n_iters == 7 else None]
    )
    assert (interrupted.status, interrupted.n_iters) == ("interrupted", 7)
    assert interrupted.gap == pytest.approx(sum(naive_gaps(objective, domains, interrupted.x)))
    with pytest.warns(bcfw.ConvergenceWarning, match="raise max_iters or tol"):
        assert bcfw.minimize(objective, domains, max_iters=0, tol=0).n_iters == 0


def test_a_run_that_gains_nothing_ends():
    """The gap cannot become zero in floating point; steps become too small to be seen."""
    rng = np.random.default_rng(0)
    objective = LeastSquares(rng.standard_normal((20, 12)), rng.standard_normal(20))
    for step in ("line-search", "adaptive", "short"):
        with pytest.warns(bcfw.ConvergenceWarning, match="no longer gain anything"):
            result = bcfw.minimize(objective, [Simplex(4)] * 3, direction="pairwise", step=step, tol=0, max_iters=10**5)
        assert result.status == "stalled"
        assert result.gap <= 1e-14 * result.value


def test_a_run_that_does_not_move_ends():
    """No vertex is better than the current point, but the bound of the oracle does not prove that."""
    with pytest.warns(bcfw.ConvergenceWarning, match="stalled"):
        result = bcfw.minimize(LeastSquares(np.eye(3), [9.0, 0.0, 0.0]), [Loose()], tol=0)
    assert (result.status, result.n_iters) == ("stalled", 20)
    assert result.gap == pytest.approx(1e-4)


def test_it_can_be_watched(capsys):
    objective, domains = slow()
    with pytest.warns(bcfw.ConvergenceWarning):
        bcfw.minimize(objective, domains, max_iters=20, verbose=2)
    text = capsys.readouterr().err
    assert text.startswith("iteration 1: value ")
    assert "max_iters after 20 iterations" in text


# --- users' own sets, and mistakes --------------------------------------------------------------------------------


class OnlyArgmin:
    def argmin(self, direction):
        return -np.sign(direction)


class Liar(Simplex):
    """Claims more than it does."""

    def argmin(self, direction):
        return 2.0 * super().argmin(direction)


class Worst(OnlyArgmin):
    def argmin(self, direction):
        return np.sign(direction)


def test_a_set_needs_only_argmin():
    objective = (lambda x: float(np.sum((x[0] - 0.3) ** 2)), lambda x: [2 * (x[0] - 0.3)])
    result = bcfw.minimize(objective, [OnlyArgmin()], x0=[np.ones((2, 2))], tol=1e-4)
    np.testing.assert_allclose(result.x[0], 0.3, atol=0.02)
    with pytest.raises(bcfw.InputError, match=r"block 1: its domain has neither start\(\) nor a shape; give x0\[1\]"):
        bcfw.minimize(objective, [Simplex(2), OnlyArgmin()])


def linear(*shapes):
    return (lambda x: 0.0, lambda x: [np.ones(shape) for shape in shapes])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bcfw.minimize(linear(3), []), "domains must be a set with argmin.*, or a list with one set per block"),
        (lambda: bcfw.minimize(linear(3), Simplex), r"the domain is the class Simplex; give an instance, Simplex\("),
        (lambda: bcfw.minimize(linear(3), [Simplex]), "block 0: the domain is the class Simplex"),
        (lambda: bcfw.minimize(linear(3), [Simplex(3), 5]), r"block 1: the domain 5 has no method argmin"),
        (lambda: bcfw.minimize(linear(3), [Simplex(3)], x0=[]), "x0 must be a list of 1 arrays"),
        (lambda: bcfw.minimize(linear(3), [Simplex(3)], x0=[[1.0, 0.0]]), r"block 0: the start has shape \(2,\)"),
        (lambda: bcfw.minimize(linear(3), [Simplex(3)], x0=[["a"]]), "block 0: the start must be an array of real"),
        (
            lambda: bcfw.minimize(linear(3), [Simplex(3)], x0=[[1.0, 1.0, 0.0]]),
            "block 0: the start is not in its domain",
        ),
        (lambda: bcfw.minimize(linear(3), [Simplex(3)], x0=[[np.nan, 1.0, 0.0]]), "block 0: the start holds nan"),
        (lambda: bcfw.minimize(linear(3), [Simplex(3)], tol=-1), "tol must be a number >= 0"),
        (lambda: bcfw.minimize(linear(3), [Simplex(3)], max_iters="5"), "max_iters"),
        (lambda: bcfw.minimize(linear(3), [Simplex(3)], gap_every=0), "gap_every"),
        (lambda: bcfw.minimize(linear(3), [Simplex(3)], seed=-1), "seed"),
        (
            lambda: bcfw.minimize(linear(3), [Simplex(3)], callbacks=print),
            "callbacks must be a sequence of callables; wrap",
        ),
        (
            lambda: bcfw.minimize(linear(3), [Simplex(3)], selection="ful"),
            "selection 'ful' is unknown; did you mean 'full'",
        ),
        (lambda: bcfw.minimize(abs, [Simplex(3)]), "objective has no method value"),
        (lambda: bcfw.minimize((abs,), [Simplex(3)]), r"objective must be a pair of functions \(f, grad\)"),
        (lambda: bcfw.minimize(LeastSquares, [Simplex(3)]), "objective is the class LeastSquares"),
        (lambda: bcfw.minimize(linear(2), [Simplex(3)]), r"block 0: the gradient has shape \(2,\), the block \(3,\)"),
        (lambda: bcfw.minimize(linear(3, 3), [Simplex(3)]), "a list of 1 arrays, one per block, got 2"),
        (lambda: bcfw.minimize((lambda x: 0.0, lambda x: x[0]), [Simplex(3)]), "one per block, got ndarray"),
        (lambda: bcfw.minimize((lambda x: "a", linear(3)[1]), [Simplex(3)]), "value must be a number, got 'a'"),
        (lambda: bcfw.minimize((lambda x: np.nan, linear(3)[1]), [Simplex(3)]), "value is nan at a feasible point"),
        (
            lambda: bcfw.minimize(
                LeastSquares(np.eye(6), np.ones(6)), [Simplex(3), Liar(3)], x0=[None, np.full(3, 1 / 3)]
            ),
            "block 1: argmin returned a point that its own domain does not contain",
        ),
        (
            lambda: bcfw.minimize(linear(3, 3), [Simplex(3), OnlyArgmin()], x0=[None, np.ones((3, 1))]),
            r"block 1: the gradient has shape \(3,\), the block \(3, 1\)",
        ),
        (
            lambda: bcfw.minimize(linear(3, 2), [Simplex(3), Worst()], x0=[None, -np.ones(2)]),
            r"block 1: the block gap <grad, x - v> is -4: the point v of argmin is worse than the current one; argmin",
        ),
    ],
)
def test_mistakes_are_one_error(call, message):
    with pytest.raises(bcfw.BcfwError, match=message):
        call()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "domain", [Simplex(4), L2Ball(4), Spectraplex(2), Birkhoff(2), NuclearBall((2, 2), 1.0)], ids=repr
)
def test_gradients_that_are_not_finite(domain, bad):
    gradient = np.ones(domain.shape)
    gradient.ravel()[2] = bad
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(bcfw.InputError, match="block 1: the gradient holds nan or infinite numbers"):
            bcfw.minimize((lambda x: 0.0, lambda x: [np.ones(2), gradient]), [Simplex(2), domain])


def test_an_argmin_of_another_shape():
    class Flat(OnlyArgmin):
        shape = (2, 2)

        def argmin(self, direction):
            return np.ones(4)

    with pytest.raises(bcfw.OracleError, match=r"block 0: .* of shape \(4,\), but .* have shape \(2, 2\)") as caught:
        bcfw.minimize(linear((2, 2)), [Flat()], x0=[np.ones((2, 2))])
    assert caught.value.example == 0


def test_an_oracle_that_was_fast_once_is_still_found_to_be_expensive(monkeypatch):
    """As an eigenvector that is sought where it was just found: by the first step, after the first certificate."""
    clock = [0.0]
    monkeypatch.setattr("bcfw.product.checked_oracle.now", lambda: clock[0])

    class Timed(Simplex):
        def __init__(self, costs):
            super().__init__(4)
            self.costs = itertools.chain(costs, itertools.repeat(costs[-1]))

        def argmin(self, direction):
            clock[0] += next(self.costs)
            return super().argmin(direction)

    apart = LeastSquares([np.eye(4), np.diag([1.0, 2.0, 3.0, 4.0])], np.ones(4))
    blocks = [Timed([1.0]), Timed([10.0, 10.0, 1.0, 10.0])]  # of the certificate, its test, the first step, all others
    with pytest.warns(bcfw.ConvergenceWarning):
        result = bcfw.minimize(apart, blocks, selection=selection.CostAware(10), tol=0, max_iters=200, gap_every=1000)
    assert result.lmo_calls[0] == 200
    assert result.lmo_calls[1] < 60
