"""fetch_horses: Weizmann horses for figure-ground segmentation, as graphs of superpixels and as pixels."""

from __future__ import annotations

import numpy as np

from bcfw.datasets.data_set import DataSet, cut
from bcfw.datasets.locate import Source
from bcfw.inputs.numbers import offsets

FILES = (
    "horses/weizmann_superpixels.npz",
    "horses/weizmann_superpixel_maps.npz",
    "horses/weizmann64.npz",
)

SOURCE = Source(
    name="horses",
    title="Weizmann horses",
    files=FILES,
    origin=(
        "the Weizmann horse database by Eran Borenstein, folders rgb and figure_ground "
        "(https://www.msri.org/people/members/eranb/)"
    ),
    originals={"rgb": "rgb", "figure_ground": "figure_ground"},
)

#: Numbers of words in the colour and texture vocabularies, and the sum of a superpixel's word counts in each.
COLOUR_WORDS, TEXTURE_WORDS, TOTAL_COUNT = 64, 128, 255

#: Units of the edge features: length of the common boundary in pixels, and two colour differences.
LENGTH_UNIT, COLOUR_UNIT, STEP_UNIT = 20.0, 15.0, 8.0

#: Rows and columns of the small images.
SIDE = 64

GEOMETRY = ("x", "y", "L", "a", "b", "L std", "a std", "b std", "area")

DESCR = """\
Weizmann horses: {n_train} training and {n_test} test images, {n_nodes} superpixels, {n_edges} pairs of neighbours.

Photographs of horses with a mask of the horse, by Eran Borenstein and Shimon Ullman. Each image is cut into 144 to 208
superpixels; a superpixel is horse (1) if most of its pixels are. Node features: square roots of the shares of
{colours} colour words and {textures} texture words, the geometry (position of the centre as a share of width and
height, mean and standard deviation of the colour in CIE L*a*b* divided by 100, area as a share of the image), and a
constant.

Edges join superpixels with a common boundary; their features are large where a cut is unlikely: 1, exp(-c / {colour:g})
and exp(-s / {step:g}), and the same three times l / {length:g}. Here l is the length of the boundary in pixels, c the
distance of the mean colours and s the mean difference of colour across the boundary.

Source: the Weizmann horse database, https://www.msri.org/people/members/eranb/. It states no licence: use it for
research, do not redistribute it. Reference: E. Borenstein and S. Ullman, Class-specific, top-down segmentation,
ECCV 2002.
"""


@SOURCE.fitting()
def fetch_horses(*, constant: bool = True) -> DataSet:
    """Return the Weizmann horses as graphs of superpixels, from ``BCFW_DATA`` or the user's cache.

    Parameters
    ----------
    constant : bool
        Whether to append a node feature that is always 1.

    Returns
    -------
    DataSet, a sklearn.utils.Bunch
        X_train, X_test : list of (node_features (V, 202), edges (E, 2), edge_features (E, 6))
            V superpixels and E pairs of neighbours; 201 node features without the constant. See ``DESCR``.
        y_train, y_test : list of (V,) int arrays
            Labels of the superpixels: 1 for horse, 0 for ground.
        maps_train, maps_test : list of (height, width) int arrays
            The superpixel of each pixel: ``y[map]`` has the label of each pixel's superpixel.
        masks_train, masks_test : list of (height, width) bool arrays
            The true labels of the pixels.
        images_train, images_test : (n, 64, 64, 3) uint8 arrays
            Small RGB images.
        small_masks_train, small_masks_test : (n, 64, 64) bool arrays
            The true labels of the pixels of the small images.
        feature_names : list of str
            Names of the node features.
        target_names : list of str
            "ground" and "horse".
        DESCR : str
            Description of the data, with source and reference.

    Raises
    ------
    DataNotFound
        If the data are not on this machine; the message says where to get them.

    Examples
    --------
    >>> from bcfw.datasets import fetch_horses
    >>> horses = fetch_horses()  # doctest: +SKIP
    >>> len(horses.X_train), len(horses.X_test), horses.X_train[0][0].shape  # doctest: +SKIP
    (200, 128, (174, 202))
    """
    superpixels, pixels, small = SOURCE.locate()
    bow, geom, y, node_off, is_train = SOURCE.arrays(superpixels, "bow", "geom", "y", "node_off", "is_train")
    edges, edge_feat, edge_off = SOURCE.arrays(superpixels, "edges", "edge_feat", "edge_off")
    maps, masks, shapes = SOURCE.arrays(pixels, "maps", "masks", "shapes")
    images, small_masks = SOURCE.arrays(small, "X", "Y")
    nodes = [cut(node_features(bow, geom, constant), node_off), cut(edges.astype(np.int64), edge_off)]
    graphs = list(zip(*nodes, cut(edge_features(edge_feat), edge_off), strict=True))
    labels = cut(y.astype(np.int64), node_off)
    pixel_off = offsets([int(height) * int(width) for height, width in shapes])
    truths = np.unpackbits(masks, count=int(pixel_off[-1])).astype(bool)
    bunch = DataSet()
    for part, chosen in (("train", np.flatnonzero(is_train)), ("test", np.flatnonzero(~is_train))):
        bunch[f"X_{part}"] = [graphs[k] for k in chosen]
        bunch[f"y_{part}"] = [labels[k] for k in chosen]
        for name, flat in (("maps", maps), ("masks", truths)):
            cuts = cut(flat, pixel_off, chosen.tolist())
            bunch[f"{name}_{part}"] = [one.reshape(shapes[k]) for one, k in zip(cuts, chosen, strict=True)]
        bunch[f"images_{part}"] = images[chosen]
        bunch[f"small_masks_{part}"] = np.unpackbits(small_masks[chosen], axis=1).reshape(-1, SIDE, SIDE).astype(bool)
    bunch.feature_names = feature_names(constant)
    bunch.target_names = ["ground", "horse"]
    bunch.DESCR = DESCR.format(
        n_train=len(bunch.X_train),
        n_test=len(bunch.X_test),
        n_nodes=len(y),
        n_edges=len(edges),
        colours=COLOUR_WORDS,
        textures=TEXTURE_WORDS,
        colour=COLOUR_UNIT,
        step=STEP_UNIT,
        length=LENGTH_UNIT,
    )
    return bunch


def node_features(bow: np.ndarray, geom: np.ndarray, constant: bool) -> np.ndarray:
    """Return (N, F) node features: square roots of word shares, geometry, and a column of ones if ``constant``."""
    return np.hstack([np.sqrt(bow / TOTAL_COUNT), geom, np.ones((len(geom), int(constant)))])


def edge_features(edge_feat: np.ndarray) -> np.ndarray:
    """Return (E, 6) edge features from ``edge_feat`` (E, 3).

    The columns of ``edge_feat`` are the length of the boundary, the distance of the mean colours, and the mean colour
    difference across the boundary.
    """
    length, colour, step = edge_feat.astype(np.float64).T
    alike = np.stack([np.ones(len(length)), np.exp(-colour / COLOUR_UNIT), np.exp(-step / STEP_UNIT)], axis=1)
    return np.hstack([alike, alike * (length / LENGTH_UNIT)[:, None]])


def feature_names(constant: bool) -> list[str]:
    words = [f"colour {k}" for k in range(COLOUR_WORDS)] + [f"texture {k}" for k in range(TEXTURE_WORDS)]
    return [*words, *GEOMETRY, *(["constant"] if constant else [])]
