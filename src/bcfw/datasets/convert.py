"""Converters from the original public files to the ones that the loaders read.

::

    python -m bcfw.datasets.convert ocr letter.data.gz [--out DIR]
    python -m bcfw.datasets.convert usps usps.bz2 usps.t.bz2 [--out DIR]
    python -m bcfw.datasets.convert conll2000 train.txt.gz test.txt.gz [--out DIR]
    python -m bcfw.datasets.convert horses rgb figure_ground [--out DIR]

Without ``--out`` they write into the user's cache (:func:`bcfw.datasets.cache_folder`), where the loaders look.
With it, set the environment variable ``BCFW_DATA`` to that folder.
"""

from __future__ import annotations

import argparse
import gzip
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np

from bcfw.datasets import conll2000, horses, ocr, superpixels, usps
from bcfw.datasets.arrays import offsets_of
from bcfw.datasets.conll2000 import Corpus, read_corpus
from bcfw.datasets.locate import cache_folder
from bcfw.errors import BcfwError, InputError

PathLike = str | os.PathLike[str]

OCR_PIXELS = 16 * 8
USPS_PIXELS = 16 * 16

#: Share of the horse images that train, and pixels of each that the vocabularies are learned from.
HORSES_TRAIN, HORSES_SAMPLE = 0.61, 300


def convert_ocr(letters: PathLike, out: PathLike | None = None) -> list[Path]:
    """Convert ``letter.data.gz``, or the same uncompressed.

    Lines are letters, their fields separated by tabs: id, letter, next_id (-1 ends a word), word_id, position, fold
    and 128 binary pixels. Words are followed along next_id; they keep the order of their first letters.

    Parameters
    ----------
    letters : path
        The original file.
    out : path, optional
        Data folder to write into; the user's cache by default.

    Returns
    -------
    list of Path
        The file written.
    """
    source = Path(letters)
    rows = list(_letter_rows(source))
    words = _words(source, rows)
    order = [row for word in words for row in word]
    for word in words:
        if len({rows[row].fold for row in word}) > 1:
            raise InputError(f"{source}, line {word[0] + 1}: the letters of this word are in different folds")
    arrays: dict[str, np.ndarray] = {
        "X": np.stack([rows[row].pixels for row in order]),
        "y": np.array([rows[row].label for row in order], dtype=np.int8),
        "offsets": offsets_of(len(word) for word in words).astype(np.int32),
        "fold": np.array([rows[word[0]].fold for word in words], dtype=np.int8),
    }
    return [_save_arrays(_target(out, ocr.FILE), arrays)]


def convert_usps(train: PathLike, test: PathLike, out: PathLike | None = None) -> list[Path]:
    """Convert ``usps.bz2`` and ``usps.t.bz2``, or the same compressed by gzip or not at all.

    Lines are in LIBSVM's format, grey values in [-1, 1] and labels 1 to 10 for the digits 0 to 9. Files with labels
    0 to 9 are taken as they are.

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
    for part, source in (("train", Path(train)), ("test", Path(test))):
        try:
            X, y = load_svmlight_file(str(source), n_features=USPS_PIXELS, zero_based=False)
        except (ValueError, EOFError) as error:
            raise InputError(f"{source} is not a LIBSVM file with {USPS_PIXELS} features ({error})") from error
        if len(y) == 0 or np.abs(X.data).max(initial=0.0) > 1.0 or not np.isin(y, np.arange(11)).all():
            raise InputError(f"{source}: expected labels 1 to 10 and grey values in [-1, 1]; is it the USPS file?")
        arrays[f"X_{part}"] = np.rint((X.toarray() + 1.0) * usps.SCALE).astype(np.int16)
        labels[part] = y.astype(np.int8)
    lowest = min(y.min() for y in labels.values())
    highest = max(y.max() for y in labels.values())
    if lowest == 0 and highest == 10:
        raise InputError(f"{train} and {test} have labels 0 and 10; they should be 1 to 10, or 0 to 9")
    for part, y in labels.items():
        arrays[f"y_{part}"] = y - np.int8(lowest > 0)
    return [_save_arrays(_target(out, usps.FILE), arrays)]


def convert_conll2000(train: PathLike, test: PathLike, out: PathLike | None = None) -> list[Path]:
    """Check and copy the chunking files ``train.txt.gz`` and ``test.txt.gz``, or the same uncompressed.

    Parameters
    ----------
    train, test : path
        The original files: a word, its part-of-speech tag and its chunk tag per line, empty lines between sentences.
    out : path, optional
        Data folder to write into; the user's cache by default.

    Returns
    -------
    list of Path
        The files written.
    """
    corpora = [read_corpus(Path(source)) for source in (train, test)]
    targets = [_target(out, name) for name in conll2000.FILES]
    for corpus, target in zip(corpora, targets, strict=True):
        with _replacing(target) as file:
            # Without a time stamp, equal text gives equal files.
            file.write(gzip.compress(_text(corpus).encode(), mtime=0))
    return targets


def convert_horses(rgb: PathLike, figure_ground: PathLike, out: PathLike | None = None) -> list[Path]:
    """Cut the images of the Weizmann horse database into superpixels (see :mod:`bcfw.datasets.superpixels`).

    Colour and texture words are k-means centres of pixels of the training images, a random 61 % of all. Reading images
    needs Pillow. Another release of it or of scikit-learn may give slightly different superpixels and words.

    Parameters
    ----------
    rgb, figure_ground : path
        Folders with the photographs and with masks of the same names, bright where the horse is.
    out : path, optional
        Data folder to write into; the user's cache by default.

    Returns
    -------
    list of Path
        The files written.
    """
    pairs = _image_pairs(Path(rgb), Path(figure_ground))
    images, masks = (
        [_read_image(image, "RGB") for image, _ in pairs],
        [_read_image(mask, "L") > 127 for _, mask in pairs],
    )
    for (image, mask), photo, truth in zip(pairs, images, masks, strict=True):
        if photo.shape[:2] != truth.shape:
            raise InputError(f"{image} has {photo.shape[:2]} pixels and {mask} {truth.shape}; they must match")
    is_train = np.zeros(len(pairs), dtype=bool)
    is_train[np.random.default_rng(0).permutation(len(pairs))[: max(1, round(HORSES_TRAIN * len(pairs)))]] = True
    labs = [superpixels.to_lab(image) for image in images]
    maps = [superpixels.slic(lab) for lab in labs]
    pieces = [superpixels.describe(*pair) for pair in zip(maps, labs, strict=True)]
    majority = [
        np.bincount(m.ravel(), t.ravel()) > np.bincount(m.ravel()) / 2 for m, t in zip(maps, masks, strict=True)
    ]
    ids = np.arange(1, len(pairs) + 1, dtype=np.int16)
    graphs: dict[str, np.ndarray] = {
        "bow": _words_of(labs, maps, is_train),
        "geom": np.concatenate([one.geom for one in pieces]).astype(np.float32),
        "y": np.concatenate(majority).astype(np.uint8),
        "node_off": offsets_of(len(one.geom) for one in pieces).astype(np.int32),
        "edges": np.concatenate([one.edges for one in pieces]).astype(np.int32),
        "edge_feat": np.concatenate([one.edge_feat for one in pieces]).astype(np.float32),
        "edge_off": offsets_of(len(one.edges) for one in pieces).astype(np.int32),
        "is_train": is_train,
        "ids": ids,
    }
    pixels: dict[str, np.ndarray] = {
        "maps": np.concatenate([m.ravel() for m in maps]).astype(np.uint16),
        "masks": np.packbits(np.concatenate([mask.ravel() for mask in masks])),
        "shapes": np.array([m.shape for m in maps], dtype=np.int16),
    }
    side = horses.SIDE
    small: dict[str, np.ndarray] = {
        "X": np.stack([_read_image(image, "RGB", side) for image, _ in pairs]),
        "Y": np.packbits(
            np.stack([_read_image(mask, "L", side) > 127 for _, mask in pairs]).reshape(-1, side**2), axis=1
        ),
        "ids": ids,
    }
    targets = [_target(out, name) for name in horses.FILES]
    return [_save_arrays(target, arrays) for target, arrays in zip(targets, (graphs, pixels, small), strict=True)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bcfw.datasets.convert", description="Convert original public data files for bcfw.datasets."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="ocr | usps | conll2000 | horses")
    converters: dict[str, tuple[Callable[..., list[Path]], dict[str, str]]] = {
        "ocr": (convert_ocr, {"letters": "letter.data.gz"}),
        "usps": (convert_usps, {"train": "usps.bz2", "test": "usps.t.bz2"}),
        "conll2000": (convert_conll2000, {"train": "train.txt.gz", "test": "test.txt.gz"}),
        "horses": (convert_horses, {"rgb": "rgb", "figure_ground": "figure_ground"}),
    }
    for name, (_, files) in converters.items():
        command = commands.add_parser(name, help=" and ".join(files.values()))
        for file, original in files.items():
            command.add_argument(file, type=Path, help=f"the original {original}")
        command.add_argument("--out", type=Path, help=f"data folder to write into (default: {cache_folder()})")
    given = vars(parser.parse_args(arguments))
    convert = converters[given.pop("command")][0]
    try:
        for path in convert(**given):
            print(f"wrote {path}")
    except (BcfwError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


class _Letter:
    """One line of ``letter.data``."""

    __slots__ = ("fold", "id", "label", "next_id", "pixels")

    def __init__(self, line: bytes) -> None:
        identity, letter, next_id, _, _, fold, pixels = line.split(b"\t", 6)
        self.id, self.next_id, self.fold = int(identity), int(next_id), int(fold)
        self.label = ord(letter) - ord("a")
        # Pixels are single characters, so that dropping the tabs leaves one byte for each.
        self.pixels = np.frombuffer(pixels.replace(b"\t", b""), dtype=np.uint8) - ord("0")
        if not (0 <= self.label < 26 and 0 <= self.fold < 10 and len(self.pixels) == OCR_PIXELS):
            raise ValueError
        if self.pixels.max() > 1:
            raise ValueError


def _letter_rows(source: Path) -> Iterator[_Letter]:
    raw = source.read_bytes()
    try:
        text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except (OSError, EOFError) as error:
        raise InputError(f"{source} is not a gzip file ({error}); get it again") from error
    for number, line in enumerate(text.strip().split(b"\n"), start=1):
        try:
            yield _Letter(line.strip())
        except (ValueError, TypeError) as error:
            raise InputError(
                f"{source}, line {number}: expected id, letter, next_id, word_id, position, fold (0 to 9) and "
                f"{OCR_PIXELS} binary pixels, separated by tabs"
            ) from error


def _words(source: Path, rows: list[_Letter]) -> list[list[int]]:
    """Row numbers of the letters of each word, along next_id."""
    row_of = {letter.id: row for row, letter in enumerate(rows)}
    continued = {letter.next_id for letter in rows}
    words = []
    for row, letter in enumerate(rows):
        if letter.id in continued:
            continue
        word = [row]
        while (following := rows[word[-1]].next_id) != -1:
            if following not in row_of:
                raise InputError(f"{source}, line {word[-1] + 1}: next_id {following} is not in the file")
            word.append(row_of[following])
        words.append(word)
    # A cycle has no first letter, and a letter that follows two others is counted twice.
    if len(row_of) != len(rows) or sum(len(word) for word in words) != len(rows):
        raise InputError(f"{source}: id and next_id do not form words, each letter in exactly one of them")
    return words


def _image_pairs(rgb: Path, figure_ground: Path) -> list[tuple[Path, Path]]:
    """Photographs and their masks, which have the same names up to the ending, in the order of names."""
    masks = {path.stem: path for path in sorted(figure_ground.iterdir()) if path.is_file()}
    images = [path for path in sorted(rgb.iterdir()) if path.is_file()]
    if not images:
        raise InputError(f"{rgb} has no images")
    for path in images:
        if path.stem not in masks:
            raise InputError(f"{path} has no mask of the same name in {figure_ground}")
    return [(path, masks[path.stem]) for path in images]


def _read_image(path: Path, mode: str, side: int | None = None) -> np.ndarray:
    """Pixels of an image, in colour ("RGB") or grey ("L"), if wanted reduced to ``side`` rows and columns."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise InputError("reading images needs Pillow: pip install pillow") from error
    try:
        with Image.open(path) as image:
            picture = image.convert(mode)
            return np.asarray(picture if side is None else picture.resize((side, side)))
    except UnidentifiedImageError as error:
        raise InputError(f"{path} is not an image; get it again") from error


def _words_of(labs: list[np.ndarray], maps: list[np.ndarray], is_train: np.ndarray) -> np.ndarray:
    """(N, 192) counts of colour and texture words in all superpixels."""
    from sklearn.cluster import MiniBatchKMeans

    rng = np.random.default_rng(0)
    counts = []
    for n_words, values in (
        (horses.COLOUR_WORDS, lambda lab: lab.reshape(-1, 3)),
        (horses.TEXTURE_WORDS, superpixels.patches),
    ):
        samples = [rng.choice(values(labs[k]), HORSES_SAMPLE) for k in np.flatnonzero(is_train)]
        vocabulary = MiniBatchKMeans(n_words, random_state=0, n_init=3).fit(np.concatenate(samples))
        words = [vocabulary.predict(values(lab)) for lab in labs]
        pairs = zip(maps, words, strict=True)
        counts.append([superpixels.word_counts(m, one, n_words, horses.TOTAL_COUNT) for m, one in pairs])
    return np.hstack([np.concatenate(one) for one in counts])


def _text(corpus: Corpus) -> str:
    lines = [f"{word} {tag} {chunk}\n" for word, tag, chunk in zip(*corpus[:3], strict=True)]
    ends = corpus.offsets.tolist()
    return "".join("".join(lines[start:end]) + "\n" for start, end in pairwise(ends))


def _target(out: PathLike | None, name: str) -> Path:
    return (cache_folder() if out is None else Path(out)) / name


def _save_arrays(target: Path, arrays: dict[str, Any]) -> Path:
    with _replacing(target) as file:
        np.savez_compressed(file, **arrays)
    return target


@contextmanager
def _replacing(target: Path) -> Iterator[IO[Any]]:
    """A file that takes the place of ``target`` when all of it is written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=target.name, suffix=".part", delete=False) as file:
        try:
            yield file
        except BaseException:
            file.close()
            os.unlink(file.name)
            raise
    os.chmod(file.name, 0o644)
    os.replace(file.name, target)


if __name__ == "__main__":
    sys.exit(main())
