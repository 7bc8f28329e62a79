"""Handwritten dates, put together from the digits that scikit-learn ships."""

from __future__ import annotations

import datetime

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from bcfw.datasets.arrays import cut, feature_matrix
from bcfw.inputs.numbers import offsets
from bcfw.options import Count, Flag, NonNegative

FIRST_DAY = datetime.date(1980, 1, 1)
LAST_DAY = datetime.date(1999, 12, 31)

#: How many leading digits of DDMMYYYY a word leaves out: the whole date, month and year, or the year.
LEFT_OUT = (0, 2, 4)

#: So many words take 30 GB.
MOST_WORDS = 10**7

#: The images before this row of ``load_digits`` write the training words, those from it on the test words.
FIRST_TEST_IMAGE = 1200

DESCR = """\
Handwritten dates: {n_train} training and {n_test} test words of 4, 6 or 8 digits.

Each word is a date of the years 1980 to 1999, drawn uniformly and written as DDMMYYYY, MMYYYY or YYYY with equal
chance. Each digit is an 8x8 image of that digit, drawn from those that scikit-learn ships, with pixels in [0, 1] to
which Gaussian noise of standard deviation {noise:g} was added before clipping to [0, 1] again.
{n_features} features per digit: 64 pixels{constant}.

Training words use the first 1200 images of sklearn.datasets.load_digits, test words the other 597, whatever the seed:
no image is in both. The dates themselves come from one calendar, so a year can occur in both.

The calendar is what a chain can learn: 1 is often followed by 9 and 9 by 8 or 9, a date begins with 0 to 3, and so on.

Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository (its test
part), which offers it under CC BY 4.0; the copy is the one that scikit-learn distributes.
"""


def load_digit_words(
    *, n_train: int = 1000, n_test: int = 500, noise: float = 0.2, constant: bool = True, seed: int = 0
) -> Bunch:
    """Handwritten dates for sequence labelling, without any file or network.

    Words are calendar dates of 1980 to 1999 written as DDMMYYYY, MMYYYY or YYYY; each digit is a real 8x8 image of
    it with Gaussian pixel noise. Training and test words use disjoint sets of images.

    Parameters
    ----------
    n_train, n_test : int
        Number of words. The training words do not depend on ``n_test``, nor the test words on ``n_train``.
    noise : float
        Standard deviation of the pixel noise; the pixels are in [0, 1] and are clipped to it again. 0 leaves the
        images clean.
    constant : bool
        Whether to append a feature that is always 1.
    seed : int
        Seed of the dates, of the images that write them and of the noise.

    Returns
    -------
    sklearn.utils.Bunch
        X_train, X_test : list of (T, 65) float arrays, T in {4, 6, 8}; (T, 64) without the constant
            Rows are digits; columns are pixels, row by row of the image, and the constant.
        y_train, y_test : list of (T,) int arrays
            The digits.
        images_train, images_test : list of (T,) int arrays
            Row of ``sklearn.datasets.load_digits`` that each digit was drawn from.
        target_names : list of str
            "0" to "9".
        DESCR : str
            What the data are.

    Notes
    -----
    With the defaults, linear classifiers of single digits err on 13.5 % of the test digits at their best
    regularisation (``Multiclass`` with lam 0.003), ``Chain`` with lam 0.1 on 9.1 %; on whole words 58 % and 40 %.

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
    """
    for name, option, value in (
        ("n_train", Count(1000, most=MOST_WORDS), n_train),
        ("n_test", Count(500, most=MOST_WORDS), n_test),
        ("noise", NonNegative(0.2), noise),
        ("constant", Flag(True), constant),
        ("seed", Count(0, least=0), seed),
    ):
        option.check("load_digit_words", name, value)
    pixels, digits = load_digits(return_X_y=True)
    bunch = Bunch()
    parts = {"train": (n_train, slice(None, FIRST_TEST_IMAGE)), "test": (n_test, slice(FIRST_TEST_IMAGE, None))}
    for (part, (n_words, rows)), part_seed in zip(parts.items(), np.random.SeedSequence(seed).spawn(2), strict=True):
        rng = np.random.default_rng(part_seed)
        y, word_off = _draw_dates(n_words, rng)
        images = _draw_images(y, np.arange(len(digits))[rows], digits, rng)
        noisy = pixels[images] / 16.0 + noise * rng.standard_normal((len(y), pixels.shape[1]))
        bunch[f"X_{part}"] = cut(feature_matrix(noisy.clip(0.0, 1.0), constant), word_off)
        bunch[f"y_{part}"] = cut(y, word_off)
        bunch[f"images_{part}"] = cut(images, word_off)
    bunch.target_names = [str(digit) for digit in range(10)]
    bunch.DESCR = DESCR.format(
        n_train=n_train,
        n_test=n_test,
        noise=noise,
        n_features=bunch.X_train[0].shape[1],
        constant=" and a constant 1" if constant else "",
    )
    return bunch


def _draw_dates(n_words: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Digits of all words in one array, and the offsets that separate the words."""
    days = rng.integers(FIRST_DAY.toordinal(), LAST_DAY.toordinal() + 1, size=n_words).tolist()
    left_out = rng.choice(LEFT_OUT, size=n_words).tolist()
    words = [
        datetime.date.fromordinal(day).strftime("%d%m%Y")[start:] for day, start in zip(days, left_out, strict=True)
    ]
    return np.array([int(digit) for word in words for digit in word]), offsets([len(word) for word in words])


def _draw_images(y: np.ndarray, pool: np.ndarray, digits: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """For each digit of ``y`` an image of it: a row drawn from ``pool``."""
    images = np.empty(len(y), dtype=np.int64)
    for digit in range(10):
        places = np.flatnonzero(y == digit)
        images[places] = rng.choice(pool[digits[pool] == digit], size=len(places))
    return images
