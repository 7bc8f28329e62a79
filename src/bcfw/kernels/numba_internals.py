"""All that this package uses of numba beyond its documented interface; :mod:`bcfw.kernels.guard` decides whether.

Functions that only compiled code calls
    numba turns every function into machine code of its own, and then optimises it once more as a part of each function
    that calls it. Python only ever calls the outermost one, the pass. Here all other functions are left unoptimised
    until they are a part of the pass: that takes 40 % off the time to compile it, and the optimiser sees the whole pass
    at once. There they are marked as internal, since nothing else calls them: what has one use is inlined, and no call
    copies what is not read. Recursive functions cannot be compiled in this way: numba may call them by the addresses of
    their machine code.

Literals
    numba compiles a function anew for every literal that it is called with, which is of no use where it is inlined.

References
----------
    Kernels that neither create arrays nor return views need no counting of references, which numba can leave out.
The disk cache
    numba's cache stamps only the file of the outermost function. Ours has a name and a stamp that the caller gives.
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

#: How numba names the variable that points to a function's environment: what its printing and raising need.
_ENVIRONMENT = "_ZN08NumbaEnv"

#: Seconds between signs of life while a function is compiled.
NOTICE_SECONDS = 1.0


def _global_names(library: Any) -> list[str]:
    return [variable.name for variable in library._final_module.global_variables]


def needs_addresses(library: Any) -> bool:
    """Whether the code calls functions by their addresses in this process, as numba does where they are recursive."""
    return any(name.startswith(RuntimeLinker.PREFIX) for name in _global_names(library))


class _Inner(JITCodeLibrary):
    """The code of a function and of all that it calls, neither optimised nor turned into machine code."""

    def _optimize_final_module(self) -> None:
        """Do nothing: the pass that this function becomes a part of is optimised as a whole."""

    def _finalize_final_module(self) -> None:
        self._define_environments()
        self._finalized = True

    def _define_environments(self) -> None:
        """Make room for the pointers to the environments, which numba is about to set."""
        engine = self._codegen._engine
        module = self._codegen._create_empty_module(self.name)
        pointer = ir.IntType(8).as_pointer()
        for name in _global_names(self):
            if name.startswith(_ENVIRONMENT) and not engine.is_symbol_defined(name):
                variable = ir.GlobalVariable(module, pointer, name)
                variable.linkage, variable.initializer = "common", ir.Constant(pointer, None)
        self._codegen._add_module(binding.parse_assembly(str(module)))


class _Pass(JITCodeLibrary):
    """The code of a function that Python calls, and of all that it calls."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == binding.Linkage.linkonce_odr:
                function.linkage = "internal"
        super()._optimize_final_module()


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect garbage rarely in this context: numba makes many objects and drops few, and looking at them costs 8 %."""
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
    """The same for functions that only compiled code calls."""

    library_class = _Inner


def entry_options(allocates: bool) -> dict[str, Any]:
    """Options of ``njit`` for a function that Python calls."""
    return {"_nrt": allocates, "pipeline_class": EntryCompiler}


def ignore_literals(dispatcher: Any) -> None:
    """Compile a function once for all values of an argument of one type: numba does it anew for every literal.

    Where the code needs to know the value, as an index into a tuple, it is compiled as numba would.
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
    """Options of ``njit`` for a function that only compiled code calls.

    Without wrappers for Python it compiles in half the time. A call copies every field of every record, so most
    functions are inlined.
    """
    options = {"_nrt": allocates, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": inlined}
    return options if recursive else {**options, "pipeline_class": InnerCompiler}


class _Locator(caching._CacheLocator):
    """Places a function's cache file in our directory, under its fingerprint."""

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
    """Names every data file by what it holds.

    numba numbers them. Two processes that save code for other types, or for other processors, at the same time could
    write to one number then, and each would load what the other has written.
    """

    def save(self, key: Any, data: Any) -> None:
        digest = hashlib.sha256(repr(key).encode()).digest()
        name = self._data_name(int.from_bytes(digest[:8], "big"))
        self._save_data(name, data)  # before the index says that it is there
        self._save_index({**self._load_index(), key: name})


class _Cache(caching.FunctionCache):
    """numba's per-function cache over our files, with others before it that are only read."""

    def __init__(self, function: Any, stamp: str, directories: list[Path]) -> None:
        self._before = _Cache(function, stamp, directories[:-1]) if len(directories) > 1 else None
        self._impl_class = lambda py_func: _Files(py_func, stamp, directories[-1])  # type: ignore[assignment]
        super().__init__(function)
        self._cache_file = _IndexAndData(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """A file that cannot be read (cut short, or of another machine) counts as absent: it is compiled again."""
        found = None if self._before is None else self._before.load_overload(sig, target_context)
        if found is not None:
            return found
        try:
            return super().load_overload(sig, target_context)
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save what another process can use; an index that cannot be read is begun anew, a full disk is no error."""
        try:
            if not needs_addresses(data.library):
                super().save_overload(sig, data)
        except Exception:
            with contextlib.suppress(Exception):
                self.flush()
                super().save_overload(sig, data)


def attach_cache(dispatcher: Any, stamp: str, directories: list[Path]) -> None:
    """Let a compiled function load from files that are named by its stamp; new ones go to the last directory."""
    dispatcher._cache = _Cache(dispatcher.py_func, stamp, directories)


class CompileClock(event.Listener):
    """Adds up the time that numba compiles, and tells others when it begins.

    numba compiles one function at a time, whatever the number of threads, and those that a function calls within it.
    Loading compiled code from disk does not count.

    Attributes
    ----------
    notices : list of functions of a Python function
        Each is called before a function is compiled that no other one has asked for, and then every second, from
        another thread, as long as that takes.
    """

    def __init__(self) -> None:
        self.notices: list[Callable[[Any], None]] = []
        self._done = threading.Event()
        self._total = 0.0
        self._began = 0.0
        self._depth = 0

    @property
    def seconds(self) -> float:
        """So far, in this process, since the clock was made."""
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
        self._depth = max(0, self._depth - 1)  # it may have been made while a function was being compiled

    def _tell(self, function: Any) -> None:
        for notice in tuple(self.notices):
            notice(function)

    def _keep_telling(self, function: Any, done: threading.Event) -> None:
        while not done.wait(NOTICE_SECONDS):
            self._tell(function)


@functools.cache
def compile_clock() -> CompileClock:
    """The one clock of the process. It is never taken away: numba may be telling its listeners in another thread."""
    clock = CompileClock()
    event.register("numba:compile", clock)
    return clock


def check() -> None:
    """Raise unless a trial function compiles by the options above, computes rightly, and comes back from the disk."""
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
