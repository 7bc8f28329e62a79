"""Arrays that were saved, each checked before compiled code reads it, and the checksums that files keep of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bcfw.errors import InputError

#: What to do about a snapshot that cannot be used.
REMEDY = "delete it and train anew, or give another one as warm_start"

#: The largest finite number.
LARGEST = float(np.finfo(np.float64).max)


class SavedError(InputError):
    """Saved arrays that cannot be used; the message says where they come from."""


class SavedArrays:
    """Hands out saved arrays; one that does not fit is an :class:`InputError` that names it.

    Parameters
    ----------
    snapshot : mapping of arrays by name
    source : str
        What messages call it: the file, or "warm_start".
    remedy : str
        What to do about arrays that cannot be used; ends the messages.
    """

    def __init__(self, snapshot: Mapping[str, Any], source: str, remedy: str = REMEDY) -> None:
        self.snapshot = snapshot
        self.source = source
        self.remedy = remedy

    def __contains__(self, name: str) -> bool:
        return name in self.snapshot

    def __getitem__(self, name: str) -> np.ndarray:
        """A copy of one array, whatever it holds."""
        if name not in self.snapshot:
            raise SavedError(f"{self.source}: the saved state is incomplete: it has no {name!s:.100}; {self.remedy}")
        return np.array(self.snapshot[name])

    def has(self, prefix: str) -> bool:
        """Whether the name of an array begins so."""
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
        """A copy of one array of the given type and shape (None: of any length), all of it within [least, most].

        NaN is outside, unless the array may have it.
        """
        array = self[name]
        fits = len(array.shape) == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
        if array.dtype != np.dtype(dtype) or not fits:
            sizes = ", ".join("any" if size is None else str(size) for size in shape)
            raise self.damaged(
                name, f"has {array.dtype} of shape {array.shape} instead of {np.dtype(dtype)} of shape ({sizes})"
            )
        known = array[~np.isnan(array)] if may_be_nan else array
        if known.size and not (known.min() >= least and known.max() <= most):  # or NaN
            raise self.damaged(name, f"holds numbers that are not within [{least:.6g}, {most:.6g}]")
        return array

    def damaged(self, name: str, why: str) -> SavedError:
        """The error for an array that cannot be right."""
        return SavedError(f"{self.source}: the saved state is damaged: {name!s:.100} {why:.300}; {self.remedy}")


def checksums(arrays: Mapping[str, Any]) -> np.ndarray:
    """(n, 2) strings: the names of arrays and hashes of what they hold."""
    return np.array([[name, _hash(np.asarray(value))] for name, value in arrays.items()])


def check_sums(arrays: Mapping[str, Any], saved: Iterable[Any], source: str, remedy: str = REMEDY) -> None:
    """Raise with the first array that is not the one whose checksum was saved."""
    expected = {str(name): str(digest) for name, digest in saved}
    for name in [*expected, *arrays]:
        if name not in arrays or name not in expected or _hash(np.asarray(arrays[name])) != expected[name]:
            raise SavedError(
                f"{source}: the saved state is damaged: {name} is not what was saved (its checksum differs); {remedy}"
            )


def _hash(array: np.ndarray) -> str:
    digest = hashlib.sha256(repr((array.dtype.str, array.shape)).encode())
    digest.update(array.tobytes())  # of any type: some have no buffer
    return digest.hexdigest()
