"""Large allocations: refused by name before they are made, where no part of this machine's memory could hold them.

What a process may have is the least of the machine's memory, the limits of its control groups (containers) and the
limit of its address space (``ulimit -v``, less what it has already). Memory that others use is not counted: what fits
into the machine is tried.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from bcfw.errors import BcfwError, TooLargeError

#: Where the kernel tells about control groups, and where they are mounted.
OWN_GROUPS = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")


def require_room(owner: str, sizes: Mapping[str, int], parts: Mapping[str, int], advice: str) -> None:
    """Raise unless some arrays could be in memory at once.

    Parameters
    ----------
    owner : str
        What messages begin with.
    sizes : mapping
        The numbers that the bytes come from, such as ``{"examples": 100, "labels": 3}``.
    parts : mapping
        Bytes of every part, by its name.
    advice : str
        What would help.
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
    """Where the system refuses memory after all, say what for."""
    try:
        yield
    except BcfwError:
        raise
    except MemoryError as error:
        raise TooLargeError(f"{_numbers(owner, sizes)} needs more memory than there is ({error}); {advice}") from error


def _numbers(owner: str, sizes: Mapping[str, int]) -> str:
    numbers = ", ".join(f"{size:,} {name}" for name, size in sizes.items())
    return f"{owner} with {numbers}" if numbers else owner


def shown(size: int) -> str:
    """A number of bytes for messages."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:,.3g} {name}" if size < 1e15 else f"{size / unit:,.0f} {name}"
    return f"{size} bytes"


def available() -> tuple[int, str]:
    """Bytes that this process could have at most, and the words for what limits them."""
    return min(_limits(), default=(2**63, "the system"))


def _limits() -> Iterator[tuple[int, str]]:
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
    """The limits of a control group and of those that it is in; in a container its own may be at the root."""
    own = PurePosixPath(path.lstrip("/"))
    for group in (own, *own.parents):
        with contextlib.suppress(OSError, ValueError):  # "max" is no number
            yield int((root / group / name).read_text()), "the control group (container)"
