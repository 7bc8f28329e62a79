"""How the methods of a user's class are found, without mistaking the user's own attributes for them."""

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

#: Those methods as :class:`bcfw.Model` itself has them, by their names; filled in where that class is defined.
DEFAULTS: dict[str, Any] = {}


def hook(model: Any, name: str) -> Callable[..., Any]:
    """The method of a model's class that overrides a hook, or else the one of :class:`bcfw.Model`.

    What an instance keeps under the name, or a class as anything but a method, is the user's own and is not read.
    """
    return _method(model, name).__get__(model, type(model))  # type: ignore[no-any-return]


def is_overridden(model: Any, name: str) -> bool:
    """Whether a model's class overrides a hook of :class:`bcfw.Model`."""
    return _method(model, name) is not DEFAULTS[name]


def hidden_hooks(model: Any) -> list[str]:
    """The hooks whose names a model uses for something of its own."""
    return [name for name in HOOKS if name in vars(model) or not _is_method(next(_inherited(model, name)))]


def _method(model: Any, name: str) -> Any:
    """The first method of that name in the order of inheritance."""
    return next(value for value in _inherited(model, name) if _is_method(value))


def _inherited(model: Any, name: str) -> Iterator[Any]:
    """What the model's class and those it derives from have under a name, whatever it is."""
    return (vars(kind)[name] for kind in type(model).__mro__ if name in vars(kind))


def _is_method(value: Any) -> bool:
    """Whether a class attribute is a function, be it static, of the class, or decorated; no property or object."""
    if isinstance(value, staticmethod | classmethod):
        return True
    return callable(value) and hasattr(value, "__get__") and not isinstance(value, type)


def bound_copy(model: Any, X: Any, y: Any, sample_weight: np.ndarray | None) -> Any:
    """What the hook ``bind`` makes of a model; a copy, if it returns the model itself.

    A ``bind`` that takes ``sample_weight`` gets the checked weights, or None.
    """
    bind = hook(model, "bind")
    more = {"sample_weight": sample_weight} if "sample_weight" in inspect.signature(bind).parameters else {}
    bound = bind(X, y, **more)
    if not hasattr(type(bound), "oracle"):
        raise ModelError(f"{type(model).__name__}.bind must return a copy of the model, got {bound!r}")
    return copy.copy(bound) if bound is model else bound


def checked_dim(model: Any) -> int:
    """The number of weights that a model says it has."""
    if not isinstance(model.dim, Integral) or isinstance(model.dim, bool) or model.dim < 1:
        raise ModelError(f"{type(model).__name__}: dim must be a whole number >= 1, got {model.dim!r}")
    return int(model.dim)
