"""Domains: argmin against enumerated vertices or a linear program, membership, diameters."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse.linalg
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

import bcfw
from bcfw import domains
from bcfw.product.domains import matrices


def signs(n):
    return np.array(list(itertools.product([-1.0, 1.0], repeat=n)))


def sparse_corners(n, k, radius):
    """All vectors with k entries of size radius."""
    supports = [np.isin(np.arange(n), chosen) for chosen in itertools.combinations(range(n), k)]
    return radius * np.unique([sign * support for sign in signs(n) for support in supports], axis=0)


def permutation_matrices(n):
    return np.array([np.eye(n)[list(order)] for order in itertools.permutations(range(n))])


POINTS = np.random.default_rng(3).standard_normal((7, 2, 2))

#: Polytopes and their vertices, listed independently.
POLYTOPES = {
    "simplex": (domains.Simplex(4, radius=2.5), 2.5 * np.eye(4)),
    "one entry": (domains.Simplex(1), np.ones((1, 1))),
    "box": (
        domains.Box([-1.0, 0.0, 2.0], [1.0, 0.5, 2.0]),
        np.array(list(itertools.product([-1.0, 1.0], [0.0, 0.5], [2.0]))),
    ),
    "l1": (domains.L1Ball((2, 2), radius=3), 3 * np.concatenate([np.eye(4), -np.eye(4)]).reshape(8, 2, 2)),
    "linf": (domains.LinfBall(3, radius=0.5), 0.5 * signs(3)),
    "k-sparse": (domains.KSparse(4, 2, radius=1.5), sparse_corners(4, 2, 1.5)),
    "birkhoff": (domains.Birkhoff(3), permutation_matrices(3)),
    "hull": (domains.Hull(POINTS), POINTS),
}

ROUND = {
    "l2": domains.L2Ball((2, 3), radius=2.0),
    "spectraplex": domains.Spectraplex(4),
    "nuclear": domains.NuclearBall((3, 5), radius=1.5),
    "tall nuclear": domains.NuclearBall((5, 3), radius=1.5),
}

ALL = {**{name: domain for name, (domain, _) in POLYTOPES.items()}, **ROUND}


def directions(domain):
    return arrays(np.float64, domain.shape, elements=st.floats(-5, 5, allow_subnormal=False))


@pytest.mark.parametrize("name", POLYTOPES)
@given(data=st.data())
def test_argmin_is_the_best_vertex(name, data):
    domain, vertices = POLYTOPES[name]
    direction = data.draw(directions(domain))
    answer = domain.argmin(direction)
    values = np.tensordot(vertices, direction, axes=direction.ndim)
    assert np.vdot(answer, direction) == pytest.approx(values.min(), abs=1e-12)
    assert (vertices == answer).reshape(len(vertices), -1).all(axis=1).any(), "not a vertex"


@pytest.mark.parametrize("name", ["simplex", "k-sparse", "birkhoff"])
@given(data=st.data())
def test_the_description_by_constraints_has_the_same_minimum(name, data):
    """The constraints that ``violation`` checks describe the same set as the oracle: a linear program finds no less."""
    domain, _ = POLYTOPES[name]
    n = domain.start().size
    direction = data.draw(arrays(np.int64, n, elements=st.integers(-40, 40))) / 8.0  # solvers of LPs ignore 1e-9
    if name == "simplex":
        found = linprog(direction, A_eq=np.ones((1, n)), b_eq=[domain.radius])
    elif name == "birkhoff":
        sums = [np.kron(np.eye(3), np.ones(3)), np.kron(np.ones(3), np.eye(3))]
        found = linprog(direction, A_eq=np.concatenate(sums), b_eq=np.ones(6))
    else:  # x = a - b with a, b in [0, radius]
        cost, total = np.concatenate([direction, -direction]), np.ones((1, 2 * n))
        found = linprog(cost, A_ub=total, b_ub=[domain.k * domain.radius], bounds=[(0, domain.radius)] * (2 * n))
    assert np.vdot(domain.argmin(direction.reshape(domain.shape)), direction) == pytest.approx(found.fun, abs=1e-9)


@given(data=st.data())
def test_argmin_of_a_ball_is_the_dual_norm(data):
    for name, dual_norm in (("l2", np.linalg.norm), ("nuclear", lambda d: np.linalg.norm(d, 2))):
        domain = ROUND[name]
        direction = data.draw(directions(domain))
        least = np.vdot(domain.argmin(direction), direction)
        assert least == pytest.approx(-domain.radius * dual_norm(direction), abs=1e-9)


@given(data=st.data())
def test_argmin_over_the_spectraplex_is_the_smallest_eigenvalue(data):
    domain = ROUND["spectraplex"]
    direction = data.draw(directions(domain))
    least = np.linalg.eigvalsh((direction + direction.T) / 2)[0]
    assert np.vdot(domain.argmin(direction), direction) == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
def test_answers_start_and_mixtures_are_inside_and_the_diameter_holds(name, data):
    domain = ALL[name]
    one, other = (domain.argmin(data.draw(directions(domain))) for _ in range(2))
    assert domain.contains(domain.start())
    for point in (one, other, 0.3 * one + 0.7 * other):
        assert domain.contains(point, tol=1e-12)
    assert np.linalg.norm(one - other) <= domain.diameter * (1 + 1e-12)


@pytest.mark.parametrize("name", ALL)
def test_what_lies_outside_is_not_contained(name):
    domain = ALL[name]
    assert not domain.contains(domain.start() + 20.0)
    assert not domain.contains(np.full(domain.shape, np.nan))
    assert not domain.contains(np.zeros((*domain.shape, 2)))


@pytest.mark.parametrize("name", POLYTOPES)
def test_the_diameter_is_the_largest_distance_of_vertices(name):
    domain, vertices = POLYTOPES[name]
    rows = vertices.reshape(len(vertices), -1)
    assert domain.diameter == pytest.approx(max(np.linalg.norm(a - b) for a in rows for b in rows), abs=1e-12)


@pytest.mark.parametrize("kind", ["spectraplex", "nuclear"])
def test_lanczos_agrees_with_the_dense_solver(kind, monkeypatch):
    rng = np.random.default_rng(0)
    n = matrices.LANCZOS_FROM
    make = {"spectraplex": lambda: domains.Spectraplex(n), "nuclear": lambda: domains.NuclearBall((n, n + 7), 2.0)}[
        kind
    ]
    iterative = make()
    monkeypatch.setattr(matrices, "LANCZOS_FROM", n + 1)
    dense = make()
    assert dense.exact
    assert not iterative.exact
    direction = rng.standard_normal(dense.shape)
    for _ in range(5):  # each search begins where the one before ended
        direction += 0.1 * rng.standard_normal(dense.shape)
        least = np.vdot(dense.argmin(direction), direction)
        found = np.vdot(iterative.argmin(direction), direction)
        assert least <= found + 1e-9 * abs(least) <= least + 1e-5 * abs(least)
        assert least - 1e-8 * abs(least) <= iterative.lower_bound(direction) <= least + 1e-12 * abs(least)


def test_where_lanczos_fails_the_dense_solver_helps(monkeypatch):
    def fail(*args, **options):
        raise scipy.sparse.linalg.ArpackNoConvergence("no", np.zeros(0), np.zeros((0, 0)))

    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", fail)
    direction = np.diag(np.arange(250.0))
    np.testing.assert_allclose(domains.Spectraplex(250).argmin(direction), np.diag(np.arange(250) == 0), atol=1e-12)


@pytest.mark.parametrize("guess", [0.0, 2.9999])
def test_a_wrong_guess_of_an_eigenvalue_is_not_taken_for_a_bound(guess):
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    matrix = basis @ np.diag([3.0, 2.9999, 1.0, 0.0, -1.0, -5.0]) @ basis.T
    assert matrices.largest_eigenvalue_at_most(matrix, guess) == pytest.approx(3.0, abs=1e-12)
    assert 3.0 - 1e-12 <= matrices.largest_eigenvalue_at_most(matrix, 3.0) <= 3.0 + 1e-7


def test_zero_directions_are_allowed():
    for domain in (*ALL.values(), domains.Spectraplex(250), domains.NuclearBall((210, 230), 1.0)):
        assert domain.contains(domain.argmin(np.zeros(domain.shape)))


def test_extreme_sizes_of_directions():
    for scale in (1e-200, 1e200):
        direction = scale * np.array([[3.0, 0.0], [0.0, -4.0]])
        assert np.allclose(domains.NuclearBall((2, 2), 1.0).argmin(direction), [[0, 0], [0, 1]])
        assert np.allclose(domains.L2Ball((2, 2)).argmin(direction), [[-0.6, 0], [0, 0.8]])


def test_counting_calls():
    counted = domains.Counted(domains.Simplex(3))
    result = bcfw.minimize((lambda x: x[0] @ x[0], lambda x: [2 * x[0]]), [counted], direction="pairwise")
    assert counted.calls == result.lmo_calls.sum() + result.certificate_calls
    assert counted.seconds > 0.0
    assert counted.diameter == domains.Simplex(3).diameter


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: domains.Simplex(0), "Simplex: n must be a whole number >= 1, got 0"),
        (lambda: domains.Simplex(3, radius=-1), "Simplex: radius must be a finite number > 0"),
        (lambda: domains.Box([1.0], [0.0]), "lower is above upper"),
        (lambda: domains.Box([1.0, 2.0], [3.0, 4.0, 5.0]), "do not fit together"),
        (lambda: domains.Box([np.nan], [0.0]), "nan or infinite"),
        (lambda: domains.L1Ball((2, 0)), "L1Ball: shape"),
        (lambda: domains.KSparse(3, 4), "k must be at most n = 3, got 4"),
        (lambda: domains.NuclearBall((2, 2, 2), 1.0), "NuclearBall: shape must be two whole numbers"),
        (lambda: domains.NuclearBall((2, 2), "1"), "NuclearBall: radius"),
        (lambda: domains.Hull([]), "points"),
        (lambda: domains.Hull([[1.0, 2.0], [3.0]]), "points must hold real numbers of one shape"),
    ],
)
def test_wrong_domains(make, message):
    with pytest.raises(bcfw.OptionError, match=message):
        make()


def test_a_direction_of_another_shape():
    with pytest.raises(bcfw.InputError, match=r"Simplex\(3.*: the direction has shape \(4,\), expected \(3,\)"):
        domains.Simplex(3).argmin(np.zeros(4))
