"""Saved arrays, each of which is checked before it is used, and the checksums of saved arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bcfw.errors import InputError

#: Advice about a snapshot that cannot be used; the end of messages.
REMEDY = "delete it and train anew, or give another one as warm_start"

#: The largest finite float64 number.
LARGEST = float(np.finfo(np.float64).max)


class SavedError(InputError):
    """Saved arrays that cannot be used; the message names the file or argument that they come from."""


class SavedArrays:
    """Saved arrays by name; an array that is missing or wrong raises a :class:`SavedError` that names it.

    Parameters
    ----------
    snapshot : mapping of arrays by name
    source : str
        The origin of the arrays in messages: a file, or "warm_start".
    remedy : str
        Advice about arrays that cannot be used; the end of messages.
    """

    def __init__(self, snapshot: Mapping[str, Any], source: str, remedy: str = REMEDY) -> None:
        self.snapshot = snapshot
        self.source = source
        self.remedy = remedy

    def __contains__(self, name: str) -> bool:
        return name in self.snapshot

    def __getitem__(self, name: str) -> np.ndarray:
        """Return a copy of one array without a check of its content."""
        if name not in self.snapshot:
            raise SavedError(f"{self.source}: the saved state is incomplete: it has no {name!s:.100}; {self.remedy}")
        return np.array(self.snapshot[name])

    def has(self, prefix: str) -> bool:
        """Return whether the name of an array begins with ``prefix``."""
        return any(name.startswith(prefix) for name in self.snapshot)

    def get(
        self,
        name: str,
        dtype: Any,
        shape: tuple[int | None, ...] = (),
        least: float = -LARGEST,
        most: float = LARGEST,
        may_be_nan: bool = False,
    ) -> np.ndarray:
        """Return a copy of one array; raise unless it has this type and shape and all entries are in [least, most].

        None in ``shape`` allows any length. NaN is an error unless ``may_be_nan``.
        """
        array = self[name]
        fits = len(array.shape) == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
        if array.dtype != np.dtype(dtype) or not fits:
            sizes = ", ".join("any" if size is None else str(size) for size in shape)
            raise self.damaged(
                name, f"has {array.dtype} of shape {array.shape} instead of {np.dtype(dtype)} of shape ({sizes})"
            )
        known = array[~np.isnan(array)] if may_be_nan else array
        if known.size and not (known.min() >= least and known.max() <= most):  # also true if there are NaNs
            raise self.damaged(name, f"holds numbers that are not within [{least:.6g}, {most:.6g}]")
        return array

    def damaged(self, name: str, why: str) -> SavedError:
        """Return the error for an array that is wrong; ``why`` says what is wrong."""
        return SavedError(f"{self.source}: the saved state is damaged: {name!s:.100} {why:.300}; {self.remedy}")


def checksums(arrays: Mapping[str, Any]) -> np.ndarray:
    """Return (n, 2) strings: the names of the arrays, and hashes of their contents."""
    return np.array([[name, _hash(np.asarray(value))] for name, value in arrays.items()])


def check_sums(arrays: Mapping[str, Any], saved: Iterable[Any], source: str, remedy: str = REMEDY) -> None:
    """Raise SavedError for the first array whose checksum differs from the saved one, or that is missing or extra."""
    expected = {str(name): str(digest) for name, digest in saved}
    for name in [*expected, *arrays]:
        if name not in arrays or name not in expected or _hash(np.asarray(arrays[name])) != expected[name]:
            raise SavedError(
                f"{source}: the saved state is damaged: {name} is not what was saved (its checksum differs); {remedy}"
            )


def _hash(array: np.ndarray) -> str:
    digest = hashlib.sha256(repr((array.dtype.str, array.shape)).encode())
    digest.update(array.tobytes())  # arrays of some types do not support the buffer protocol
    return digest.hexdigest()
