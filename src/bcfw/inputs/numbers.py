"""Arrays of numbers in the types that compiled code takes, and offsets of pieces that lie one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError


def real(values: Any, owner: str) -> np.ndarray:
    """An array of real numbers as float64."""
    try:
        array = np.asarray(values)
        numbers = array if array.dtype.kind == "c" else array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{owner}: X must hold real numbers ({error})") from error
    if numbers.dtype.kind == "c":
        raise InputError(f"{owner}: X is complex; complex data is not supported, only real features are")
    return numbers


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
