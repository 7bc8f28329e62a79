"""Tells when numba compiles, and how long: it takes seconds where loading from disk takes none."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from bcfw.kernels.guard import internals

#: Where users find what a quiet run says: ``logging.getLogger("bcfw")``.
LOGGER = logging.getLogger("bcfw")

#: Seconds of compilation between two lines about it.
LINE_SECONDS = 5.0


def compile_seconds() -> float:
    """Seconds that numba has compiled in this process since the first call; always 0 where numba cannot tell."""
    tools = internals()
    return 0.0 if tools is None else float(tools.compile_clock().seconds)


@contextlib.contextmanager
def when_compiling(notice: Callable[[str], None]) -> Iterator[None]:
    """Call ``notice(name)`` before each function that is compiled in this context, if numba can tell.

    It is called again every second, from another thread, until the function is compiled. Those that are compiled as a
    part of another one are not told.
    """
    tools = internals()
    if tools is None:
        yield
        return
    notices = tools.compile_clock().notices
    notices.append(notice)
    try:
        yield
    finally:
        notices.remove(notice)


class CompileLines:
    """What a log says while functions are compiled: that it begins, and that it goes on.

    Parameters
    ----------
    say : function of a line
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._before = compile_seconds()
        self._said: float | None = None

    @property
    def seconds(self) -> float:
        """Of compilation since this was made."""
        return compile_seconds() - self._before

    def __call__(self, name: str) -> None:
        """A line at the beginning, then one every LINE_SECONDS."""
        taken = self.seconds
        if self._said is None:
            self._say(f"compiling {name}: the first use of a model and a solver on this machine takes some seconds")
        elif taken - self._said >= LINE_SECONDS:
            self._say(f"compiling {name}, {taken:.0f} s so far")
        else:
            return
        self._said = taken


def compiling_logged() -> AbstractContextManager[None]:
    """Log what is compiled in this context, at the level INFO."""
    return when_compiling(CompileLines(LOGGER.info))
