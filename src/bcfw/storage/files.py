"""Files that are written completely or not at all, checks of paths, and the folder of bcfw's cache."""

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
except ImportError:  # Windows, where an open file cannot be deleted
    fcntl = None  # type: ignore[assignment]

PathLike = str | os.PathLike[str]

#: Suffix of files that are not complete yet.
SUFFIX = ".part"


def checked_path(path: Any, what: str) -> Path:
    """Return ``path``, a text or a path object, as a Path; raise OptionError otherwise.

    ``what`` says in the message what the path is for.
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise OptionError(f"{what} must be a path, a text or a pathlib.Path, got {path!r:.100}")
    return Path(path)


@contextmanager
def replacing(target: PathLike, mode: str = "wb", *, make_parents: bool = False) -> Iterator[IO[Any]]:
    """Open a temporary file that replaces ``target`` when it is completely written.

    The temporary file is in the folder of ``target``. If the ``with`` block raises, or the process dies, an older
    ``target`` remains unchanged. After an exception the temporary file is removed. The temporary file of a killed
    process is removed when ``target`` is written the next time. Several processes can write one target at the same
    time: the last one to finish wins. The new file has the permissions that the user's umask gives to new files.

    Parameters
    ----------
    target : path
        The file to write.
    mode : str
        The mode of :func:`open`; text is encoded in UTF-8.
    make_parents : bool
        Whether to make the folder of ``target`` if it does not exist.

    Yields
    ------
    file
        The open temporary file.

    Raises
    ------
    InputError
        If the folder of ``target`` cannot be made or written to.
    """
    target = checked_path(target, "the file to write")
    try:
        target = target.resolve()  # if target is a link, the file that it points to is replaced
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
            os.fsync(file.fileno())  # the new file must be on the disk before the older file is replaced
            if fcntl is None:
                file.close()  # Windows cannot rename open files; elsewhere the lock is held until after the renaming
            os.chmod(file.name, 0o666 & ~_umask())
            os.replace(file.name, target)
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise


def check_writable(target: PathLike, what: str) -> None:
    """Raise unless :func:`replacing` could write ``target`` now; called before long work whose result is written there.

    Parameters
    ----------
    target : path
        The file that will be written later. It is not created or changed.
    what : str
        What will be written, or the option that named the file; the first words of the message.

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
    """Return the path of a folder or file in bcfw's cache in the user's home folder.

    Returns
    -------
    Path
        ``bcfw`` followed by ``parts``, in the folder named by ``XDG_CACHE_HOME``, or in ``~/.cache``. The path may not
        exist yet.

    Examples
    --------
    >>> from bcfw.storage.files import user_cache
    >>> user_cache("data").parts[-2:]
    ('bcfw', 'data')
    """
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification tells programs to ignore relative paths.
    home = Path(named) if os.path.isabs(named) else Path.home() / ".cache"
    return home.joinpath("bcfw", *parts)


def _require_regular(target: Path) -> None:
    """Raise OSError if ``target`` is a device or a pipe, which must not be replaced by a file."""
    if target.exists() and not target.is_file() and not target.is_dir():
        raise OSError(f"{target} is a device or a pipe; give the path of a file")


def _umask() -> int:
    """Return the umask of this process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _open_locked(target: Path, mode: str) -> IO[Any]:
    """Open a new locked file in the folder of ``target``; other processes do not remove it while it is locked."""
    while True:
        file = _open_beside(target, mode)
        if fcntl is not None:
            with suppress(OSError):  # if this file system has no locks, no other process removes the file either
                fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink > 0:
            return file
        file.close()  # another process removed the file before it was locked


def _open_beside(target: Path, mode: str) -> IO[Any]:
    """Open a new temporary file in the folder of ``target``, whose name begins with the name of ``target``."""
    return tempfile.NamedTemporaryFile(
        mode,
        encoding=None if "b" in mode else "utf-8",
        dir=target.parent,
        prefix=target.name,
        suffix=SUFFIX,
        delete=False,
    )


def _remove_left_over(target: Path) -> None:
    """Remove the temporary files of ``target`` whose process has died; they are not locked any more."""
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
