"""Tells when numba compiles, and how long: it takes seconds where loading from disk takes none."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import FunctionType
from typing import Any

from bcfw.kernels.guard import internals

#: Where users find what a quiet run says: ``logging.getLogger("bcfw")``.
LOGGER = logging.getLogger("bcfw")

#: Seconds of compilation between two lines about it.
LINE_SECONDS = 5.0

#: Seconds of compilation after which a process says once that it compiles.
QUIET_SECONDS = 1.0


def compile_seconds() -> float:
    """Seconds that numba has compiled in this process since the first call; always 0 where numba cannot tell."""
    tools = internals()
    return 0.0 if tools is None else float(tools.compile_clock().seconds)


@contextlib.contextmanager
def when_compiling(notice: Callable[[FunctionType], None]) -> Iterator[None]:
    """Call ``notice(function)`` before each function that is compiled in this context, if numba can tell.

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

    def __call__(self, function: FunctionType) -> None:
        """A line at the beginning, then one every LINE_SECONDS."""
        taken, name = self.seconds, function.__name__
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


def in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this code; a terminal's IPython has none."""
    get_shell: Callable[[], Any] = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return getattr(get_shell(), "kernel", None) is not None


class FirstNotice:
    """Says once in a process that bcfw compiles, when that has taken QUIET_SECONDS: a first fit looks hung without.

    The line goes to standard error if that is a terminal, and to the output of a notebook. The environment variable
    ``BCFW_COMPILE_NOTICE`` asks for it everywhere (1) or nowhere (0). Where no folder can keep compiled code, the
    logger "bcfw" says so at the level WARNING, which Python prints if no logging is set up.

    Attributes
    ----------
    shown : whether a display has told the user already, or must not
    """

    shown = False

    def __init__(self) -> None:
        self._before = compile_seconds()
        self._done = False

    def __call__(self, function: FunctionType) -> None:
        """Hear of a function that is being compiled."""
        seconds = compile_seconds() - self._before
        if self._done or seconds < QUIET_SECONDS or function.__module__.split(".")[0] != "bcfw":
            return
        self._done = True
        from bcfw.kernels.disk_cache import cache_directory, obstacles

        folder = cache_directory()
        if folder is None:
            LOGGER.warning(
                "bcfw compiles in every process, because no folder for compiled code can be written to (%s); set "
                "BCFW_CACHE_DIR to one that can",
                "; ".join(obstacles()),
            )
        elif is_watched() and not self.shown:
            print(
                "bcfw: compiling code for this model and solver; that takes some seconds, once: it is kept in "
                f"{folder}",
                file=sys.stdout if in_notebook() else sys.stderr,
                flush=True,
            )


def is_watched() -> bool:
    """Whether somebody sees what is printed, or the environment says so."""
    asked = os.environ.get("BCFW_COMPILE_NOTICE", "")
    return asked != "0" if asked else in_notebook() or bool(getattr(sys.stderr, "isatty", lambda: False)())


@functools.cache
def first_notice() -> FirstNotice:
    """The one notice of the process; from the first call on it hears of all that is compiled."""
    notice, tools = FirstNotice(), internals()
    if tools is not None:
        tools.compile_clock().notices.append(notice)
    return notice
