"""Checkpoints: a snapshot in one npz file, written whole or not at all, and read without executing anything."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.errors import InputError
from bcfw.files import replacing

#: Version of the layout; a reader refuses a newer one.
VERSION = 1


#: What every snapshot has besides the model's averages.
KEYS = ("model", "dim", "data", "lam", "steps", "weight", "w", "ell")


def write(path: str | Path, snapshot: dict[str, Any]) -> None:
    """Write a checkpoint; a crash leaves the older one intact."""
    with replacing(path) as file:
        np.savez(file, version=VERSION, **snapshot)


def read(path: str | Path) -> dict[str, Any]:
    """Read a checkpoint; raise an :class:`InputError` that names the file if it is none."""
    try:
        with np.load(path, allow_pickle=False) as file:
            snapshot = {key: file[key] for key in file.files}
        version = int(snapshot.pop("version"))
        missing = [key for key in KEYS if key not in snapshot]
    except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a readable checkpoint ({error})") from error
    if version > VERSION:
        raise InputError(f"{path} was written by a newer bcfw (layout {version}); update to read it")
    if missing:
        raise InputError(f"{path} is not a readable checkpoint (it has no {missing[0]})")
    return snapshot
