"""convert_camvid: makes the superpixel graphs that ``camvid.py`` loads from photographs and images of classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bcfw.datasets.camvid import CLASSES, COLOUR_WORDS, FILES, HEIGHT, PARTS, TEXTURE_WORDS, VOID, WIDTH
from bcfw.datasets.convert import superpixels
from bcfw.datasets.convert.horses_images import bag_of_words, image_pairs, read_image
from bcfw.datasets.convert.writing import original, save_arrays
from bcfw.errors import InputError
from bcfw.inputs.numbers import offsets
from bcfw.storage.files import PathLike


def convert_camvid(folder: PathLike, out: PathLike | None = None) -> list[Path]:
    """Convert SegNet's copy of CamVid: cut the images into superpixels (see :mod:`bcfw.datasets.convert.superpixels`).

    Images are reduced to 180 rows and 240 columns. Colour and texture words are k-means centres of pixels of the
    training images. Reading images needs Pillow. Superpixels and words may differ slightly between releases of Pillow
    and of scikit-learn.

    Parameters
    ----------
    folder : path
        Folder with the photographs in train, val and test, and with images of the classes in trainannot, valannot and
        testannot. An image of classes has the name of its photograph; its pixels are class numbers: 0 to 10, and 11 for
        void.
    out : path, optional
        Data folder to write into; the user's cache by default.

    Returns
    -------
    list of Path
        The files written.
    """
    home = original(folder, "folder")
    pairs = [image_pairs(home / part, home / f"{part}annot") for part in PARTS]
    split = np.repeat(np.arange(len(PARTS), dtype=np.uint8), [len(one) for one in pairs])
    flat = [pair for part in pairs for pair in part]
    labs = [superpixels.to_lab(read_image(image, "RGB", (WIDTH, HEIGHT))) for image, _ in flat]
    classes = np.stack([_read_classes(path) for _, path in flat])
    maps = [superpixels.slic(lab) for lab in labs]
    pieces = [superpixels.describe(*pair) for pair in zip(maps, labs, strict=True)]
    graphs: dict[str, np.ndarray] = {
        "bow": bag_of_words(labs, maps, split == 0, COLOUR_WORDS, TEXTURE_WORDS),
        "geom": np.concatenate([one.geom for one in pieces]).astype(np.float32),
        "y": np.concatenate([_majority(*pair) for pair in zip(maps, classes, strict=True)]).astype(np.uint8),
        "node_off": offsets([len(one.geom) for one in pieces]).astype(np.int32),
        "edges": np.concatenate([one.edges for one in pieces]).astype(np.int32),
        "edge_feat": np.concatenate([one.edge_feat for one in pieces]).astype(np.float32),
        "edge_off": offsets([len(one.edges) for one in pieces]).astype(np.int32),
        "split": split,
        "class_names": np.array(CLASSES),
    }
    pixels: dict[str, np.ndarray] = {"maps": np.stack(maps).astype(np.uint16), "labels": classes.astype(np.uint8)}
    return [save_arrays(out, name, arrays) for name, arrays in zip(FILES, (graphs, pixels), strict=True)]


def _read_classes(path: Path) -> np.ndarray:
    """Return the (HEIGHT, WIDTH) classes; each is the class of the nearest pixel in the image of full size."""
    classes = read_image(path, None, (WIDTH, HEIGHT))
    if classes.ndim != 2 or classes.max() > VOID:
        raise InputError(f"{path} must have one channel with the numbers 0 to {VOID} of the classes")
    return classes


def _majority(superpixel: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the (V,) most frequent class among the pixels of each superpixel; in a tie, the smallest class."""
    n = int(superpixel.max()) + 1
    counts = np.bincount(superpixel.ravel() * (VOID + 1) + classes.ravel(), minlength=n * (VOID + 1))
    return counts.reshape(n, VOID + 1).argmax(axis=1)
