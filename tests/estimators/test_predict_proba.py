"""predict_proba: its form, the temperature against a naive search, options, weights, scikit-learn's checks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import bcfw
from bcfw.errors import ConvergenceWarning, InputError, OptionError
from bcfw.estimators import (
    ChainSVM,
    ChainSVMCV,
    MulticlassSVM,
    MulticlassSVMCV,
    MultilabelSVM,
    MultilabelSVMCV,
    TreeSVM,
)
from bcfw.estimators.probability import FLAT, HeldOut, fit_temperature
from bcfw.models.shared.sum_product import LogLikelihood
from small_data import WORDS


def trees(sequences):
    """The sequences as paths."""
    X, y = sequences
    return [(x, [[t, t + 1] for t in range(len(x) - 1)], None) for x in X], y


@pytest.mark.filterwarnings("ignore::bcfw.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([MulticlassSVM(C=1.0, probability=True), MultilabelSVM(C=1.0, probability=True)])
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_classes_have_the_softmax_of_scores(points):
    X, y = points
    svm = MulticlassSVM(probability=True).fit(X, y)
    P = svm.predict_proba(X)
    np.testing.assert_allclose(P, softmax(svm.decision_function(X) / svm.temperature_, axis=1), atol=1e-12)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
    assert np.array_equal(svm.classes_[P.argmax(axis=1)], svm.predict(X))
    assert np.array_equal(svm.coef_, MulticlassSVM().fit(X, y).coef_)  # weights are those of all examples
    np.testing.assert_allclose(svm.predict_proba(sp.csr_matrix(X)), P, atol=1e-12)
    assert np.array_equal(pickle.loads(pickle.dumps(svm)).predict_proba(X), P)
    assert cross_val_score(svm, X, y, scoring="neg_log_loss", cv=3).mean() > -np.log(3)


def test_two_classes(points):
    X, y = points[0], points[1] == WORDS[0]
    for svm in (MulticlassSVM(probability=True).fit(X, y), MultilabelSVM(probability=True).fit(X, y)):
        P = svm.predict_proba(X)
        assert P.shape == (len(y), 2)
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-12)
        assert np.array_equal(svm.classes_[P.argmax(axis=1)], svm.predict(X))


def test_sequences_and_trees_have_one_table_each(sequences):
    X, y = sequences
    for svm, inputs in ((ChainSVM(probability=True), X), (TreeSVM(lam=0.01, probability=True), trees(sequences)[0])):
        tables = svm.fit(inputs, y).predict_proba(inputs)
        assert [table.shape for table in tables] == [(len(one), 3) for one in y]
        np.testing.assert_allclose(np.vstack(tables).sum(axis=1), 1.0, atol=1e-12)
        own = bcfw.metrics.sequence_log_likelihood(y, tables, svm.classes_)
        assert own > -np.log(3) / 2
        assert bcfw.metrics.sequence_log_likelihood_scorer(svm, inputs, y) == own


def test_stacked_sequences_are_the_same(sequences):
    X, y = sequences
    stacked = bcfw.Sequences.from_list(X), bcfw.Sequences.from_list(y)
    a, b = ChainSVM(probability=True).fit(X, y), ChainSVM(probability=True).fit(*stacked)
    assert a.temperature_ == b.temperature_
    assert all(map(np.array_equal, a.predict_proba(X), b.predict_proba(stacked[0])))


def test_labels_that_are_on(points):
    X, y = points
    Y = np.column_stack([y == WORDS[0], y == WORDS[1], X[:, 0] > 0]).astype(int)
    svm = MultilabelSVM(probability=True).fit(X, Y)
    scores = svm.decision_function(X) / svm.temperature_
    np.testing.assert_allclose(svm.predict_proba(X), 1.0 / (1.0 + np.exp(-scores)), atol=1e-12)
    coupled = MultilabelSVM(tree="auto", probability=True).fit(X, sp.csr_matrix(Y))
    assert coupled.predict_proba(X).shape == Y.shape
    assert bcfw.metrics.calibration_error(Y[:, 0], coupled.predict_proba(X)[:, [0]], [1]) < 0.6


def test_estimators_that_choose_lam(points, sequences):
    """The temperature is that of the estimator with the chosen lam."""
    X, y = points
    Y = np.column_stack([y == WORDS[0], y == WORDS[1]]).astype(int)
    for chooses, single, data in (
        (MulticlassSVMCV, MulticlassSVM, points),
        (MultilabelSVMCV, MultilabelSVM, (X, Y)),
        (ChainSVMCV, ChainSVM, sequences),
    ):
        svm = chooses(cv=2, lam_min=0.01, probability=True, probability_folds=3).fit(*data)
        same = single(lam=svm.lam_, max_passes=10_000, probability=True, probability_folds=3).fit(*data)
        assert svm.temperature_ == pytest.approx(same.temperature_, rel=1e-9)
        for one, other in zip(svm.predict_proba(data[0]), same.predict_proba(data[0]), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9)
        plain = clone(svm).set_params(probability=False).fit(*data)
        assert plain.lam_ == svm.lam_
        assert not hasattr(plain, "predict_proba")
    chosen = MulticlassSVMCV(cv=2, lam_min=0.01, probability=True, refit=False).fit(X, y)
    with pytest.raises(NotFittedError):
        chosen.predict_proba(X)
    with pytest.raises(OptionError, match="scoring='neg_log_loss' needs probabilities"):
        MulticlassSVMCV(cv=2, scoring="neg_log_loss", probability=True).fit(X, y)


def likelihoods(rng, n=40, K=3, noise=1.0):
    """Two folds of multiclass examples with random weights, as the fit sees them, and their scores and labels."""
    folds, scores, labels, weights = [], [], [], []
    for _ in range(2):
        X, W = rng.standard_normal((n, 4)), rng.standard_normal((4, K))
        y = np.argmax(X @ W + noise * rng.gumbel(size=(n, K)), axis=1)
        weight = rng.uniform(0.5, 2.0, n)
        model = bcfw.models.Multiclass(K).bind(X, y)
        folds.append(HeldOut(LogLikelihood(model, 5.0 * W.ravel(), model.pack(X, y)), weight))
        scores.append(5.0 * X @ W)
        labels.append(y)
        weights.append(weight)
    return folds, np.vstack(scores), np.concatenate(labels), np.concatenate(weights)


@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
def test_the_temperature_minimises_the_weighted_log_loss(noise):
    folds, scores, labels, weight = likelihoods(np.random.default_rng(0), noise=noise)
    eps = 1.0 / (len(labels) + 1)
    targets = (1 - eps) * np.eye(3)[labels] + eps / 3

    def loss(log_temperature):
        P = softmax(scores / np.exp(log_temperature), axis=1)
        return -weight @ (targets * np.log(P)).sum(axis=1)

    best = minimize_scalar(loss, bounds=(-5, 10), method="bounded", options={"xatol": 1e-9})
    assert np.log(fit_temperature(folds)) == pytest.approx(best.x, abs=1e-5)


def test_scores_without_errors_and_without_knowledge():
    folds, scores, labels, _ = likelihoods(np.random.default_rng(1), noise=0.0)
    sure = fit_temperature(folds)
    assert np.isfinite(sure)
    assert sure > 0
    P = softmax(scores / sure, axis=1)[np.arange(len(labels)), labels]
    assert 1 / 3 < P.min() < 1.0
    X = np.array([[1.0], [1.0]])
    model = bcfw.models.Multiclass(2).bind(X, [0, 1])
    for w, expected in (([0.0, 0.0], 1.0), ([4.0, 0.0], 2.0 / FLAT)):  # margins are half of the difference
        likelihood = LogLikelihood(model, np.array(w), model.pack(X, [0, 1]))
        assert fit_temperature([HeldOut(likelihood, np.ones(2))]) == pytest.approx(expected)


def test_integer_weights_are_repetition(points):
    X, y = points
    times = np.random.default_rng(5).integers(0, 3, size=len(y))
    rows = np.repeat(np.arange(len(y)), times)
    a = MulticlassSVM(probability=True).fit(X, y, sample_weight=times)
    b = MulticlassSVM(probability=True).fit(X[rows], y[rows])
    assert a.temperature_ == pytest.approx(b.temperature_, rel=1e-12)
    c = MulticlassSVM(probability=True).fit(X, y, sample_weight=7.5 * times)  # only their ratios matter
    assert c.temperature_ == pytest.approx(a.temperature_, rel=1e-6)
    heavy = MulticlassSVM(probability=True, class_weight={WORDS[0]: 20.0}).fit(X, y)
    same = MulticlassSVM(probability=True).fit(X, y, sample_weight=np.where(y == WORDS[0], 20.0, 1.0))
    assert heavy.temperature_ == same.temperature_ != a.temperature_


def test_class_weights_and_weights_of_sequences(sequences):
    X, y = sequences
    plain = ChainSVM(probability=True).fit(X, y)
    heavy = ChainSVM(probability=True, class_weight={WORDS[0]: 5.0}).fit(X, y, sample_weight=np.arange(len(y)) % 3)
    assert heavy.temperature_ != plain.temperature_
    assert np.isfinite(heavy.temperature_)


def test_folds_train_at_the_same_lam(points):
    X, y = points
    svm = MulticlassSVM(C=0.1, probability=True, probability_folds=3)
    lams = []
    train = svm._train

    def watched(task, warm_start, lam=None):
        result = train(task, warm_start, lam)
        lams.append((result.lam, len(task.y)))
        return result

    svm._train = watched
    svm.fit(X, y)
    assert lams == [(svm.lam_, 90), *[(svm.lam_, 60)] * 3]


def test_without_the_option(points):
    X, y = points
    for svm in (MulticlassSVM(), ChainSVM(), MultilabelSVM(), TreeSVM(), MulticlassSVMCV()):
        assert not hasattr(svm, "predict_proba")
    with pytest.raises(AttributeError, match=r"predict_proba") as caught:
        MulticlassSVM().fit(X, y).predict_proba(X)
    assert "MulticlassSVM: predict_proba needs probability=True" in str(caught.value.__cause__)
    with pytest.raises(NotFittedError):
        MulticlassSVM(probability=True).predict_proba(X)
    late = MulticlassSVM().fit(X, y).set_params(probability=True)
    with pytest.raises(NotFittedError, match="has no temperature; fit it again"):
        late.predict_proba(X)
    again = late.fit(X, y).set_params(probability=False).fit(X, y)
    assert not hasattr(again, "temperature_")
    assert clone(late).get_params()["probability_folds"] == 5


def test_wrong_options_and_too_few_examples(points, sequences):
    with pytest.raises(OptionError, match="MulticlassSVM: probability must be True or False, got 'yes'"):
        MulticlassSVM(probability="yes").fit(*points)
    with pytest.raises(OptionError, match=r"ChainSVM: probability_folds must be .*2.*, got 1"):
        ChainSVM(probability=True, probability_folds=1).fit(*sequences)
    X, y = sequences
    i = next(i for i, labels in enumerate(y) if len(set(labels)) > 1)
    with pytest.raises(InputError, match="ChainSVM: probability=True needs at least 2 examples, got 1"):
        ChainSVM(probability=True).fit([X[i]], [y[i]])
    few = ChainSVM(probability=True).fit(X[:2], y[:2])  # a fold for each
    assert few.temperature_ > 0
    with pytest.warns(ConvergenceWarning):
        MulticlassSVM(probability=True, tol=1e-9, max_passes=1).fit(*points)


def test_probabilities_of_held_out_words_are_about_right():
    words = bcfw.datasets.load_digit_words()
    svm = ChainSVM(lam=0.01, tol=0.01, probability=True).fit(words.X_train, words.y_train)
    tables = svm.predict_proba(words.X_test)
    assert bcfw.metrics.calibration_error(words.y_test, tables, svm.classes_) < 0.06
    flat = np.full(np.vstack(tables).shape, 1.0 / len(svm.classes_))
    best = bcfw.metrics.sequence_log_likelihood(words.y_test, tables, svm.classes_)
    assert best > bcfw.metrics.sequence_log_likelihood(np.concatenate(words.y_test), flat, svm.classes_) + 1.0


@pytest.mark.parametrize("kind", [MulticlassSVM, MultilabelSVM, ChainSVM, TreeSVM, MulticlassSVMCV, ChainSVMCV])
def test_the_error_itself_says_what_to_do(kind):
    svm = kind()
    assert not hasattr(svm, "predict_proba")
    with pytest.raises(AttributeError, match=rf"^{kind.__name__}: predict_proba needs probability=True; .* fit it$"):
        svm.predict_proba([[0.0]])
    assert hasattr(kind(probability=True), "predict_proba")
    assert kind.predict_proba.__doc__.startswith("Probabilities")
