"""X and y as sequences of examples: indexing by position, counting, and the check for equal length."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from bcfw.errors import InputError


def indexable_examples(values: Any) -> Any:
    """Return examples such that ``values[i]`` is the example at position i.

    Data frames and series of pandas, whose ``[i]`` looks up names, become arrays; sparse matrices become CSR.
    """
    if sp.issparse(values):
        return values if values.format == "csr" else values.tocsr()
    return values.to_numpy() if hasattr(values, "iloc") else values


def in_order(values: Any) -> Any:
    """Return the examples unchanged; raise TypeError for sets and dicts, which have no positions."""
    if isinstance(values, set | frozenset | dict):
        raise TypeError(f"a {type(values).__name__} has no first, second, ... example")
    return values


def example_count(values: Any) -> int:
    return int(values.shape[0] if hasattr(values, "shape") else len(in_order(values)))


def check_same_length(X: Any, y: Any, owner: str) -> None:
    try:
        n_x, n_y = example_count(X), example_count(y)
    except (TypeError, IndexError) as error:
        raise InputError(f"{owner}: X and y must be sequences of examples ({error})") from error
    if n_x != n_y:
        raise InputError(f"{owner}: X has {n_x} examples and y has {n_y}; they must match")
    if n_x == 0:
        raise InputError(f"{owner}: X is empty; give at least one example")


def read_list(values: Any, what: str, owner: str) -> list[Any]:
    """Return the examples as a list; ``what`` is their name in error messages."""
    if values is None:
        raise InputError(f"{owner} requires {what} to be passed, but the target {what} is None")
    try:
        return list(in_order(values))
    except (TypeError, IndexError, NotImplementedError) as error:
        raise InputError(f"{owner}: {what} must be a list with one entry per example ({error})") from error
