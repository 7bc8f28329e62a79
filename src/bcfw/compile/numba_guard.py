"""The guard of numba's internals: they are private to numba, and used only if the installed release has them."""

from __future__ import annotations

import functools
import os
import re
import warnings
from types import ModuleType

#: The oldest and the newest release of numba with which :mod:`bcfw.compile.numba_internals` was tested.
TESTED = ((0, 61), (0, 68))


@functools.cache
def internals() -> ModuleType | None:
    """Return the module :mod:`bcfw.compile.numba_internals`, or None if it does not fit the installed numba.

    The first None comes with a warning. Without the module, everything is compiled by plain ``numba.njit``: the results
    are equal, but compilation takes longer, steps are a little slower, and compiled code is not cached on disk. The
    environment variable ``BCFW_PLAIN_NUMBA=1`` selects plain numba without a warning. With a release of numba that was
    not tested, the module must first compile a small function.
    """
    if os.environ.get("BCFW_PLAIN_NUMBA", "0") not in ("", "0"):
        return None
    try:
        from bcfw.compile import numba_internals

        if not TESTED[0] <= numba_version() <= TESTED[1]:
            numba_internals.check()
    except Exception as error:
        warnings.warn(
            f"this release of numba ({version_text()}) differs inside from the tested ones "
            f"({'.'.join(map(str, TESTED[0]))} to {'.'.join(map(str, TESTED[1]))}): {type(error).__name__}: {error}. "
            "bcfw works without its faster compilation and its disk cache; BCFW_PLAIN_NUMBA=1 silences this warning",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return numba_internals


def version_text() -> str:
    """Return the installed release of numba as a text."""
    import numba

    return str(numba.__version__)


def numba_version() -> tuple[int, ...]:
    """Return the first two numbers of numba's version; (0, 0), an untested version, if it has no numbers."""
    found = re.match(r"(\d+)\.(\d+)", version_text())
    return tuple(map(int, found.groups())) if found else (0, 0)
