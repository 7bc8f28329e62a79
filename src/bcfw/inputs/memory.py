"""Checks before large allocations: they raise an error that names the arrays if these cannot fit into memory.

The memory that a process may have is the minimum of three numbers: the memory of the machine, the limits of its control
groups (containers), and the limit of its address space (``ulimit -v``) minus the address space that it already uses.
The memory of other processes is not subtracted: an allocation that could fit into the machine is tried.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from bcfw.errors import BcfwError, TooLargeError

#: The file in which Linux lists the control groups of this process, and the folder where control groups are mounted.
OWN_GROUPS = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")


def require_room(owner: str, sizes: Mapping[str, int], parts: Mapping[str, int], advice: str) -> None:
    """Raise ``TooLargeError`` unless all parts fit into memory together.

    Parameters
    ----------
    owner : str
        The beginning of the error message.
    sizes : mapping
        The numbers that determine the bytes, such as ``{"examples": 100, "labels": 3}``.
    parts : mapping
        Bytes of each part, by the name of the part.
    advice : str
        The end of the error message, which says what the user can do.
    """
    needed, (allowed, limit) = sum(parts.values()), available()
    if needed <= allowed:
        return
    largest = ", ".join(f"{shown(size)} for {name}" for name, size in sorted(parts.items(), key=lambda part: -part[1]))
    raise TooLargeError(
        f"{_numbers(owner, sizes)} needs {shown(needed)} of memory ({largest}), but {limit} allows {shown(allowed)}; "
        f"{advice}"
    )


@contextlib.contextmanager
def memory_named(owner: str, sizes: Mapping[str, int], advice: str) -> Iterator[None]:
    """Context that turns a ``MemoryError`` into a ``TooLargeError``, whose message says what the memory was for."""
    try:
        yield
    except BcfwError:
        raise
    except MemoryError as error:
        raise TooLargeError(f"{_numbers(owner, sizes)} needs more memory than there is ({error}); {advice}") from error


def _numbers(owner: str, sizes: Mapping[str, int]) -> str:
    """Return the owner and its sizes, the first words of error messages."""
    numbers = ", ".join(f"{size:,} {name}" for name, size in sizes.items())
    return f"{owner} with {numbers}" if numbers else owner


def shown(size: int) -> str:
    """Return a number of bytes as a text for messages."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:,.3g} {name}" if size < 1e15 else f"{size / unit:,.0f} {name}"
    return f"{size} bytes"


def available() -> tuple[int, str]:
    """Return the largest number of bytes that this process may have, and a text that names the limit."""
    return min(_limits(), default=(2**63, "the system"))


def _limits() -> Iterator[tuple[int, str]]:
    """Yield every limit that can be found on this system: its bytes, and its name in error messages."""
    with contextlib.suppress(AttributeError, ValueError, OSError):  # not on Windows
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), "this machine"
    with contextlib.suppress(OSError, ValueError):
        for line in OWN_GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "" or "memory" in controllers.split(","):
                name = "memory.limit_in_bytes" if controllers else "memory.max"
                yield from _group_limits(path, GROUPS / controllers, name)
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield max(most - pages * resource.getpagesize(), 0), "the limit of its address space (ulimit -v)"


def _group_limits(path: str, root: Path, name: str) -> Iterator[tuple[int, str]]:
    """Yield the limits of a control group and of its parents; in a container the group itself may be the root."""
    own = PurePosixPath(path.lstrip("/"))
    for group in (own, *own.parents):
        with contextlib.suppress(OSError, ValueError):  # the text "max" means no limit
            yield int((root / group / name).read_text()), "the control group (container)"
