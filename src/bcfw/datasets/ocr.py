"""fetch_ocr and convert_ocr: handwritten words (OCR letters), used in most papers on structural SVMs."""

from __future__ import annotations

import gzip
import string
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bcfw.datasets.convert.writing import original, save_arrays
from bcfw.datasets.data_set import DataSet, cut, feature_matrix
from bcfw.datasets.locate import Source
from bcfw.errors import InputError, OptionError, nearest
from bcfw.inputs.numbers import offsets
from bcfw.storage.files import PathLike

FILE = "ocr/ocr_letters.npz"

SOURCE = Source(
    name="ocr",
    title="OCR letters",
    files=(FILE,),
    origin="letter.data.gz from Ben Taskar's page at the Stanford AI lab (http://ai.stanford.edu/~btaskar/ocr/)",
    originals={"letters": "letter.data.gz"},
)

#: Number of pixels of a letter.
N_PIXELS = 16 * 8

#: The folds of the training part: "large" is the published protocol OCR-large, "small" the reverse.
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


@SOURCE.fitting()
def fetch_ocr(size: str = "large", *, constant: bool = True) -> DataSet:
    """Return Taskar's handwritten words, from ``BCFW_DATA`` or the user's cache.

    Parameters
    ----------
    size : {"large", "small"}
        "large": train on folds 1 to 9 (6251 words), test on fold 0 (626 words); "small": the reverse.
    constant : bool
        Whether to append a feature that is always 1, as the published models do.

    Returns
    -------
    DataSet, a sklearn.utils.Bunch
        X_train, X_test : list of (T, 129) float arrays; (T, 128) without the constant
            Rows are letters; columns are binary pixels, row by row of the 16x8 image, and the constant.
        y_train, y_test : list of (T,) int arrays
            The letters, 0 to 25 for a to z.
        fold_train, fold_test : int arrays
            The fold of each word, for cross-validation.
        target_names : list of str
            The 26 letters.
        DESCR : str
            Description of the data, with source and reference.

        The words are in the order of the original file, which groups equal words.

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
    if not isinstance(size, str) or size not in TRAIN_FOLDS:
        raise OptionError(f"fetch_ocr has no size {size!r}; {nearest(str(size), TRAIN_FOLDS)}")
    (path,) = SOURCE.locate()
    pixels, letters, word_off, fold = SOURCE.arrays(path, "X", "y", "offsets", "fold")
    X = feature_matrix(pixels, constant)
    y = letters.astype(np.int64)
    in_train = np.isin(fold, TRAIN_FOLDS[size])
    bunch = DataSet()
    for part, words in (("train", np.flatnonzero(in_train)), ("test", np.flatnonzero(~in_train))):
        bunch[f"X_{part}"] = cut(X, word_off, words.tolist())
        bunch[f"y_{part}"] = cut(y, word_off, words.tolist())
        bunch[f"fold_{part}"] = fold[words].astype(np.int64)
    bunch.target_names = list(string.ascii_lowercase)
    bunch.DESCR = DESCR.format(size=size, n_train=len(bunch.X_train), n_test=len(bunch.X_test))
    return bunch


def convert_ocr(letters: PathLike, out: PathLike | None = None) -> list[Path]:
    """Convert ``letter.data.gz``, which may also be uncompressed.

    A line is a letter with these fields, separated by tabs: id, letter, next_id (-1 for the last letter of a word),
    word_id, position, fold and 128 binary pixels. The letters of a word are linked by next_id. Words are ordered by
    their first letters' lines.

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
    source = original(letters, "letters")
    rows = list(_letter_rows(source))
    words = _words(source, rows)
    order = [row for word in words for row in word]
    for word in words:
        if len({rows[row].fold for row in word}) > 1:
            raise InputError(f"{source}, line {word[0] + 1}: the letters of this word are in different folds")
    arrays: dict[str, np.ndarray] = {
        "X": np.stack([rows[row].pixels for row in order]),
        "y": np.array([rows[row].label for row in order], dtype=np.int8),
        "offsets": offsets([len(word) for word in words]).astype(np.int32),
        "fold": np.array([rows[word[0]].fold for word in words], dtype=np.int8),
    }
    return [save_arrays(out, FILE, arrays)]


class _Letter:
    """One parsed line of ``letter.data``: one letter, its fold and the link to the next letter."""

    __slots__ = ("fold", "id", "label", "next_id", "pixels")

    def __init__(self, line: bytes) -> None:
        identity, letter, next_id, _, _, fold, pixels = line.split(b"\t", 6)
        self.id, self.next_id, self.fold = int(identity), int(next_id), int(fold)
        self.label = ord(letter) - ord("a")
        # Every pixel is one character, so there is one byte per pixel after the tabs are removed.
        self.pixels = np.frombuffer(pixels.replace(b"\t", b""), dtype=np.uint8) - ord("0")
        if not (0 <= self.label < 26 and 0 <= self.fold < 10 and len(self.pixels) == N_PIXELS):
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
                f"{N_PIXELS} binary pixels, separated by tabs"
            ) from error


def _words(source: Path, rows: list[_Letter]) -> list[list[int]]:
    """Return the row numbers of the letters of each word, linked by next_id."""
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
    # The sum is too small if letters form a cycle (it has no first letter), too large if a letter follows two others.
    if len(row_of) != len(rows) or sum(len(word) for word in words) != len(rows):
        raise InputError(f"{source}: id and next_id do not form words, each letter in exactly one of them")
    return words
