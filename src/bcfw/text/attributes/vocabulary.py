"""Columns of attribute names, numbered in the order of the training data or hashed; encoding of attributes as rows."""

from __future__ import annotations

import itertools
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from bcfw.compile import entry
from bcfw.errors import InputWarning, warn
from bcfw.text.attributes.name_hashes import FREE, fill_table, find_columns, hash_texts
from bcfw.text.attributes.reading import Attributes

#: The column of a name that training has not seen.
UNKNOWN = FREE

#: Largest number of hashed columns; arrays over more columns would take gigabytes.
MOST_HASHED = 2**26

#: Separates names that are joined to one string.
SEPARATOR = "\n"


class Vocabulary:
    """Names of attributes in the order of their columns.

    Examples
    --------
    >>> words = Vocabulary(["the", "cat"])
    >>> words.columns(["cat", "dog", "the"]).tolist()
    [1, -1, 0]
    >>> words.learn(["dog", "the"]).tolist(), words.names
    ([2, 0], ['the', 'cat', 'dog'])
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._column: defaultdict[str, int] = defaultdict(None, zip(names, itertools.count(), strict=False))
        self._column.default_factory = self._column.__len__  # looking up a new name gives it the next number

    def __len__(self) -> int:
        return len(self._column)

    @property
    def names(self) -> list[str]:
        """All names, in the order of their columns."""
        return list(self._column)

    def names_of(self, columns: Iterable[int]) -> list[str]:
        """Return the names of some columns."""
        names = self.names
        return [names[column] for column in columns]

    def columns(self, names: list[str]) -> np.ndarray:
        """Return the (len(names),) int32 columns of names; ``UNKNOWN`` for names that were never learned."""
        unknown = itertools.repeat(UNKNOWN)
        return np.fromiter(map(self._column.get, names, unknown), np.int32, len(names))

    def learn(self, names: list[str]) -> np.ndarray:
        """Return the (len(names),) int32 columns of names; a new name gets the next column."""
        return np.fromiter(map(self._column.__getitem__, names), np.int32, len(names))

    def __getstate__(self) -> list[str]:
        return self.names

    def __setstate__(self, names: list[str]) -> None:
        self.__init__(names)  # type: ignore[misc]


class FastVocabulary:
    """A fixed vocabulary in compiled code, which finds names by a 64-bit hash of their bytes.

    A name that training has not seen is mistaken for a known name with a probability of about ``len(self) / 2^64``.
    Looking up is several times as fast as in a dict, but the compiler must be loaded.

    Parameters
    ----------
    vocabulary : Vocabulary
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        hashes = self._hashes(vocabulary.names)
        size = 1 << (2 * len(vocabulary) + 1).bit_length()
        self._keys, self._columns = np.zeros(size, np.uint64), np.full(size, UNKNOWN, np.int32)
        distinct = hashes is not None and entry(fill_table)(hashes, self._keys, self._columns)
        self._usable = bool(distinct)

    def columns(self, names: list[str]) -> np.ndarray:
        """Return the (len(names),) int32 columns of names; ``UNKNOWN`` for names that are not in the vocabulary."""
        hashes = self._hashes(names) if self._usable else None
        if hashes is None:
            return self._vocabulary.columns(names)
        found = np.empty(len(names), np.int32)
        entry(find_columns)(hashes, self._keys, self._columns, found)
        return found

    @staticmethod
    def _hashes(names: list[str]) -> np.ndarray | None:
        """Return the (len(names),) hashes of names; None if there are no names or a name has the separator."""
        text = SEPARATOR.join(names).encode("utf-8", "surrogatepass")
        if not names or text.count(SEPARATOR.encode()) != len(names) - 1:
            return None
        hashes = np.empty(len(names), np.uint64)
        entry(hash_texts)(np.frombuffer(text, np.uint8), ord(SEPARATOR), hashes)
        return hashes


class HashedColumns:
    """A fixed number of columns; the checksum (CRC-32) of a name's UTF-8 bytes determines its column.

    No names are stored, and every name has a column. With more columns, fewer names share a column.

    Examples
    --------
    >>> hashed = HashedColumns(1024)
    >>> hashed.columns(["the", "cat", "the"]).tolist()
    [486, 936, 486]
    """

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    @property
    def names(self) -> list[str]:
        """The names of all columns, "hash 0", "hash 1", ...."""
        return self.names_of(range(self._size))

    def names_of(self, columns: Iterable[int]) -> list[str]:
        """Return the names of some columns."""
        return [f"hash {column}" for column in columns]

    def columns(self, names: list[str]) -> np.ndarray:
        """Return the (len(names),) int32 columns of names."""
        encoded = map(str.encode, names, itertools.repeat("utf-8"), itertools.repeat("surrogatepass"))
        sums = np.fromiter(map(zlib.crc32, encoded), np.uint32, len(names))
        return (sums % np.uint32(self._size)).astype(np.int32)

    learn = columns


class Encoded(NamedTuple):
    """Attributes of sequences as rows of a sparse matrix, one row per position.

    Attributes
    ----------
    indptr : (N + 1,) offsets of the rows' entries
    columns : (nnz,) int32, ``UNKNOWN`` for attributes without a column; columns of a row may be unsorted or repeated
    values : (nnz,) weights; empty if all weights are 1
    offsets : (n + 1,) offsets of the sequences' rows
    """

    indptr: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    offsets: np.ndarray


def encode(batches: Iterable[Attributes], column_of: Callable[[list[str]], np.ndarray]) -> Encoded:
    """Return attributes as rows; ``column_of`` is the method ``columns`` or ``learn`` of a vocabulary."""
    columns, values, counts, lengths = [], [], [], []
    for batch in batches:
        columns.append(column_of(batch.names))
        values.append(batch.weights)
        counts.append(batch.counts)
        lengths.append(batch.lengths)
    all_ones = all(one is None for one in values)
    filled = [np.ones(len(c)) if v is None else v for v, c in zip(values, columns, strict=True)] if not all_ones else []
    return Encoded(summed(counts), stacked(columns, np.int32), stacked(filled, np.float64), summed(lengths))


def warn_of_unknown(found: Encoded, owner: str) -> None:
    """Warn, once for all, of sequences whose attributes are all unknown, so that their labels are a guess."""
    ends = found.indptr[found.offsets]
    known = np.concatenate([[0], np.cumsum(found.columns != UNKNOWN)])[ends]
    strange = np.flatnonzero((np.diff(ends) > 0) & (np.diff(known) == 0))
    if len(strange):
        others = f" (and of {len(strange) - 1} others)" if len(strange) > 1 else ""
        warn(
            f"{owner}: no attribute of example {strange[0]}{others} is known from training; are they attributes, named "
            "as in training, and no tokens?",
            InputWarning,
        )


def learn(
    batches: Iterable[Attributes], min_count: int = 1, n_hashed: int | None = None
) -> tuple[Vocabulary | HashedColumns, Encoded]:
    """Return a vocabulary with columns for all attributes, and the attributes as rows.

    Parameters
    ----------
    batches : iterable of Attributes
    min_count : int
        Attributes that occur less than ``min_count`` times get no column.
    n_hashed : int or None
        Number of hashed columns; None gives each attribute a column. Cannot be combined with ``min_count``.
    """
    vocabulary = Vocabulary() if n_hashed is None else HashedColumns(n_hashed)
    found = encode(batches, vocabulary.learn)
    if min_count <= 1:
        return vocabulary, found
    kept = np.bincount(found.columns, minlength=len(vocabulary)) >= min_count
    renumbered = np.where(kept, np.cumsum(kept) - 1, UNKNOWN).astype(np.int32)
    names = itertools.compress(vocabulary.names, kept.tolist())
    return Vocabulary(names), found._replace(columns=renumbered[found.columns])


def stacked(arrays: list[np.ndarray], dtype: Any) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *arrays]).astype(dtype, copy=False)


def summed(counts: list[np.ndarray]) -> np.ndarray:
    """Return the offsets of pieces with the given numbers of entries."""
    return np.concatenate([[0], np.cumsum(stacked(counts, np.int64))])
