"""The time that numba spends in compilation, and messages to the user about it: log lines, and a notice per process."""

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

from bcfw.compile.numba_guard import internals

#: The logger of the library, ``logging.getLogger("bcfw")``; runs that print nothing write here.
LOGGER = logging.getLogger("bcfw")

#: Seconds of compilation between two log lines.
LINE_SECONDS = 5.0

#: Seconds of compilation after which a process prints the notice.
QUIET_SECONDS = 1.0


def compile_seconds() -> float:
    """Return the seconds of compilation in this process since the first call of this function.

    Without numba's internals (see :mod:`bcfw.compile.numba_guard`) the result is always 0.
    """
    tools = internals()
    return 0.0 if tools is None else float(tools.compile_clock().seconds)


@contextlib.contextmanager
def when_compiling(notice: Callable[[FunctionType], None]) -> Iterator[None]:
    """Call ``notice(function)`` before each function that is compiled in this context.

    The call is repeated every second, from another thread, until the function is compiled. Functions that are compiled
    as a part of another function cause no call. Without numba's internals (see :mod:`bcfw.compile.numba_guard`)
    ``notice`` is never called.
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
    """Writes log lines while functions are compiled; a notice for :func:`when_compiling`.

    Parameters
    ----------
    say : function that writes a line
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._before = compile_seconds()
        self._said: float | None = None

    @property
    def seconds(self) -> float:
        """Seconds of compilation since this object was made."""
        return compile_seconds() - self._before

    def __call__(self, function: FunctionType) -> None:
        """Write a line at the beginning, then one every ``LINE_SECONDS`` of compilation."""
        taken, name = self.seconds, function.__name__
        if self._said is None:
            self._say(f"compiling {name}: the first use of a model and a solver on this machine takes some seconds")
        elif taken - self._said >= LINE_SECONDS:
            self._say(f"compiling {name}, {taken:.0f} s so far")
        else:
            return
        self._said = taken


def compiling_logged() -> AbstractContextManager[None]:
    """Return a context in which compilation is logged at the level INFO."""
    return when_compiling(CompileLines(LOGGER.info))


def in_notebook() -> bool:
    """Return whether this code runs in a Jupyter notebook; IPython in a terminal does not count."""
    get_shell: Callable[[], Any] = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return getattr(get_shell(), "kernel", None) is not None


class FirstNotice:
    """Tells the user, once per process, that bcfw compiles, as soon as compilation has taken ``QUIET_SECONDS``.

    Without the notice, a first fit would seem to hang. The line goes to standard error if that is a terminal, or to the
    output of a notebook. The environment variable ``BCFW_COMPILE_NOTICE`` turns the notice on (1) or off (0)
    everywhere. If no folder for compiled code is writable, the logger "bcfw" says so at the level WARNING, which Python
    prints if no logging is set up.

    Attributes
    ----------
    shown : whether a progress display has told the user already, or the user wants no notice
    """

    shown = False

    def __init__(self) -> None:
        self._before = compile_seconds()
        self._done = False

    def __call__(self, function: FunctionType) -> None:
        """Print the notice if it is due; called while ``function`` is being compiled."""
        seconds = compile_seconds() - self._before
        if self._done or seconds < QUIET_SECONDS or function.__module__.split(".")[0] != "bcfw":
            return
        self._done = True
        from bcfw.compile.disk_cache import cache_directory, obstacles

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
    """Return whether the notice should be printed: what the environment variable says, or whether a user can see it."""
    asked = os.environ.get("BCFW_COMPILE_NOTICE", "")
    return asked != "0" if asked else in_notebook() or bool(getattr(sys.stderr, "isatty", lambda: False)())


@functools.cache
def first_notice() -> FirstNotice:
    """Return the only notice of the process; the first call registers it for all compilation."""
    notice, tools = FirstNotice(), internals()
    if tools is not None:
        tools.compile_clock().notices.append(notice)
    return notice
