"""Arrays of numbers in the types that compiled code takes, and offsets of pieces that lie one after another."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError

#: The largest feature: training needs squares of features, and sums of them.
LARGEST = 1e150

#: What arrays that hold no real numbers hold, by the kind of their type.
NO_NUMBERS = {"M": "dates", "m": "durations", "U": "text", "S": "bytes", "V": "records"}


def real(values: Any, owner: str, name: str = "X", error_class: type[Exception] = InputError) -> np.ndarray:
    """An array of real numbers as float64; errors name the array."""
    return kept_real(values, owner, name, error_class).astype(np.float64, copy=False)


def kept_real(values: Any, owner: str, name: str = "X", error_class: type[Exception] = InputError) -> np.ndarray:
    """The same without a conversion of real numbers of other types, such as float32."""
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
    """Values as they are, if no array among them hides an entry by a mask: numpy would take what is hidden."""
    place = masked_place(values)
    if place is not None:
        raise error_class(
            f"{what} has a masked entry{f' at {place}' * bool(place)}; fill in or leave out what is missing"
        )
    return values


def masked_place(values: Any) -> list[int] | None:
    """The indices of the first masked entry of an array, or of lists of arrays; None if nothing is masked."""
    masks = sys.modules.get("numpy.ma")  # nobody has masked arrays before it is loaded
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
    """In which type features of these types are packed: float32 if all are floating-point numbers of that size or less.

    Compiled code comes in these two forms and no other. It computes in float64 with both.
    """
    small = all(np.dtype(one).kind == "f" and np.dtype(one).itemsize <= 4 for one in types)
    return np.float32 if small else np.float64


def no_feature(value: float) -> str:
    """What is wrong with a number that cannot be a feature."""
    return f"{value:g}, which is too large to be squared," if np.isfinite(value) else "a NaN or an infinity"


def dense(values: Any) -> Any:
    """A sparse matrix as an array; anything else as it is."""
    return values.toarray() if sp.issparse(values) else values


def writable(array: Any, dtype: Any) -> np.ndarray:
    """A C-contiguous, writable array of ``dtype``, copied only if needed (read-only arrays are another numba type)."""
    return np.require(array, dtype=dtype, requirements=["C", "A", "W"])


def stacked(arrays: Any, dtype: Any) -> np.ndarray:
    """Arrays one after the other, of one type."""
    return writable(np.concatenate(arrays), dtype)


def offsets(lengths: Any) -> np.ndarray:
    """Where each piece starts, and where the last one ends: (n + 1,) int64 from n lengths."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def weight_vector(w: Any, dim: int | None, owner: str) -> np.ndarray:
    """The weights w as a (dim,) float64 array that compiled code can take."""
    weights = np.require(w, np.float64, ["C", "W"])
    if weights.shape != (dim,):
        raise InputError(f"{owner}: w has shape {weights.shape}, expected ({dim},)")
    return weights
