"""PositionWise: transformers of scikit-learn on sequences, alone, in pipelines and in searches."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler, TargetEncoder

import bcfw
from bcfw.errors import InputError
from bcfw.estimators import ChainSVM, PositionWise
from bcfw.inputs.sequences import Sequences


class Half(TransformerMixin, BaseEstimator):
    """Returns too few rows, and has no names for them."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[::2]


def pieces(stacked, X):
    return np.split(stacked, np.cumsum([len(x) for x in X])[:-1])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda x: x.tolist()], ids=["dense", "sparse", "lists"])
def test_it_is_the_transformer_on_stacked_positions(sequences, form):
    X, _ = sequences
    scaler = MaxAbsScaler()
    expected = pieces(scaler.fit_transform(np.concatenate(X)), X)
    step = PositionWise(scaler)
    given = [form(x) for x in X]
    for found in (step.fit_transform(given), step.fit(given).transform(given)):
        assert isinstance(found, list)
        assert all(sp.issparse(x) == sp.issparse(given[0]) for x in found)
        found = [x.toarray() if sp.issparse(x) else x for x in found]
        assert all(np.allclose(a, b, atol=1e-15) for a, b in zip(found, expected, strict=True))
    back = step.inverse_transform(step.transform(given))
    assert np.allclose(back[3].toarray() if sp.issparse(back[3]) else back[3], X[3])
    assert step.n_features_in_ == 5
    assert step.get_feature_names_out().tolist() == [f"x{k}" for k in range(5)]


def test_sequences_stay_sequences(sequences):
    X, _ = sequences
    together = Sequences.from_list([sp.csr_array(x) for x in X])
    found = PositionWise(MaxAbsScaler()).fit_transform(together)
    assert isinstance(found, Sequences)
    assert found.rows.format == "csr"
    assert np.array_equal(found.offsets, together.offsets)


def test_clones_pickles_and_the_transformer_is_not_changed(sequences):
    X, _ = sequences
    scaler = StandardScaler()
    step = PositionWise(scaler).fit(X)
    assert not hasattr(scaler, "mean_")
    twin = clone(step.set_params(transformer__with_mean=False))
    assert twin.get_params()["transformer__with_mean"] is False
    with pytest.raises(NotFittedError):
        twin.transform(X)
    with pytest.raises(NotFittedError):
        twin.get_feature_names_out()
    again = pickle.loads(pickle.dumps(step))
    assert all(np.array_equal(a, b) for a, b in zip(again.transform(X), step.transform(X), strict=True))
    assert "PositionWise(transformer=StandardScaler" in repr(step)
    assert not hasattr(PositionWise(SelectKBest()), "n_features_in_")
    assert not hasattr(PositionWise(Half()), "get_feature_names_out")
    assert not hasattr(PositionWise(Half()), "inverse_transform")
    assert not step.__sklearn_tags__().input_tags.two_d_array
    assert PositionWise(TargetEncoder()).__sklearn_tags__().target_tags.required


@pytest.mark.filterwarnings("ignore:.*random_state:FutureWarning")
def test_supervised_transformers_get_the_labels_of_all_positions(sequences):
    X, y = sequences
    flat = [label for one in y for label in one]
    expected = SelectKBest(k=2).fit(np.concatenate(X), flat).get_support()
    for labels in (y, Sequences.from_list(y), [[(label, 0) for label in one] for one in y]):
        step = PositionWise(SelectKBest(k=2)).fit(X, labels)
        assert np.array_equal(step.transformer_.get_support(), expected)
    encoder = PositionWise(TargetEncoder(random_state=0))
    rough = [np.round(x) for x in X]
    folded = TargetEncoder(random_state=0).fit_transform(np.concatenate(rough), flat)
    assert np.array_equal(np.concatenate(encoder.fit_transform(rough, y)), folded)  # not fit, then transform


def test_weights_of_sequences_are_those_of_their_positions(sequences):
    X, y = sequences
    weight = np.arange(1, len(X) + 1)
    step = PositionWise(StandardScaler()).fit(X, y, sample_weight=weight)
    spread = np.repeat(weight, [len(x) for x in X])
    assert np.array_equal(step.transformer_.mean_, StandardScaler().fit(np.concatenate(X), None, spread).mean_)
    with pytest.raises(InputError, match=r"the fit of PCA\(\) takes no sample_weight"):
        PositionWise(PCA()).fit(X, y, sample_weight=weight)


def test_dicts_and_texts_as_positions():
    X = [[{"word": "the"}, {"word": "cat", "long": 0.5}], [{"word": "sat"}]]
    y = [["D", "N"], ["V"]]
    pipe = make_pipeline(PositionWise(DictVectorizer()), ChainSVM()).fit(X, y)
    assert [one.tolist() for one in pipe.predict(X)] == y
    assert pipe[:-1].get_feature_names_out().tolist() == ["long", "word=cat", "word=sat", "word=the"]
    assert pipe[0].inverse_transform(pipe[0].transform(X)) == [
        [{"word=the": 1.0}, {"word=cat": 1.0, "long": 0.5}],
        [{"word=sat": 1.0}],
    ]
    letters = PositionWise(HashingVectorizer(analyzer="char", n_features=32)).fit_transform([["the", "cat"], ["sat"]])
    assert [x.shape for x in letters] == [(2, 32), (1, 32)]
    words = PositionWise(OneHotEncoder()).fit_transform([np.array([["the"], ["cat"]]), np.array([["cat"]])])
    assert [x.toarray().tolist() for x in words] == [[[0, 1], [1, 0]], [[1, 0]]]


def test_a_search_over_a_pipeline(sequences):
    X, y = sequences
    pipe = make_pipeline(bcfw.PositionWise(StandardScaler()), ChainSVM(tol=0.02))
    grid = {
        "positionwise__transformer__with_std": [True, False],
        "positionwise": [PositionWise(StandardScaler()), PositionWise(PCA(3)), "passthrough"],
        "chainsvm__lam": [0.01, 1.0],
    }
    nested = {name: grid[name] for name in grid if name != "positionwise"}
    for search in (nested, {name: grid[name] for name in grid if "with_std" not in name}):
        found = GridSearchCV(pipe, search, cv=3, error_score="raise").fit(X, y)
        assert np.all(np.isfinite(found.cv_results_["mean_test_score"]))
        assert found.score(X, y) > 0.9


def test_frames(sequences):
    pandas = pytest.importorskip("pandas")
    X, _ = sequences
    frames = [pandas.DataFrame(x, columns=list("vwxyz")) for x in X]
    step = PositionWise(StandardScaler().set_output(transform="pandas")).fit(frames)
    assert step.feature_names_in_.tolist() == list("vwxyz")
    assert step.transform(frames)[2].columns.tolist() == list("vwxyz")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(3), None, r"PositionWise: X is one array of shape \(3, 3\).*for one sequence give \[x\]"),
        ([np.eye(3), np.eye(2)], None, "example 1 has 2 features, expected 3"),
        ([np.eye(3), np.eye(3)[0]], None, r"example 1 must be a \(T, F\) array, got shape \(3,\)"),
        ([np.eye(3)], [["a", "b"]], "example 0 has 3 positions and 2 labels"),
        ([np.eye(3)], [["a", "b", "a"], ["b"]], "X has 1 examples and y has 2"),
        ([{"a": 1}, {"b": 1}], None, "example 0 is a dict; for one sequence give"),
        (["some", "text"], None, "example 0 is a str; for one sequence give"),
        ([], None, "X is empty"),
        (3, None, "X must be a list"),
    ],
)
def test_wrong_input(X, y, message):
    with pytest.raises(InputError, match=message):
        PositionWise(StandardScaler()).fit(X, y)


def test_a_transformer_must_keep_the_positions(sequences):
    with pytest.raises(InputError, match=r"the transformer has made .* rows of .* positions"):
        PositionWise(Half()).fit_transform(sequences[0])
