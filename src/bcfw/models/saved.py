"""Models in model files: built-in models by name, options and sizes, a user's model only by the name of its class."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import Any

from bcfw.errors import InputError, OptionError
from bcfw.models import MODELS
from bcfw.models.hooks import checked_dim, hook
from bcfw.models.model import known_sizes
from bcfw.saved_arrays import SavedArrays
from bcfw.saved_values import decode, encode


def model_header(model: Any, name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON header of a model; arrays are added to ``arrays`` under names that begin with ``name``.

    The header of a built-in model has "model", its name in ``MODELS``; "options", the arguments of its constructor; and
    "sizes", all attributes that were set when the model was bound to data. The header of any other model has "class"
    and "sizes".
    """
    names = [word for word, kind in MODELS.items() if kind is type(model)]
    if not names:
        return {"class": type(model).__name__, "sizes": known_sizes(model)}
    kept = vars(model)
    options = [option for option in inspect.signature(type(model)).parameters if option in kept]
    return {
        "model": names[0],
        "options": {option: encode(kept[option], f"{name}.{option}", arrays) for option in options},
        "sizes": {size: encode(value, f"{name}.{size}", arrays) for size, value in kept.items() if size not in options},
    }


def require_given(header: Any, given: Any, source: str) -> None:
    """Raise unless the user gives a model if, and only if, the file needs one."""
    name = header.get("class") if isinstance(header, dict) else None
    if name is not None and not (isinstance(name, str) and name.isidentifier()):
        raise InputError(f"{source} has a class {name!r}, which is no name; get the file again")
    if name is not None and given is None:
        raise OptionError(
            f"{source} was trained with a model of your own, {name}, and files hold no code; give it: "
            f"bcfw.load(path, model={name}(...))"
        )
    if name is None and given is not None:
        raise OptionError(f"{source} has a model of bcfw itself; leave model out, it takes the place of your own ones")


def saved_options(header: dict[str, Any], given: Any, saved: SavedArrays) -> Any:
    """Return the saved model, not yet bound to data; for a user's class, return the given model."""
    if "class" in header:
        return given
    if header["model"] not in MODELS:
        raise saved.damaged("the header", f"has a model {header['model']!r}, which this bcfw does not have")
    return MODELS[header["model"]](**decode(header["options"], saved))


def saved_model(header: dict[str, Any], given: Any, saved: SavedArrays) -> Any:
    """Return the bound model. Its sizes are computed again, and must equal the sizes in the file."""
    sizes = decode(header["sizes"], saved)
    model = saved_options(header, given, saved)
    bound = with_sizes(model, sizes)
    found = {**vars(type(bound)), **vars(bound)}
    for name in ("dim", *sizes):
        if found.get(name) != sizes[name]:
            raise saved.damaged("the header", f"has {name} = {sizes[name]!r} where the model has {found.get(name)!r}")
    return bound


def with_sizes(model: Any, sizes: Mapping[str, Any]) -> Any:
    """Return a copy of a model, bound to data of the given sizes.

    For a user's class, the copy only gets ``dim``, unless the given model is bound already.
    """
    bound = copy.copy(model)
    built_in = isinstance(model, tuple(MODELS.values()))
    if built_in and (model.dim is None or type(model) in MODELS.values()):
        if getattr(bound, "n_labels", 0) is None:  # the example has too few labels to tell
            bound.n_labels = sizes["n_labels"]
        return hook(bound, "bind")(*bound._example_of_sizes(sizes))
    if bound.dim is None:
        bound.dim = sizes["dim"]
    checked_dim(bound)
    return bound
