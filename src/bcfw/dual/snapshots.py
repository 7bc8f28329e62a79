"""Checkpoints: a snapshot in one npz file, written whole or not at all, and read without executing anything."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.errors import InputError

#: Version of the layout; a reader refuses a newer one.
VERSION = 1


def check_folder(path: str | Path) -> None:
    """Raise before training if the checkpoint's folder is not there."""
    if not Path(path).absolute().parent.is_dir():
        raise InputError(f"checkpoint: the folder {Path(path).absolute().parent} does not exist; make it first")


def write(path: str | Path, snapshot: dict[str, Any]) -> None:
    """Write to a temporary file beside ``path``, then rename: a crash leaves the older checkpoint intact."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    except OSError as error:
        raise InputError(f"checkpoint: cannot write to {target.parent}: {error}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, version=VERSION, **snapshot)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: str | Path) -> dict[str, Any]:
    """Read a checkpoint; raise an :class:`InputError` that names the file if it is none."""
    try:
        with np.load(path, allow_pickle=False) as file:
            snapshot = {key: file[key] for key in file.files}
        version = int(snapshot.pop("version"))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a readable checkpoint ({error})") from error
    if version > VERSION:
        raise InputError(f"{path} was written by a newer bcfw (layout {version}); update to read it")
    return snapshot
