"""Where the data files are: the folder named by ``BCFW_DATA``, then the user's cache; or an error that says more."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bcfw.errors import BcfwError, InputError
from bcfw.files import user_cache


class DataNotFound(BcfwError, FileNotFoundError):  # noqa: N818 (named like the error it specialises for data)
    """A data set that is not on this machine: the message names its public source and the converter."""


@dataclass(frozen=True)
class Source:
    """One data set: the files that its loader reads and where they come from.

    Attributes
    ----------
    name : str
        Short name of the data set, as in ``bcfw convert NAME``.
    title : str
        What the data are, for messages.
    files : tuple of str
        The files, relative to a data folder.
    origin : str
        The original public files by name, and the page that offers them.
    originals : mapping of str to str
        The original files that the converter takes: its parameter -> the public name of the file. Empty if there is
        no converter.
    layout : str
        The arrays that the file must hold, for data without a converter.
    """

    name: str
    title: str
    files: tuple[str, ...]
    origin: str
    originals: Mapping[str, str] = field(default_factory=dict)
    layout: str = ""

    def locate(self) -> list[Path]:
        """Paths of all files, from the first data folder that has them all.

        Raises
        ------
        DataNotFound
            If no folder has them.
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
        """The named arrays of a converted ``.npz`` file."""
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
        """Where the arrays of converted files do not fit together, say which data they are and how to get others."""
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
        """What turns the original files into the ones read here."""
        if not self.originals:
            return f"compute and save the arrays {self.layout}"
        return f"run 'bcfw convert {self.name} {' '.join(self.originals.values())}'"


def cache_folder() -> Path:
    """The user's data folder, into which the converters write.

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
    """The folders to search, in order."""
    named = os.environ.get("BCFW_DATA", "")
    return [*([Path(named).expanduser()] if named else []), cache_folder()]
