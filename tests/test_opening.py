"""Opening a problem: data read once, parts of the data with shares of the whole, and another lam."""

from __future__ import annotations

import numpy as np
import pytest

import bcfw
from bcfw.dual import change_lam, open_problem, snapshots
from bcfw.dual.certificates import HingeSums, certificate, dual_value, hinge_sums
from bcfw.dual.certify import certify_state
from bcfw.inputs import graphs
from bcfw.solvers import BCFW, MultiPlane
from problems import CASES, Pairs, continue_with

ROUNDING = 1e-11


# --- read once ---------------------------------------------------------------------------------------------------


class Counting(Pairs):
    """Counts how often the features of each truth are computed."""

    def features(self, x, y):
        self.seen.append(id(x))
        return super().features(x, y)


def test_features_of_every_truth_are_computed_once():
    case = CASES["dense-features"]
    model = Counting(case.model.K, case.model.cost)
    model.seen = []
    problem = open_problem(model, case.X, case.y, case.lam)
    assert sorted(model.seen) == sorted(id(x) for x in case.X)
    assert problem.form.dim == case.dim


def test_every_graph_is_read_once(monkeypatch):
    case, read = CASES["graph-cost"], []
    plain = graphs.read_graph
    monkeypatch.setattr(graphs, "read_graph", lambda x, where: read.append(where) or plain(x, where))
    open_problem(case.model, case.X, case.y, case.lam)
    assert read == [f"BinaryGraph: example {i}" for i in range(len(case.y))]


def test_opening_leaves_the_model_alone(case):
    before = dict(vars(case.model))
    problem = case.problem()
    assert vars(case.model).keys() == before.keys()
    assert all(vars(case.model)[key] is value for key, value in before.items())
    assert problem.form.model is not case.model
    assert problem.form.model.dim == case.dim


# --- parts of the data -------------------------------------------------------------------------------------------


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
    sums = [hinge_sums(part.state.c, part.hinges_at(w)) for part in parts]
    total = HingeSums(sum(one.found for one in sums), sum(one.at_most for one in sums))
    found = certificate(case.lam, w, total, dual_value(case.lam, v, w, ell))
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


# --- another lam -------------------------------------------------------------------------------------------------

SOLVERS = {
    "averages": BCFW(),
    "cached": BCFW(cache="gap"),
    "active": BCFW(step="pairwise"),
    "folded": BCFW(step="away", max_labelings=2),
    "planes": MultiPlane(clock="count"),
}


@pytest.fixture(params=SOLVERS.values(), ids=SOLVERS.keys())
def moved(request, case):
    """A problem on which a solver has worked, with block gaps known at its w."""
    problem = case.problem()
    continue_with(problem, request.param, 4)
    return case, problem, certify_state(problem), request.param


def test_a_smaller_lam_with_the_same_weights(moved):
    """Weights stay, mass shrinks to the truth, gaps stay known, and the point is feasible and goes on."""
    case, problem, before, solver = moved
    w, v, ell = problem.state.w.copy(), problem.v.copy(), problem.state.ell.copy()
    rho = 0.3
    change_lam(problem, rho * problem.lam, keep="w")
    assert problem.lam == rho * case.lam
    np.testing.assert_array_equal(problem.state.w, w)
    np.testing.assert_allclose(problem.state.ell, rho * ell, rtol=1e-15)
    assert max(problem.audit().values()) < ROUNDING
    objective = case.enumerated(lam=problem.lam)
    assert problem.dual_value() == pytest.approx(objective.dual(v, rho * ell.sum()), abs=ROUNDING)
    gaps = problem.state.gap.copy()
    after = certify_state(problem)
    np.testing.assert_allclose(gaps, problem.state.gap, rtol=0, atol=ROUNDING)
    assert after.gap == pytest.approx(gaps.sum(), abs=ROUNDING)
    # The gap of shrunken mass at the same weights is linear in lam.
    linear = before.gap + (1.0 - rho) * (ell.sum() - case.lam * v @ w)
    assert after.gap == pytest.approx(linear, abs=ROUNDING)
    outcome = continue_with(problem, solver, 3)
    assert outcome.certificate.primal - objective.optimum.primal <= outcome.certificate.gap + 1e-9


def test_another_lam_with_the_same_mass(moved):
    """Mass stays and w follows, exactly as a warm start from the saved state does."""
    case, problem, _, _ = moved
    for lam in (0.3 * case.lam, 4.0 * case.lam):
        fresh = case.problem(lam=lam)
        snapshots.restore(fresh, snapshots.take(problem))
        change_lam(problem, lam, keep="alpha")
        np.testing.assert_allclose(problem.v, fresh.v, rtol=0, atol=1e-9)
        assert problem.dual_value() == pytest.approx(fresh.dual_value(), abs=1e-9)
        assert max(problem.audit().values()) < 1e-9


@pytest.mark.parametrize(
    ("lam", "keep", "message"),
    [
        (0.2, "w", r"smaller lam than 0\.1, got 0\.2; use 'alpha'"),
        (0.0, "w", "lam must be a finite number > 0"),
        (0.05, "beta", "keep must be 'w' or 'alpha'"),
    ],
)
def test_wrong_changes_of_lam(lam, keep, message):
    problem = CASES["multiclass-cost"].problem()
    with pytest.raises(bcfw.OptionError, match=message):
        change_lam(problem, lam, keep)
    assert problem.lam == 0.1
