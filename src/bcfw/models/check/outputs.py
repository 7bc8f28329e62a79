"""Outputs of a model, which may be any objects: whether two outputs are equal, and their text in messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp


def same_output(a: Any, b: Any) -> bool:
    """Return whether two outputs of a model are equal.

    Arrays, lists and tuples are equal if their entries are equal; an array may equal a list or a tuple. Mappings must
    also have equal keys, dataclasses must have one class, sparse matrices equal shapes. All of these may be nested.
    Other objects, including sets and strings, are compared by ``==``.
    """
    if a is b:
        return True
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same_output(a[key], b[key]) for key in a)
    if dataclasses.is_dataclass(a) and type(a) is type(b):
        return all(same_output(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if sp.issparse(a) and sp.issparse(b):
        return a.shape == b.shape and (a != b).nnz == 0
    if _is_sequence(a) != _is_sequence(b):
        return False
    if not _is_sequence(a):
        return _equal(a, b)
    if _is_plain_array(a) and _is_plain_array(b):
        return np.array_equal(a, b)
    return len(a) == len(b) and all(map(same_output, a, b))


def shown(y: Any) -> str:
    """Return the text of an output in messages: its repr, shortened to 200 characters."""
    text = repr(y)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _is_sequence(y: Any) -> bool:
    return isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.ndim > 0)


def _is_plain_array(y: Any) -> bool:
    return isinstance(y, np.ndarray) and y.dtype.kind != "O"


def _equal(a: Any, b: Any) -> bool:
    """Return whether ``a == b``; for tables and tensors, whose ``==`` is entry by entry, whether all are equal."""
    answer = a == b
    return bool(answer) if np.ndim(answer) == 0 else np.shape(a) == np.shape(b) and bool(np.all(answer))
