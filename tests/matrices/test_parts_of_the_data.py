"""Problems on parts of the data: their certificates add up, and opening one leaves the model alone."""

from __future__ import annotations

import numpy as np
import pytest

from bcfw.dual import open_problem
from bcfw.dual.certificates import HingeSums, certificate, dual_value, hinge_sums, regulariser
from bcfw.solvers import BCFW
from problems import CASES, continue_with

ROUNDING = 1e-11


def test_opening_leaves_the_model_alone(case):
    before = dict(vars(case.model))
    problem = case.problem()
    assert vars(case.model).keys() == before.keys()
    assert all(vars(case.model)[key] is value for key, value in before.items())
    assert problem.adapter.model is not case.model
    assert problem.adapter.model.dim == case.dim


def parts_of(case, sample_weight):
    """Two problems on a part of the examples each, with the shares of the whole."""
    settled = case.settled or case.model
    bound = settled.bind(case.X, case.y)
    half = len(case.y) // 2
    for chosen in (range(half), range(half, len(case.y))):
        part = case.take(chosen)
        s = sample_weight[list(chosen)]
        yield open_problem(bound, part.X, part.y, case.lam, s, case.bounds, total_weight=sample_weight.sum())


def test_certificates_of_parts_add_up(case):
    """Sums of v, ell and hinge losses over parts that took steps of their own are the certificate of the whole."""
    s = 0.5 + np.random.default_rng(0).random(len(case.y))
    parts = list(parts_of(case, s))
    for part in parts:
        continue_with(part, BCFW(), 3)
    v, ell = sum(part.v for part in parts), sum(part.ell for part in parts)
    w = parts[0].clip(v)
    sums = [hinge_sums(part.state.c, part.hinge_losses_at(w)) for part in parts]
    total = HingeSums(sum(one.found for one in sums), sum(one.at_most for one in sums))
    found = certificate(regulariser(case.lam, w), total, dual_value(case.lam, v, w, ell))
    objective = case.enumerated(s)
    assert found.primal == pytest.approx(objective.primal(w), abs=ROUNDING)
    assert found.dual == pytest.approx(objective.dual(v, ell), abs=ROUNDING)
    assert found.dual <= objective.optimum.primal + 1e-9
    assert found.gap_bound == found.gap == found.primal - found.dual


def test_shares_of_parts_are_those_of_the_whole():
    case = CASES["chain-cost"]
    s = np.arange(1.0, len(case.y) + 1)
    shares = np.concatenate([part.state.c for part in parts_of(case, s)])
    np.testing.assert_allclose(shares, s / s.sum(), rtol=1e-15)
    bound = case.model.bind(case.X, case.y)
    whole = open_problem(bound, case.X, case.y, case.lam, total_weight=2.0 * len(case.y))
    np.testing.assert_allclose(whole.state.c, 0.5 / len(case.y), rtol=1e-15)
