"""The disk cache of compiled code, which the next process loads, and which is never stale.

numba's own cache checks only the file of the outermost function, so that it uses old machine code after an edit of an
inner function in another file. Here a cache file is named by a fingerprint of *everything* that the function reaches:
the byte code of all functions, their constants, the fields of the records and the versions of the tools.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.compile.numba_guard import internals
from bcfw.compile.specialise import FASTMATH, global_names
from bcfw.compile.timing import first_notice
from bcfw.errors import PACKAGE
from bcfw.storage.files import user_cache

#: Modules whose functions are covered by a version number instead of a walk through their code.
_VERSIONED = ("numpy", "numba", "llvmlite")


def possible_directories() -> list[Path]:
    """Return the candidates for the cache folder, the first choice first.

    They are ``$BCFW_CACHE_DIR`` alone if it is set, else the package's ``__pycache__`` and the user's cache folder.
    """
    chosen = os.environ.get("BCFW_CACHE_DIR")
    package = PACKAGE / "__pycache__" / "kernels"
    return [Path(chosen)] if chosen else [package, user_cache("kernels")]


def cache_directories() -> list[Path]:
    """Return the folders to search for compiled code, in this order; the last is written to, if it is writable.

    They are the existing candidates up to the first that is writable. A folder that is not writable is searched, too,
    because another user may have filled it.
    """
    found = []
    for path in possible_directories():
        writable = not obstacle(path)
        if writable or path.is_dir():
            found.append(path)
        if writable:
            break
    return found


def cache_directory() -> Path | None:
    """Return the folder to which new compiled code is written; None if no candidate is writable."""
    return next((path for path in possible_directories() if not obstacle(path)), None)


def obstacle(path: Path) -> str:
    """Return why no file can be written to a folder, or an empty text if one can; make the folder if it is missing."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        return error.strerror or type(error).__name__
    return ""


def obstacles() -> list[str]:
    """Return a text for each candidate: the folder, and why no file can be written there."""
    return [f"{path}: {obstacle(path)}" for path in possible_directories()]


def fingerprint(function: Any) -> str:
    """Return a hash of the byte code, constants and compiler options of ``function`` and of everything it reaches."""
    walk = _Walk()
    walk.value(function)
    return walk.digest.hexdigest()


class _Walk:
    """Hashes everything that a function reaches into one digest, each function once."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.seen: set[int] = set()
        self.note("python", sys.version_info[:3], "fastmath", sorted(FASTMATH))
        for name in _VERSIONED:
            self.note(name, sys.modules[name].__version__)

    def note(self, *facts: object) -> None:
        self.digest.update(repr(facts).encode())

    def value(self, value: Any) -> None:
        function = getattr(value, "py_func", value)
        if isinstance(function, types.FunctionType):
            if value is not function:
                options = value.targetoptions
                self.note({key: sorted(v) if isinstance(v, set) else v for key, v in sorted(options.items())})
            self.function(function)
        elif isinstance(value, type) and hasattr(value, "_fields"):
            self.note("record", value.__name__, value._fields)
        elif isinstance(value, types.ModuleType):
            self.note("module", value.__name__)
        elif isinstance(value, np.ndarray):
            self.note("array", value.dtype.str, value.shape)
            self.digest.update(np.ascontiguousarray(value).tobytes())
        else:
            self.note(type(value).__name__, repr(value))

    def function(self, function: types.FunctionType) -> None:
        if id(function) in self.seen:
            return
        self.seen.add(id(function))
        self.code(function.__code__)
        self.note(function.__module__, function.__defaults__)
        for cell in function.__closure__ or ():
            self.value(cell.cell_contents)
        for name in sorted(global_names(function.__code__) & function.__globals__.keys()):
            value = function.__globals__[name]
            self.note(name)
            self.value(value)
            if isinstance(value, types.ModuleType) and value.__name__.split(".")[0] not in _VERSIONED:
                for attribute in function.__code__.co_names:  # names read from a module: helpers.f(x), settings.C
                    if hasattr(value, attribute):
                        self.value(getattr(value, attribute))

    def code(self, code: types.CodeType) -> None:
        self.note(code.co_name, code.co_names, code.co_varnames, code.co_freevars)
        self.digest.update(code.co_code)
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                self.code(const)
            else:
                self.note(const)


def keep_on_disk(dispatcher: Any) -> None:
    """Attach the disk cache to a compiled function, if numba's internals and a folder are available."""
    tools, directories = internals(), cache_directories()
    first_notice()
    if tools is not None and directories and hasattr(dispatcher, "py_func"):  # else numba is disabled
        tools.attach_cache(dispatcher, fingerprint(dispatcher), directories)
