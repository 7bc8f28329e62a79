"""Handwritten words (OCR): 16x8 binary letters, as used in most papers on structural SVMs."""

from __future__ import annotations

import string

import numpy as np
from sklearn.utils import Bunch

from bcfw.datasets.arrays import cut, feature_matrix
from bcfw.datasets.locate import Source
from bcfw.errors import OptionError, nearest

FILE = "ocr/ocr_letters.npz"

SOURCE = Source(
    title="OCR letters",
    files=(FILE,),
    origin="letter.data.gz from Ben Taskar's page at the Stanford AI lab (http://ai.stanford.edu/~btaskar/ocr/)",
    command="python -m bcfw.datasets.convert ocr letter.data.gz",
)

#: Which folds train: "large" is the published protocol OCR-large, "small" its reverse.
TRAIN_FOLDS = {"large": tuple(range(1, 10)), "small": (0,)}

DESCR = """\
OCR letters ({size}): {n_train} training and {n_test} test words.

Handwritten words, collected by Rob Kassel at the MIT Spoken Language Systems Group, cleaned and cut into letters of
16x8 binary pixels by Ben Taskar. The first letter of each word, a capital, is left out. 6877 words (55 distinct ones),
52152 letters, 10 folds: "large" trains on folds 1 to 9 and tests on fold 0, "small" the other way round.

Words stand in the order of the original file, which groups equal words: shuffle before cutting it into parts.

Source: letter.data.gz, http://ai.stanford.edu/~btaskar/ocr/. It states no licence: use it for research, do not
redistribute it. Reference: B. Taskar, C. Guestrin, D. Koller, Max-margin Markov networks, NIPS 2003.
"""


def fetch_ocr(size: str = "large", *, constant: bool = True) -> Bunch:
    """Taskar's handwritten words, from ``BCFW_DATA`` or the user's cache.

    Parameters
    ----------
    size : {"large", "small"}
        "large": train on folds 1 to 9 (6251 words), test on fold 0 (626 words); "small": the reverse.
    constant : bool
        Whether to append a feature that is always 1, as the published models do.

    Returns
    -------
    sklearn.utils.Bunch
        X_train, X_test : list of (T, 129) float arrays; (T, 128) without the constant
            Rows are letters; columns are binary pixels, row by row of the 16x8 image, and the constant.
        y_train, y_test : list of (T,) int arrays
            0 to 25 for a to z.
        fold_train, fold_test : int arrays
            Fold of each word, for cross-validation.
        target_names : list of str
            The 26 letters.
        DESCR : str
            What the data are.

        Words keep the order of the original file, which groups equal words.

    Raises
    ------
    DataNotFound
        If the data are not on this machine; the message says where to get them.

    Examples
    --------
    >>> from bcfw.datasets import fetch_ocr
    >>> words = fetch_ocr("small")  # doctest: +SKIP
    >>> len(words.X_train), len(words.X_test), words.X_train[0].shape  # doctest: +SKIP
    (626, 6251, (9, 129))
    """
    if size not in TRAIN_FOLDS:
        raise OptionError(f"fetch_ocr has no size {size!r}; {nearest(size, TRAIN_FOLDS)}")
    (path,) = SOURCE.locate()
    pixels, letters, offsets, fold = SOURCE.arrays(path, "X", "y", "offsets", "fold")
    X = feature_matrix(pixels, constant)
    y = letters.astype(np.int64)
    in_train = np.isin(fold, TRAIN_FOLDS[size])
    bunch = Bunch()
    for part, words in (("train", np.flatnonzero(in_train)), ("test", np.flatnonzero(~in_train))):
        bunch[f"X_{part}"] = cut(X, offsets, words.tolist())
        bunch[f"y_{part}"] = cut(y, offsets, words.tolist())
        bunch[f"fold_{part}"] = fold[words].astype(np.int64)
    bunch.target_names = list(string.ascii_lowercase)
    bunch.DESCR = DESCR.format(size=size, n_train=len(bunch.X_train), n_test=len(bunch.X_test))
    return bunch
