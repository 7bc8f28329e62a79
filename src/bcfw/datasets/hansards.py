"""fetch_hansards: English-French sentence pairs of the Canadian Hansards with word alignments, for Matching."""

from __future__ import annotations

import numpy as np

from bcfw.datasets.data_set import DataSet, cut
from bcfw.datasets.locate import Source

FILE = "wordalign/hansards_pairs.npz"

SOURCE = Source(
    name="hansards",
    title="Hansards word alignment",
    files=(FILE,),
    origin=(
        "the English-French sentence pairs and alignments of the HLT-NAACL 2003 workshop on parallel texts "
        "(https://web.eecs.umich.edu/~mihalcea/wpt/)"
    ),
    layout=(
        "X (rows of 14 features, those of all links of the first pair first), Y (0 none, 1 possible, 2 sure), "
        "shape (n, 2), offsets (n + 1,), split (0 trial, 1 test) and feature_names"
    ),
)

#: Number of pairs of the shared task's test part that are used for training; the other pairs are the test part.
N_TRAIN = 100

#: Labels of :class:`bcfw.models.Matching` for the numbers in the file: 0 no link, 1 possible link, 2 sure link.
LABELS = np.array([0, -1, 1])

DESCR = """\
Hansards word alignment: {n_trial} trial, {n_train} training and {n_test} test sentence pairs, {n_features} features.

English and French sentences of the Canadian parliament with the words that translate each other linked by hand, as
sure or possible links. The 447 test pairs of the shared task are cut as in the papers on matchings: the first 100
train, the others test. The 37 trial pairs serve to choose options.

Features of an English word i and a French word j: a constant, the Dice coefficient of the two words and of the two
before and after them, IBM Model 1's translation probabilities in both directions and their geometric mean, the
difference of the relative positions i/I - j/J (absolute and squared), whether the words are equal, the relative length
of their longest common subsequence, whether the first four letters agree, the difference of the logarithms of their
frequency ranks, and whether both are punctuation.

Source: HLT-NAACL 2003 workshop on building and using parallel texts, https://web.eecs.umich.edu/~mihalcea/wpt/. It
states no licence: use it for research, do not redistribute it. Reference: R. Mihalcea and T. Pedersen, An evaluation
exercise for word alignment, HLT-NAACL 2003; the alignments are those of F. J. Och and H. Ney, Improved statistical
alignment models, ACL 2000.
"""


@SOURCE.fitting()
def fetch_hansards() -> DataSet:
    """Return English-French word alignments, from ``BCFW_DATA`` or the user's cache.

    Returns
    -------
    DataSet, a sklearn.utils.Bunch
        X_train, X_test, X_trial : lists of 100, 347 and 37 float arrays (I, J, 14)
            Features of a link between English word i and French word j (see ``DESCR``); the first feature is constant.
        y_train, y_test, y_trial : lists of (I, J) int arrays
            1 = sure link, 0 = no link, -1 = possible link. In about a quarter of the pairs, the sure links are not a
            matching.
        target_names : list of str
            "none", "sure" and "possible": ``target_names[label]`` is the name of a label, also for -1.
        feature_names : list of str
            Names of the features.
        DESCR : str
            Description of the data, with source and reference.

    Raises
    ------
    DataNotFound
        If the data are not on this machine; the message says where to get them.

    Examples
    --------
    >>> from bcfw.datasets import fetch_hansards
    >>> pairs = fetch_hansards()  # doctest: +SKIP
    >>> len(pairs.X_train), len(pairs.X_test), pairs.X_train[0].shape  # doctest: +SKIP
    (100, 347, (2, 2, 14))
    """
    (path,) = SOURCE.locate()
    names = ("X", "Y", "shape", "offsets", "split", "feature_names")
    flat, gold, shape, offsets, split, feature_names = SOURCE.arrays(path, *names)
    features = flat.astype(np.float64)
    labels = LABELS[gold]
    in_test = np.flatnonzero(split == 1)
    parts = {"train": in_test[:N_TRAIN], "test": in_test[N_TRAIN:], "trial": np.flatnonzero(split == 0)}
    bunch = DataSet()
    for part, pairs in parts.items():
        sizes = shape[pairs].tolist()
        bunch[f"X_{part}"] = [
            x.reshape(*size, -1) for x, size in zip(cut(features, offsets, pairs), sizes, strict=True)
        ]
        bunch[f"y_{part}"] = [y.reshape(size) for y, size in zip(cut(labels, offsets, pairs), sizes, strict=True)]
    bunch.target_names = ["none", "sure", "possible"]
    bunch.feature_names = feature_names.tolist()
    counts = {f"n_{part}": len(pairs) for part, pairs in parts.items()}
    bunch.DESCR = DESCR.format(**counts, n_features=len(bunch.feature_names))
    return bunch
