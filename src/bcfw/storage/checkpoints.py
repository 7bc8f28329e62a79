"""Checkpoint files: a snapshot of a run as arrays in an npz file, with version and checksums, read without pickle.

What a snapshot holds is decided in :mod:`bcfw.dual.snapshots`.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.errors import InputError
from bcfw.storage.checked_arrays import REMEDY, check_sums, checksums
from bcfw.storage.files import replacing

#: Version of the file layout; ``read`` refuses files of other versions.
VERSION = 3


def write(arrays: dict[str, Any], path: str | Path) -> None:
    """Write the arrays of a snapshot, and other arrays that belong to the checkpoint, to one file."""
    with replacing(path) as file:
        np.savez(file, version=VERSION, checksums=checksums(arrays), **arrays)


def read(path: str | Path) -> dict[str, Any]:
    """Return the arrays of a checkpoint file; raise ``InputError`` if the file is not a checkpoint or is damaged."""
    try:
        with np.load(path, allow_pickle=False) as file:
            snapshot = {key: file[key] for key in file.files}
        version = int(snapshot.pop("version"))
        sums = snapshot.pop("checksums", None)
    except Exception as error:  # numpy, zipfile and zlib may raise anything if the file is damaged
        raise InputError(f"{path} is not a readable checkpoint ({error}); {REMEDY}") from error
    if version != VERSION:
        age, advice = ("a newer", "update to read it") if version > VERSION else ("an older", "train without it")
        raise InputError(f"{path} was written by {age} bcfw (layout {version}); {advice}")
    if sums is None or sums.ndim != 2 or sums.shape[1] != 2:
        raise InputError(f"{path} is not a readable checkpoint (it has no checksums); {REMEDY}")
    check_sums(snapshot, sums, str(path))
    return snapshot


@contextlib.contextmanager
def warned(path: str | Path) -> Iterator[None]:
    """Context that turns a failure to write a checkpoint into a warning, so that the run goes on."""
    try:
        yield
    except (OSError, InputError) as error:
        warnings.warn(f"the checkpoint {path} was not written: {error}", RuntimeWarning, stacklevel=2)
