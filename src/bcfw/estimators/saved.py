"""Options of estimators in model files."""

from __future__ import annotations

from typing import Any

from bcfw.errors import InputError, OptionError
from bcfw.estimators.attributes import AttributeVectorizer
from bcfw.model_file import pack_strings, unpack_strings
from bcfw.models import Model
from bcfw.models.saved import model_header
from bcfw.models.saved import saved_options as saved_model_options
from bcfw.options import Count
from bcfw.saved_arrays import SavedArrays
from bcfw.saved_values import decode, encode
from bcfw.solvers import Solver
from bcfw.solvers.saved import saved_solver, solver_header
from bcfw.tagging.vocabulary import MOST_HASHED, HashedColumns, Vocabulary

#: Options that only another fit reads: where they are no data, a saved estimator has their defaults instead.
ONLY_FIT = ("callbacks", "random_state", "cv", "solver", "path_solver", "vectorizer")


def option_headers(estimator: Any, arrays: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """An estimator's options as JSON, and the names of those that are left out, because they are no data."""
    if type(estimator).__module__.split(".")[0] != "bcfw":
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
    """One option, or fitted attribute, as JSON: a vectorizer, a model, a solver, or data."""
    if type(value) is AttributeVectorizer:
        return {"$vectorizer": vectorizer_header(value, name, arrays)}
    if isinstance(value, Model):
        return {"$model": model_header(value, name, arrays)}
    if not isinstance(value, Solver):
        return encode(value, name, arrays)
    header = solver_header(value, arrays)
    if "class" in header:
        raise InputError(f"{name} is a solver of your own, {header['class']}, or has options that are no data")
    return {"$solver": header}


def saved_options(kind: Any, headers: dict[str, Any], saved: SavedArrays, model: Any) -> dict[str, Any]:
    """The arguments of an estimator's constructor; ``model`` takes the place of a user's own."""
    unknown = sorted(set(headers) - set(kind._get_param_names()))
    if unknown:
        raise saved.damaged("the header", f"has an option {unknown[0]!r}, which {kind.__name__} does not have")
    return {name: saved_option(stored, saved, model) for name, stored in headers.items()}


def saved_option(stored: Any, saved: SavedArrays, model: Any = None) -> Any:
    """The opposite of :func:`option_header`."""
    if isinstance(stored, dict) and "$vectorizer" in stored:
        return saved_vectorizer(stored["$vectorizer"], saved)
    if isinstance(stored, dict) and "$model" in stored:
        return saved_model_options(stored["$model"], model, saved)
    if isinstance(stored, dict) and "$solver" in stored:
        return saved_solver(stored["$solver"], saved)
    return decode(stored, saved)


def vectorizer_header(vectorizer: AttributeVectorizer, name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """A vectorizer as JSON; the names of attributes that it has learned are put into ``arrays``.

    These are "options", and "columns": None before it is fitted, else their number if they are hashed, or the name of
    the array with their names.
    """
    options = {option: encode(value, option, arrays) for option, value in vectorizer.get_params().items()}
    vocabulary = vars(vectorizer).get("vocabulary_")
    if vocabulary is None:
        return {"options": options, "columns": None}
    if isinstance(vocabulary, HashedColumns):
        return {"options": options, "columns": len(vocabulary)}
    columns = f"{name}.names"
    arrays |= pack_strings(columns, vocabulary.names)
    return {"options": options, "columns": columns}


def saved_vectorizer(header: dict[str, Any], saved: SavedArrays) -> AttributeVectorizer:
    """The opposite of :func:`vectorizer_header`."""
    vectorizer, columns = AttributeVectorizer(**decode(header["options"], saved)), header["columns"]
    if isinstance(columns, str):
        names = unpack_strings(saved, columns)
        vectorizer.vocabulary_ = Vocabulary(names)
        if len(vectorizer.vocabulary_) != len(names):
            raise saved.damaged(columns, "has a name twice")
    elif columns is not None:
        vectorizer.vocabulary_ = HashedColumns(Count(1, most=MOST_HASHED).check("vectorizer", "columns", columns))
    return vectorizer
