"""One-sentence descriptions of exceptions from a user's model, with the line of the user's code that raised them."""

from __future__ import annotations

import linecache
import re
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

import numpy as np

from bcfw.errors import PACKAGE, BcfwError, ModelError

#: Folders of the standard library and of installed packages: their code is not the user's.
_LIBRARIES = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")]
_LIBRARIES += [Path(np.__file__).resolve().parents[1]]


class CompilationError(ModelError):
    """Error for routines of a model that numba cannot compile."""


def described(error: BaseException) -> str:
    """Return one sentence that describes an exception of a user's code."""
    if isinstance(error, BcfwError):
        return str(error)
    return f"{type(error).__name__}: {error}{place(error)}"


def place(error: BaseException) -> str:
    """Return the user's function and line that raised an exception, in brackets; empty if no such line is known."""
    frame = _own_frame(error.__traceback__)
    return "" if frame is None else f" (in {frame[0]}, {_line(frame[1], frame[2])})"


def _own_frame(trace: TracebackType | None) -> tuple[str, str, int] | None:
    """Return function, file and line of the innermost frame of the user's code.

    If all frames outside this package are in libraries, return the innermost library frame; without any, None.
    """
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(trace)]
    outside = [(code.co_qualname, code.co_filename, line) for code, line in frames if not _in_package(code.co_filename)]
    own = [frame for frame in outside if not _in_library(frame[1])]
    return next(reversed(own or outside), None)


def _in_package(file: str) -> bool:
    return Path(file).resolve().is_relative_to(PACKAGE)


def _in_library(file: str) -> bool:
    return any(Path(file).resolve().is_relative_to(folder) for folder in _LIBRARIES)


def _line(file: str, line: int) -> str:
    statement = linecache.getline(file, line).strip()
    return f"{file}:{line}: {statement}" if statement else f"{file}:{line}"


# --- numba's messages


def is_from_numba(error: BaseException) -> bool:
    """Return whether an exception comes from numba, which then could not compile a function."""
    return type(error).__module__.startswith("numba.")


def cannot_compile(name: str, error: BaseException) -> CompilationError:
    """Return the error for a model whose routines numba cannot compile, with the essential part of numba's message."""
    return CompilationError(f"{name}: numba cannot compile its routines: {numba_sentence(error)}")


def numba_sentence(error: BaseException) -> str:
    """Return the complaint, the reason and the user's line from a message of numba, which has hundreds of lines.

    The message begins with the complaint, then lists what numba has tried, and then the calls that led to the failure,
    innermost call first.
    """
    text = re.sub(r"\x1b\[[0-9;]*m| at 0x[0-9a-f]+", "", str(error))  # colours, addresses
    lines = [line.strip() for line in text.splitlines()]
    told = [line for line in lines if line and not line.startswith("Failed in nopython mode")]
    complaint = told[0] if told else type(error).__name__
    if complaint.endswith("found for signature:"):
        complaint = next((f"{complaint} {line[4:]}" for line in told if line.startswith(">>> ")), complaint)
    reasons = re.findall(r"raised a specific error:\s+\w+: (?!Failed in nopython mode)(.+)", text)
    return "; ".join([complaint, *reasons[:1]]) + _numba_place(text)


def _numba_place(text: str) -> str:
    """Return the innermost line of the user's code in a message of numba, or else the innermost method of a class."""
    for file, line in re.findall(r"^During: typing of .* at (.+) \((\d+)\)$", text, re.MULTILINE):
        if not _in_package(file) and not _in_library(file):
            return f" ({_line(file, int(line))})"
    routines = re.findall(r"CPUDispatcher\(<function (\S+\.\S+)>", text)
    return f" (in {routines[0]})" if routines else ""
