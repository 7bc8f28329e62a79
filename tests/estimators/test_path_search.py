"""Estimators that choose lam: the choice against a naive one, folds, scorers, weights, errors, the usual checks."""

from __future__ import annotations

import pickle
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import bcfw
from bcfw.estimators import ChainSVMCV, MulticlassSVMCV, MultilabelSVMCV, StructuralSVMCV
from small_data import WORDS, Pick


@pytest.mark.filterwarnings("ignore::bcfw.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@pytest.mark.parametrize(
    "estimator",
    [MulticlassSVMCV(cv=3, lam_min=0.01), MultilabelSVMCV(cv=3, lam_min=0.01)],
    ids=lambda e: type(e).__name__,
)
def test_check_estimator(estimator):
    """Class weights count in training, not in the accuracy that lam is chosen by."""
    unweighted = {"check_class_weight_classifiers": "the chosen lam makes predictions of the lighter classes, too"}
    results = check_estimator(estimator, expected_failed_checks=unweighted)
    assert {result["status"] for result in results} <= {"passed", "skipped", "xfail"}


def naive_choice(path_options, X, y, folds):
    """Mean scores at every breakpoint of every fold, by paths and predictions that are made one by one."""
    paths = []
    for train, test in folds:
        codes = np.searchsorted(WORDS, y[train])
        inputs = np.hstack([X[train], np.ones((len(train), 1))])
        path = bcfw.regularization_path(bcfw.models.Multiclass(3), inputs, codes, eps=0.1, **path_options)
        paths.append((path, test))
    lambdas = np.unique(np.concatenate([path.lambdas for path, _ in paths]))[::-1]
    lambdas = lambdas[lambdas >= max(path.end for path, _ in paths)]
    scores = np.zeros((len(paths), len(lambdas)))
    for k, (path, test) in enumerate(paths):
        inputs = np.hstack([X[test], np.ones((len(test), 1))])
        for j, lam in enumerate(lambdas):
            scores[k, j] = np.mean(WORDS[path.predict(lam, inputs)] == y[test])
    return lambdas, scores


def test_the_choice_is_the_naive_one(points):
    X, y = points
    cv = StratifiedKFold(3)
    svm = MulticlassSVMCV(cv=cv, lam_min=1e-3).fit(X, y)
    lambdas, scores = naive_choice({"lam_min": 1e-3}, X, y, cv.split(X, y))
    np.testing.assert_allclose(svm.validation_.lambdas, lambdas, rtol=1e-12)
    np.testing.assert_array_equal(svm.scores_, scores)
    mean = scores.mean(axis=0)
    assert svm.lam_ == pytest.approx(lambdas[np.flatnonzero(mean >= mean.max() - 1e-12)[0]], rel=1e-12)
    assert svm.validation_.losses == pytest.approx(1.0 - mean)
    same = bcfw.MulticlassSVM(lam=svm.lam_).fit(X, y)
    np.testing.assert_array_equal(svm.coef_, same.coef_)
    assert svm.score(X, y) == same.score(X, y)
    assert svm.path_.lambdas[0] > svm.lam_
    assert svm.duality_gap_ <= 1e-3


def test_all_four_choose_and_predict(points, sequences):
    X, y = points
    codes = np.searchsorted(WORDS, y)
    sparse = sp.csr_array(X)
    for svm, data in (
        (MulticlassSVMCV(cv=3), (sparse, y)),
        (MultilabelSVMCV(cv=3, tree="auto"), (X, np.eye(3, dtype=int)[codes])),
        (MultilabelSVMCV(cv=3), (X, y)),
        (ChainSVMCV(cv=3), sequences),
        (StructuralSVMCV(Pick(), cv=3, lam_min=0.01), (list(X), codes.tolist())),
        (
            StructuralSVMCV(bcfw.models.Chain(), cv=3),
            (sequences[0], [[WORDS.tolist().index(a) for a in s] for s in sequences[1]]),
        ),
    ):
        svm.fit(*data)
        assert svm.score(*data) > 0.6
        assert svm.result_.lam == svm.lam_ == svm.validation_.best
        assert svm.scores_.shape == (3, len(svm.validation_.lambdas))
        assert svm.path_.certified
        twin = pickle.loads(pickle.dumps(svm))
        assert twin.score(*data) == svm.score(*data)
        assert not twin.path_.snapshot
        assert clone(svm).get_params().keys() == svm.get_params().keys()


def test_refitting_changes_nothing(points):
    X, y = points
    svm = MulticlassSVMCV(cv=3, lam_min=0.01).fit(X[:60], y[:60])
    svm.fit(X, y)
    np.testing.assert_array_equal(svm.coef_, MulticlassSVMCV(cv=3, lam_min=0.01).fit(X, y).coef_)


def test_threads_change_nothing(sequences, capsys):
    one, two = (ChainSVMCV(cv=3, n_jobs=jobs, verbose=2).fit(*sequences) for jobs in (1, 2))
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert "fold 2 of 3" in capsys.readouterr().err


@pytest.mark.parametrize("scoring", ["sequence", lambda svm, X, y: svm.score(X, y) ** 2], ids=["own", "callable"])
def test_scorings_of_sequences(sequences, scoring):
    svm = ChainSVMCV(cv=3, lam_min=0.01, scoring=scoring).fit(*sequences)
    plain = ChainSVMCV(cv=3, lam_min=0.01).fit(*sequences)
    if scoring == "sequence":
        assert svm.score(*sequences) == bcfw.ChainSVM(svm.lam_, scoring="sequence").fit(*sequences).score(*sequences)
        assert np.all(svm.scores_ <= plain.scores_ + 1e-12)
    else:
        np.testing.assert_allclose(svm.scores_, plain.scores_**2)


def test_scorers_of_scikit_learn(points):
    X, y = points
    plain = MulticlassSVMCV(cv=3, lam_min=0.01).fit(X, y)
    named = MulticlassSVMCV(cv=3, lam_min=0.01, scoring="accuracy").fit(X, y)
    np.testing.assert_allclose(plain.scores_, named.scores_)
    f1 = MulticlassSVMCV(cv=3, lam_min=0.01, scoring="f1_macro").fit(X, y, sample_weight=np.ones(len(y)))
    assert 0.5 < f1.score(X, y) <= 1.0


def test_weights_count_in_training_and_validation(points):
    """Without weight, one fold's examples have no say."""
    X, y = points
    folds = list(KFold(3).split(X))
    weight = np.ones(len(y))
    weight[folds[2][1][::2]] = 0.0
    flipped = y.copy()
    flipped[weight == 0.0] = "ant"
    first, second = (MulticlassSVMCV(cv=folds, lam_min=0.01).fit(X, labels, weight) for labels in (y, flipped))
    np.testing.assert_array_equal(first.scores_, second.scores_)
    assert first.lam_ == second.lam_


def test_groups_stay_together(points):
    X, y = points
    groups = np.arange(len(y)) % 5
    svm = MulticlassSVMCV(cv=GroupKFold(5), lam_min=0.01).fit(X, y, groups=groups)
    by_hand = MulticlassSVMCV(cv=list(GroupKFold(5).split(X, y, groups)), lam_min=0.01).fit(X, y)
    np.testing.assert_array_equal(svm.scores_, by_hand.scores_)


def test_without_refit_there_is_a_choice_only(points):
    svm = MulticlassSVMCV(cv=3, refit=False, lam_min=0.01).fit(*points)
    assert svm.lam_ > 0.0
    assert svm.path_.weights(svm.lam_).shape == (15,)
    with pytest.raises(NotFittedError):
        svm.predict(points[0])


def test_rare_labels_of_one_fold(sequences):
    X, y = sequences
    y = [*y[:-1], ["rare"] * len(y[-1])]
    svm = ChainSVMCV(cv=3, lam_min=0.01, unseen="wrong").fit(X, y)
    assert "rare" in svm.classes_
    assert np.all(np.isfinite(svm.scores_))


def test_a_path_that_a_limit_ends_limits_the_choice(points):
    with pytest.warns(bcfw.ConvergenceWarning, match="the path ends"):
        svm = MulticlassSVMCV(cv=3, max_passes=3, eps=0.01).fit(*points)
    assert svm.validation_.lambdas[-1] >= svm.validation_.interval[0] > 0.0


def test_in_a_pipeline_and_a_cross_validation(points):
    X, y = points
    pipe = make_pipeline(StandardScaler(), MulticlassSVMCV(cv=3, lam_min=0.01))
    assert cross_val_score(pipe, X, y, cv=ShuffleSplit(2, random_state=0)).mean() > 0.6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": 0.0}, "eps must be"),
        ({"lam_min": -1.0}, "lam_min must be"),
        ({"exact": "yes"}, "exact must be"),
        ({"refit": 2}, "refit must be True or False"),
        ({"scoring": "acuracy"}, "scoring must be None, the name of a scikit-learn scorer, or a callable"),
        ({"cv": 1000}, "cv=1000 does not split these data"),
        ({"cv": "five"}, "cv='five' does not split these data"),
        ({"cv": []}, "has no folds"),
        ({"scoring": lambda svm, X, y: np.nan}, "is not a finite number in every fold"),
        ({"path_solver": "bcwf"}, "bcfw"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_wrong_options(points, options, message):
    with pytest.raises(bcfw.BcfwError, match=message):
        MulticlassSVMCV(**{"cv": 3, **options}).fit(*points)


def test_errors_say_in_which_fold(points):
    """A fold without a class has no use for the cost of it."""
    X, y = points
    order = np.argsort(y, kind="stable")
    with pytest.raises(bcfw.BcfwError) as caught:
        MulticlassSVMCV(cv=KFold(3), cost=1.0 - np.eye(3)).fit(X[order], y[order])
    assert "fold 1 of 3" in caught.value.__notes__[0]


def test_a_failed_fit_leaves_the_last_one(points):
    X, y = points
    svm = MulticlassSVMCV(cv=3, lam_min=0.01).fit(X, y)
    before = svm.coef_.copy()
    with pytest.raises(bcfw.BcfwError):
        svm.set_params(eps=-1.0).fit(X, y)
    np.testing.assert_array_equal(svm.coef_, before)
    assert svm.predict(X[:2]).shape == (2,)


def test_callbacks_and_interrupts(points):
    seen = []
    MulticlassSVMCV(cv=3, lam_min=0.1, callbacks=[lambda info: seen.append(getattr(info, "lam", None))]).fit(*points)
    assert {lam is None for lam in seen} == {True, False}
    with pytest.raises(KeyboardInterrupt):
        MulticlassSVMCV(cv=3, callbacks=[lambda info: signal.raise_signal(signal.SIGINT)]).fit(*points)
