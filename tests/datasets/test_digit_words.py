"""The embedded data set of digit words: dates, seeds, noise, and what a chain gains on them."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import bcfw
from bcfw.datasets import load_digit_words
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
    ],
    ids=str,
)
def test_impossible_options_are_named(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        load_digit_words(**options)


def test_a_chain_beats_an_unstructured_classifier_on_digit_words():
    """The point of the data set: the calendar saves about a third of the errors."""
    words = load_digit_words()
    (X, y), (X_test, y_test) = flat(words, "train"), flat(words, "test")
    unstructured = LogisticRegression(max_iter=2000).fit(X, y).predict(X_test)
    result = bcfw.train(bcfw.models.Chain(), words.X_train, words.y_train, lam=0.1, tol=0.01)
    chain = np.concatenate(result.predict(words.X_test))
    assert 0.10 < np.mean(unstructured != y_test) < 0.17
    assert np.mean(chain != y_test) < 0.8 * np.mean(unstructured != y_test)
