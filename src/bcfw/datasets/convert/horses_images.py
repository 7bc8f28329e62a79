"""convert_horses: makes the superpixel graphs that ``horses.py`` loads from photographs and masks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bcfw.datasets.convert import superpixels
from bcfw.datasets.convert.writing import original, save_arrays
from bcfw.datasets.horses import COLOUR_WORDS, FILES, SIDE, TEXTURE_WORDS, TOTAL_COUNT
from bcfw.errors import InputError
from bcfw.inputs.numbers import offsets
from bcfw.storage.files import PathLike

#: Share of the images that are in the training part.
TRAIN_SHARE = 0.61

#: Number of random pixels of each training image from which the vocabularies are learned.
PIXEL_SAMPLE = 300


def convert_horses(rgb: PathLike, figure_ground: PathLike, out: PathLike | None = None) -> list[Path]:
    """Convert the Weizmann horse database: cut the images into superpixels (see
    :mod:`bcfw.datasets.convert.superpixels`).

    A random 61 % of the images are the training part. Colour and texture words are k-means centres of pixels of the
    training images. Reading images needs Pillow. Superpixels and words may differ slightly between releases of Pillow
    and of scikit-learn.

    Parameters
    ----------
    rgb, figure_ground : path
        Folders with the photographs and with their masks. A mask has the name of its photograph and is bright on the
        horse.
    out : path, optional
        Data folder to write into; the user's cache by default.

    Returns
    -------
    list of Path
        The files written.
    """
    pairs = image_pairs(original(rgb, "rgb"), original(figure_ground, "figure_ground"))
    images, masks = _read_pairs(pairs)
    labs = [superpixels.to_lab(image) for image in images]
    maps = [superpixels.slic(lab) for lab in labs]
    ids = np.arange(1, len(pairs) + 1, dtype=np.int16)
    contents = (
        {**_graphs(labs, maps, masks, _draw_training(len(pairs))), "ids": ids},
        _pixels(maps, masks),
        {**_small_images(pairs), "ids": ids},
    )
    return [save_arrays(out, name, arrays) for name, arrays in zip(FILES, contents, strict=True)]


def image_pairs(rgb: Path, figure_ground: Path) -> list[tuple[Path, Path]]:
    """Return the pairs of photograph and mask, sorted by name; both have one name, but for the file extension."""
    for folder in (rgb, figure_ground):
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder with images")
    masks = {path.stem: path for path in sorted(figure_ground.iterdir()) if path.is_file()}
    images = [path for path in sorted(rgb.iterdir()) if path.is_file()]
    if not images:
        raise InputError(f"{rgb} has no images")
    for path in images:
        if path.stem not in masks:
            raise InputError(f"{path} has no mask of the same name in {figure_ground}")
    return [(path, masks[path.stem]) for path in images]


def _read_pairs(pairs: list[tuple[Path, Path]]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the (H, W, 3) colours of each photograph and its (H, W) bool mask, True on the horse."""
    images = [read_image(image, "RGB") for image, _ in pairs]
    masks = [_read_mask(mask) for _, mask in pairs]
    for (image, mask), photo, truth in zip(pairs, images, masks, strict=True):
        if photo.shape[:2] != truth.shape:
            raise InputError(f"{image} has {photo.shape[:2]} pixels and {mask} {truth.shape}; they must match")
    return images, masks


def _read_mask(path: Path, size: tuple[int, int] | None = None) -> np.ndarray:
    """Return a bool mask, True where the image of the mask is bright: on the horse."""
    return read_image(path, "L", size) > 127


def read_image(path: Path, mode: str | None, size: tuple[int, int] | None = None) -> np.ndarray:
    """Return the pixels of an image in colour ("RGB") or grey ("L"), resized to ``size`` (columns, rows) if given.

    With mode None the pixels are the numbers in the file, such as classes. Resizing then takes the nearest pixels,
    because such numbers cannot be averaged.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise InputError("reading images needs Pillow: pip install pillow") from error
    try:
        with Image.open(path) as image:
            picture = image if mode is None else image.convert(mode)
            filtering = Image.Resampling.NEAREST if mode is None else None  # None is Pillow's default
            return np.asarray(picture if size is None else picture.resize(size, filtering))
    except UnidentifiedImageError as error:
        raise InputError(f"{path} is not an image; get it again") from error


def _draw_training(n_images: int) -> np.ndarray:
    """Return (n_images,) bool, True for the training part: a random share, but equal in every run."""
    is_train = np.zeros(n_images, dtype=bool)
    is_train[np.random.default_rng(0).permutation(n_images)[: max(1, round(TRAIN_SHARE * n_images))]] = True
    return is_train


def _graphs(
    labs: list[np.ndarray], maps: list[np.ndarray], masks: list[np.ndarray], is_train: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the superpixels of all images, their labels and edges, and the offsets of the images."""
    pieces = [superpixels.describe(*pair) for pair in zip(maps, labs, strict=True)]
    labels = [_majority(*pair) for pair in zip(maps, masks, strict=True)]
    return {
        "bow": bag_of_words(labs, maps, is_train, COLOUR_WORDS, TEXTURE_WORDS),
        "geom": np.concatenate([one.geom for one in pieces]).astype(np.float32),
        "y": np.concatenate(labels).astype(np.uint8),
        "node_off": offsets([len(one.geom) for one in pieces]).astype(np.int32),
        "edges": np.concatenate([one.edges for one in pieces]).astype(np.int32),
        "edge_feat": np.concatenate([one.edge_feat for one in pieces]).astype(np.float32),
        "edge_off": offsets([len(one.edges) for one in pieces]).astype(np.int32),
        "is_train": is_train,
    }


def _majority(superpixel: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return (V,) bool, True for superpixels most of whose pixels are horse."""
    return np.bincount(superpixel.ravel(), mask.ravel()) > np.bincount(superpixel.ravel()) / 2


def bag_of_words(
    labs: list[np.ndarray], maps: list[np.ndarray], is_train: np.ndarray, colour_words: int, texture_words: int
) -> np.ndarray:
    """Return (N, colour_words + texture_words) word counts of all superpixels; words come from training images."""
    from sklearn.cluster import MiniBatchKMeans

    rng = np.random.default_rng(0)
    counts = []
    for n_words, values in (
        (colour_words, lambda lab: lab.reshape(-1, 3)),
        (texture_words, superpixels.patches),
    ):
        samples = [rng.choice(values(labs[k]), PIXEL_SAMPLE) for k in np.flatnonzero(is_train)]
        vocabulary = MiniBatchKMeans(n_words, random_state=0, n_init=3).fit(np.concatenate(samples))
        words = [vocabulary.predict(values(lab)) for lab in labs]
        pairs = zip(maps, words, strict=True)
        counts.append([superpixels.word_counts(m, one, n_words, TOTAL_COUNT) for m, one in pairs])
    return np.hstack([np.concatenate(one) for one in counts])


def _pixels(maps: list[np.ndarray], masks: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return the superpixel and the true label of every pixel, one image after the other, and the image shapes."""
    return {
        "maps": np.concatenate([one.ravel() for one in maps]).astype(np.uint16),
        "masks": np.packbits(np.concatenate([one.ravel() for one in masks])),
        "shapes": np.array([one.shape for one in maps], dtype=np.int16),
    }


def _small_images(pairs: list[tuple[Path, Path]]) -> dict[str, np.ndarray]:
    """Return the photographs and masks, resized to SIDE rows and columns."""
    masks = np.stack([_read_mask(mask, (SIDE, SIDE)) for _, mask in pairs])
    return {
        "X": np.stack([read_image(image, "RGB", (SIDE, SIDE)) for image, _ in pairs]),
        "Y": np.packbits(masks.reshape(-1, SIDE**2), axis=1),
    }
