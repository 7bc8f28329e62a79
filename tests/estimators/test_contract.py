"""scikit-learn's contract: its checks, clones, tags, searches, pickles, names of features."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import bcfw
from bcfw.errors import ConvergenceWarning, InputError, OptionError
from bcfw.estimators import ChainSVM, MatchingSVM, MulticlassSVM, MultilabelSVM, StructuralSVM
from small_data import WORDS, Pick


class ScaleSequences(TransformerMixin, BaseEstimator):
    """Divide every sequence's features by their mean size."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, X, y=None):
        self.scale_ = np.mean([np.abs(x).mean() for x in X]) ** self.power
        return self

    def transform(self, X):
        return [x / self.scale_ for x in X]


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
