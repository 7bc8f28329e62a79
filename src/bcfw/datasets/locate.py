"""Search for data files, in the folder named by ``BCFW_DATA`` and in the user's cache, and errors for missing files."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bcfw.errors import BcfwError, InputError
from bcfw.storage.files import user_cache


class DataNotFound(BcfwError, FileNotFoundError):  # noqa: N818 (named like the error it specialises for data)
    """Error for a data set that is not on this machine; the message names its public source and the converter."""


@dataclass(frozen=True)
class Source:
    """A data set's converted files, which its loader reads, and the original files from which they are made.

    Attributes
    ----------
    name : str
        Short name of the data set, as in ``bcfw convert NAME``.
    title : str
        Title of the data set, for messages.
    files : tuple of str
        Names of the converted files, relative to a data folder.
    origin : str
        Names of the original public files, and the page that offers them.
    originals : mapping of str to str
        Parameter of the converter -> public name of the original file. Empty if there is no converter.
    layout : str
        The arrays that the converted file must hold, for data without a converter.
    """

    name: str
    title: str
    files: tuple[str, ...]
    origin: str
    originals: Mapping[str, str] = field(default_factory=dict)
    layout: str = ""

    def locate(self) -> list[Path]:
        """Return the paths of all files, from the first data folder that has all of them.

        Raises
        ------
        DataNotFound
            If no data folder has all files.
        """
        folders = data_folders()
        for folder in folders:
            paths = [folder / name for name in self.files]
            if all(path.is_file() for path in paths):
                return paths
        raise DataNotFound(
            f"{self.title}: no {' and '.join(self.files)} in {' or '.join(str(folder) for folder in folders)}. "
            f"Get {self.origin}, then {self._recipe()}; "
            "or set the environment variable BCFW_DATA to a folder that has the converted files"
        )

    def arrays(self, path: Path, *names: str) -> list[np.ndarray]:
        """Return the named arrays of a converted ``.npz`` file."""
        try:
            with np.load(path, allow_pickle=False) as archive:
                return [archive[name] for name in names]
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise InputError(
                f"{self.title}: cannot read {', '.join(names)} from {path} ({error}); to write it again, "
                f"{self._recipe()}"
            ) from error

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Turn errors of a loader, whose arrays do not fit together, into an error that says how to convert again."""
        try:
            yield
        except BcfwError:
            raise
        except (TypeError, ValueError, IndexError, AttributeError, MemoryError) as error:
            raise InputError(
                f"{self.title}: the arrays in {' and '.join(self.files)} do not fit together ({error}); to write them "
                f"again, {self._recipe()}"
            ) from error

    def _recipe(self) -> str:
        """Return the instruction that turns the original files into converted files, for messages."""
        if not self.originals:
            return f"compute and save the arrays {self.layout}"
        return f"run 'bcfw convert {self.name} {' '.join(self.originals.values())}'"


def cache_folder() -> Path:
    """Return the user's data folder, into which the converters write by default.

    Returns
    -------
    Path
        ``bcfw/data`` in the folder named by ``XDG_CACHE_HOME``, or in ``~/.cache``. It may not exist yet.

    Examples
    --------
    >>> from bcfw.datasets import cache_folder
    >>> cache_folder().parts[-2:]
    ('bcfw', 'data')
    """
    return user_cache("data")


def data_folders() -> list[Path]:
    """Return the data folders to search, in this order: ``BCFW_DATA`` if it is set, then the user's cache."""
    named = os.environ.get("BCFW_DATA", "")
    return [*([Path(named).expanduser()] if named else []), cache_folder()]
