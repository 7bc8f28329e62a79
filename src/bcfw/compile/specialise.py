"""Specialisation: one template serves all models, because it is copied with a model's routines bound to its globals.

A *template* is a plain Python function that calls routines by name (``scores``, ``argmax``, ...: the names in
:mod:`bcfw.passes.contract`). :class:`RoutineSet` copies the template, and every plain function that it reaches, with
these names bound to one model's routines. numba compiles the copy; for models whose routines are Python methods the
copy stays interpreted. Both run the same control flow.
"""

from __future__ import annotations

import dis
import functools
import sys
import threading
import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from bcfw.compile.numba_guard import internals

F = TypeVar("F", bound=Callable[..., Any])

#: LLVM's fast-math flags: reductions may be reordered and fused, so that they vectorise; NaN and infinity stay valid.
FASTMATH = frozenset({"reassoc", "nsz", "arcp", "contract"})


_NOT_INLINED: set[types.CodeType] = set()

#: Held by the thread that specialises templates; other threads would find functions whose globals are not bound yet.
_ONE_AT_A_TIME = threading.RLock()


def not_inlined(template: F) -> F:
    """Mark a template that is compiled once and called, not inlined; for long code with many uses."""
    _NOT_INLINED.add(template.__code__)
    return template


def variant(template: F, **bindings: Any) -> F:
    """Return a copy of a template with other functions or constants bound to some of its global names."""
    scope = {**template.__globals__, **bindings}
    return _function_like(template, scope, template.__module__)


def _function_like(template: Any, scope: dict[str, Any], module: str) -> Any:
    """Return a copy of a function with the globals ``scope``, which says that it is from ``module``."""
    copy: Any = types.FunctionType(
        template.__code__, scope, template.__name__, template.__defaults__, template.__closure__
    )
    copy.__kwdefaults__ = template.__kwdefaults__
    copy.__qualname__, copy.__module__ = template.__qualname__, module
    return copy


def source(function: Any) -> Any:
    """Return the Python function behind a function decorated with ``njit``; return any other object unchanged."""
    if not hasattr(function, "py_func"):
        return function
    import numba

    return function.py_func if numba.extending.is_jitted(function) else function


@functools.cache
def global_names(code: types.CodeType) -> set[str]:
    """Return the names that ``code``, or a function nested in it, looks up as globals."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= global_names(const)
    return names


class RoutineSet:
    """A model's routines by name, and the templates specialised to them so far.

    Parameters
    ----------
    bindings : mapping
        Functions (plain Python, or already compiled by numba) and record classes, by the name under which templates
        call them.
    compiled : bool
        Whether numba compiles the templates (with the GIL released), or they stay interpreted.
    allocates : bool
        Whether compiled routines may create arrays or return views of arrays. If not, numba omits reference counts,
        which on small problems can cost more than the arithmetic (2 of 9 microseconds of a step on a chain).
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
        self._passes: dict[types.FunctionType, Callable[..., Any]] = {}

    def compiled_pass(self, template: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``template`` specialised to this set, callable from Python; compiled code is cached on disk."""
        assert isinstance(template, types.FunctionType)
        found = self._passes.get(template)  # complete if present: _make_pass enters it last
        return found if found is not None else self._make_pass(template)

    def _make_pass(self, template: types.FunctionType) -> Callable[..., Any]:
        with _ONE_AT_A_TIME:
            if template not in self._passes:
                function = self._copy(template, from_python=True)
                if self.compiled:
                    from bcfw.compile.disk_cache import keep_on_disk

                    keep_on_disk(function)
                self._passes[template] = function
            return self._passes[template]

    def rebound(self, **bindings: Any) -> RoutineSet:
        """Return a copy of this set with some names bound to other functions or constants."""
        return RoutineSet({**self.bindings, **bindings}, self.compiled, self.allocates, self.checks_indices)

    @functools.cached_property
    def checked(self) -> RoutineSet:
        """A copy of this set whose compiled code checks every index; negative indices count from the end."""
        return RoutineSet(self.bindings, self.compiled, self.allocates, checks_indices=True)

    def interpreted(self) -> RoutineSet:
        """Return a copy of this set without compilation: the reference that tests compare with."""
        return RoutineSet(self.bindings, compiled=False)

    def _specialise(self, value: Any) -> Any:
        """Return the specialised copy of a function, which all entries share; return any other object unchanged."""
        if not isinstance(value, types.FunctionType):
            return value
        return self._copies.get(value) or self._copy(value, from_python=False)

    def _copy(self, template: types.FunctionType, from_python: bool) -> Any:
        # numba looks up the module when it loads compiled code from disk, so the module must be importable.
        module = template.__module__ if template.__module__ in sys.modules else __name__
        scope: dict[str, Any] = {"__builtins__": __builtins__, "__name__": module}
        copy = _function_like(template, scope, module)
        if self.compiled:
            copy = self._compile(copy, from_python, self._is_recursive(template))
        if not from_python:
            self._copies[template] = copy  # before its scope is filled, because functions may call each other
        for name in global_names(template.__code__):
            if name in self.bindings or name in template.__globals__:
                scope[name] = self._specialise(self._global(template, name))
        return copy

    def _global(self, template: types.FunctionType, name: str) -> Any:
        """Return the object that a template finds under a name: a binding, or else a global of its module.

        A function that a user has compiled with ``njit`` does not check indices; for checked or interpreted code, its
        Python source is taken.
        """
        found = self.bindings.get(name, template.__globals__.get(name))
        return source(found) if self.checks_indices or not self.compiled else found

    def _is_recursive(self, template: types.FunctionType) -> bool:
        """Return whether a function reaches itself through its calls."""
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


_STANDALONE = RoutineSet({})


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that needs no model, compiled on its first call and cached on disk."""
    return _STANDALONE.compiled_pass(function)
