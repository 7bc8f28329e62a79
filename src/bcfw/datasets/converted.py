"""Files that converters write: in a data folder, where the loaders look, each whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bcfw.datasets.locate import cache_folder
from bcfw.errors import OptionError
from bcfw.files import PathLike, replacing


class Converter(NamedTuple):
    """A function that converts the original files of one data set.

    Attributes
    ----------
    title : str
        What the data are.
    convert : callable
        Takes the paths of the original files and ``out``, the data folder to write into; returns the paths written.
    originals : mapping of str to str
        Parameter of ``convert`` -> the public name of the original file.
    """

    title: str
    convert: Callable[..., list[Path]]
    originals: Mapping[str, str]


def original(path: Any, parameter: str) -> Path:
    """The path of an original file or folder, given as ``parameter`` of a converter."""
    if not isinstance(path, str | os.PathLike):
        raise OptionError(f"{parameter} must be the path of an original file, got {path!r}")
    return Path(path)


def save_arrays(out: PathLike | None, name: str, arrays: dict[str, Any]) -> Path:
    """Save arrays as the compressed ``.npz`` file ``name`` of the data folder ``out``; return its path.

    Without ``out`` it is saved in the user's cache.
    """
    target = _target(out, name)
    with replacing(target, make_parents=True) as file:
        np.savez_compressed(file, **arrays)
    return target


def save_bytes(out: PathLike | None, name: str, content: bytes) -> Path:
    """Save bytes as the file ``name`` of the data folder ``out``, as :func:`save_arrays` does; return its path."""
    target = _target(out, name)
    with replacing(target, make_parents=True) as file:
        file.write(content)
    return target


def _target(out: PathLike | None, name: str) -> Path:
    return (cache_folder() if out is None else Path(out)) / name
