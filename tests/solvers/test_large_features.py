"""Features of any size: runs go on as long as they gain, and an outer loop in their units makes them converge."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

import bcfw
from bcfw.models import BinaryGraph, Multiclass
from bcfw.solvers import BCFW, BatchFW, MultiPlane
from problems import CASES

THREE = np.array([[1000.0, 300.0], [1000.0, -400.0], [900.0, 350.0]])
BY_FEATURES = MultiPlane(acceleration="features", clock="count")


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_three_examples_of_any_scale(scale):
    result = bcfw.train(Multiclass(), scale * THREE, [0, 1, 2], lam=1e-6, tol=1e-4)
    assert (result.status, result.certified) == ("converged", True)


@pytest.mark.filterwarnings("ignore::bcfw.ConvergenceWarning")
@pytest.mark.parametrize("solver", [BCFW(), BatchFW(), MultiPlane(clock="count")], ids=repr)
def test_a_run_that_still_gains_is_not_called_stalled(solver):
    """The dual is about 1e-11 of P(0) here, and so is what a pass can gain."""
    result = bcfw.train(Multiclass(), THREE, [0, 1, 2], lam=1e-6, tol=1e-6, max_passes=500, solver=solver)
    assert result.status in ("converged", "max_passes")
    assert np.all(np.diff(result.history["dual"]) > 0)


@pytest.mark.parametrize("solver", ["auto", BY_FEATURES], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_features_far_from_zero(solver, seed):
    """What tells the classes apart is a hundredth of the features: iterations that are not exact may lead away."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=80)
    X = np.column_stack([100.0 + rng.standard_normal((80, 2)) + 0.3 * y[:, None], np.ones(80)])
    result = bcfw.train(Multiclass(), X, y, lam=0.02, solver=solver, max_passes=400)
    assert (result.status, result.certified) == ("converged", True)


def test_digits_as_bytes():
    X, y = load_digits(return_X_y=True)
    result = bcfw.train(Multiclass(), 255 / 16 * X[:50], y[:50], lam=1e-6)
    assert (result.status, result.certified) == ("converged", True)


@pytest.mark.parametrize(("load", "least"), [(load_breast_cancer, 0.95), (load_wine, 0.91)])
def test_raw_tables_with_default_options(load, least):
    X, y = load(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    svm = bcfw.MulticlassSVM().fit(X_train, y_train)
    assert svm.result_.status == "converged"
    assert svm.score(X_test, y_test) >= least


@pytest.mark.parametrize("name", ["multiclass-cost", "chain-cost", "chain-no-ends-sum-csr", "multilabel-tree"])
def test_it_reaches_the_optimum_in_any_units(name):
    """The same problem with some features in other units has another optimum; both are reached."""
    case = CASES[name]
    problem = case.problem()
    model, units = problem.adapter.model, 10.0 ** np.random.default_rng(0).uniform(-2, 2, problem.data.n_features)
    scale = sp.diags_array(units)
    X = [x @ scale for x in case.X] if isinstance(case.X, list) else case.X @ scale
    result = bcfw.train(model, X, case.y, lam=case.lam, tol=1e-5, solver=BY_FEATURES, max_passes=3000)
    other = bcfw.train(model, X, case.y, lam=case.lam, tol=1e-5, solver="multi-plane", max_passes=1e5)
    assert result.status == other.status == "converged"
    assert abs(result.primal - other.primal) <= max(result.gap, other.gap)


@pytest.mark.parametrize("name", ["multiclass-cost", "chain-cost", "chain-no-ends-sum-csr", "multilabel-tree"])
def test_rescaled_data_are_those_of_rescaled_inputs(name):
    """Hinge losses at w in the new units are those at w; features are divided by the units."""
    problem = CASES[name].problem()
    rng = np.random.default_rng(1)
    F, K = problem.data.n_features, problem.data.n_labels
    units = np.append(np.repeat(rng.uniform(0.1, 10, F), K), np.ones(problem.adapter.dim - F * K))
    w = rng.standard_normal(problem.adapter.dim)
    before = problem.hinge_losses_at(w)
    sizes = problem.adapter.feature_sizes(problem.data)
    problem.data = problem.adapter.rescaled(problem.data, units)
    np.testing.assert_allclose(problem.hinge_losses_at(units * w), before, rtol=1e-12, atol=1e-12)
    rescaled = problem.adapter.feature_sizes(problem.data)
    np.testing.assert_allclose(rescaled[: F * K], np.where(sizes == 1, 1, sizes / units)[: F * K], rtol=1e-12)


@pytest.mark.parametrize("seed", [115, 167, 221])
def test_a_certified_better_point_is_never_given_up(seed):
    """One graph, whose steps drop masses of 1e-18: that is no stall, and what was certified before is kept."""
    rng = np.random.default_rng(seed)
    F, G, edges = 1 + seed % 3, 1 + seed % 2, [[0, 1], [1, 2]] if seed % 4 < 2 else [[0, 1], [1, 2], [0, 2]]
    x = rng.standard_normal((3, F)), np.array(edges), rng.uniform(100, 200, (len(edges), G))
    model, solver = BinaryGraph(cost=[[0, 3.2], [0, 0]]), MultiPlane(acceleration=100, clock="count")
    y = rng.integers(0, 2, 3)
    result = bcfw.train(model, [x], [y], lam=0.000367, bounds=(0, None), solver=solver, tol=0.01)
    assert result.status == "converged"
    assert np.all(np.diff(result.history["primal"]) <= 0)
    assert np.all(np.diff(result.history["dual"]) >= 0)


def test_the_warning_names_the_features_and_what_to_do():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(
        bcfw.ConvergenceWarning, match=r"features are large for lam = 0.01 \(.* from 0.3.* to 8.1e\+02\)"
    ):
        bcfw.train(Multiclass(), X, y, solver=BCFW(), max_passes=20)
    with pytest.warns(bcfw.ConvergenceWarning, match=r"StandardScaler for example, or leave solver='auto'"):
        bcfw.train(Multiclass(), X, y, solver=BCFW(), max_passes=20)
    with pytest.warns(bcfw.ConvergenceWarning, match="or tol$"):
        bcfw.train(Multiclass(), (X - X.mean(0)) / X.std(0), y, tol=1e-9, max_passes=5)


def test_what_it_does_not_go_with():
    with pytest.raises(bcfw.OptionError, match="cannot handle bounds"):
        CASES["multiclass-cost"].train(solver=BY_FEATURES, bounds=(0, None))
    with pytest.raises(bcfw.OptionError, match="needs features in rows"):
        CASES["dense-features"].train(solver=BY_FEATURES)
    with pytest.raises(bcfw.OptionError, match="number >= 0 or 'features', got 'rows'"):
        MultiPlane(acceleration="rows")
