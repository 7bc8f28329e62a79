"""Paths where the oracle is a heuristic: estimates, unless upper bounds prove them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import bcfw
from bcfw.solvers import BCFW, MultiPlane
from problems import CASES, Pairs

CASE = CASES["dense-features"]

EPS = 0.1

SOLVERS = [None, BCFW(), MultiPlane(clock="count"), MultiPlane(clock="count", acceleration=10)]


class Hasty(Pairs):
    """Improves the truth one label at a time, twice."""

    exact_oracle = False

    def oracle(self, w, x, y_true=None):
        def value(y):
            return w @ self.features(x, y) + (0.0 if y_true is None else self.loss(y_true, y))

        y = (0, 0) if y_true is None else tuple(y_true)
        for _ in range(2):
            y = max(((a, y[1]) for a in range(self.K)), key=value)
            y = max(((y[0], b) for b in range(self.K)), key=value)
        return y


class Bounded(Hasty):
    """Knows the maximum, which a slack is added to, but not where it is taken."""

    slack = 0.0

    def upper_bound(self, w, x, y_true):
        best = Pairs.oracle(self, w, x, y_true)
        return w @ self.features(x, best) + self.loss(y_true, best) + self.slack


def path_of(kind, **options):
    model = kind(CASE.model.K, CASE.model.cost)
    return bcfw.regularization_path(model, CASE.X, CASE.y, **{"eps": EPS, "lam_min": 0.01, **options})


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_without_bounds_the_path_is_an_estimate(solver, exact):
    path = path_of(Hasty, solver=solver, exact=exact)
    assert not path.certified
    assert path.status in ("complete", "lam_min")
    assert path.gaps.max() <= EPS + 1e-9


@pytest.mark.parametrize("solver", [None, *SOLVERS[2:]], ids=repr)
def test_bounds_that_close_prove_the_path(solver):
    """Plain BCFW is left out: it forgets what this heuristic has found before, and its bounds stay open."""
    path = path_of(Bounded, solver=solver)
    assert path.certified
    rng = np.random.default_rng(0)
    for lam in np.exp(rng.uniform(*np.log([path.lambdas[-1], 2.0 * path.lambdas[0]]), 8)):
        problem = dataclasses.replace(CASE.enumerated(), lam=float(lam))
        assert problem.primal(path.weights(lam)) - problem.optimum.dual <= path.bound(lam) + 1e-9
        assert path.bound(lam) <= EPS + 1e-9


def test_bounds_that_do_not_close_prove_nothing():
    class Loose(Bounded):
        slack = 5.0

    path = path_of(Loose)
    assert not path.certified
    assert path.gaps.max() <= EPS + 1e-9
