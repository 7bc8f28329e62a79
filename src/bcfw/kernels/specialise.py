"""One source for all models: a template is copied with a model's kernels bound to its global names.

A *template* is a plain Python function that calls kernels by name (``scores``, ``argmax``, ...: the names in
:mod:`bcfw.passes.contract`). :class:`KernelSet` copies the template, and every plain function it reaches, with
these names bound to one model's kernels. The copy is compiled by numba, or left as Python for models whose
kernels are Python: both run the same control flow.
"""

from __future__ import annotations

import dis
import functools
import sys
import threading
import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from bcfw.kernels.guard import internals

F = TypeVar("F", bound=Callable[..., Any])

#: Reductions may be reordered and fused (they vectorise); NaN and infinity keep their meaning.
FASTMATH = frozenset({"reassoc", "nsz", "arcp", "contract"})


_NOT_INLINED: set[types.CodeType] = set()

#: While one thread specialises templates, others wait: they would find functions whose globals are not bound yet.
_ONE_AT_A_TIME = threading.RLock()


def not_inlined(template: F) -> F:
    """Mark a template that is compiled once and called, not inlined where it is used: long code with many uses."""
    _NOT_INLINED.add(template.__code__)
    return template


def variant(template: F, **bindings: Any) -> F:
    """A copy of a template that finds other functions or constants under some of its global names."""
    scope = {**template.__globals__, **bindings}
    return _function_like(template, scope, template.__module__)


def _function_like(template: Any, scope: dict[str, Any], module: str) -> Any:
    """The same function with other globals."""
    copy: Any = types.FunctionType(
        template.__code__, scope, template.__name__, template.__defaults__, template.__closure__
    )
    copy.__kwdefaults__ = template.__kwdefaults__
    copy.__qualname__, copy.__module__ = template.__qualname__, module
    return copy


def source(function: Any) -> Any:
    """The Python function behind one that was decorated with ``njit``; anything else as it is."""
    if not hasattr(function, "py_func"):
        return function
    import numba

    return function.py_func if numba.extending.is_jitted(function) else function


@functools.cache
def global_names(code: types.CodeType) -> set[str]:
    """Every name that ``code``, or a function nested in it, looks up as a global."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= global_names(const)
    return names


class KernelSet:
    """A model's kernels by name, and the templates specialised to them so far.

    Parameters
    ----------
    bindings : mapping
        Functions (plain Python, or already compiled by numba) and record classes by the name under which
        templates call them.
    compiled : bool
        Compile with numba (GIL released), or leave everything interpreted.
    allocates : bool
        Whether compiled kernels may create arrays or return views of arrays. Without, numba counts no references,
        which on small problems costs more than the arithmetic (2 of 9 microseconds of a step on a chain).
    checks_indices : bool
        Whether compiled code raises an IndexError instead of reading or writing outside an array.
    """

    def __init__(
        self,
        bindings: Mapping[str, Any],
        compiled: bool = True,
        allocates: bool = False,
        checks_indices: bool = False,
    ) -> None:
        self.bindings = dict(bindings)
        self.compiled = compiled
        self.allocates = allocates
        self.checks_indices = checks_indices
        self._copies: dict[types.FunctionType, Any] = {}
        self._entries: dict[types.FunctionType, Callable[..., Any]] = {}

    def entry(self, template: Callable[..., Any]) -> Callable[..., Any]:
        """``template`` specialised to this set, callable from Python; compiled code is kept on disk."""
        assert isinstance(template, types.FunctionType)
        found = self._entries.get(template)  # whole, if it is there: it is published last
        return found if found is not None else self._make_entry(template)

    def _make_entry(self, template: types.FunctionType) -> Callable[..., Any]:
        with _ONE_AT_A_TIME:
            if template not in self._entries:
                function = self._copy(template, from_python=True)
                if self.compiled:
                    from bcfw.kernels.disk_cache import keep_on_disk

                    keep_on_disk(function)
                self._entries[template] = function
            return self._entries[template]

    def rebound(self, **bindings: Any) -> KernelSet:
        """The same kernels but for some."""
        return KernelSet({**self.bindings, **bindings}, self.compiled, self.allocates, self.checks_indices)

    @functools.cached_property
    def checked(self) -> KernelSet:
        """The same kernels, compiled so that every index is checked. As in numpy, negative ones count from the end."""
        return KernelSet(self.bindings, self.compiled, self.allocates, checks_indices=True)

    def interpreted(self) -> KernelSet:
        """The same kernels without compilation: the reference that tests compare with."""
        return KernelSet(self.bindings, compiled=False)

    def _specialise(self, value: Any) -> Any:
        """Functions are copied once and shared by all entries; everything else is used as it is."""
        if not isinstance(value, types.FunctionType):
            return value
        return self._copies.get(value) or self._copy(value, from_python=False)

    def _copy(self, template: types.FunctionType, from_python: bool) -> Any:
        # numba looks the module up when it loads compiled code from disk, so it has to be one that can be imported.
        module = template.__module__ if template.__module__ in sys.modules else __name__
        scope: dict[str, Any] = {"__builtins__": __builtins__, "__name__": module}
        copy = _function_like(template, scope, module)
        if self.compiled:
            copy = self._compile(copy, from_python, self._is_recursive(template))
        if not from_python:
            self._copies[template] = copy  # before its scope is filled: functions may call each other
        for name in global_names(template.__code__):
            if name in self.bindings or name in template.__globals__:
                scope[name] = self._specialise(self._global(template, name))
        return copy

    def _global(self, template: types.FunctionType, name: str) -> Any:
        """What a template finds under a name: a binding, or else a global of its module.

        A function that a user has compiled with ``njit`` checks no indices: where they matter, its source is taken.
        """
        found = self.bindings.get(name, template.__globals__.get(name))
        return source(found) if self.checks_indices or not self.compiled else found

    def _is_recursive(self, template: types.FunctionType) -> bool:
        """Whether a function reaches itself."""
        seen: set[types.FunctionType] = set()
        ahead = [template]
        while ahead:
            function = ahead.pop()
            for name in global_names(function.__code__):
                value = self._global(function, name)
                if value is template:
                    return True
                if isinstance(value, types.FunctionType) and value not in seen:
                    seen.add(value)
                    ahead.append(value)
        return False

    def _compile(self, function: types.FunctionType, from_python: bool, recursive: bool) -> Any:
        import numba

        options: dict[str, Any] = {"nogil": True, "fastmath": set(FASTMATH), "error_model": "numpy"}
        if self.checks_indices:
            options["boundscheck"] = True
        tools = internals()
        if tools is not None and from_python:
            options |= tools.entry_options(self.allocates)
        elif tools is not None:
            options |= tools.inner_options(self.allocates, function.__code__ not in _NOT_INLINED, recursive)
        decorate: Any = numba.njit(**options)
        dispatcher = decorate(function)
        if tools is not None and not from_python:
            tools.ignore_literals(dispatcher)
        return dispatcher


_STANDALONE = KernelSet({})


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that needs no model, compiled on its first call and kept on disk."""
    return _STANDALONE.entry(function)
