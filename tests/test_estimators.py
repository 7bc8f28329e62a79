"""Estimators: scikit-learn's contract, the objective, labels, weights, and one clear error for each bad input."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import bcfw
from bcfw.errors import ConvergenceWarning, InputError, ModelError, OptionError
from bcfw.estimators import ChainSVM, MatchingSVM, MulticlassSVM, MultilabelSVM, StructuralSVM, alignment_scores
from bcfw.estimators.repeats import merge_repeats
from bcfw.inputs.matrices import with_constant
from bcfw.models.max_marginals import chain_max_marginals

WORDS = np.array(["ant", "bee", "cow"])


class Pick(bcfw.Model):
    """A user's own multiclass model with K = 3, in plain Python; the mistakes are switched on one by one."""

    def __init__(self, mistake=None):
        self.mistake = mistake

    def features(self, x, y):
        out = np.zeros((3, len(x)))
        out[y] = x
        return sp.csr_array(out.reshape(1, -1)) if self.mistake == "sparse" else out.ravel()

    def loss(self, y_true, y):
        if self.mistake == "truth":
            return 1.0
        return (-1.0 if self.mistake == "negative" else 1.0) * float(y != y_true)

    def oracle(self, w, x, y_true=None):
        if self.mistake == "crash":
            raise KeyError("no such part")
        scores = w.reshape(3, len(x)) @ x
        if y_true is not None and self.mistake != "plain":
            scores = scores + (np.arange(3) != y_true)
        return int(np.argmin(scores) if self.mistake == "smallest" else np.argmax(scores))


class ScaleSequences(TransformerMixin, BaseEstimator):
    """Divide every sequence's features by their mean size."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, X, y=None):
        self.scale_ = np.mean([np.abs(x).mean() for x in X]) ** self.power
        return self

    def transform(self, X):
        return [x / self.scale_ for x in X]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=90)
    X = np.eye(3)[codes] @ rng.standard_normal((3, 4)) * 2 + rng.standard_normal((90, 4))
    return X, WORDS[codes]


@pytest.fixture(scope="module")
def sequences():
    rng = np.random.default_rng(1)
    codes = [rng.integers(3, size=rng.integers(1, 7)) for _ in range(30)]
    X = [np.eye(3)[c] @ np.eye(3, 5) + 0.4 * rng.standard_normal((len(c), 5)) for c in codes]
    return X, [WORDS[c].tolist() for c in codes]


def lists(labels):
    return [list(one) for one in labels]


def hinge_objective(svm, X, codes, weight):
    """P of a multiclass SVM by hand; the intercept's weight is intercept_ / intercept_scaling."""
    scores = X @ svm.coef_.T + svm.intercept_
    cost = 1.0 - np.eye(len(svm.classes_)) if svm.cost is None else np.asarray(svm.cost)
    hinge = np.max(cost[codes] + scores, axis=1) - scores[np.arange(len(codes)), codes]
    square = np.sum(svm.coef_**2) + np.sum((svm.intercept_ / svm.intercept_scaling) ** 2)
    return svm.lam_ / 2 * square + weight @ hinge / np.sum(weight)


# --- scikit-learn's contract


@pytest.mark.filterwarnings("ignore::bcfw.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([MulticlassSVM(fit_intercept=True, C=1.0), MultilabelSVM(tree="auto", C=1.0)])
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::bcfw.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("estimator", [MulticlassSVM(), MultilabelSVM()], ids=lambda e: type(e).__name__)
def test_check_estimator_with_defaults(estimator):
    results = check_estimator(estimator)
    assert {result["status"] for result in results} <= {"passed", "skipped"}


@pytest.mark.parametrize(
    "estimator",
    [StructuralSVM(Pick()), MulticlassSVM(), MultilabelSVM(), ChainSVM(), MatchingSVM()],
    ids=lambda e: type(e).__name__,
)
def test_constructor_only_stores_and_clone_copies(estimator):
    assert set(vars(estimator)) == set(estimator.get_params())
    twin = clone(estimator.set_params(lam=0.5, C=2.0, tol=0.1, verbose=0))
    assert twin is not estimator
    assert {k: v for k, v in twin.get_params().items() if k != "model"} == {
        k: v for k, v in estimator.get_params().items() if k != "model"
    }
    assert "lam=0.5" in repr(twin)
    with pytest.raises(ValueError, match="Invalid parameter 'lamb'"):
        estimator.set_params(lamb=1)
    with pytest.raises(NotFittedError):
        estimator.predict([[1.0]])
    with pytest.raises(NotFittedError):
        estimator.decision_function([[1.0]])


def test_tags():
    assert MulticlassSVM().__sklearn_tags__().input_tags.two_d_array
    assert MulticlassSVM().__sklearn_tags__().estimator_type == "classifier"
    for estimator in (ChainSVM(), MatchingSVM(), StructuralSVM(Pick())):
        tags = estimator.__sklearn_tags__()
        assert not tags.input_tags.two_d_array
        assert tags.target_tags.required
        assert tags.estimator_type is None  # stratified folds would need one label per example


def test_grid_search_in_a_pipeline_of_points(points):
    X, y = points
    search = GridSearchCV(make_pipeline(StandardScaler(), MulticlassSVM()), {"multiclasssvm__lam": [10.0, 0.01]}, cv=3)
    search.fit(X, y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.score(X, y) > 0.8
    assert search.predict(X).dtype == y.dtype


def test_grid_search_in_a_pipeline_of_sequences(sequences):
    X, y = sequences
    pipe = make_pipeline(ScaleSequences(), ChainSVM(tol=0.02))
    search = GridSearchCV(pipe, {"chainsvm__lam": [100.0, 0.01], "scalesequences__power": [0.0, 1.0]}, cv=3)
    search.fit(X, y)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert search.score(X, y) > 0.9


def test_cross_validation_of_a_users_model(points):
    X, y = points
    codes = np.searchsorted(WORDS, y).tolist()
    assert np.all(cross_val_score(StructuralSVM(Pick(), lam=0.05, tol=0.05), list(X), codes, cv=3) > 0.6)


@pytest.mark.parametrize("warm_start", [False, True])
def test_pickles_predict_the_same_and_keep_the_dual_state_only_to_continue(points, sequences, warm_start):
    fitted = [
        (MulticlassSVM(warm_start=warm_start).fit(*points), points[0]),
        (ChainSVM(warm_start=warm_start).fit(*sequences), sequences[0]),
        (StructuralSVM(bcfw.models.Multiclass(), warm_start=warm_start).fit(np.eye(3), [0, 1, 2]), np.eye(3)),
    ]
    for svm, X in fitted:
        twin = pickle.loads(pickle.dumps(svm))
        assert all(np.array_equal(a, b) for a, b in zip(svm.predict(X), twin.predict(X), strict=True))
        assert bool(twin.result_.snapshot) is warm_start
        assert svm.result_.snapshot


# --- the objective


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_multiclass_objective_by_hand(points, fit_intercept, weighted):
    X, y = points
    codes = np.searchsorted(WORDS, y)
    weight = np.random.default_rng(2).integers(0, 4, size=len(y)).astype(float) if weighted else np.ones(len(y))
    svm = MulticlassSVM(
        lam=0.02, tol=1e-4, cost=[[0, 1, 2], [1, 0, 1], [3, 1, 0]], fit_intercept=fit_intercept, intercept_scaling=3.0
    ).fit(X, y, weight if weighted else None)
    primal = hinge_objective(svm, X, codes, weight)
    assert primal == pytest.approx(svm.result_.primal, rel=1e-9)
    assert 0 <= svm.duality_gap_ <= 1e-4 * svm.result_.history["primal"][0]
    assert primal - svm.duality_gap_ <= svm.result_.dual + 1e-12
    assert isinstance(svm.n_iter_, int)
    assert svm.n_iter_ >= 1
    assert np.any(svm.intercept_ != 0) == fit_intercept


def test_without_intercept_the_fit_is_that_of_train(points, sequences):
    X, y = points
    svm = MulticlassSVM(fit_intercept=False, random_state=3).fit(X, y)
    result = bcfw.train(bcfw.models.Multiclass(), X, np.searchsorted(WORDS, y), seed=3)
    assert np.array_equal(svm.coef_, result.w.reshape(4, 3).T)
    X, y = sequences
    svm = ChainSVM(random_state=3).fit(X, y)
    result = bcfw.train(bcfw.models.Chain(), X, [np.searchsorted(WORDS, labels) for labels in y], seed=3)
    parts = (svm.coef_.T, svm.first_, svm.last_, svm.transitions_)
    assert np.array_equal(np.concatenate([np.ravel(part) for part in parts]), result.w)


def test_chain_without_end_bias_with_intercept(sequences):
    X, y = sequences
    svm = ChainSVM(end_bias=False, fit_intercept=True, intercept_scaling=2.0, normalize=False, tol=0.02).fit(X, y)
    assert svm.coef_.shape == (3, 5)
    assert not svm.first_.any()
    assert not svm.last_.any()
    assert svm.intercept_.any()
    assert np.array_equal(svm.intercept_, 2.0 * svm.result_.w[15:18])
    assert np.array_equal(svm.transitions_.ravel(), svm.result_.w[18:])
    svm.set_params(fit_intercept=False)  # options count at the next fit only
    assert svm.score(X, y) > 0.9


def test_C_is_one_over_lam_times_the_sum_of_weights(points, sequences):
    for Estimator, (X, y) in ((MulticlassSVM, points), (ChainSVM, sequences)):
        weight = np.linspace(0.5, 2.0, len(X))
        by_lam = Estimator(lam=0.05).fit(X, y, weight)
        by_C = Estimator(lam=123.0, C=1 / (0.05 * weight.sum())).fit(X, y, weight)
        assert by_C.lam_ == pytest.approx(0.05, rel=1e-12)
        assert np.allclose(by_lam.coef_, by_C.coef_, rtol=1e-9)
    assert StructuralSVM(bcfw.models.Multiclass(), C=0.1).fit(np.eye(2), [0, 1]).lam_ == pytest.approx(5.0)


def test_more_intercept_scaling_regularises_the_intercept_less():
    X, y = np.array([[2.0], [3.0], [4.0], [5.0]]), [0, 0, 1, 1]
    small, large = (
        MulticlassSVM(lam=0.1, tol=0.01, max_passes=20000, intercept_scaling=s).fit(X, y) for s in (1.0, 5.0)
    )
    assert large.result_.primal < small.result_.primal
    assert large.score(X, y) == 1.0


# --- weights


def test_integer_weights_are_exactly_repetition_for_points(points):
    X, y = points
    weight = np.random.default_rng(3).integers(0, 4, size=len(y))
    order = np.random.default_rng(4).permutation(np.repeat(np.arange(len(y)), weight))
    for convert in (np.asarray, sp.csr_array):
        weighted = MulticlassSVM().fit(convert(X), y, weight)
        repeated = MulticlassSVM().fit(convert(X[order]), y[order])
        assert np.array_equal(weighted.coef_, repeated.coef_)
        assert len(weighted.result_.snapshot["ell"]) == np.count_nonzero(weight)


def test_integer_weights_are_repetition_for_sequences_within_the_gaps(sequences):
    X, y = sequences
    weight = np.random.default_rng(3).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    options = {"lam": 0.1, "tol": 1e-3, "max_passes": 20000}
    weighted = ChainSVM(**options).fit(X, y, weight)
    repeated = ChainSVM(**options).fit([X[i] for i in rows], [y[i] for i in rows])
    gaps = weighted.duality_gap_ + repeated.duality_gap_
    assert abs(weighted.result_.primal - repeated.result_.primal) <= gaps
    # Strong convexity: lam/2 |w - w*|^2 is at most the gap, for each of the two.
    assert np.linalg.norm(weighted.result_.w - repeated.result_.w) <= 2 * np.sqrt(2 * gaps / 0.1)


def test_merge_repeats_keeps_plain_data_and_merges_equal_pairs_only():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    plain = merge_repeats(X[:2], np.array([0, 1]), None)
    assert plain[0].base is X
    assert plain[2] is None
    for convert in (np.asarray, sp.csr_array):
        merged, codes, weight = merge_repeats(convert(X), np.array([0, 1, 0, 1]), np.array([1.0, 0.0, 2.0, 5.0]))
        assert sorted(zip(codes.tolist(), weight.tolist(), strict=True)) == [(0, 3.0), (1, 5.0)]
        assert np.array_equal(merged.sum(axis=0), [2.0, 0.0])


def test_warm_starts_go_on_with_other_weights(points):
    X, y = points
    svm = MulticlassSVM(warm_start=True).fit(X, y)
    assert svm.fit(X, y, np.ones(len(y))).result_.n_passes == 0
    assert svm.fit(X, y, np.resize([0.0, 1.0, 1.0], len(y))).result_.history["dual"][0] != 0.0


def test_class_weight_is_a_factor_of_the_sample_weights(points):
    X, y = points
    weight = np.linspace(0.5, 2.0, len(y))
    factor = {"ant": 3.0, "cow": 0.5}
    by_class = MulticlassSVM(class_weight=factor).fit(X, y, weight)
    by_sample = MulticlassSVM().fit(X, y, weight * [factor.get(label, 1.0) for label in y])
    assert np.array_equal(by_class.coef_, by_sample.coef_)
    counts = {word: np.count_nonzero(y == word) for word in WORDS}
    balanced = MulticlassSVM(class_weight="balanced", C=0.1).fit(X, y)
    by_sample = MulticlassSVM(C=0.1).fit(X, y, [len(y) / (3 * counts[label]) for label in y])
    assert balanced.lam_ == pytest.approx(1 / (0.1 * len(y)))
    assert np.allclose(balanced.coef_, by_sample.coef_, rtol=1e-9)


def test_class_weight_of_a_chain_scales_the_rows_of_the_cost(sequences):
    X, y = sequences
    by_class = ChainSVM(class_weight={"bee": 4.0}).fit(X, y)
    by_cost = ChainSVM(cost=(1 - np.eye(3)) * np.array([[1.0], [4.0], [1.0]])).fit(X, y)
    assert np.array_equal(by_class.result_.w, by_cost.result_.w)
    cost = ChainSVM(class_weight="balanced").fit(X, y).result_.model.cost
    counts = np.array([sum(labels.count(word) for labels in y) for word in WORDS])
    assert np.allclose(cost[:, 0].sum() + cost[0, 1] - cost[0, 0], np.sum(counts.sum() / (3 * counts)))


# --- labels, predictions and scores


@pytest.mark.parametrize(
    "kinds",
    [
        ["x", "y", "z"],
        [("N", 1), ("V", 2), ("N", 2)],
        [1, "one", None],
        [-5, 0, 7],
        [True, False],
        [frozenset("a"), frozenset("b"), 3.5],
    ],
    ids=["text", "tuples", "mixed", "integers", "bool", "objects"],
)
def test_labels_of_any_hashable_type_come_back(kinds):
    codes = [0, 1, len(kinds) - 1, 0, 1, len(kinds) - 1]
    X = np.eye(len(kinds))[codes]
    y = [kinds[c] for c in codes]
    svm = MulticlassSVM().fit(X, y)
    assert svm.predict(X).tolist() == y
    assert svm.score(X, y) == 1.0
    expected = kinds
    with_order = {str, int, bool, tuple}
    if {type(kind) for kind in kinds} <= with_order and len({type(kind) for kind in kinds}) == 1:
        expected = sorted(kinds)
    assert svm.classes_.tolist() == expected
    chain = ChainSVM().fit([X[:4], X[4:]], [y[:4], y[4:]])
    assert lists(chain.predict([X[:4], X[4:]])) == [y[:4], y[4:]]
    assert chain.classes_.tolist() == expected
    assert chain.score([X[:4], X[4:]], [y[:4], y[4:]]) == 1.0


def test_chain_labels_may_be_arrays_strings_or_of_a_type_per_sequence():
    X = [np.eye(2)[[0, 1]], np.eye(2)[[1, 1]]]
    assert [labels.tolist() for labels in ChainSVM().fit(X, ["ab", "bb"]).predict(X)] == [["a", "b"], ["b", "b"]]
    arrays = ChainSVM().fit(X, np.array([[3, 8], [8, 8]]))
    assert arrays.predict(X)[0].dtype.kind == "i"
    mixed = ChainSVM().fit(X, [np.array([1, 2]), ["x", "x"]])
    assert mixed.classes_.tolist() == [1, 2, "x"]
    assert mixed.score(X, [[1, "x"], ["x", "x"]]) == mixed.score(X, [np.array([1, "x"], object), ["x", "x"]])


def test_decision_function_decides(points):
    X, y = points
    svm = MulticlassSVM().fit(X, y)
    scores = svm.decision_function(X)
    assert scores.shape == (90, 3)
    assert np.array_equal(svm.classes_[scores.argmax(axis=1)], svm.predict(X))
    two = y != "cow"
    svm = MulticlassSVM().fit(X[two], y[two])
    scores = svm.decision_function(X)
    assert scores.shape == (90,)
    assert svm.coef_.shape == (2, 4)
    assert np.array_equal(svm.classes_[(scores > 0).astype(int)], svm.predict(X))


def test_max_marginals_by_enumeration():
    rng = np.random.default_rng(5)
    unary, transitions = rng.standard_normal((4, 3)), rng.standard_normal((3, 3))
    first, last = rng.standard_normal((2, 3))
    expected = np.full((4, 3), -np.inf)
    for y in itertools.product(range(3), repeat=4):
        score = unary[range(4), y].sum() + transitions[y[:-1], y[1:]].sum() + first[y[0]] + last[y[-1]]
        for t, k in enumerate(y):
            expected[t, k] = max(expected[t, k], score)
    assert np.allclose(chain_max_marginals(unary, transitions, first, last), expected, rtol=1e-12)
    assert np.allclose(chain_max_marginals(unary[:1], transitions, first, last), unary[:1] + first + last)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_chain_decision_function_agrees_with_predict_and_the_model(sequences, fit_intercept):
    X, y = sequences
    svm = ChainSVM(fit_intercept=fit_intercept).fit(X, y)
    model, w = svm.result_.model, svm.result_.w
    for x, labels, marginals in zip(X, svm.predict(X), svm.decision_function(X), strict=True):
        codes = marginals.argmax(axis=1)
        assert np.array_equal(svm.classes_[codes], labels)
        seen = with_constant(x, 1.0) if fit_intercept else x
        assert np.allclose(marginals.max(axis=1), w @ model.features(seen, codes))


def test_scores_per_label_per_sequence_and_weighted(sequences):
    X, y = sequences
    svm = ChainSVM(lam=1.0).fit(X, y)
    right = [np.asarray(a) == b for a, b in zip(y, svm.predict(X), strict=True)]
    weight = np.linspace(1.0, 3.0, len(y))
    total = sum(s * len(r) for s, r in zip(weight, right, strict=True))
    assert svm.score(X, y) == pytest.approx(np.concatenate(right).mean())
    assert svm.score(X, y, weight) == pytest.approx(
        sum(s * r.sum() for s, r in zip(weight, right, strict=True)) / total
    )
    svm.set_params(scoring="sequence")
    assert svm.score(X, y, weight) == pytest.approx(weight @ [r.all() for r in right] / weight.sum())
    with pytest.raises(OptionError, match="'label' or 'sequence'"):
        svm.set_params(scoring="word").score(X, y)


def test_structural_scores_and_decision_function(points):
    X, y = list(points[0]), np.searchsorted(WORDS, points[1]).tolist()
    dense, sparse = (StructuralSVM(Pick(kind), lam=0.1, tol=0.02).fit(X, y) for kind in (None, "sparse"))
    best = (dense.coef_.reshape(3, 4) @ np.array(X).T).max(axis=0)
    assert np.allclose(dense.decision_function(X), best)
    assert sparse.decision_function(X).shape == (90,)
    accuracy = np.mean(np.array(dense.predict(X)) == y)
    assert dense.score(X, y) == pytest.approx(accuracy)
    assert dense.set_params(scoring="exact").score(X, y) == pytest.approx(accuracy)
    with pytest.raises(OptionError, match="'loss' or 'exact'"):
        dense.set_params(scoring="label").score(X, y)


def test_unseen_labels_in_score(points, sequences):
    X, y = points
    svm = MulticlassSVM().fit(X, y)
    changed = y.astype(object)
    changed[7] = "yak"
    with pytest.raises(InputError, match="example 7 has the label 'yak', which was not among the 3 classes"):
        svm.score(X, changed)
    assert svm.set_params(unseen="wrong").score(X, changed) <= 89 / 90
    with pytest.raises(OptionError, match="unseen must be 'error' or 'wrong'"):
        svm.set_params(unseen="ignore").score(X, y)
    svm.set_params(unseen="error")
    with pytest.raises(InputError, match="example 0 has the label 5, which was not among the 3 classes"):
        svm.score(X, np.full(90, 5))
    X, y = sequences
    svm = ChainSVM().fit(X, y)
    strange = [*y[:2], ["yak"] * len(y[2]), *y[3:]]
    with pytest.raises(InputError, match="example 2 has the label 'yak'"):
        svm.score(X, strange)
    assert svm.set_params(unseen="wrong").score(X, strange) < svm.score(X, y)
    svm.set_params(unseen="error")
    with pytest.raises(InputError, match="example 0 has the label 1"):
        svm.score(X, [[1] * len(labels) for labels in y])


# --- input of every form


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_float32_fortran_read_only_and_sparse_input(points, sequences, fit_intercept):
    X, y = points
    X = X.astype(np.float32).astype(np.float64)
    frozen = X.copy()
    frozen.flags.writeable = False
    forms = [X, X.astype(np.float32), np.asfortranarray(X), frozen, sp.csr_array(X), sp.csc_matrix(X), X.tolist()]
    fits = [MulticlassSVM(fit_intercept=fit_intercept, solver="bcfw").fit(form, y) for form in forms]
    for svm, form in zip(fits, forms, strict=True):
        assert np.allclose(svm.coef_, fits[0].coef_, rtol=1e-9)
        assert np.array_equal(svm.predict(form), fits[0].predict(X))
    X, y = sequences
    X = [x.astype(np.float32).astype(np.float64) for x in X]
    forms = [X, [x.astype(np.float32) for x in X], [np.asfortranarray(x) for x in X], [x.tolist() for x in X]]
    forms += [[sp.csr_array(x) for x in X], [sp.coo_matrix(x) for x in X]]
    fits = [ChainSVM(fit_intercept=fit_intercept, solver="bcfw").fit(form, y) for form in forms]
    for svm, form in zip(fits, forms, strict=True):
        assert np.allclose(svm.result_.w, fits[0].result_.w, rtol=1e-9)
        assert lists(svm.predict(form)) == lists(fits[0].predict(X))
        assert np.allclose(svm.decision_function(form)[0], fits[0].decision_function(X)[0])


def test_with_constant():
    X = np.array([[0, 1], [0, 0], [2, 3]])
    for form in (X, sp.csr_array(X), sp.csc_matrix(X)):
        joined = with_constant(form, 0.5)
        assert sp.issparse(joined) == sp.issparse(form)
        dense = joined.toarray() if sp.issparse(joined) else joined
        assert np.array_equal(dense, np.column_stack([X, [0.5] * 3]))


class Frame:
    """The part of a data frame that matters here."""

    def __init__(self, values, columns):
        self.values, self.columns, self.shape = values, columns, values.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


def test_feature_names(points, sequences):
    X, y = sequences
    names = list("vwxyz")
    svm = ChainSVM().fit([Frame(x, names) for x in X], y)
    assert svm.feature_names_in_.tolist() == names
    assert svm.n_features_in_ == 5
    with pytest.raises(InputError, match="example 0 has other feature names"):
        svm.predict([Frame(X[0], names[::-1])])
    assert "feature_names_in_" not in vars(svm.fit(X, y))
    pandas = pytest.importorskip("pandas")
    X, y = points
    assert MulticlassSVM().fit(pandas.DataFrame(X, columns=list("abcd")), y).feature_names_in_.tolist() == list("abcd")


# --- fitting again


def test_refit_is_a_fresh_fit(points, sequences):
    X, y = points
    svm = MulticlassSVM().fit(X[:50], y[:50]).fit(X, y)
    assert np.array_equal(svm.coef_, MulticlassSVM().fit(X, y).coef_)
    X, y = sequences
    svm = ChainSVM().fit(X[:10], y[:10]).fit(X, y)
    assert np.array_equal(svm.result_.w, ChainSVM().fit(X, y).result_.w)


def test_warm_start_continues_on_the_same_data_only(points, sequences):
    X, y = list(points[0]), np.searchsorted(WORDS, points[1]).tolist()
    cases = [(MulticlassSVM(), *points), (ChainSVM(), *sequences), (StructuralSVM(Pick(), lam=0.1, tol=0.02), X, y)]
    for svm, X, y in cases:
        svm.set_params(warm_start=True).fit(X, y)
        primal = svm.result_.primal
        again = svm.fit(X, y)
        assert again.n_iter_ == 1
        assert again.result_.n_passes == 0
        assert again.result_.primal == pytest.approx(primal, rel=1e-9)
        fewer = svm.fit(X[:-1], y[:-1])
        assert np.array_equal(fewer.result_.w, clone(svm).fit(X[:-1], y[:-1]).result_.w)


def test_warm_start_with_changed_features_or_weights_is_certified(points, sequences):
    moved = [(points[0] + 0.01, points[1]), ([x + 0.01 for x in sequences[0]], sequences[1])]
    for svm, data, other in zip((MulticlassSVM(), ChainSVM()), (points, sequences), moved, strict=True):
        fresh = clone(svm).fit(*other)
        warm = svm.set_params(warm_start=True).fit(*data).fit(*other)
        assert abs(warm.result_.primal - fresh.result_.primal) <= warm.duality_gap_ + fresh.duality_gap_
        assert warm.n_iter_ <= fresh.n_iter_
    X, y = points
    weight = np.linspace(1.0, 2.0, len(y))
    warm, fresh = MulticlassSVM(warm_start=True).fit(X, y).fit(X, y, weight), MulticlassSVM().fit(X, y, weight)
    assert abs(warm.result_.primal - fresh.result_.primal) <= warm.duality_gap_ + fresh.duality_gap_
    assert warm.result_.history["dual"][0] != 0.0  # where a fit that starts afresh begins


def test_a_pickle_without_the_dual_state_starts_afresh(points):
    svm = MulticlassSVM(warm_start=True).fit(*points).set_params(warm_start=False)
    twin = pickle.loads(pickle.dumps(svm)).set_params(warm_start=True)
    assert np.array_equal(twin.fit(*points).coef_, svm.fit(*points).coef_)


def test_warm_start_of_a_users_model_needs_the_same_content():
    X, y = np.eye(3), [0, 1, 2]
    svm = StructuralSVM(Pick(), warm_start=True).fit(X, y)
    other = svm.fit(2 * X, y)
    assert np.array_equal(other.coef_, StructuralSVM(Pick()).fit(2 * X, y).coef_)
    with pytest.raises(OptionError, match="warm_start=True needs a model and data that can be pickled"):
        StructuralSVM(Pick(mistake=lambda: None), warm_start=True).fit(X, y)


def test_verbose_shows_progress(points, capsys):
    MulticlassSVM(verbose=0).fit(*points)
    assert capsys.readouterr().err == ""
    MulticlassSVM(verbose=2).fit(*points)
    assert "certified" in capsys.readouterr().err


def test_random_state_and_callbacks(points):
    X, y = points
    seen = []
    svm = MulticlassSVM(callbacks=[seen.append], verbose=0, n_jobs=None).fit(X, y)
    assert len(seen) >= 1
    for state in (None, np.random.RandomState(0)):
        other = MulticlassSVM(random_state=state).fit(X, y)
        assert abs(other.result_.primal - svm.result_.primal) <= other.duality_gap_ + svm.duality_gap_
    stopped = MulticlassSVM(callbacks=(lambda info: True,), tol=0).fit(X, y)
    assert stopped.result_.status == "stopped"
    with pytest.raises(OptionError, match="wrap the one you gave in a list"):
        MulticlassSVM(callbacks=print).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_passes"):
        MulticlassSVM(tol=1e-9, max_passes=1).fit(X, y)


# --- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lam": 0.0}, "lam must be a finite number > 0"),
        ({"lam": "big"}, "lam must be a finite number > 0"),
        ({"C": -1.0}, "C must be a finite number > 0"),
        ({"tol": -1}, "tol must be"),
        ({"max_passes": 0}, "max_passes must be"),
        ({"max_seconds": 0}, "max_seconds must be"),
        ({"solver": "bcfv"}, "solver 'bcfv' is unknown"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"cost": np.ones((2, 2))}, r"cost must have shape \(3, 3\)"),
        ({"class_weight": {"bea": 2.0}}, "class_weight names 'bea', .* did you mean 'bee'"),
        ({"class_weight": {"bee": -2.0}}, "class_weight of 'bee' is -2.0"),
        ({"class_weight": {"bee": "much"}}, "class_weight of 'bee' is 'much'"),
        ({"class_weight": "equal"}, "class_weight must be None, 'balanced' or a dict"),
        ({"intercept_scaling": 0}, "intercept_scaling must be"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_options_are_named(points, sequences, options, message):
    with pytest.raises(OptionError, match=message):
        MulticlassSVM(**options).fit(*points)
    with pytest.raises(OptionError, match=message):
        ChainSVM(**options).fit(*sequences)


def test_bad_points(points):
    X, y = points
    bad = X.copy()
    bad[4, 2] = np.nan
    svm = MulticlassSVM().fit(X, y)
    for form in (bad, sp.csr_array(bad), sp.csc_array(bad)):
        with pytest.raises(InputError, match="example 4 has a NaN or an infinity in feature 2"):
            MulticlassSVM().fit(form, y)
        with pytest.raises(InputError, match="example 4 has a NaN or an infinity in feature 2"):
            svm.predict(form)
    with pytest.raises(InputError, match=r"1 class \('ant'\) .* at least 2 classes"):
        MulticlassSVM().fit(X[y == "ant"], y[y == "ant"])
    with pytest.raises(InputError, match="at least 2 classes"):
        MulticlassSVM(class_weight={"ant": 1.0, "bee": 0.0, "cow": 0.0}).fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MulticlassSVM().fit(X, y[:-1])
    with pytest.raises(ValueError, match="3 features, but MulticlassSVM is expecting 4"):
        svm.predict(X[:, :3])
    with pytest.raises(InputError, match=r"90 examples and y has shape \(89,\)"):
        svm.score(X, y[:-1])
    with pytest.raises(InputError, match="sample_weight of example 1 is -1"):
        MulticlassSVM().fit(X, y, [1, -1, *[1] * 88])
    with pytest.raises(InputError, match="sample_weight must hold one number per example"):
        MulticlassSVM().fit(X, y, ["heavy"] * 90)
    with pytest.raises(InputError, match=r"example 1: the label .* is not hashable"):
        MulticlassSVM().fit(np.eye(3), ["a", {"b"}, "c"])
    with pytest.raises(ValueError, match="y to be passed"):
        MulticlassSVM().fit(X, None)


def test_bad_sequences(sequences):
    X, y = sequences
    svm = ChainSVM(fit_intercept=True).fit(X, y)
    bad = X[1].copy()
    bad[0, 3] = np.inf
    cases = [
        ([X[0], np.zeros((0, 5))], [y[0], []], "example 1 is an empty sequence"),
        ([X[0], []], [y[0], []], "example 1 is an empty sequence"),
        ([X[0], X[1]], [y[0], [*y[1], "ant"]], f"example 1 has {len(y[1])} positions and {len(y[1]) + 1} labels"),
        ([X[0], X[1][:, :4]], y[:2], "example 1 has 4 features, expected 5"),
        ([X[0], bad], y[:2], "example 1: position 0 has a NaN or an infinity in feature 3"),
        ([X[0], sp.csr_array(bad)], y[:2], "example 1: position 0 has a NaN or an infinity in feature 3"),
        ([X[0], X[1][0]], y[:2], r"example 1 must be a \(T, F\) array"),
        ([X[0], [["a"] * 5] * len(y[1])], y[:2], "example 1: X must hold real numbers"),
        ([X[0], [[1.0], [1.0, 2.0]]], y[:2], "example 1: X must hold real numbers"),
        (X, y[:-1], "X has 30 examples and y has 29"),
        ([], [], "X is empty"),
        (sp.csr_array(X[0]), y, "X is one sparse matrix"),
        (3, y, "X must be a list with one entry per example"),
        (X, 3, "y must be a list with one entry per example"),
        (X, None, "requires y to be passed"),
        (X[:2], [0, 1], "example 0: y must be a sequence of labels"),
        (X, [["ant"] * len(labels) for labels in y], r"1 class \('ant'\)"),
        (X[:2], [y[0], [["ant"]] * len(y[1])], "example 1"),
        (X[:2], [y[0], [{"ant"}] * len(y[1])], "example 1: the label {'ant'} is not hashable"),
        (X, [[float("nan")] * len(labels) for labels in y], "example 0: a label is NaN"),
        (X[:2], [y[0], [float("nan")] * len(y[1])], "example 1: a label is NaN"),
    ]
    for inputs, labels, message in cases:
        with pytest.raises(InputError, match=message):
            ChainSVM(fit_intercept=True).fit(inputs, labels)
    for method in (svm.predict, svm.decision_function):
        with pytest.raises(InputError, match="example 0 has 4 features, expected 5"):
            method([X[0][:, :4]])
        with pytest.raises(InputError, match="example 1: position 0 has a NaN or an infinity in feature 3"):
            method([X[0], bad])
        with pytest.raises(InputError, match="example 0 is an empty sequence"):
            method([X[0][:0]])
    with pytest.raises(InputError, match=r"example 0 has .* positions and"):
        svm.score(X[:1], [[*y[0], "ant"]])
    with pytest.raises(InputError, match="X has 2 examples and y has 1"):
        svm.score(X[:2], y[:1])


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("truth", r"example 0: loss\(y, y\) = 1 on the truth"),
        ("negative", r"example \d+: loss\(y_true, y\) = -1"),
        ("plain", r"example \d+: oracle\(w, x, y_true\) is not maximal"),
        ("smallest", r"example \d+: oracle\(w, x, y_true\) is not maximal"),
        ("crash", r"example \d+: KeyError"),
    ],
)
def test_mistakes_in_a_users_model(points, mistake, message):
    X, y = list(points[0]), np.searchsorted(WORDS, points[1]).tolist()
    with pytest.raises(ModelError, match=message):
        StructuralSVM(Pick(mistake), lam=0.1).fit(X, y)


def test_bad_input_to_a_users_model():
    with pytest.raises(OptionError, match=r"model must be an instance of a bcfw\.Model"):
        StructuralSVM(Pick).fit(np.eye(3), [0, 1, 2])
    with pytest.raises(InputError, match="X has 3 examples and y has 2"):
        StructuralSVM(Pick()).fit(np.eye(3), [0, 1])
    with pytest.raises(InputError, match="must be sequences of examples"):
        StructuralSVM(Pick()).fit(iter(np.eye(3)), [0, 1])
    with pytest.raises(InputError, match="y to be passed"):
        StructuralSVM(Pick()).fit(np.eye(3), None)
    with pytest.raises(ModelError, match="example 2: IndexError"):
        StructuralSVM(Pick()).fit(np.eye(3), [0, 1, 7])


# --- matchings


def noisy_pairs(n, seed):
    """Permutations with a constant and a noisy feature of the true links; some links are only possible."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        I, J = rng.integers(2, 6, size=2)
        truth = np.eye(max(I, J), dtype=int)[rng.permutation(max(I, J))][:I, :J]
        X.append(np.stack([np.ones((I, J)), truth + 0.4 * rng.standard_normal((I, J)), rng.random((I, J))], axis=2))
        y.append(np.where(truth & (rng.random((I, J)) < 0.2), -1, truth))
    return X, y


def test_matching_is_the_fit_of_train_and_predicts_matchings():
    X, y = noisy_pairs(40, 0)
    svm = MatchingSVM(lam=0.05, cost_miss=2.0, cost_extra=0.5, normalize=True, random_state=3).fit(X, y)
    model = bcfw.models.Matching(2.0, 0.5, normalize=True)
    assert np.array_equal(svm.coef_, bcfw.train(model, X, y, lam=0.05, seed=3).w)
    assert svm.n_features_in_ == 3
    assert svm.coef_.shape == (3,)
    for x, output, scores in zip(X, svm.predict(X), svm.decision_function(X), strict=True):
        assert output.shape == scores.shape == x.shape[:2]
        np.testing.assert_allclose(scores, x @ svm.coef_, rtol=0, atol=1e-12)
        assert set(np.unique(output)) <= {0, 1}
        assert output.sum(axis=0).max() <= 1
        assert output.sum(axis=1).max() <= 1
        assert np.all(scores[output == 1] > 0)
    X_test, y_test = noisy_pairs(40, 1)
    assert svm.score(X_test, y_test) > 0.85


def test_alignment_scores_by_hand():
    y_true = [np.array([[1, -1, 0], [0, 1, 0]]), np.array([[0, 1]])]
    y = [np.array([[0, 1, 0], [1, 0, 0]]), np.array([[0, 1]])]
    # Links A: one possible, one wrong, one sure; three sure ones are to be found.
    scores = alignment_scores(y_true, y)
    assert scores == pytest.approx({"aer": 1 - (1 + 2) / (3 + 3), "precision": 2 / 3, "recall": 1 / 3})
    scores = alignment_scores(y_true, y, [2.0, 5.0])
    assert scores == pytest.approx({"aer": 1 - (5 + 7) / (9 + 9), "precision": 7 / 9, "recall": 5 / 9})
    nothing = alignment_scores([np.array([[0, -1]])], [np.array([[0, 0]])])
    assert nothing == {"aer": 0.0, "precision": 1.0, "recall": 1.0}
    with pytest.raises(InputError, match=r"example 1: y has shape \(1, 2\), expected \(2, 1\)"):
        alignment_scores(y_true, [y[0], y[1].T])
    with pytest.raises(InputError, match="2 examples and y has 1"):
        alignment_scores(y_true[:1], y)


def test_matching_score_is_one_minus_the_alignment_error_rate():
    X, y = noisy_pairs(20, 2)
    svm = MatchingSVM(lam=1.0).fit(X, y)
    weight = np.linspace(1.0, 2.0, 20)
    assert 0.0 < svm.score(X, y) < 1.0
    assert svm.score(X, y, weight) == 1.0 - alignment_scores(y, svm.predict(X), weight)["aer"]


def test_matching_weights_warm_starts_and_grid_search():
    X, y = noisy_pairs(20, 3)
    weight = np.random.default_rng(0).integers(0, 3, size=20)
    rows = np.repeat(np.arange(20), weight)
    options = {"lam": 0.1, "tol": 1e-4, "max_passes": 5000}
    weighted = MatchingSVM(**options).fit(X, y, weight)
    repeated = MatchingSVM(**options).fit([X[i] for i in rows], [y[i] for i in rows])
    gaps = weighted.duality_gap_ + repeated.duality_gap_
    assert np.linalg.norm(weighted.coef_ - repeated.coef_) <= 2 * np.sqrt(2 * gaps / 0.1)
    svm = MatchingSVM(warm_start=True).fit(X, y)
    assert svm.fit(X, y).result_.n_passes == 0
    moved = [x + 0.1 for x in X]
    assert np.array_equal(svm.fit(moved, y).coef_, MatchingSVM().fit(moved, y).coef_)
    costly = svm.set_params(cost_miss=5.0).fit(moved, y)
    assert np.array_equal(costly.coef_, MatchingSVM(cost_miss=5.0).fit(moved, y).coef_)
    search = GridSearchCV(MatchingSVM(tol=0.01), {"lam": [100.0, 0.05], "cost_miss": [1.0, 2.0]}, cv=3).fit(X, y)
    assert search.best_params_["lam"] == 0.05
    twin = pickle.loads(pickle.dumps(svm))
    assert all(np.array_equal(a, b) for a, b in zip(svm.predict(X), twin.predict(X), strict=True))


def test_bad_pairs():
    X, y = noisy_pairs(3, 4)
    svm = MatchingSVM().fit(X, y)
    cases = [
        (X[:2], y, "X has 2 examples and y has 3"),
        (X, None, "requires y to be passed"),
        (3, y, "X must be a list with one entry per example"),
        ([X[0], X[1][:, :, :2]], y[:2], "example 1 has 2 features, expected 3"),
        ([X[0], X[1][0]], y[:2], r"example 1: x must be an \(I, J, F\) array"),
        (X[:2], [y[0], y[1] + 5], r"example 1: y\[0, 0\] is"),
    ]
    for inputs, truths, message in cases:
        with pytest.raises(InputError, match=message):
            MatchingSVM().fit(inputs, truths)
    for method in (svm.predict, svm.decision_function):
        with pytest.raises(InputError, match="example 1 has 2 features, expected 3"):
            method([X[0], X[1][:, :, :2]])
    with pytest.raises(InputError, match="3 examples and y has 2"):
        svm.score(X, y[:2])
    with pytest.raises(OptionError, match="cost_miss must be a finite number >= 0"):
        MatchingSVM(cost_miss=-1).fit(X, y)
