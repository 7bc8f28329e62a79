"""X and y as sequences of examples: found by position, counted, and of equal length."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from bcfw.errors import InputError


def by_position(values: Any) -> Any:
    """Examples that ``[i]`` finds by their position: tables and series (pandas), which look up names, as arrays.

    Sparse matrices that have no rows to look up become CSR.
    """
    if sp.issparse(values):
        return values if values.format == "csr" else values.tocsr()
    return values.to_numpy() if hasattr(values, "iloc") else values


def in_order(values: Any) -> Any:
    """Examples as they are, unless they have no order."""
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
    """Examples as a list."""
    if values is None:
        raise InputError(f"{owner} requires {what} to be passed, but the target {what} is None")
    try:
        return list(in_order(values))
    except (TypeError, IndexError, NotImplementedError) as error:
        raise InputError(f"{owner}: {what} must be a list with one entry per example ({error})") from error
