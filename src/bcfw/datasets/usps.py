"""fetch_usps and convert_usps: handwritten USPS digits from postal envelopes, for multiclass models."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bcfw.datasets.convert.writing import original, save_arrays
from bcfw.datasets.data_set import DataSet, feature_matrix
from bcfw.datasets.locate import Source
from bcfw.errors import InputError
from bcfw.storage.files import PathLike

FILE = "usps/usps.npz"

SOURCE = Source(
    name="usps",
    title="USPS digits",
    files=(FILE,),
    origin=(
        "the USPS zip-code digits usps.bz2 and usps.t.bz2 from the LIBSVM data sets, multi-class part "
        "(https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/)"
    ),
    originals={"train": "usps.bz2", "test": "usps.t.bz2"},
)

#: Number of pixels of an image.
N_PIXELS = 16 * 16

#: The file holds grey values as whole numbers ``(value + 1) * SCALE``; the original values have three decimals.
SCALE = 1000

DESCR = """\
USPS digits: {n_train} training and {n_test} test images of 16x16 grey values in [-1, 1], 10 classes.

Digits cut from handwritten zip codes on envelopes that passed through the post office of Buffalo, New York.

Source: usps.bz2 and usps.t.bz2 of the LIBSVM data sets, https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/.
It states no licence: use it for research, do not redistribute it. Reference: J. J. Hull, A database for handwritten
text recognition research, IEEE Transactions on Pattern Analysis and Machine Intelligence 16(5), 1994.
"""


@SOURCE.fitting()
def fetch_usps(*, constant: bool = True) -> DataSet:
    """Return the USPS zip-code digits, from ``BCFW_DATA`` or the user's cache.

    Parameters
    ----------
    constant : bool
        Whether to append a feature that is always 1.

    Returns
    -------
    DataSet, a sklearn.utils.Bunch
        X_train : (7291, 257) float array, X_test : (2007, 257) float array; 256 columns without the constant
            Columns are grey values in [-1, 1], row by row of the 16x16 image, and the constant.
        y_train, y_test : int arrays
            The digits, 0 to 9.
        target_names : list of str
            "0" to "9".
        DESCR : str
            Description of the data, with source and reference.

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
    bunch = DataSet()
    for part in ("train", "test"):
        grey, digits = SOURCE.arrays(path, f"X_{part}", f"y_{part}")
        bunch[f"X_{part}"] = feature_matrix(grey / SCALE - 1.0, constant)
        bunch[f"y_{part}"] = digits.astype(np.int64)
    bunch.target_names = [str(digit) for digit in range(10)]
    bunch.DESCR = DESCR.format(n_train=len(bunch.X_train), n_test=len(bunch.X_test))
    return bunch


def convert_usps(train: PathLike, test: PathLike, out: PathLike | None = None) -> list[Path]:
    """Convert ``usps.bz2`` and ``usps.t.bz2``, which may also be compressed by gzip or uncompressed.

    Lines are in LIBSVM's format, with grey values in [-1, 1] and labels 1 to 10 for the digits 0 to 9. If the labels
    are 0 to 9, they are the digits.

    Parameters
    ----------
    train, test : path
        The original files.
    out : path, optional
        Data folder to write into; the user's cache by default.

    Returns
    -------
    list of Path
        The file written.
    """
    from sklearn.datasets import load_svmlight_file

    arrays: dict[str, np.ndarray] = {}
    labels: dict[str, np.ndarray] = {}
    for part, source in (("train", original(train, "train")), ("test", original(test, "test"))):
        try:
            X, y = load_svmlight_file(str(source), n_features=N_PIXELS, zero_based=False)
        except (ValueError, EOFError) as error:
            raise InputError(f"{source} is not a LIBSVM file with {N_PIXELS} features ({error})") from error
        if len(y) == 0 or np.abs(X.data).max(initial=0.0) > 1.0 or not np.isin(y, np.arange(11)).all():
            raise InputError(f"{source}: expected labels 1 to 10 and grey values in [-1, 1]; is it the USPS file?")
        arrays[f"X_{part}"] = np.rint((X.toarray() + 1.0) * SCALE).astype(np.int16)
        labels[part] = y.astype(np.int8)
    lowest = min(y.min() for y in labels.values())
    highest = max(y.max() for y in labels.values())
    if lowest == 0 and highest == 10:
        raise InputError(f"{train} and {test} have labels 0 and 10; they should be 1 to 10, or 0 to 9")
    for part, y in labels.items():
        arrays[f"y_{part}"] = y - np.int8(lowest > 0)
    return [save_arrays(out, FILE, arrays)]
