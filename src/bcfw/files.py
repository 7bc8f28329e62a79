"""Atomic files and cache folders: files that are written whole or not at all, and where bcfw keeps its own."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from bcfw.errors import InputError, OptionError

try:
    import fcntl
except ImportError:  # Windows, where nobody can delete a file that is open
    fcntl = None  # type: ignore[assignment]

PathLike = str | os.PathLike[str]

#: Ends the names of files that are not complete yet.
SUFFIX = ".part"


def checked_path(path: Any, what: str) -> Path:
    """A path that is given as a text or an object such as ``pathlib.Path``; of anything else ``what`` says the use."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise OptionError(f"{what} must be a path, a text or a pathlib.Path, got {path!r:.100}")
    return Path(path)


@contextmanager
def replacing(target: PathLike, mode: str = "wb", *, make_parents: bool = False) -> Iterator[IO[Any]]:
    """Open a file that takes the place of ``target`` when all of it is written.

    It is a temporary file in the same folder. Where the block raises, or the process dies, an older ``target`` stays
    as it was. An exception also removes the temporary file; that of a process that was killed is removed when
    ``target`` is written the next time. Several processes may write the same target at once: the last one to finish
    wins. The new file has the permissions that the user's umask gives to new files.

    Parameters
    ----------
    target : path
        The file to write.
    mode : str
        As of :func:`open`; text is encoded in UTF-8.
    make_parents : bool
        Whether to make the folder of ``target`` where it does not exist.

    Yields
    ------
    file
        To write to.

    Raises
    ------
    InputError
        If the folder of ``target`` cannot be made or written to.
    """
    target = checked_path(target, "the file to write")
    try:
        target = target.resolve()  # a link stays, and what it points to is replaced
        if make_parents:
            target.parent.mkdir(parents=True, exist_ok=True)
        _require_regular(target)
        _remove_left_over(target)
        file = _open_locked(target, mode)
    except (OSError, ValueError) as error:  # a ValueError for a null character in the name
        raise InputError(f"cannot write to {target.parent}: {error}") from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # on the disk before the older file goes
            if fcntl is None:
                file.close()  # Windows renames no open files; elsewhere the lock is kept until the file has its name
            os.chmod(file.name, 0o666 & ~_umask())
            os.replace(file.name, target)
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise


def check_writable(target: PathLike, what: str) -> None:
    """Raise unless :func:`replacing` could write ``target`` now: a check before long work whose result goes there.

    Parameters
    ----------
    target : path
        The file to be written later. It is neither made nor changed.
    what : str
        What will be written, or the option that named the file: the message begins with it.

    Raises
    ------
    InputError
        If the folder of ``target`` does not exist or cannot be written to, or ``target`` is a folder.
    """
    target = checked_path(target, what).absolute()
    if not os.path.isdir(target.parent):
        raise InputError(f"{what}: the folder {target.parent} does not exist; make it first")
    if os.path.isdir(target):
        raise InputError(f"{what}: {target} is a folder; give the path of a file")
    try:
        _require_regular(target.resolve())
        trial = _open_locked(target.resolve(), "wb")
        trial.close()
        Path(trial.name).unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise InputError(f"{what}: cannot write to {target.parent}: {error}") from error


def user_cache(*parts: str) -> Path:
    """A folder or file in the user's cache of bcfw.

    Returns
    -------
    Path
        ``bcfw`` and then ``parts``, in the folder named by ``XDG_CACHE_HOME``, or in ``~/.cache``. It may not exist
        yet.

    Examples
    --------
    >>> from bcfw.files import user_cache
    >>> user_cache("data").parts[-2:]
    ('bcfw', 'data')
    """
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification tells programs to ignore relative paths.
    home = Path(named) if os.path.isabs(named) else Path.home() / ".cache"
    return home.joinpath("bcfw", *parts)


def _require_regular(target: Path) -> None:
    """Raise for a device or a pipe, which a new file would replace."""
    if target.exists() and not target.is_file() and not target.is_dir():
        raise OSError(f"{target} is a device or a pipe; give the path of a file")


def _umask() -> int:
    """The user's mask of file permissions, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _open_locked(target: Path, mode: str) -> IO[Any]:
    """Open a new file in the folder of ``target`` that no process takes for left over as long as it is open."""
    while True:
        file = _open_beside(target, mode)
        if fcntl is not None:
            with suppress(OSError):  # without locks on this file system nobody removes the file either
                fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink > 0:
            return file
        file.close()  # another process has removed it before it was locked


def _open_beside(target: Path, mode: str) -> IO[Any]:
    """Open a new file in the folder of ``target``."""
    return tempfile.NamedTemporaryFile(
        mode,
        encoding=None if "b" in mode else "utf-8",
        dir=target.parent,
        prefix=target.name,
        suffix=SUFFIX,
        delete=False,
    )


def _remove_left_over(target: Path) -> None:
    """Remove the temporary files of ``target`` whose process has died: they are neither open nor locked any more."""
    for path in target.parent.glob(glob.escape(target.name) + 8 * "?" + SUFFIX):
        with suppress(OSError):
            _remove_unlocked(path)


def _remove_unlocked(path: Path) -> None:
    if fcntl is None:
        path.unlink()
        return
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
