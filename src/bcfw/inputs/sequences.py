"""Sequences: sequences of different lengths as one stacked matrix and offsets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError
from bcfw.inputs.examples import read_list
from bcfw.inputs.numbers import offsets, unmasked


@dataclass(frozen=True, eq=False, repr=False)
class Sequences:
    """Many sequences stacked to one array of rows, with the offsets of the sequences.

    Sequence i is ``rows[offsets[i]:offsets[i + 1]]``. ``Sequences`` can be given instead of a list with one matrix per
    sequence (as X) or with one array of labels per sequence (as y), and many sequences are read much faster. The object
    has a length and is indexed and iterated like the list. Slices, masks and arrays of indices return ``Sequences``, so
    that scikit-learn's splitting works. The object is immutable, and rows are neither copied nor converted.

    Parameters
    ----------
    rows : (N, F) array or sparse matrix, or (N,) array of labels
        Sparse matrices are kept as CSR.
    offsets : (n + 1,) whole numbers
        Start of every sequence, and N; they must not decrease.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> X = bcfw.Sequences(np.eye(2)[[0, 1, 1, 1, 0]], [0, 3, 5])      # two sequences, of 3 and 2 positions
    >>> y = bcfw.Sequences(["noun", "verb", "verb", "verb", "noun"], [0, 3, 5])
    >>> svm = bcfw.ChainSVM(lam=0.01).fit(X, y)
    >>> [labels.tolist() for labels in svm.predict(X)]
    [['noun', 'verb', 'verb'], ['verb', 'noun']]
    >>> len(X), X[1].shape, X[[1]]
    (2, (2, 2), Sequences of shape (2, 2), n = 1)
    """

    rows: Any
    offsets: Any

    def __post_init__(self) -> None:
        rows = self.rows.tocsr() if sp.issparse(self.rows) else row_array(self.rows, "Sequences: rows")
        if rows.ndim not in (1, 2):
            raise InputError(f"Sequences: rows must be an (N, F) matrix or (N,) labels, got shape {rows.shape}")
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "offsets", checked_offsets(self.offsets, rows.shape[0]))

    @classmethod
    def from_list(cls, sequences: Any) -> Sequences:
        """Return the stack of a list of (T_i, F) arrays or sparse matrices, or of (T_i,) arrays.

        If one of the matrices is sparse, the stack is sparse.
        """
        given = enumerate(read_list(sequences, "sequences", "Sequences"))
        parts = [x if sp.issparse(x) else row_array(x, f"Sequences: sequence {i}") for i, x in given]
        if not parts:
            raise InputError("Sequences: the list is empty; give at least one sequence")
        for i, part in enumerate(parts):
            if part.ndim == 0 or part.ndim != parts[0].ndim or part.shape[1:] != parts[0].shape[1:]:
                raise InputError(f"Sequences: sequence {i} has shape {part.shape}, sequence 0 {parts[0].shape}")
        stack = sp.vstack(parts, format="csr") if any(map(sp.issparse, parts)) else np.concatenate(parts)
        return cls(stack, offsets([part.shape[0] for part in parts]))

    @property
    def lengths(self) -> np.ndarray:
        """The (n,) lengths of the sequences."""
        return np.diff(self.offsets)

    @property
    def shape(self) -> tuple[int]:
        """(n,), the shape of a vector of sequences; with it, scikit-learn splits the object by arrays of indices."""
        return (len(self),)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Any]:
        return (self.rows[a:b] for a, b in itertools.pairwise(self.offsets.tolist()))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:  # as scikit-learn indexes arrays
            key = key[0]
        if isinstance(key, Integral) and not isinstance(key, bool):
            i = range(len(self))[int(key)]
            return self.rows[self.offsets[i] : self.offsets[i + 1]]
        if isinstance(key, slice) and key.step in (None, 1):
            start, stop, _ = key.indices(len(self))
            ends = self.offsets[start : max(start, stop) + 1]
            return Sequences(self.rows[ends[0] : ends[-1]], ends - ends[0])
        chosen = np.atleast_1d(np.arange(len(self))[key])
        starts, ends = self.offsets[chosen], offsets(self.lengths[chosen])
        where = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], np.diff(ends))
        return Sequences(self.rows[where], ends)

    def __repr__(self) -> str:
        return f"Sequences of shape {self.rows.shape}, n = {len(self)}"


def row_array(values: Any, what: str) -> np.ndarray:
    """Return rows as an array.

    Lists of labels of mixed types become arrays of objects; numpy would convert all of them to strings.
    """
    unmasked(values, what)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(
            f"{what} must be an array: one label, or one row of features, in each place ({error})"
        ) from error
    mixed = isinstance(values, list | tuple) and array.ndim == 1 and array.dtype.kind == "U"
    return np.fromiter(values, object) if mixed and not all(isinstance(one, str) for one in values) else array


def read_sequences(X: Any, owner: str) -> Sequences | list[Any]:
    """Return ``Sequences`` unchanged and anything else as a list; raise for a single matrix."""
    if isinstance(X, Sequences):
        return X
    if getattr(X, "ndim", None) == 2:
        kind = "sparse matrix" if sp.issparse(X) else "array"
        raise InputError(
            f"{owner}: X is one {kind} of shape {X.shape}; give a list with one (T, F) matrix per sequence (for one "
            "sequence give [x]), or bcfw.Sequences(X, offsets) if the sequences stand in it one after the other; in a "
            "pipeline bcfw.PositionWise(transformer) keeps them apart"
        )
    return read_list(X, "X", owner)


def lengths_of(sequences: Sequences | list[Any]) -> np.ndarray:
    """Return the (n,) lengths of the sequences that :func:`read_sequences` returns; listed ones must have a shape."""
    if isinstance(sequences, Sequences):
        return sequences.lengths
    return np.array([x.shape[0] for x in sequences], np.int64)


def checked_offsets(given: Any, n_rows: int) -> np.ndarray:
    """Return offsets as a read-only int64 array; raise unless they rise from 0 to the number of rows."""
    ends = np.asarray(given)
    if ends.ndim != 1 or len(ends) < 1 or ends.dtype.kind not in "iu":
        raise InputError(f"Sequences: offsets must be n + 1 whole numbers, got {given!r:.100}")
    ends = ends.astype(np.int64)
    if ends[0] != 0 or ends[-1] != n_rows:
        raise InputError(f"Sequences: offsets go from {ends[0]} to {ends[-1]}; they must go from 0 to {n_rows} rows")
    for i in np.flatnonzero(np.diff(ends) < 0)[:1]:
        raise InputError(f"Sequences: offsets fall from {ends[i]} to {ends[i + 1]} at sequence {i}; they must rise")
    ends.flags.writeable = False
    return ends
