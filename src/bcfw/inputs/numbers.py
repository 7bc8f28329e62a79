"""Checked arrays of real numbers in the types that compiled code takes, masked entries, and offsets of pieces."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError

#: The largest absolute value of a feature: training computes squares of features, and sums of squares.
LARGEST = 1e150

#: Names for error messages of array types that are not real numbers, by numpy's kind character.
NO_NUMBERS = {"M": "dates", "m": "durations", "U": "text", "S": "bytes", "V": "records"}


def real(values: Any, owner: str, name: str = "X", error_class: type[Exception] = InputError) -> np.ndarray:
    """Return an array of real numbers as float64; errors call the array ``name``."""
    return kept_real(values, owner, name, error_class).astype(np.float64, copy=False)


def kept_real(values: Any, owner: str, name: str = "X", error_class: type[Exception] = InputError) -> np.ndarray:
    """Return an array of real numbers that keeps its type, for example float32 or int64; errors call it ``name``."""
    begin = f"{owner}: {name}" if owner else name
    unmasked(values, begin, error_class)
    try:
        array = np.asarray(values)
        kind = array.dtype.kind
        if kind in "fiub":
            return array
        if kind not in "cMmUSV" and not (kind == "O" and None in array.ravel().tolist()):
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise error_class(f"{begin} must hold real numbers ({error})") from error
    if kind == "O":
        first = array.ravel().tolist().index(None)
        place = [int(index) for index in np.unravel_index(first, array.shape)]
        raise error_class(f"{begin} has None at {place}; fill in or leave out what is missing")
    if kind == "c":
        raise error_class(f"{begin} is complex; complex data is not supported, only real numbers are")
    raise error_class(f"{begin} must hold real numbers, got {NO_NUMBERS[kind]} ({array.dtype})")


def unmasked(values: Any, what: str, error_class: type[Exception] = InputError) -> Any:
    """Return the values unchanged; raise if an array has a masked entry, because numpy would use the hidden value."""
    place = masked_place(values)
    if place is not None:
        raise error_class(
            f"{what} has a masked entry{f' at {place}' * bool(place)}; fill in or leave out what is missing"
        )
    return values


def masked_place(values: Any) -> list[int] | None:
    """Return the indices of the first masked entry of an array, or of lists of arrays; None if nothing is masked."""
    masks = sys.modules.get("numpy.ma")  # no masked array can exist before numpy.ma is loaded
    if masks is None:
        return None
    if isinstance(values, masks.MaskedArray):
        mask = masks.getmaskarray(values)
        hidden = np.argwhere(mask if mask.dtype == bool else mask != np.zeros((), mask.dtype))
        return hidden[0].tolist() if len(hidden) else None
    if isinstance(values, list | tuple):
        nested = {kind for kind in set(map(type, values)) if issubclass(kind, (masks.MaskedArray, list, tuple))}
        for i, one in enumerate(values if nested else ()):
            place = masked_place(one)
            if place is not None:
                return [i, *place]
    return None


def packed_type(*types: Any) -> Any:
    """Return the type in which features are packed: float32 if all types are floats of at most 32 bits, else float64.

    Compiled code takes float32 and float64 features and no others. It computes in float64 with both.
    """
    small = all(np.dtype(one).kind == "f" and np.dtype(one).itemsize <= 4 for one in types)
    return np.float32 if small else np.float64


def no_feature(value: float) -> str:
    """Return a description, for error messages, of a number that cannot be a feature."""
    return f"{value:g}, which is too large to be squared," if np.isfinite(value) else "a NaN or an infinity"


def dense(values: Any) -> Any:
    """Return a sparse matrix as an array; return other values unchanged."""
    return values.toarray() if sp.issparse(values) else values


def writable(array: Any, dtype: Any) -> np.ndarray:
    """Return a C-contiguous, writable array of ``dtype``, copied only if needed.

    Numba has a different type for read-only arrays, for which it would compile again.
    """
    return np.require(array, dtype=dtype, requirements=["C", "A", "W"])


def stacked(arrays: Any, dtype: Any) -> np.ndarray:
    """Return the concatenation of arrays as a writable array of ``dtype``."""
    return writable(np.concatenate(arrays), dtype)


def offsets(lengths: Any) -> np.ndarray:
    """Return the (n + 1,) int64 offsets of n pieces with the given lengths: their starts, and the last piece's end."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def weight_vector(w: Any, dim: int | None, owner: str) -> np.ndarray:
    """Return the weights w as a (dim,) float64 array that compiled code can take."""
    weights = np.require(w, np.float64, ["C", "W"])
    if weights.shape != (dim,):
        raise InputError(f"{owner}: w has shape {weights.shape}, expected ({dim},)")
    return weights
