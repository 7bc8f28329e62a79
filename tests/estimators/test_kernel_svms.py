"""MulticlassSVM and ChainSVM with a kernel: as explicit features say, and as scikit-learn's SVC has it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC

import bcfw
from bcfw.errors import OptionError
from bcfw.estimators import ChainSVM, MulticlassSVM, MulticlassSVMCV
from bcfw.solvers import BCFW, KernelBCFW

X, Y = make_moons(200, noise=0.15, random_state=0)
NAMES = np.array(["down", "up"])[Y]
WORDS = bcfw.datasets.load_digit_words(n_train=60, n_test=40)


def test_a_kernel_separates_what_features_cannot():
    linear = MulticlassSVM(C=10.0).fit(X, NAMES)
    svm = MulticlassSVM(C=10.0, kernel="rbf", gamma=2.0).fit(X, NAMES)
    assert svm.score(X, NAMES) > linear.score(X, NAMES) + 0.05
    assert svm.score(X, NAMES) >= SVC(C=10.0, gamma=2.0).fit(X, NAMES).score(X, NAMES) - 0.02
    assert set(svm.predict(X)) == {"down", "up"}
    assert svm.decision_function(X).shape == (200,)
    np.testing.assert_array_equal(svm.decision_function(X) > 0, svm.predict(X) == "up")
    assert svm.dual_coef_.shape == (2, len(svm.support_))
    assert svm.result_.w is None


def test_linear_is_the_path_of_explicit_features():
    a, b = (MulticlassSVM(kernel=kernel).fit(X, Y) for kernel in (None, "linear"))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    assert a.result_.w is not None


def test_the_intercept_is_a_constant_feature_beside_those_of_the_kernel():
    """With the linear kernel by values it is the problem with explicit features and a constant."""
    explicit = MulticlassSVM(lam=0.01, tol=1e-6, intercept_scaling=2.0).fit(X, Y)
    by_kernel = MulticlassSVM(lam=0.01, tol=1e-6, intercept_scaling=2.0, solver=KernelBCFW(kernel="linear")).fit(X, Y)
    assert by_kernel.result_.primal == pytest.approx(explicit.result_.primal, abs=2e-6)
    np.testing.assert_allclose(by_kernel.decision_function(X), explicit.decision_function(X), atol=0.05)


def test_coef_is_not_there_with_a_kernel():
    svm = MulticlassSVM(kernel="rbf").fit(X, Y)
    for name in ("coef_", "intercept_"):
        with pytest.raises(AttributeError, match=f"{name} is only available with explicit features"):
            getattr(svm, name)
    svm.set_params(kernel=None).fit(X, Y)
    assert svm.coef_.shape == (2, 2)
    svm.set_params(kernel="rbf").fit(X, Y)
    assert not hasattr(svm, "coef_")
    with pytest.raises(AttributeError, match="has no attribute 'coeff_'"):
        svm.coeff_  # noqa: B018


def test_precomputed_values_go_through_cross_validation():
    K = rbf_kernel(X, gamma=2.0)
    given = cross_val_score(MulticlassSVM(C=10.0, kernel="precomputed"), K, Y, cv=3)
    named = cross_val_score(MulticlassSVM(C=10.0, kernel="rbf", gamma=2.0), X, Y, cv=3)
    np.testing.assert_allclose(given, named, atol=0.02)


def test_functions_searches_clones_and_pickles():
    svm = clone(MulticlassSVM(C=10.0, kernel=rbf_kernel)).fit(X, Y)
    assert svm.score(X, Y) > 0.8
    found = GridSearchCV(MulticlassSVM(C=10.0, kernel="rbf"), {"gamma": [0.01, 2.0]}, cv=3).fit(X, Y)
    assert found.best_params_ == {"gamma": 2.0}
    twin = pickle.loads(pickle.dumps(found.best_estimator_))
    np.testing.assert_array_equal(twin.predict(X), found.predict(X))


def test_chains_with_a_kernel():
    svm = ChainSVM(lam=0.01, tol=0.1, kernel="rbf").fit(WORDS.X_train, WORDS.y_train)
    plain = ChainSVM(lam=0.01, tol=0.1).fit(WORDS.X_train, WORDS.y_train)
    assert svm.score(WORDS.X_test, WORDS.y_test) > plain.score(WORDS.X_test, WORDS.y_test) - 0.05
    for marginals, labels in zip(svm.decision_function(WORDS.X_test), svm.predict(WORDS.X_test), strict=True):
        np.testing.assert_array_equal(svm.classes_[marginals.argmax(axis=1)], labels)
    assert svm.transitions_.shape == (len(svm.classes_),) * 2
    assert svm.first_.any()
    assert svm.dual_coef_.shape == (len(svm.classes_), len(svm.support_))


def test_options_of_the_solver_are_reached():
    """Batch steps, exact block solves and the memory of kernel rows, with the same optimum."""
    values = []
    for options in ({"step": "solve"}, {"step": "solve", "cache_mb": 0.1}, {"step": "fw"}, {"step": "batch"}):
        svm = MulticlassSVM(C=1.0, tol=0.02, max_passes=5000, solver=KernelBCFW(gamma=2.0, **options)).fit(X, Y)
        assert svm.result_.certified
        values.append((svm.result_.dual, svm.result_.primal))
        assert len(svm.support_) == svm.result_.n_support <= len(Y)
    assert max(dual for dual, _ in values) <= min(primal for _, primal in values)


def test_any_estimator_scores_its_outputs():
    """``decision_function`` of StructuralSVM, whose solver forms no weights: as explicit features have it."""
    models = ((bcfw.models.Multiclass(2), X, Y), (bcfw.models.Chain(), WORDS.X_train[:20], WORDS.y_train[:20]))
    for model, inputs, outputs in models:
        svm = bcfw.StructuralSVM(model, tol=0.1, max_passes=5000, solver=KernelBCFW(kernel="linear")).fit(
            inputs, outputs
        )
        weights, rows = svm.result_.kernel_weights, np.vstack(inputs)
        U = rows[weights.support].T @ weights.coefficients
        w = np.concatenate([U.ravel(), weights.others])
        features = [svm.result_.model.features(x, y) for x, y in zip(inputs, svm.predict(inputs), strict=True)]
        np.testing.assert_allclose(svm.decision_function(inputs), np.array(features) @ w, atol=1e-10)
        assert not hasattr(svm, "coef_")


def test_probabilities_with_a_kernel():
    svm = MulticlassSVM(C=10.0, kernel="rbf", probability=True).fit(X, NAMES)
    P, scores = svm.predict_proba(X), svm.result_.kernel_weights.scores(X)
    np.testing.assert_allclose(P, softmax(scores / svm.temperature_, axis=1), atol=1e-12)
    np.testing.assert_array_equal(svm.classes_[P.argmax(axis=1)], svm.predict(X))
    # |w - w*|^2 <= 2 gap/lam, with lam = 1/200: weights agree to 2e-4.
    explicit = MulticlassSVM(C=1.0, tol=1e-10, probability=True).fit(X, Y)
    by_kernel = MulticlassSVM(C=1.0, tol=1e-10, solver=KernelBCFW(kernel="linear"), probability=True).fit(X, Y)
    assert by_kernel.temperature_ == pytest.approx(explicit.temperature_, rel=1e-3)
    np.testing.assert_allclose(by_kernel.predict_proba(X), explicit.predict_proba(X), atol=1e-3)


def test_sequences_have_probabilities_with_a_kernel():
    svm = ChainSVM(tol=0.1, kernel="rbf", probability=True, probability_folds=2).fit(WORDS.X_train, WORDS.y_train)
    tables, weights = svm.predict_proba(WORDS.X_test), svm.result_.kernel_weights
    np.testing.assert_allclose(np.vstack(tables).sum(axis=1), 1.0, atol=1e-12)
    model, scores = bcfw.models.Chain(len(svm.classes_)), [weights.scores([x]) for x in WORDS.X_test]
    model = model.bind(scores, [np.zeros(len(x), int) for x in scores])  # scores as features, each of its own label
    w = np.concatenate([np.eye(len(svm.classes_)).ravel(), weights.others])
    named = model.probabilities(w, scores, temperature=svm.temperature_)
    for one, table in zip(named, tables, strict=True):
        np.testing.assert_allclose(one.positions, table, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"kernel": "rbf", "solver": "bcfw"},
            "solver 'bcfw' needs explicit features and does not go with kernel='rbf'",
        ),
        ({"kernel": "rbf", "solver": BCFW()}, r"solver BCFW\(\) needs explicit features"),
        ({"kernel": "rbf", "solver": KernelBCFW()}, "kernel is given twice"),
        ({"kernel": "rbf", "warm_start": True}, "warm_start=True does not go with a kernel"),
        ({"kernel": "precomputed", "probability": True}, "does not go with kernel='precomputed'"),
        ({"kernel": "joint"}, "kernel='joint' is for a model of your own"),
        ({"solver": KernelBCFW(kernel="joint")}, "kernel='joint' is for a model of your own"),
        ({"kernel": "rfb"}, "kernel 'rfb' is unknown"),
        ({"kernel": "rbf", "gamma": 0.0}, "gamma must be a number > 0"),
        ({"kernel": "poly", "degree": 0}, "degree must be a whole number >= 1"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(OptionError, match=message):
        MulticlassSVM(**options).fit(X, Y)


def test_paths_have_no_kernels():
    with pytest.raises(OptionError, match="paths need explicit features"):
        MulticlassSVMCV(solver=KernelBCFW()).fit(X, Y)


def test_kernels_that_fail_are_named():
    X, y = np.eye(3), [0, 1, 2]
    with pytest.raises(
        bcfw.InputError, match=r"kernel: the function raised TypeError: len\(\) takes .*; it gets two matr"
    ):
        MulticlassSVM(kernel=len).fit(X, y)
    for kernel in (np.zeros((0, 0)), sp.csr_array(X)):
        with pytest.raises(bcfw.OptionError, match=r"kernel must be a name, a function of two matrices or None, got a"):
            MulticlassSVM(kernel=kernel).fit(X, y)
