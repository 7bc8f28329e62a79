"""Tells when numba compiles, which takes seconds where loading from disk takes none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager

from bcfw.kernels.guard import internals


def when_compiling(notice: Callable[[], None]) -> AbstractContextManager[None]:
    """Call ``notice`` once, before the first function that is compiled in this context, if numba can tell."""
    tools = internals()
    return contextlib.nullcontext() if tools is None else tools.when_compiling(notice)
