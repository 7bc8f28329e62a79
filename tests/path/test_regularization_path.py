"""The regularisation path: within eps for every lam, by enumeration; where it begins and ends, and what stops it."""

from __future__ import annotations

import dataclasses
import itertools
import pickle
import signal

import numpy as np
import pytest
import scipy.sparse as sp

import bcfw
from bcfw.datasets import fetch_ocr, ocr
from bcfw.dual import open_problem
from bcfw.dual.certify import certify_weights
from bcfw.models import Multiclass, PictorialTree
from bcfw.solvers import BCFW, BatchFW, MultiPlane
from problems import CASES, Pairs

ROUNDING = 1e-9

EPS = 0.1

SOLVERS = [
    BCFW(),
    BCFW(sampling="gap", cache="gap"),
    BCFW(averaging=True),
    MultiPlane(clock="count"),
    MultiPlane(clock="count", acceleration=10),
    MultiPlane(clock="count", acceleration=10, sampling="gap", gap_every=1),
    BatchFW(),
    bcfw.solvers.Auto(),
]


def path_of(case, **options):
    model = case.model if options.get("sample_weight") is None else case.settled or case.model
    return bcfw.regularization_path(
        model, case.X, case.y, **{"eps": EPS, "lam_min": 1e-3, "bounds": case.bounds, **options}
    )


def at(case, lam, sample_weight=None):
    """The enumerated problem at another lam."""
    return dataclasses.replace(case.enumerated(sample_weight), lam=float(lam))


def some_lambdas(path, count=6, seed=0):
    """Some lam between the last breakpoint and beyond the first one, with both of these."""
    rng = np.random.default_rng(seed)
    ends = np.log([path.lambdas[-1], 3.0 * path.lambdas[0]])
    return [*np.exp(rng.uniform(*ends, count)), path.lambdas[0], path.lambdas[-1]]


def assert_within_eps(path, case, eps=EPS, sample_weight=None):
    assert np.all(np.diff(path.lambdas) < 0)
    assert path.gaps.max() <= eps + ROUNDING
    for lam in some_lambdas(path):
        problem, w = at(case, lam, sample_weight), path.weights(lam)
        np.testing.assert_array_equal(w, case.clip(w))
        assert problem.primal(w) - problem.optimum.dual <= path.bound(lam) + ROUNDING
        assert path.bound(lam) <= eps + ROUNDING


def test_every_lam_is_within_eps(case):
    path = path_of(case)
    assert path.certified
    assert path.status in ("complete", "lam_min")
    assert_within_eps(path, case)


@pytest.mark.parametrize("name", ["multiclass-cost", "bounded-chain-cost"])
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_with_any_solver(solver, name):
    """Also where the returned weights are not those of the dual point."""
    path = path_of(CASES[name], solver=solver)
    assert path.certified
    assert_within_eps(path, CASES[name])


@pytest.mark.parametrize("name", ["multiclass-wide", "chain-cost", "bounded-graph-cost"])
def test_with_sample_weights(name):
    case = CASES[name]
    weight = np.arange(len(case.y)) % 4.0
    path = path_of(case, sample_weight=weight)
    assert_within_eps(path, case, sample_weight=weight)


@pytest.mark.parametrize("name", ["multiclass-cost", "chain-cost"])
def test_a_small_eps_gives_the_solutions(name):
    """``lam/2 |w - w*|^2 <= P(w) - P*``."""
    case, eps = CASES[name], 1e-4
    path = path_of(case, eps=eps, lam_min=0.02)
    assert_within_eps(path, case, eps)
    for lam in some_lambdas(path):
        difference = path.weights(lam) - at(case, lam).optimum.w
        assert 0.5 * lam * difference @ difference <= eps + ROUNDING


def test_the_heuristic_path_costs_less_and_proves_nothing():
    """With a few hundred examples its true gaps are about what it says."""
    words = bcfw.datasets.load_digit_words()
    model, X, y = bcfw.models.Chain(), words.X_train, words.y_train
    path, exact = (bcfw.regularization_path(model, X, y, eps=EPS, exact=exact) for exact in (False, True))
    assert (path.certified, exact.certified) == (False, True)
    assert path.n_oracle_calls < exact.n_oracle_calls
    tight = bcfw.grid_path(model, X, y, path.lambdas, tol=0.01)
    for lam in path.lambdas:
        problem = open_problem(model, X, y, lam)
        assert (
            certify_weights(problem, path.weights(lam)).primal - certify_weights(problem, tight.weights(lam)).primal
            <= EPS
        )


# --- where it begins ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["multiclass-cost", "chain-cost", "matching-costs", "dense-features"])
@pytest.mark.parametrize("kappa", [None, 0.5])
def test_the_first_breakpoint_is_that_of_the_paper(name, kappa):
    """gaps-2016, Alg. 6."""
    case = CASES[name]
    path, problem = path_of(case, kappa=kappa), case.enumerated()
    corners = [psi[int(np.argmax(loss))] for psi, loss in zip(problem.psi, problem.loss, strict=True)]
    psi = problem.c @ np.array(corners)
    t = np.array([np.max(-rows @ psi) for rows in problem.psi])
    assert path.lambdas[0] == pytest.approx((psi @ psi + problem.c @ t) / ((kappa or 0.9) * EPS), rel=1e-7)
    np.testing.assert_allclose(path.weights(path.lambdas[0]), psi / path.lambdas[0], atol=1e-14)
    np.testing.assert_allclose(path.weights(7.0 * path.lambdas[0]), psi / (7.0 * path.lambdas[0]), atol=1e-14)


def test_bounds_that_exclude_zero():
    """For a large lam w is the allowed point that is nearest to zero; from there it moves as far as bounds let it."""
    case = dataclasses.replace(CASES["multiclass-cost"], name="away", bounds=(0.05, 0.3))
    path = path_of(case)
    np.testing.assert_allclose(path.weights(1e9), 0.05, atol=1e-6)
    assert_within_eps(path, case)


WITHOUT_LOSS = {
    "one label": (Multiclass(n_labels=1), np.ones((3, 2)), [0, 0, 0]),
    "no cost": (Multiclass(2, cost=np.zeros((2, 2))), np.arange(6.0).reshape(3, 2), [0, 1, 0]),
    "one place": (PictorialTree([[0, 1]]), [(np.ones((2, 1, 1)), 1.0)] * 3, [np.zeros((2, 2), int)] * 3),
}


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("allowed", [{"eps": 0.1}, {"tol": 0.1}], ids=["eps", "tol"])
@pytest.mark.parametrize("data", WITHOUT_LOSS.values(), ids=WITHOUT_LOSS)
def test_without_any_loss_zero_serves_all(data, allowed, exact):
    path = bcfw.regularization_path(*data, exact=exact, **allowed)
    assert path.status == "complete"
    assert not path.weights(1e-9).any()
    assert path.bound(1e-9) == 0.0


@pytest.mark.parametrize("exact", [True, False])
def test_a_share_of_no_loss_allows_no_gap(exact):
    """Where the bounds exclude w = 0, hinge losses are left although no output has a loss."""
    bounds = np.array([1.0, 2.0, 3.0, 5.0]), None
    data = WITHOUT_LOSS["no cost"]
    with pytest.raises(bcfw.OptionError, match=r"tol P\(0\) is 0, .* give eps instead of tol"):
        bcfw.regularization_path(*data, tol=0.1, exact=exact, bounds=bounds)
    assert bcfw.regularization_path(*data, eps=0.1, exact=exact, bounds=bounds).gaps.max() <= 0.1


def test_features_that_say_nothing():
    """The first move of all examples cancels, so that w = 0 is best for every lam."""
    path = bcfw.regularization_path(bcfw.models.Multiclass(), np.ones((2, 1)), [0, 1], lam_min=0.01)
    assert path.status == "complete"
    assert path.lambdas.tolist() == [0.01]
    assert path.bound(1e-3) <= ROUNDING
    assert not path.weights(1e-3).any()


# --- where it ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-160, 1e-290])
def test_features_whose_squares_vanish(scale):
    """The first breakpoint would be a lam that is no number of double precision."""
    case = CASES["matching-costs"]
    case = dataclasses.replace(case, X=[scale * x for x in case.X])
    path = path_of(case, lam_min=1e-103)
    assert (path.status, path.lambdas.tolist()) == ("complete", [1e-103])
    assert np.isfinite(path.weights(1e-103)).all()
    assert_within_eps(path, case)


def test_complete_where_the_hinge_losses_vanish():
    case = CASES["chain-cost"]
    path = path_of(case)
    assert path.status == "complete"
    for lam in (0.1 * path.lambdas[-1], 1e-7):
        problem = at(case, lam)
        assert problem.primal(path.weights(lam)) <= path.bound(lam) + problem.optimum.primal + ROUNDING
        assert path.bound(lam) <= EPS


def test_lam_min_is_the_last_breakpoint():
    path = path_of(CASES["multiclass-wide"], lam_min=0.05)
    assert path.status == "lam_min"
    assert path.lambdas[-1] == 0.05
    np.testing.assert_array_equal(path.weights(0.05), path.weights(path.lambdas[-2]))
    with pytest.raises(bcfw.InputError, match=r"ends at lam = 0\.05 \(lam_min\), above 0\.04; .* smaller lam_min"):
        path.weights(0.04)


def test_lam_min_above_the_first_breakpoint():
    case = CASES["multiclass-wide"]
    path = path_of(case, lam_min=1e4)
    assert path.lambdas[0] == 1e4
    assert_within_eps(path, case)


@pytest.mark.parametrize("limit", [{"max_passes": 5}, {"max_seconds": 1e-9}])
def test_limits_leave_a_path_that_holds(limit):
    case = CASES["multiclass-wide"]
    with pytest.warns(bcfw.ConvergenceWarning, match=rf"the path ends at lam = .* \({next(iter(limit))}\); raise"):
        path = path_of(case, solver=BCFW(), **limit)
    assert path.status == next(iter(limit))
    assert path.n_passes <= 5
    assert_within_eps(path, case)
    with pytest.raises(bcfw.InputError, match="higher limits"):
        path.weights(0.9 * path.lambdas[-1])


def test_callbacks_see_lam_and_stop():
    seen = []

    def look(info):
        seen.append((info.lam, info.n_passes, info.gap_target))
        return info.lam < 1.0

    path = path_of(CASES["multiclass-wide"], callbacks=[look])
    assert path.status == "stopped"
    assert seen[-1][0] < 1.0
    assert all(later <= earlier for (earlier, *_), (later, *_) in itertools.pairwise(seen))
    assert {target for *_, target in seen} == {0.9 * EPS}


def test_ctrl_c_ends_the_path():
    path = path_of(CASES["multiclass-wide"], callbacks=[lambda info: signal.raise_signal(signal.SIGINT)])
    assert path.status == "interrupted"
    assert len(path.lambdas) >= 2


def test_what_was_found_before_an_oracle_failed():
    class Breaks(Pairs):
        calls = 0

        def oracle(self, w, x, y_true=None):
            self.calls += 1
            if self.calls > 100:
                raise ZeroDivisionError("no more")
            return super().oracle(w, x, y_true)

    case = CASES["dense-features"]
    with pytest.raises(bcfw.OracleError, match="no more") as caught:
        path_of(dataclasses.replace(case, model=Breaks(case.model.K, case.model.cost)), solver=BCFW())
    assert caught.value.result.status == "interrupted"
    assert_within_eps(caught.value.result, case)


# --- counts, options ---------------------------------------------------------------------------------------------


def test_every_oracle_call_counts():
    class Counts(Pairs):
        calls = 0

        def oracle(self, w, x, y_true=None):
            Counts.calls += 1
            return super().oracle(w, x, y_true)

    case = CASES["dense-features"]
    path = path_of(dataclasses.replace(case, model=Counts(case.model.K, case.model.cost)))
    assert path.n_oracle_calls == Counts.calls
    assert path.history["oracle_calls"][-1] == Counts.calls
    assert path.n_passes * len(case.y) < Counts.calls


def test_the_seed_decides():
    first, second = (path_of(CASES["chain-cost"], seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.lambdas, second.lambdas)
    np.testing.assert_array_equal(first.weights(0.1), second.weights(0.1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": 0.0}, "eps must be a finite number > 0"),
        ({"lam_min": 0.0}, "lam_min must be a finite number > 0"),
        ({"kappa": 1.0}, "kappa must be a number between 0 and 1"),
        ({"kappa": "much"}, "kappa must be a number between 0 and 1"),
        ({"exact": "yes"}, "exact must be"),
        ({"max_passes": 0}, "max_passes must be"),
        ({"solver": "bcwf"}, "bcfw"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(bcfw.OptionError, match=message):
        path_of(CASES["multiclass-cost"], **options)


@pytest.mark.parametrize("lam", [0.0, -1.0, "large", None])
def test_lam_must_be_a_positive_number(lam):
    with pytest.raises(bcfw.OptionError, match="lam must be a finite number > 0"):
        path_of(CASES["multiclass-cost"]).weights(lam)


# --- real data ---------------------------------------------------------------------------------------------------


def test_handwritten_words(real_data):
    real_data(ocr.SOURCE)
    words = fetch_ocr(size="small")
    path = bcfw.regularization_path(bcfw.models.Chain(), words.X_train, words.y_train)
    assert path.status == "complete"
    assert path.gaps.max() <= EPS
    rng = np.random.default_rng(0)
    lambdas = np.exp(rng.uniform(np.log(1e-4), np.log(2.0 * path.lambdas[0]), 50))
    better = bcfw.grid_path(bcfw.models.Chain(), words.X_train, words.y_train, lambdas, eps=0.02)
    for lam in lambdas:
        problem = open_problem(bcfw.models.Chain(), words.X_train, words.y_train, lam)
        found, best = (certify_weights(problem, w).primal for w in (path.weights(lam), better.weights(lam)))
        assert found - best <= path.bound(lam) <= EPS + ROUNDING


def test_sparse_features_of_many_dimensions():
    """Weights of a million features of which few are used: the path keeps what changes."""
    rng = np.random.default_rng(0)
    n, F = 60, 1_000_000
    y = rng.integers(3, size=n)
    rows = np.repeat(np.arange(n), 6)
    columns = np.concatenate([rng.integers(F, size=(n, 5)), y[:, None]], axis=1).ravel()
    X = sp.csr_array((np.ones(6 * n), (rows, columns)), shape=(n, F))
    path = bcfw.regularization_path(bcfw.models.Multiclass(), X, y, eps=0.02)
    assert path.status == "complete"
    assert len(path.lambdas) > 8
    assert len(pickle.dumps(path._breakpoints)) < 3 * 8 * 3 * F  # a vector or two, not one for each breakpoint
    for lam in (path.lambdas[3], 1e-4):
        found = certify_weights(open_problem(bcfw.models.Multiclass(), X, y, lam), path.weights(lam)).primal
        assert found - bcfw.train(bcfw.models.Multiclass(), X, y, lam=lam, tol=1e-4).dual <= path.bound(lam) + 1e-4
        assert path.bound(lam) <= EPS + ROUNDING
