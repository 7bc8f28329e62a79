"""Hooks, the methods of bcfw.Model that a user's class may override: lookup that ignores attributes of that name."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np

from bcfw.errors import ModelError

#: Methods of :class:`bcfw.Model` that a class may override besides features, loss and oracle.
HOOKS = ("bind", "predict", "bounds", "upper_bound", "oracle_operations", "fingerprint")

#: The default implementation of every hook in :class:`bcfw.Model`, by name; filled in where that class is defined.
DEFAULTS: dict[str, Any] = {}


def hook(model: Any, name: str) -> Callable[..., Any]:
    """Return a hook bound to a model: the method that the model's class defines, or else the default.

    Attributes of the instance with that name, and class attributes that are not methods, belong to the user and are
    ignored.
    """
    return _method(model, name).__get__(model, type(model))  # type: ignore[no-any-return]


def is_overridden(model: Any, name: str) -> bool:
    """Return whether a model's class overrides a hook of :class:`bcfw.Model`."""
    return _method(model, name) is not DEFAULTS[name]


def hidden_hooks(model: Any) -> list[str]:
    """Return the hooks whose names a model uses for an attribute that is not a method."""
    return [name for name in HOOKS if name in vars(model) or not _is_method(next(_inherited(model, name)))]


def _method(model: Any, name: str) -> Any:
    """Return the first method of that name in the method resolution order."""
    return next(value for value in _inherited(model, name) if _is_method(value))


def _inherited(model: Any, name: str) -> Iterator[Any]:
    """Yield the attributes with that name of the model's class and of its base classes, of any type."""
    return (vars(kind)[name] for kind in type(model).__mro__ if name in vars(kind))


def _is_method(value: Any) -> bool:
    """Return whether a class attribute is a method (plain, static, class or decorated), not a property or an object."""
    if isinstance(value, staticmethod | classmethod):
        return True
    return callable(value) and hasattr(value, "__get__") and not isinstance(value, type)


def bound_copy(model: Any, X: Any, y: Any, sample_weight: np.ndarray | None) -> Any:
    """Return the result of the hook ``bind``; if ``bind`` returns the model itself, a copy of the model.

    If ``bind`` has a parameter ``sample_weight``, it gets the checked weights or None.
    """
    bind = hook(model, "bind")
    more = {"sample_weight": sample_weight} if "sample_weight" in inspect.signature(bind).parameters else {}
    bound = bind(X, y, **more)
    if not hasattr(type(bound), "oracle"):
        raise ModelError(f"{type(model).__name__}.bind must return a copy of the model, got {bound!r}")
    return copy.copy(bound) if bound is model else bound


def checked_dim(model: Any) -> int:
    """Return ``model.dim``. Raise a :class:`ModelError` unless it is a whole number >= 1."""
    if not isinstance(model.dim, Integral) or isinstance(model.dim, bool) or model.dim < 1:
        raise ModelError(f"{type(model).__name__}: dim must be a whole number >= 1, got {model.dim!r}")
    return int(model.dim)
