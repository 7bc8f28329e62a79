"""Helpers for the converters of data sets: check paths of original files, write a converted file in one step."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bcfw.datasets.locate import cache_folder
from bcfw.errors import OptionError
from bcfw.storage.files import PathLike, replacing


class Converter(NamedTuple):
    """A converter: the function that converts the original files of one data set, and its description.

    Attributes
    ----------
    title : str
        Title of the data set.
    convert : callable
        Takes the paths of the original files and ``out``, the data folder to write into; returns the files written.
    originals : mapping of str to str
        Parameter of ``convert`` -> public name of the original file.
    """

    title: str
    convert: Callable[..., list[Path]]
    originals: Mapping[str, str]


def original(path: Any, parameter: str) -> Path:
    """Return the argument ``parameter`` of a converter as a Path. Raise unless it is a path."""
    if not isinstance(path, str | os.PathLike):
        raise OptionError(f"{parameter} must be the path of an original file, got {path!r}")
    return Path(path)


def save_arrays(out: PathLike | None, name: str, arrays: dict[str, Any]) -> Path:
    """Save arrays as the compressed ``.npz`` file ``name`` in the data folder ``out``; return the path of the file.

    With ``out`` None, the data folder is the user's cache. The file is replaced as a whole or not at all.
    """
    target = _target(out, name)
    with replacing(target, make_parents=True) as file:
        np.savez_compressed(file, **arrays)
    return target


def save_bytes(out: PathLike | None, name: str, content: bytes) -> Path:
    """Save bytes as the file ``name`` in the data folder ``out``, as in :func:`save_arrays`; return the path."""
    target = _target(out, name)
    with replacing(target, make_parents=True) as file:
        file.write(content)
    return target


def _target(out: PathLike | None, name: str) -> Path:
    return (cache_folder() if out is None else Path(out)) / name
