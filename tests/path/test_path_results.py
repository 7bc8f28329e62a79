"""What a path knows: the gap of fixed weights at smaller lam, weights kept economically, losses on other data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bcfw
from bcfw.path.gap_bound import GapBound
from bcfw.path.weights_by_lam import WeightDeltas
from problems import CASES


def random_pair(case, seed):
    """Any allowed weights and any dual point (v, ell) at lam = 0.7, on the enumerated problem there."""
    rng = np.random.default_rng(seed)
    problem = case.enumerated(lam=0.7)
    w = case.clip(rng.standard_normal(case.dim))
    v, ell = np.zeros(case.dim), 0.0
    for c, psi, loss in zip(problem.c, problem.psi, problem.loss, strict=True):
        alpha = rng.dirichlet(np.full(len(loss), 0.3))
        v, ell = v + c / problem.lam * alpha @ psi, ell + c * alpha @ loss
    return problem, w, v, ell


@pytest.mark.parametrize("name", ["chain-cost", "multiclass-cost", "bounded-multiclass-cost", "graph-cost"])
@pytest.mark.parametrize("seed", range(5))
def test_gap_of_any_weights_against_multiples_of_a_dual_point(name, seed):
    """Against the best of many multiples: equal without bounds, an upper bound with them; and reached where it says."""
    case = CASES[name]
    problem, w, v, ell = random_pair(case, seed)
    h, norm, lam = problem.c @ problem.hinge(w), w @ w / 2.0, problem.lam
    Q = lam * (ell - problem.dual(v, ell))
    gap = GapBound(lam, problem.primal(w) - problem.dual(v, ell), h, norm, ell, Q, scalable=True)

    def best(smaller):
        other = case.enumerated(lam=smaller)
        t = np.linspace(smaller / lam, 1.0, 2001)
        return other.primal(w) - max(other.dual(s * lam / smaller * v, s * ell) for s in t)

    for smaller in (0.69, 0.4, 0.1, 0.01):
        if case.box is None:
            assert gap.at(smaller) == pytest.approx(best(smaller), rel=1e-5)
        assert gap.at(smaller) >= best(smaller) - 1e-5
        shrunk = gap._replace(scalable=False).at(smaller)
        assert shrunk == pytest.approx(h + smaller * (norm + Q / lam**2 - ell / lam), rel=1e-9)
    for bound in (gap, gap._replace(scalable=False)):
        eps = 0.5 * (bound.gap + h)
        if bound.gap < eps:
            end = bound.lower_end(eps)
            assert bound.at(end) == pytest.approx(eps, rel=1e-9)
            assert bound.at(1.01 * end) < eps
        assert bound.lower_end(max(h, bound.gap)) == 0.0


@given(st.integers(1, 12), st.lists(st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.5]), min_size=12, max_size=12)))
def test_weights_come_back_as_they_were(dim, rows):
    kept = WeightDeltas(dim)
    for row in rows:
        kept.append(np.array(row[:dim]))
    for j, w in enumerate(kept):
        np.testing.assert_array_equal(w, rows[j][:dim])
        np.testing.assert_array_equal(kept[j], w)


def test_few_changes_take_little_room():
    kept, w = WeightDeltas(100_000), np.zeros(100_000)
    for j in range(50):
        w[j : j + 10] = j + 1.0
        kept.append(w)
    assert len(pickle.dumps(kept)) < 2 * w.nbytes
    np.testing.assert_array_equal(kept[49], w)


@pytest.fixture(scope="module")
def words():
    return bcfw.datasets.load_digit_words()


@pytest.fixture(scope="module")
def path(words):
    return bcfw.regularization_path(bcfw.models.Chain(), words.X_train, words.y_train, lam_min=1e-3)


def test_losses_are_those_of_the_model(path, words):
    X, y = words.X_test[:40], words.y_test[:40]
    weight = 1.0 + np.arange(40) % 3
    found = path.validate(X, y, sample_weight=weight)
    np.testing.assert_array_equal(found.lambdas, path.lambdas)
    for lam, loss in zip(found.lambdas, found.losses, strict=True):
        errors = [np.mean(a != b) for a, b in zip(y, path.predict(lam, X), strict=True)]
        assert loss == pytest.approx(weight @ errors / weight.sum(), abs=1e-12)
    assert found.best == found.lambdas[np.argmin(found.losses)]


def test_the_interval_holds_what_is_as_good(path, words):
    found = path.validate(words.X_test, words.y_test, tolerance=0.02)
    low, high = found.interval
    assert low < found.best <= high
    inside = [loss for lam, loss in zip(found.lambdas, found.losses, strict=True) if low < lam <= high]
    assert max(inside) <= found.losses.min() + 0.02
    above = found.losses[found.lambdas > high]
    assert high == np.inf or above[-1] > found.losses.min() + 0.02
    everything = path.validate(words.X_test, words.y_test, tolerance=1.0)
    assert everything.interval == (0.0 if path.status == "complete" else path.lambdas[-1], np.inf)


def test_the_interval_of_a_grid_ends_at_its_values(words):
    grid = bcfw.grid_path(bcfw.models.Chain(), words.X_train, words.y_train, [1.0, 0.1], eps=0.1)
    assert grid.validate(words.X_test, words.y_test, tolerance=1.0).interval == (0.1, 1.0)


def test_wrong_data_to_validate(path, words):
    with pytest.raises(bcfw.InputError, match="validate: X has 3 examples and y has 2"):
        path.validate(words.X_test[:3], words.y_test[:2])
    with pytest.raises(bcfw.OptionError, match="tolerance must be"):
        path.validate(words.X_test, words.y_test, tolerance=-1)


def test_progress_shows_lam_and_the_end(capsys, words):
    bcfw.regularization_path(bcfw.models.Chain(), words.X_train, words.y_train, lam_min=0.1, verbose=2)
    shown = capsys.readouterr().err
    assert "lam " in shown
    assert "path lam_min with" in shown


def test_a_path_can_be_pickled(path):
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.weights(0.05), path.weights(0.05))
