"""load_digit_words: handwritten dates, composed of the digit images that scikit-learn ships."""

from __future__ import annotations

import datetime
import itertools

import numpy as np
from sklearn.datasets import load_digits

from bcfw.datasets.data_set import DataSet, cut, feature_matrix
from bcfw.inputs.numbers import offsets
from bcfw.options import Count, Flag, NonNegative

FIRST_DAY = datetime.date(1980, 1, 1)
LAST_DAY = datetime.date(1999, 12, 31)

#: Number of leading digits of DDMMYYYY that a word leaves out: 0 for the whole date, 2 for MMYYYY, 4 for YYYY.
LEFT_OUT = (0, 2, 4)

#: Upper limit for the number of words; this many words take 30 GB.
MOST_WORDS = 10**7

#: Upper limit for the number of groups; with 50 groups, every group still has at least two images of every digit.
MOST_GROUPS = 50

#: Training words use the images before this row of ``load_digits``; test words use this row and all later rows.
FIRST_TEST_IMAGE = 1200

DESCR = """\
Handwritten dates: {n_train} training and {n_test} test words of 4, 6 or 8 digits.

Each word is a date of the years 1980 to 1999, drawn uniformly and written as DDMMYYYY, MMYYYY or YYYY with equal
chance. Each digit is an 8x8 image of that digit, drawn from those that scikit-learn ships, with pixels in [0, 1] to
which Gaussian noise of standard deviation {noise:g} was added before clipping to [0, 1] again.
{n_features} features per digit: 64 pixels{constant}.

Training words use the first 1200 images of sklearn.datasets.load_digits, test words the other 597, whatever the seed:
no image is in both. The dates themselves come from one calendar, so a year can occur in both. Words of one part share
images; training words of different groups ({n_groups} of them, see groups_train) do not.

The calendar is what a chain can learn: 1 is often followed by 9 and 9 by 8 or 9, a date begins with 0 to 3, and so on.

Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository (its test
part), which offers it under CC BY 4.0; the copy is the one that scikit-learn distributes.
"""


def load_digit_words(
    *,
    n_train: int = 1000,
    n_test: int = 500,
    noise: float = 0.2,
    constant: bool = True,
    seed: int = 0,
    n_groups: int = 1,
) -> DataSet:
    """Return handwritten dates for sequence labelling; needs no file and no network.

    Words are calendar dates of 1980 to 1999 written as DDMMYYYY, MMYYYY or YYYY. Each digit is a real 8x8 image of
    that digit with Gaussian pixel noise. Training and test words use disjoint sets of images.

    Parameters
    ----------
    n_train, n_test : int
        Number of words. The training words do not depend on ``n_test``, nor the test words on ``n_train``.
    noise : float
        Standard deviation of the pixel noise. Pixels are in [0, 1], and noisy pixels are clipped to [0, 1]. 0 adds no
        noise.
    constant : bool
        Whether to append a feature that is always 1.
    seed : int
        Seed of the dates, of the images and of the noise.
    n_groups : int
        Number of groups of training words, at most 50. Different groups share no image and few writers; see the notes
        on cross-validation.

    Returns
    -------
    DataSet, a sklearn.utils.Bunch
        X_train, X_test : list of (T, 65) float arrays, T in {4, 6, 8}; (T, 64) without the constant
            Rows are digits; columns are pixels, row by row of the image, and the constant.
        y_train, y_test : list of (T,) int arrays
            The digits.
        images_train, images_test : list of (T,) int arrays
            The row of ``sklearn.datasets.load_digits`` with the image of each digit.
        groups_train : (n_train,) int array
            The group of each word, 0 to n_groups - 1. Words of different groups share no image.
        target_names : list of str
            "0" to "9".
        DESCR : str
            Description of the data, with source and reference.

    Notes
    -----
    With the defaults and its best regularisation (lam 0.003), ``Multiclass`` classifies single digits and is wrong on
    13.5 % of the test digits; ``Chain`` with lam 0.1 is wrong on 9.1 %. Of the whole words, 58 % and 40 % are wrong.

    A thousand words use each of the 1200 training images about five times, and so the digits of all training writers;
    the test images are by other writers. Plain cross-validation is therefore too optimistic: it finds 97.1 % correct
    digits (``ChainSVM(lam=0.03)``), but on the test part 90.9 % are correct. With ``n_groups=5`` every group has its
    own images. These are consecutive in ``load_digits``, which is ordered by writers, and ``GroupKFold(5)`` finds
    93.3 %.

    Examples
    --------
    >>> from bcfw.datasets import load_digit_words
    >>> words = load_digit_words()
    >>> len(words.X_train), len(words.X_test)
    (1000, 500)
    >>> all(x.shape == (len(y), 65) for x, y in zip(words.X_train, words.y_train))
    True
    >>> sorted({len(y) for y in words.y_train})
    [4, 6, 8]

    Cross-validation on images that were not trained on:

    >>> from sklearn.model_selection import GroupKFold, cross_val_score
    >>> import bcfw
    >>> words = load_digit_words(n_train=300, n_groups=5)
    >>> svm = bcfw.ChainSVM(lam=0.03, tol=0.01)
    >>> scores = cross_val_score(svm, words.X_train, words.y_train, groups=words.groups_train, cv=GroupKFold(5))
    >>> scores.shape
    (5,)
    """
    for name, option, value in (
        ("n_train", Count(1000, most=MOST_WORDS), n_train),
        ("n_test", Count(500, most=MOST_WORDS), n_test),
        ("noise", NonNegative(0.2), noise),
        ("constant", Flag(True), constant),
        ("seed", Count(0, least=0), seed),
        ("n_groups", Count(1, most=MOST_GROUPS), n_groups),
    ):
        option.check("load_digit_words", name, value)
    pixels, digits = load_digits(return_X_y=True)
    bunch = DataSet()
    parts = {"train": (n_train, slice(None, FIRST_TEST_IMAGE)), "test": (n_test, slice(FIRST_TEST_IMAGE, None))}
    for (part, (n_words, rows)), part_seed in zip(parts.items(), np.random.SeedSequence(seed).spawn(2), strict=True):
        rng = np.random.default_rng(part_seed)
        y, word_off = _draw_dates(n_words, rng)
        groups = np.arange(n_words) % (n_groups if part == "train" else 1)
        images = _draw_images(y, np.repeat(groups, np.diff(word_off)), np.arange(len(digits))[rows], digits, rng)
        noisy = pixels[images] / 16.0 + noise * rng.standard_normal((len(y), pixels.shape[1]))
        bunch[f"X_{part}"] = cut(feature_matrix(noisy.clip(0.0, 1.0), constant), word_off)
        bunch[f"y_{part}"] = cut(y, word_off)
        bunch[f"images_{part}"] = cut(images, word_off)
        if part == "train":
            bunch.groups_train = groups
    bunch.target_names = [str(digit) for digit in range(10)]
    bunch.DESCR = DESCR.format(
        n_train=n_train,
        n_test=n_test,
        n_groups=n_groups,
        noise=noise,
        n_features=bunch.X_train[0].shape[1],
        constant=" and a constant 1" if constant else "",
    )
    return bunch


def _draw_dates(n_words: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the digits of all words in one array, and the offsets of the words."""
    days = rng.integers(FIRST_DAY.toordinal(), LAST_DAY.toordinal() + 1, size=n_words).tolist()
    left_out = rng.choice(LEFT_OUT, size=n_words).tolist()
    words = [
        datetime.date.fromordinal(day).strftime("%d%m%Y")[start:] for day, start in zip(days, left_out, strict=True)
    ]
    return np.array([int(digit) for word in words for digit in word]), offsets([len(word) for word in words])


def _draw_images(
    y: np.ndarray, groups: np.ndarray, pool: np.ndarray, digits: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return an image for each digit of ``y``: a row drawn from the part of ``pool`` that belongs to its group.

    The part of a group consists of consecutive rows, because consecutive rows are often by one writer.
    """
    images = np.empty(len(y), dtype=np.int64)
    n_groups = int(groups.max()) + 1
    for group, digit in itertools.product(range(n_groups), range(10)):
        places = np.flatnonzero((groups == group) & (y == digit))
        share = np.array_split(pool[digits[pool] == digit], n_groups)[group]
        images[places] = rng.choice(share, size=len(places))
    return images
