"""``check_domain`` and ``check_objective``: they name what is wrong, and find nothing in what is right."""

from __future__ import annotations

import re

import numpy as np
import pytest

import bcfw
from bcfw import domains
from bcfw.domains import L1Ball, L2Ball, Simplex
from bcfw.objectives import Function, LeastSquares, Logistic, Quadratic
from bcfw.product.domains import matrices

UNIT = np.eye(4)
KEPT = np.zeros(4)


class Answers:
    """A set whose oracle is a function."""

    shape = (4,)

    def __init__(self, argmin, **more):
        self.argmin = argmin
        self.__dict__.update(more)


def best(direction):
    return UNIT[direction.argmin()].copy()


def changing(direction):
    vertex = best(direction)
    direction[:] = 0.0
    return vertex


def keeping(direction):
    KEPT[:] = best(direction)
    return KEPT


def raising(direction):
    raise ArithmeticError("no solution")


def long_only(direction):
    return best(direction) if np.linalg.norm(direction) > 1.0 else UNIT[0]


def in_turn():
    """Both corners of a square's edge, one after the other, where both are best."""
    calls = [0]

    def argmin(direction):
        calls[0] += 1
        return np.append(-np.sign(direction[:3]), (-1.0) ** calls[0] if direction[3] == 0.0 else -np.sign(direction[3]))

    return argmin


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (
            Answers(lambda d: UNIT[d.argmax()]),
            "argmin maximises: for 26 of 26 directions d no known point has a larger",
        ),
        (
            Answers(lambda d: -np.sign(d[d.argmax()]) * UNIT[d.argmax()]),
            r"argmin\(d\) is not the best point: <d, v> is",
        ),
        (
            Answers(lambda d: None),
            r"argmin returned None; it must return a point of the domain, an array of shape \(4,\)",
        ),
        (Answers(lambda d: np.ones((4, 1))), r"argmin returned an array of shape \(4, 1\), but points"),
        (Answers(lambda d: best(d) + 0j), "argmin returned numbers of type complex128"),
        (Answers(lambda d: best(d) / 0.0 - 1.0), "argmin returned nan or infinite numbers"),
        (Answers(raising), "argmin raised ArithmeticError: no solution"),
        (Answers(changing), "argmin changes the direction that it is given"),
        (Answers(long_only), "the length of a direction must not matter"),
        (Answers(lambda d: -d), "the length of a direction must not matter"),
        (Answers(lambda d: np.random.default_rng().permutation(UNIT)[0]), "different values for one direction"),
        (Answers(best, contains=lambda x: True), r"contains\(x\) accepts a point that is better than argmin\(d\)"),
        (Answers(best, contains=lambda x: x.max() == 1.0), r"contains\(x\) does not accept a mixture of answers"),
        (Answers(best, contains=lambda x: x[0] == 0.0), r"argmin returned a point that contains\(x\) does not accept"),
        (Answers(best, start=lambda: np.ones(3)), r"start\(\) has shape \(3,\), but points of the domain have"),
        (Answers(best, start=lambda: -UNIT[1]), r"start\(\) is better than argmin\(d\)"),
        (
            Answers(best, start=lambda: 0.5 * UNIT[1], contains=lambda x: x.sum() == 1.0),
            "start.. is a point that contains",
        ),
        (Answers(best, lower_bound=lambda d: d.min() + 1e-3), r"lower_bound\(d\) is .*, but a point of the set has"),
        (Answers(best, diameter=1.0), "diameter is 1, but two answers are 1.41421 apart"),
        (Answers(best, diameter="wide"), "diameter raised ValueError"),
    ],
)
def test_mistakes_in_domains_are_named(domain, message):
    with np.errstate(all="ignore"), pytest.raises(bcfw.DomainError, match=r"(?s)Answers:.*" + message):
        bcfw.check_domain(domain)


@pytest.mark.parametrize(
    ("domain", "remark"),
    [
        (Answers(keeping), "argmin returns an array that it changes later"),
        (Answers(in_turn()), "argmin gives different points of one value for one direction"),
        (Answers(lambda d: UNIT[np.argsort(d)[1]], exact=False), r"is not the best point.*\(it says exact = False\)"),
    ],
)
def test_remarks_on_domains(domain, remark):
    (found,) = bcfw.check_domain(domain)
    assert re.search(remark, found)


@pytest.mark.parametrize(
    "domain",
    [
        Simplex(4),
        Simplex(1),
        domains.Box([-1.0, 0.0, 2.0], [1.0, 0.5, 2.0]),
        domains.Box(0.0, 1.0),
        L1Ball((2, 2), 1e6),
        L2Ball((2, 3), 1e-6),
        domains.LinfBall(3),
        domains.KSparse(4, 2),
        domains.Birkhoff(3),
        domains.Hull(np.random.default_rng(0).standard_normal((7, 2, 2))),
        domains.Spectraplex(4),
        domains.NuclearBall((3, 5)),
        domains.Counted(Simplex(3)),
        Answers(best),
        Answers(lambda d: (-d / np.linalg.norm(d)).astype(np.float32)),
    ],
    ids=lambda domain: type(domain).__name__,
)
def test_right_domains_have_no_remarks(domain):
    assert bcfw.check_domain(domain) == []


def test_an_approximate_domain_has_remarks_only(monkeypatch):
    monkeypatch.setattr(matrices, "LANCZOS_FROM", 20)
    for domain in (domains.Spectraplex(24), domains.NuclearBall((24, 21))):
        assert not domain.exact
        bcfw.check_domain(domain)


def test_how_a_domain_is_tried():
    with pytest.raises(bcfw.OptionError, match=r"neither a shape nor start\(\); give shape"):
        bcfw.check_domain(Answers(best, shape=None))
    assert bcfw.check_domain(Answers(best, shape=None), shape=4) == []
    assert bcfw.check_domain(Answers(best, shape=None, start=lambda: UNIT[0])) == []
    with pytest.raises(bcfw.OptionError, match="is the class Simplex"):
        bcfw.check_domain(Simplex)
    with pytest.raises(bcfw.OptionError, match="has no method argmin"):
        bcfw.check_domain(5)
    seen = []

    def positive(direction):
        seen.append(direction)
        assert (direction > 0.0).all()
        return best(direction)

    assert bcfw.check_domain(Answers(positive), directions=np.random.default_rng(0).random((5, 4))) == []
    assert len(seen) == 15


# --- objectives ---------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
A = RNG.standard_normal((5, 6))
PARTS = [A[:, :2], A[:, 2:]]
SQUARED = float(np.linalg.norm(A, 2) ** 2)


def f(x):
    return 0.5 * float(np.sum((A @ x) ** 2))


def g(x):
    return A.T @ (A @ x)


def wrong_entries(x):
    gradient = g(x)
    gradient[2] *= 3.0
    gradient[4] += 5.0
    return gradient


def image(x):
    return PARTS[0] @ x[0] + PARTS[1] @ x[1]


def of_two(gradients=None, block_gradient=None, **more):
    return Function(
        lambda x: 0.5 * float(image(x) @ image(x)),
        gradients or (lambda x: [part.T @ image(x) for part in PARTS]),
        block_gradient,
        **more,
    )


def changes_x(x):
    x *= 2.0
    return f(x)


BALL = L2Ball(6)


@pytest.mark.parametrize(
    ("objective", "domain", "message"),
    [
        ((f, lambda x: -g(x)), BALL, "block 0: the gradient is not that of f: .*is its sign wrong"),
        ((f, lambda x: 2 * g(x)), Simplex(6), "block 0: the gradient is not that of f: .*2 times"),
        ((f, wrong_entries), BALL, r"entries of the gradient that are farthest from f: \[4\]: .*, \[2\]: "),
        ((f, wrong_entries), Simplex(6), r"block 0: the gradient is not that of f"),
        ((f, lambda x: [g(x)]), BALL, r"block 0: the gradient has shape \(1, 6\), the block \(6,\)"),
        ((f, lambda x: np.full(6, np.nan)), BALL, "block 0: the gradient holds nan or infinite numbers"),
        ((f, lambda x: g(x) + np.random.default_rng().random()), BALL, "gradient is another one at the same point"),
        ((lambda x: np.random.default_rng().random(), g), BALL, "f gives different values at one point"),
        ((lambda x: np.nan, g), BALL, "the objective's value is nan at a feasible point"),
        ((lambda x: "a", g), BALL, "the objective's value must be a number, got 'a'"),
        ((changes_x, g), BALL, "a function changes x, which it must not"),
        ((f, lambda x: 1 / 0), BALL, "ZeroDivisionError: division by zero"),
        (
            Function(f, g, smoothness=0.1 * SQUARED),
            BALL,
            "smoothness is .*, but between two points the gradient changes",
        ),
        (
            of_two(block_smoothness=[SQUARED, 1e-3]),
            [Simplex(2), L1Ball(4)],
            r"block_smoothness\[1\] is 0.001, but between two points",
        ),
        (Function(lambda x: -f(x), lambda x: -g(x), convex=True), BALL, "f is declared convex, but its slope falls"),
        (
            of_two(lambda x: [PARTS[0].T @ image(x), 2 * PARTS[1].T @ image(x)]),
            [Simplex(2), L1Ball(4)],
            "block 1: the gradient is not that of f",
        ),
        (
            of_two(block_gradient=lambda x, i: (1 + i) * PARTS[i].T @ image(x)),
            [Simplex(2), L1Ball(4)],
            r"block 1: block_gradient\(x, 1\) differs from the gradient's block, most at entry \[",
        ),
    ],
)
def test_mistakes_in_objectives_are_named(objective, domain, message):
    with np.errstate(all="ignore"), pytest.raises(bcfw.ObjectiveError, match=r"(?s)Function:\n.*" + message):
        bcfw.check_objective(objective, domain)


@pytest.mark.parametrize(
    ("objective", "sets"),
    [
        ((f, g), BALL),
        ((f, g), Simplex(6)),
        (Function(f, g, smoothness=1.001 * SQUARED, convex=True, block_smoothness=[1.001 * SQUARED]), L1Ball(6)),
        (of_two(block_gradient=lambda x, i: PARTS[i].T @ image(x), convex=True), [Simplex(2), L1Ball(4)]),
        (LeastSquares(A, np.ones(5)), [Simplex(2), L1Ball((2, 2))]),
        (LeastSquares(A, np.ones(5)), L1Ball((2, 3), 1e6)),
        (Logistic(A, [1, 1, -1, 1, -1]), Simplex(6)),
        (Quadratic(H=A.T @ A - np.eye(6)), [L2Ball(3), Simplex(3)]),
        ((lambda x: np.float32(f(x)), lambda x: g(x).astype(np.float32)), BALL),
    ],
)
def test_right_objectives_have_no_remarks(objective, sets):
    assert bcfw.check_objective(objective, sets) == []


def test_a_remark_on_functions_that_are_not_convex():
    (remark,) = bcfw.check_objective((lambda x: -f(x), lambda x: -g(x)), BALL)
    assert remark.startswith("f is not convex; with convex=False")


def test_a_start_is_needed_where_minimize_needs_it():
    with pytest.raises(bcfw.InputError, match="give x0"):
        bcfw.check_objective((f, g), Answers(best, shape=None))
    assert bcfw.check_objective((lambda x: float(x @ x), lambda x: 2 * x), Answers(best, shape=None), x0=UNIT[0]) == []
