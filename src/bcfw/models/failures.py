"""What a user's code raised, in one sentence: the exception, and the user's own line that it came from."""

from __future__ import annotations

import linecache
import re
import sysconfig
import traceback
from pathlib import Path
from types import TracebackType

import numpy as np

from bcfw.errors import PACKAGE, BcfwError, ModelError

#: Folders of code that no user of a model has written.
_LIBRARIES = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")]
_LIBRARIES += [Path(np.__file__).resolve().parents[1]]


class CompilationError(ModelError):
    """Kernels that numba cannot compile."""


def described(error: BaseException) -> str:
    """An exception of a user's code in one sentence."""
    if isinstance(error, BcfwError):
        return str(error)
    return f"{type(error).__name__}: {error}{place(error)}"


def place(error: BaseException) -> str:
    """The user's function and line that raised an exception, in brackets; empty if there is none."""
    frame = _own_frame(error.__traceback__)
    return "" if frame is None else f" (in {frame[0]}, {_line(frame[1], frame[2])})"


def _own_frame(trace: TracebackType | None) -> tuple[str, str, int] | None:
    """Function, file and line of the innermost frame outside this package, and outside libraries if there is one."""
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
    """Whether numba raised an exception because it cannot compile something."""
    return type(error).__module__.startswith("numba.")


def cannot_compile(name: str, error: BaseException) -> CompilationError:
    """The error for a model whose kernels numba cannot compile: the sentence of its message that matters."""
    return CompilationError(f"{name}: numba cannot compile its kernels: {numba_sentence(error)}")


def numba_sentence(error: BaseException) -> str:
    """What numba complains about, why, and at which line of the user's, out of the hundreds of lines that it prints.

    Its message begins with the complaint, then tells what it has tried, then the calls that led there from the
    innermost on.
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
    """The innermost line of the user's that a message of numba's names, or else the innermost kernel of a class."""
    for file, line in re.findall(r"^During: typing of .* at (.+) \((\d+)\)$", text, re.MULTILINE):
        if not _in_package(file) and not _in_library(file):
            return f" ({_line(file, int(line))})"
    kernels = re.findall(r"CPUDispatcher\(<function (\S+\.\S+)>", text)
    return f" (in {kernels[0]})" if kernels else ""
