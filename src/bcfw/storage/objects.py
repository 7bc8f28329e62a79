"""Models, solvers and other objects in model files: by the names of their classes and by their options.

The packages that define the classes enter them here when they are loaded, so that this module imports none of them.
Reading makes objects of these classes only, whatever a file says. Of an object of a user's own class a file holds the
name of the class.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bcfw.errors import InputError, OptionError
from bcfw.storage.checked_arrays import SavedArrays
from bcfw.storage.values import decode, encode

#: The built-in models by the names that files have; entered by :mod:`bcfw.models`.
MODELS: dict[str, type] = {}

#: The solvers by the names that files have; entered by :mod:`bcfw.solvers`.
SOLVERS: dict[str, type] = {}

#: The estimators by the names that files have; entered by :mod:`bcfw.estimators`.
ESTIMATORS: dict[str, type] = {}

#: Options that only another fit reads: where they are no data, a saved estimator has their defaults instead.
ONLY_FIT = ("callbacks", "random_state", "cv", "solver", "path_solver", "vectorizer")


class Kind(NamedTuple):
    """How objects of a class, and of classes that derive from it, are written as JSON and arrays, and read."""

    base: type
    encode: Callable[[Any, str, dict[str, Any]], Any]
    decode: Callable[[Any, Any, SavedArrays], Any]


#: Kinds of objects that options may hold, by the key that marks them in JSON.
KINDS: dict[str, Kind] = {}


def register(mark: str, base: type, encode: Callable[..., Any], decode: Callable[..., Any]) -> None:
    """Let options be objects of a class.

    Parameters
    ----------
    mark : str
        The key of such objects in JSON; it begins with ``$``.
    base : class
    encode : function of (value, name, arrays)
        Returns JSON; arrays are put into ``arrays``, by names that begin with ``name``.
    decode : function of (stored, given, saved)
        Returns the object; ``given`` is the user's own model, or None.
    """
    KINDS[mark] = Kind(base, encode, decode)


# --- models


def model_header(model: Any, name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON header of a model; arrays are added to ``arrays`` under names that begin with ``name``.

    The header of a built-in model has "model", its name in ``MODELS``; "options", the arguments of its constructor; and
    "sizes", all attributes that were set when the model was bound to data. The header of any other model has "class"
    and "sizes".
    """
    names = [word for word, kind in MODELS.items() if kind is type(model)]
    if not names:
        return {"class": type(model).__name__, "sizes": type(model)._known_sizes(model)}
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


def unbound_model(header: Mapping[str, Any], given: Any, saved: SavedArrays) -> Any:
    """Return the saved model, not yet bound to data; for a user's class, return the given model."""
    if "class" in header:
        return given
    if header["model"] not in MODELS:
        raise saved.damaged("the header", f"has a model {header['model']!r}, which this bcfw does not have")
    return MODELS[header["model"]](**decode(header["options"], saved))


def saved_model(header: Mapping[str, Any], given: Any, saved: SavedArrays) -> Any:
    """Return the bound model. Its sizes are computed again, and must equal the sizes in the file."""
    sizes = decode(header["sizes"], saved)
    model = unbound_model(header, given, saved)
    bound = type(model)._with_sizes(model, sizes)
    found = {**vars(type(bound)), **vars(bound)}
    for name in ("dim", *sizes):
        if found.get(name) != sizes[name]:
            raise saved.damaged("the header", f"has {name} = {sizes[name]!r} where the model has {found.get(name)!r}")
    return bound


# --- solvers


def solver_header(solver: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON header of a solver: "solver", the solver's name in ``SOLVERS``, and "options".

    The header has only "class", the name of the solver's class, if a user has defined the class or if an option cannot
    be saved as data (for example a function).
    """
    names = [word for word, kind in SOLVERS.items() if kind is type(solver)]
    try:
        options = {name: encode(getattr(solver, name), name, arrays) for name in type(solver)._options}
    except InputError:
        names = []
    return {"solver": names[0], "options": options} if names else {"class": type(solver).__name__}


def saved_solver(header: Mapping[str, Any], saved: SavedArrays) -> Any:
    """Return the solver that the header describes; None if the header has only the name of the solver's class."""
    if "class" in header:
        return None
    if header["solver"] not in SOLVERS:
        raise saved.damaged("the header", f"has a solver {header['solver']!r}, which this bcfw does not have")
    return SOLVERS[header["solver"]](**decode(header["options"], saved))


def encode_solver(solver: Any, name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON header of a solver that is an option of an estimator; raise if a file cannot hold the solver."""
    header = solver_header(solver, arrays)
    if "class" in header:
        raise InputError(f"{name} is a solver of your own, {header['class']}, or has options that are no data")
    return header


def decode_solver(header: Mapping[str, Any], given: Any, saved: SavedArrays) -> Any:
    """Return the solver that :func:`encode_solver` has written."""
    return saved_solver(header, saved)


# --- options of estimators


def option_headers(estimator: Any, arrays: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return an estimator's options as JSON, and the names of options left out because they cannot be saved as data."""
    if type(estimator) not in ESTIMATORS.values():
        raise InputError(
            f"{type(estimator).__name__} is a class of your own, and files hold no code; save its result_ instead"
        )
    options, left_out = {}, []
    for name, value in estimator.get_params(deep=False).items():
        try:
            options[name] = option_header(value, f"options.{name}", arrays)
        except InputError as error:
            if name not in ONLY_FIT:
                raise OptionError(f"{type(estimator).__name__}: {error}") from error
            left_out.append(name)
    return options, left_out


def option_header(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """Return one option or fitted attribute as JSON: a vectorizer, a model, a solver, or data."""
    for mark, kind in KINDS.items():
        if isinstance(value, kind.base):
            return {mark: kind.encode(value, name, arrays)}
    return encode(value, name, arrays)


def saved_options(kind: Any, headers: dict[str, Any], saved: SavedArrays, model: Any) -> dict[str, Any]:
    """Return the saved arguments of an estimator's constructor; ``model`` stands for a saved user's own model."""
    unknown = sorted(set(headers) - set(kind._get_param_names()))
    if unknown:
        raise saved.damaged("the header", f"has an option {unknown[0]!r}, which {kind.__name__} does not have")
    return {name: saved_option(stored, saved, model) for name, stored in headers.items()}


def saved_option(stored: Any, saved: SavedArrays, model: Any = None) -> Any:
    """Return the option or fitted attribute that :func:`option_header` has written."""
    for mark, kind in KINDS.items():
        if isinstance(stored, dict) and mark in stored:
            return kind.decode(stored[mark], model, saved)
    return decode(stored, saved)
