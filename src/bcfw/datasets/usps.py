"""USPS: handwritten digits from postal envelopes, for multiclass models."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from bcfw.datasets.arrays import feature_matrix
from bcfw.datasets.locate import Source

FILE = "usps/usps.npz"

SOURCE = Source(
    title="USPS digits",
    files=(FILE,),
    origin=(
        "the USPS zip-code digits usps.bz2 and usps.t.bz2 from the LIBSVM data sets, multi-class part "
        "(https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/)"
    ),
    command="python -m bcfw.datasets.convert usps usps.bz2 usps.t.bz2",
)

#: The file holds grey values as whole numbers, ``(value + 1) * SCALE``: the original ones have three decimals.
SCALE = 1000

DESCR = """\
USPS digits: {n_train} training and {n_test} test images of 16x16 grey values in [-1, 1], 10 classes.

Digits cut from handwritten zip codes on envelopes that passed through the post office of Buffalo, New York.

Source: usps.bz2 and usps.t.bz2 of the LIBSVM data sets, https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/.
It states no licence: use it for research, do not redistribute it. Reference: J. J. Hull, A database for handwritten
text recognition research, IEEE Transactions on Pattern Analysis and Machine Intelligence 16(5), 1994.
"""


def fetch_usps(*, constant: bool = True) -> Bunch:
    """The USPS zip-code digits, from ``BCFW_DATA`` or the user's cache.

    Parameters
    ----------
    constant : bool
        Whether to append a feature that is always 1.

    Returns
    -------
    sklearn.utils.Bunch
        X_train : (7291, 257) float array, X_test : (2007, 257) float array; 256 columns without the constant
            Columns are grey values in [-1, 1], row by row of the 16x16 image, and the constant.
        y_train, y_test : int arrays
            The digits, 0 to 9.
        target_names : list of str
            "0" to "9".
        DESCR : str
            What the data are.

    Raises
    ------
    DataNotFound
        If the data are not on this machine; the message says where to get them.

    Examples
    --------
    >>> from bcfw.datasets import fetch_usps
    >>> digits = fetch_usps()  # doctest: +SKIP
    >>> digits.X_train.shape, digits.X_test.shape  # doctest: +SKIP
    ((7291, 257), (2007, 257))
    """
    (path,) = SOURCE.locate()
    bunch = Bunch()
    for part in ("train", "test"):
        grey, digits = SOURCE.arrays(path, f"X_{part}", f"y_{part}")
        bunch[f"X_{part}"] = feature_matrix(grey / SCALE - 1.0, constant)
        bunch[f"y_{part}"] = digits.astype(np.int64)
    bunch.target_names = [str(digit) for digit in range(10)]
    bunch.DESCR = DESCR.format(n_train=len(bunch.X_train), n_test=len(bunch.X_test))
    return bunch
