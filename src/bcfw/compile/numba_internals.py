"""Compilation options and a disk cache built on numba's private interfaces; the only module that uses them.

:mod:`bcfw.compile.numba_guard` decides whether this module is used.

Functions that only compiled code calls
    numba makes machine code for every function, and then optimises the function once more as a part of each caller.
    Python calls only the outermost function, the pass. With this module, inner functions are not optimised until they
    are a part of the pass: compilation takes 40 % less time, and the optimiser sees the whole pass at once. In the pass
    they are marked as internal, because nothing else calls them: functions with one use are inlined, and calls do not
    copy arguments that are not read. Recursive functions are compiled as usual, because numba may call them by the
    addresses of their machine code.

Literals
    numba compiles a function again for every literal argument, which is of no use if the function is inlined.

References
----------
    Routines that neither create arrays nor return views need no reference counts, and numba can omit the code for them.
The disk cache
    numba's cache checks only the file of the outermost function. With the cache of this module, the caller gives the
    name and the stamp of the cache file.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import binding, ir
from numba.core import caching, errors, event, types
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import Compiler

#: Prefix of numba's variables that point to the environment of a function, which printing and raising need.
_ENVIRONMENT = "_ZN08NumbaEnv"

#: Seconds between two calls of the notices while a function is compiled.
NOTICE_SECONDS = 1.0


def _global_names(library: Any) -> list[str]:
    return [variable.name for variable in library._final_module.global_variables]


def needs_addresses(library: Any) -> bool:
    """Return whether the code calls functions by their addresses in this process, as numba's recursive functions do."""
    return any(name.startswith(RuntimeLinker.PREFIX) for name in _global_names(library))


class _Inner(JITCodeLibrary):
    """The code of an inner function and of the functions that it calls, not optimised and without machine code."""

    def _optimize_final_module(self) -> None:
        """Do nothing: the optimiser works on the whole pass of which this function becomes a part."""

    def _finalize_final_module(self) -> None:
        self._define_environments()
        self._finalized = True

    def _define_environments(self) -> None:
        """Define the variables for pointers to environments, which numba sets next."""
        engine = self._codegen._engine
        module = self._codegen._create_empty_module(self.name)
        pointer = ir.IntType(8).as_pointer()
        for name in _global_names(self):
            if name.startswith(_ENVIRONMENT) and not engine.is_symbol_defined(name):
                variable = ir.GlobalVariable(module, pointer, name)
                variable.linkage, variable.initializer = "common", ir.Constant(pointer, None)
        self._codegen._add_module(binding.parse_assembly(str(module)))


class _Pass(JITCodeLibrary):
    """The code of a function that Python calls, together with the functions that it calls."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect garbage rarely in this context: numba makes many objects and frees few, so that scans would cost 8 %."""
    before = gc.get_threshold()
    if before[0] > 0:
        gc.set_threshold(max(before[0], 50_000), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class EntryCompiler(Compiler):
    """numba's compiler, for ``njit(pipeline_class=...)`` of functions that Python calls."""

    library_class: type[JITCodeLibrary] = _Pass

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *more: Any) -> None:
        if library is None:
            library = self.library_class(targetctx.codegen(), __name__)
            library.enable_object_caching()
        super().__init__(typingctx, targetctx, library, *more)

    def compile_extra(self, func: Any) -> Any:
        with _rare_collections():
            return super().compile_extra(func)


class InnerCompiler(EntryCompiler):
    """numba's compiler, for ``njit(pipeline_class=...)`` of functions that only compiled code calls."""

    library_class = _Inner


def entry_options(allocates: bool) -> dict[str, Any]:
    """Return the options of ``njit`` for a function that Python calls."""
    return {"_nrt": allocates, "pipeline_class": EntryCompiler}


def ignore_literals(dispatcher: Any) -> None:
    """Let numba compile a function once per argument type, and not again for every literal argument.

    If the code needs the value of a literal, for example as an index into a tuple, numba compiles it for the literal.
    """
    resolve = getattr(dispatcher, "get_call_template", None)
    if resolve is None:  # numba is disabled
        return

    def resolve_once(args: Any, kws: Any) -> Any:
        try:
            return resolve(tuple(map(types.unliteral, args)), kws)
        except (errors.TypingError, errors.ForceLiteralArg):
            return resolve(args, kws)

    dispatcher.get_call_template = resolve_once


def inner_options(allocates: bool, inlined: bool, recursive: bool) -> dict[str, Any]:
    """Return the options of ``njit`` for a function that only compiled code calls.

    Without wrappers for Python, compilation takes half the time. A call copies every field of every record; therefore
    most functions are inlined.
    """
    options = {"_nrt": allocates, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": inlined}
    return options if recursive else {**options, "pipeline_class": InnerCompiler}


class _Locator(caching._CacheLocator):
    """Tells numba to put a function's cache file into a given directory, named by its fingerprint."""

    def __init__(self, function: Any, stamp: str, directory: Path) -> None:
        self._py_file = function.__code__.co_filename
        self._directory = directory
        self._stamp = stamp

    def get_cache_path(self) -> str:
        return str(self._directory)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return self._stamp[:20]


class _Files(caching.CompileResultCacheImpl):
    """Names and (de)serialises the cache files of one function."""

    def __init__(self, function: Any, stamp: str, directory: Path) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Locator(function, stamp, directory)
        self._filename_base = self.get_filename_base(f"{function.__module__}.{function.__name__}", "")


class _IndexAndData(caching.IndexDataCacheFile):
    """Index and data files of a cached function, with every data file named by a hash of its key.

    numba numbers the data files. With numbers, two processes that save code for different types or processors at the
    same time could write to the same file, and one of them would load the wrong code.
    """

    def save(self, key: Any, data: Any) -> None:
        digest = hashlib.sha256(repr(key).encode()).digest()
        name = self._data_name(int.from_bytes(digest[:8], "big"))
        self._save_data(name, data)  # written before the index names it
        self._save_index({**self._load_index(), key: name})


class _Cache(caching.FunctionCache):
    """numba's cache of one function, over several directories: all are read, the last is written to."""

    def __init__(self, function: Any, stamp: str, directories: list[Path]) -> None:
        self._before = _Cache(function, stamp, directories[:-1]) if len(directories) > 1 else None
        self._impl_class = lambda py_func: _Files(py_func, stamp, directories[-1])  # type: ignore[assignment]
        super().__init__(function)
        self._cache_file = _IndexAndData(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code, or None if it is not cached.

        A file that cannot be read (truncated, or from another machine) counts as absent: its code is compiled again.
        """
        found = None if self._before is None else self._before.load_overload(sig, target_context)
        if found is not None:
            return found
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code unless it contains addresses of this process.

        An unreadable index is replaced; if the code cannot be written, for example to a full disk, nothing is saved.
        """
        try:
            if not needs_addresses(data.library):
                super().save_overload(sig, data)
        except Exception:
            with contextlib.suppress(Exception):
                self.flush()
                super().save_overload(sig, data)


def attach_cache(dispatcher: Any, stamp: str, directories: list[Path]) -> None:
    """Let a compiled function use cache files named by ``stamp``; new files are written to the last directory."""
    dispatcher._cache = _Cache(dispatcher.py_func, stamp, directories)


class CompileClock(event.Listener):
    """Measures the time that numba spends in compilation, and calls notices when compilation begins.

    At any time numba compiles only one outermost function, however many threads there are; it compiles the functions
    that this function calls as a part of it. Loading compiled code from disk does not count.

    Attributes
    ----------
    notices : list of functions
        Each is called with a Python function: before an outermost function is compiled, and then every second, from
        another thread, until the compilation ends.
    """

    def __init__(self) -> None:
        self.notices: list[Callable[[Any], None]] = []
        self._done = threading.Event()
        self._total = 0.0
        self._began = 0.0
        self._depth = 0

    @property
    def seconds(self) -> float:
        """Seconds of compilation in this process since the clock was made."""
        return self._total + (time.perf_counter() - self._began if self._depth else 0.0)

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._began = time.perf_counter()
            self._done = threading.Event()
            function = event.data["dispatcher"].py_func
            self._tell(function)
            if self.notices:
                threading.Thread(target=self._keep_telling, args=(function, self._done), daemon=True).start()

    def on_end(self, event: Any) -> None:
        if self._depth == 1:
            self._total += time.perf_counter() - self._began
            self._done.set()
        self._depth = max(0, self._depth - 1)  # the clock may have been made while a function was being compiled

    def _tell(self, function: Any) -> None:
        for notice in tuple(self.notices):
            notice(function)

    def _keep_telling(self, function: Any, done: threading.Event) -> None:
        while not done.wait(NOTICE_SECONDS):
            self._tell(function)


@functools.cache
def compile_clock() -> CompileClock:
    """Return the only clock of the process; it is never unregistered, because another thread may be calling it."""
    clock = CompileClock()
    event.register("numba:compile", clock)
    return clock


def check() -> None:
    """Raise unless a trial function compiles with the options above, computes the right value, and loads from disk."""
    compiled: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for attempt in ("first", "second"):
            trial = numba.njit(nogil=True, **entry_options(allocates=False))(_total)
            attach_cache(trial, "trial" * 5, [Path(folder)])
            before = compile_clock().seconds
            found = trial(np.arange(4.0))
            if compile_clock().seconds > before:
                compiled.append(attempt)
            if found != 12.0:
                raise RuntimeError(f"a trial function returned {found} instead of 12")
    if "second" in compiled:
        raise RuntimeError("a trial function was compiled again although it had been saved")


def _twice(x: Any) -> Any:
    return 2.0 * x


_compiled_twice = numba.njit(**inner_options(allocates=False, inlined=True, recursive=False))(_twice)
ignore_literals(_compiled_twice)


def _total(x: Any) -> Any:
    result = 0.0
    for j in range(x.shape[0]):
        result += _compiled_twice(x[j])
    return result
