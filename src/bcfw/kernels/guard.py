"""Whether numba's internals may be used: they are private, and a release of numba may change them."""

from __future__ import annotations

import functools
import os
import re
import warnings
from types import ModuleType

#: The oldest and the newest release of numba with which :mod:`bcfw.kernels.numba_internals` was tested.
TESTED = ((0, 61), (0, 68))


@functools.cache
def internals() -> ModuleType | None:
    """The module :mod:`bcfw.kernels.numba_internals`, or None, after one warning, where numba has changed.

    Without it everything is compiled by plain ``numba.njit``: the results are the same, but compilation takes longer,
    steps are a little slower, and nothing is kept on disk. The environment variable ``BCFW_PLAIN_NUMBA=1`` asks for
    that. Releases of numba that were not tested have to compile a small function first.
    """
    if os.environ.get("BCFW_PLAIN_NUMBA", "0") not in ("", "0"):
        return None
    try:
        from bcfw.kernels import numba_internals

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
    """The installed release of numba."""
    import numba

    return str(numba.__version__)


def numba_version() -> tuple[int, ...]:
    """Its first two numbers; (0, 0), which was not tested, for a version without numbers."""
    found = re.match(r"(\d+)\.(\d+)", version_text())
    return tuple(map(int, found.groups())) if found else (0, 0)
