"""How the methods of a user's class are found, without mistaking the user's own attributes for them."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

from bcfw.errors import ModelError

#: Methods of :class:`bcfw.Model` that a class may override besides features, loss and oracle.
HOOKS = ("bind", "predict", "bounds", "upper_bound", "oracle_operations", "fingerprint")


def hook(model: Any, name: str) -> Callable[..., Any]:
    """The method of a model's class that overrides a hook, or else the one of :class:`bcfw.Model`.

    What an instance keeps under the name, or a class as anything but a method, is the user's own and is not read.
    """
    return _methods(model, name)[0].__get__(model, type(model))  # type: ignore[no-any-return]


def is_overridden(model: Any, name: str) -> bool:
    """Whether a model's class overrides a hook of :class:`bcfw.Model`."""
    return len(_methods(model, name)) > 1


def hidden_hooks(model: Any) -> list[str]:
    """The hooks whose names a model uses for something of its own."""
    return [name for name in HOOKS if name in vars(model) or not _is_method(type(model), name)]


def _methods(model: Any, name: str) -> list[Any]:
    """The methods of that name in the order of inheritance; the last is that of :class:`bcfw.Model`."""
    return [vars(kind)[name] for kind in type(model).__mro__ if name in vars(kind) and _is_method(kind, name)]


def _is_method(kind: type, name: str) -> bool:
    """Whether a class has a function under a name, be it static or decorated; no other value, class or property."""
    return callable(getattr(kind, name)) and not isinstance(getattr(kind, name), type)


def checked_dim(model: Any) -> int:
    """The number of weights that a model says it has."""
    if not isinstance(model.dim, Integral) or isinstance(model.dim, bool) or model.dim < 1:
        raise ModelError(f"{type(model).__name__}: dim must be a whole number >= 1, got {model.dim!r}")
    return int(model.dim)
