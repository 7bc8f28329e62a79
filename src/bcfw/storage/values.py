"""Conversion of Python values, such as options and labels, to JSON and arrays and back, for a fixed list of types.

Values that JSON can represent stay unchanged. Tuples, dicts whose keys are not all texts, bytes, numpy scalars and
arrays become a JSON object with one key, which begins with ``$``. Reading creates objects of these types only, whatever
a file contains.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from bcfw.errors import InputError
from bcfw.options import SHORT
from bcfw.storage.checked_arrays import SavedArrays

#: The numpy types of numbers and texts that can be saved; types of texts contain their length.
DTYPE = re.compile(r"[|<]([biuf][1248]|[US][0-9]{1,9})")

#: Largest total number of characters of an array of texts; every text takes as much memory as the type's length.
MOST_CHARACTERS = 2**26

#: First character of the key for a value that JSON cannot represent.
MARK = "$"


def encode(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """Return a value as JSON; its arrays of numbers are put into ``arrays``, with names that begin with ``name``.

    Raises
    ------
    InputError
        If the value has a type that cannot be saved, for example a function or an object of another class.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [encode(one, f"{name}.{i}", arrays) for i, one in enumerate(value)]
    if type(value) is tuple:
        return {"$tuple": encode(list(value), name, arrays)}
    if type(value) is dict:
        return _encode_dict(value, name, arrays)
    if type(value) is bytes:
        return {"$bytes": value.decode("latin-1")}
    if isinstance(value, np.generic) and DTYPE.fullmatch(value.dtype.str):
        return {"$scalar": [value.dtype.str, encode(value.item(), name, arrays)]}
    if type(value) is np.ndarray:
        return _encode_array(value, name, arrays)
    raise InputError(
        f"{name} is {SHORT.repr(value)}, which cannot be saved: numbers, texts, lists, tuples, dicts and arrays can"
    )


def _encode_dict(value: dict[Any, Any], name: str, arrays: dict[str, Any]) -> Any:
    if all(type(key) is str and not key.startswith(MARK) for key in value):
        return {key: encode(one, f"{name}.{key}", arrays) for key, one in value.items()}
    return {"$dict": [encode(list(pair), f"{name}.{i}", arrays) for i, pair in enumerate(value.items())]}


def _encode_array(value: np.ndarray, name: str, arrays: dict[str, Any]) -> Any:
    """Return the JSON of an array: numbers are put into ``arrays``; texts and objects, which are labels, into JSON."""
    dtype = value.dtype.newbyteorder("=")
    if dtype.kind in "biuf" and DTYPE.fullmatch(dtype.str):
        arrays[name] = value.astype(dtype)
        return {"$array": name}
    if dtype.kind == "O" or DTYPE.fullmatch(dtype.str):
        labels = [encode(one, f"{name}.{i}", arrays) for i, one in enumerate(value.ravel().tolist())]
        return {"$labels": [dtype.str, list(value.shape), labels]}
    raise InputError(f"{name} is an array of {dtype}, which cannot be saved")


def decode(stored: Any, saved: SavedArrays) -> Any:
    """Return the value that :func:`encode` has converted."""
    if isinstance(stored, list):
        return [decode(one, saved) for one in stored]
    if not isinstance(stored, dict):
        return stored
    marks = [key for key in stored if key.startswith(MARK)]
    if not marks:
        return {key: decode(one, saved) for key, one in stored.items()}
    if len(stored) > 1 or marks[0] not in DECODERS:
        raise saved.damaged("the header", f"has a value of the unknown kind {marks[0]!r}")
    return DECODERS[marks[0]](stored[marks[0]], saved)


def _decode_dict(pairs: Any, saved: SavedArrays) -> dict[Any, Any]:
    return {decode(key, saved): decode(one, saved) for key, one in pairs}


def _decode_scalar(stored: Any, saved: SavedArrays) -> Any:
    text, value = stored
    return _dtype(text, 1, saved).type(decode(value, saved))


def _decode_labels(stored: Any, saved: SavedArrays) -> np.ndarray:
    text, shape, labels = stored
    if math.prod(shape) != len(labels):
        raise saved.damaged("the header", f"has {len(labels)} labels in an array of shape {shape}")
    values = [decode(one, saved) for one in labels]
    if text == "|O":
        return np.fromiter(values, dtype=object, count=len(values)).reshape(shape)
    return np.array(values, dtype=_dtype(text, len(values), saved)).reshape(shape)


def _dtype(text: Any, count: int, saved: SavedArrays) -> np.dtype:
    if not isinstance(text, str) or not DTYPE.fullmatch(text):
        raise saved.damaged("the header", f"has values of the unknown type {text!r}")
    dtype = np.dtype(text)
    if dtype.itemsize * count > 4 * MOST_CHARACTERS:
        raise saved.damaged("the header", f"has {count} texts of {text}, which is too much")
    return dtype


#: The functions that read the values of JSON objects with these keys.
DECODERS: dict[str, Callable[[Any, SavedArrays], Any]] = {
    "$tuple": lambda stored, saved: tuple(decode(stored, saved)),
    "$dict": _decode_dict,
    "$bytes": lambda stored, saved: stored.encode("latin-1"),
    "$scalar": _decode_scalar,
    "$array": lambda stored, saved: saved[stored],
    "$labels": _decode_labels,
}
