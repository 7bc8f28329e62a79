"""Options and fitted attributes of estimators in model files, written and read back."""

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

#: Options that only another fit reads. If a value cannot be saved as data, the loaded estimator has the default.
ONLY_FIT = ("callbacks", "random_state", "cv", "solver", "path_solver", "vectorizer")


def option_headers(estimator: Any, arrays: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return an estimator's options as JSON, and the names of options left out because they cannot be saved as data."""
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
    """Return one option or fitted attribute as JSON: a vectorizer, a model, a solver, or data."""
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
    """Return the saved arguments of an estimator's constructor; ``model`` stands for a saved user's own model."""
    unknown = sorted(set(headers) - set(kind._get_param_names()))
    if unknown:
        raise saved.damaged("the header", f"has an option {unknown[0]!r}, which {kind.__name__} does not have")
    return {name: saved_option(stored, saved, model) for name, stored in headers.items()}


def saved_option(stored: Any, saved: SavedArrays, model: Any = None) -> Any:
    """Return the option or fitted attribute that :func:`option_header` has written."""
    if isinstance(stored, dict) and "$vectorizer" in stored:
        return saved_vectorizer(stored["$vectorizer"], saved)
    if isinstance(stored, dict) and "$model" in stored:
        return saved_model_options(stored["$model"], model, saved)
    if isinstance(stored, dict) and "$solver" in stored:
        return saved_solver(stored["$solver"], saved)
    return decode(stored, saved)


def vectorizer_header(vectorizer: AttributeVectorizer, name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return a vectorizer as JSON; the names of attributes that it has learned are put into ``arrays``.

    The JSON has "options" and "columns". "columns" is None before the vectorizer is fitted; then it is the number of
    columns if they are hashed, otherwise the name of the array with the names of the columns.
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
    """Return the vectorizer that :func:`vectorizer_header` has written."""
    vectorizer, columns = AttributeVectorizer(**decode(header["options"], saved)), header["columns"]
    if isinstance(columns, str):
        names = unpack_strings(saved, columns)
        vectorizer.vocabulary_ = Vocabulary(names)
        if len(vectorizer.vocabulary_) != len(names):
            raise saved.damaged(columns, "has a name twice")
    elif columns is not None:
        vectorizer.vocabulary_ = HashedColumns(Count(1, most=MOST_HASHED).check("vectorizer", "columns", columns))
    return vectorizer
