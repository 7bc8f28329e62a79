"""The embedded data set of digit words: dates, seeds, noise, and what a chain gains on them."""

from __future__ import annotations

import datetime
import pickle
from pprint import pformat

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.utils import Bunch

import bcfw
from bcfw.datasets import DataSet, load_digit_words
from bcfw.errors import OptionError
from data_files import flat


def test_digit_words_depend_on_the_seed_only():
    first, again, other = load_digit_words(), load_digit_words(), load_digit_words(seed=1)
    for part in ("train", "test"):
        for one, two in zip(flat(first, part), flat(again, part), strict=True):
            np.testing.assert_array_equal(one, two)
        assert [y.tolist() for y in first[f"y_{part}"]] != [y.tolist() for y in other[f"y_{part}"]]


def test_training_words_do_not_depend_on_the_number_of_test_words():
    few = load_digit_words(n_train=30, n_test=1)
    np.testing.assert_array_equal(flat(few, "train")[0], flat(load_digit_words(n_train=30, n_test=9), "train")[0])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_train_and_test_images_are_disjoint(seed):
    words = load_digit_words(seed=seed)
    train, test = (set(np.concatenate(words[f"images_{part}"]).tolist()) for part in ("train", "test"))
    assert train
    assert test
    assert not train & test
    # Whatever the seed: images that test one draw never train another.
    assert max(train) < 1200 <= min(test)


def test_digit_words_are_dates_written_with_images_of_their_digits():
    words = load_digit_words(n_train=300, n_test=100, noise=0.0)
    pixels, digits = load_digits(return_X_y=True)
    lengths = set()
    for part in ("train", "test"):
        for x, y, images in zip(words[f"X_{part}"], words[f"y_{part}"], words[f"images_{part}"], strict=True):
            np.testing.assert_array_equal(digits[images], y)
            np.testing.assert_array_equal(x, np.hstack([pixels[images] / 16.0, np.ones((len(y), 1))]))
            date = "01011980"[: 8 - len(y)] + "".join(map(str, y))
            assert 1980 <= datetime.datetime.strptime(date, "%d%m%Y").year <= 1999
            lengths.add(len(y))
    assert lengths == {4, 6, 8}


def test_noise_stays_in_the_pixel_range_and_the_constant_can_be_left_out():
    x, y = flat(load_digit_words(n_train=50, n_test=1, noise=1.0, constant=False), "train")
    assert x.shape == (len(y), 64)
    assert x.min() == 0.0
    assert x.max() == 1.0


@pytest.mark.parametrize(
    "options",
    [
        {"n_train": 0},
        {"n_train": 10**30},
        {"n_test": 2.5},
        {"noise": -1.0},
        {"noise": float("nan")},
        {"seed": -1},
        {"seed": "a"},
        {"constant": None},
        {"n_groups": 0},
        {"n_groups": 51},
    ],
    ids=str,
)
def test_impossible_options_are_named(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        load_digit_words(**options)


def test_one_group_changes_nothing_and_groups_leave_the_test_words_alone():
    plain, five = load_digit_words(), load_digit_words(n_groups=5)
    assert not plain.groups_train.any()
    np.testing.assert_array_equal(plain.images_train[0], [902, 493, 994, 425, 381, 960])
    np.testing.assert_array_equal(flat(plain, "test")[0], flat(five, "test")[0])
    assert [y.tolist() for y in plain.y_train] == [y.tolist() for y in five.y_train]


@pytest.mark.parametrize("n_groups", [2, 5, 50])
def test_words_of_different_groups_share_no_image(n_groups):
    words = load_digit_words(n_groups=n_groups)
    assert words.groups_train.shape == (1000,)
    owners = {}
    for group, images in zip(words.groups_train.tolist(), words.images_train, strict=True):
        for image in images.tolist():
            assert owners.setdefault(image, group) == group
    assert sorted(set(owners.values())) == list(range(n_groups))


def test_cross_validation_by_groups_promises_less():
    words = load_digit_words(n_groups=5)
    svm = bcfw.ChainSVM(lam=0.03, tol=0.05)
    by_groups = cross_val_score(svm, words.X_train, words.y_train, groups=words.groups_train, cv=GroupKFold(5))
    plain = cross_val_score(svm, words.X_train, words.y_train, cv=KFold(5))
    test = svm.fit(words.X_train, words.y_train).score(words.X_test, words.y_test)
    assert test < by_groups.mean() < plain.mean() - 0.02


def test_data_sets_show_their_shapes():
    words = load_digit_words()
    assert isinstance(words, Bunch)
    for text in (repr(words), str(words), pformat(words)):
        assert len(text) < 1000
        assert text.startswith("<DataSet: Handwritten dates: 1000 training and 500 test words")
        assert "X_train: list of 1000, the first: array (6, 65) of float64" in text
    again = pickle.loads(pickle.dumps(words))
    assert type(again) is DataSet
    np.testing.assert_array_equal(again.X_train[3], words["X_train"][3])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.zeros((3, 2)), "array (3, 2) of float64"),
        (sp.eye(3, format="csr"), "sparse csr matrix (3, 3) of float64"),
        ([sp.eye(2, format="csr")], "list of 1, the first: sparse csr matrix (2, 2) of float64"),
        ([(np.zeros(1, int), None)], "list of 1, the first: (array (1,) of int64, None)"),
        (["a"] * 100, "list of 100: ['a', 'a', 'a', 'a', 'a', 'a', ...]"),
        ("a\nb", "text of 2 lines"),
        ([], "list of 0: []"),
        (7, "7"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shapes_in_words(value, text):
    assert repr(DataSet(entry=value)) == f"<DataSet: 1 entries\n  entry: {text}>"


def test_a_chain_beats_an_unstructured_classifier_on_digit_words():
    """The point of the data set: the calendar saves about a third of the errors."""
    words = load_digit_words()
    (X, y), (X_test, y_test) = flat(words, "train"), flat(words, "test")
    unstructured = LogisticRegression(max_iter=2000).fit(X, y).predict(X_test)
    result = bcfw.train(bcfw.models.Chain(), words.X_train, words.y_train, lam=0.1, tol=0.01)
    chain = np.concatenate(result.predict(words.X_test))
    assert 0.10 < np.mean(unstructured != y_test) < 0.17
    assert np.mean(chain != y_test) < 0.8 * np.mean(unstructured != y_test)
