"""Reading of bounds on the weights w: several pairs (lower, upper) of users and models become one pair of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.errors import InputError, OptionError
from bcfw.inputs.numbers import dense, real


def join_bounds(dim: int, *pairs: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the intersection of several pairs ``(lower, upper)`` as two (d,) arrays; None if no weight is bounded.

    ``lower`` and ``upper`` are each a number, a (d,) array or None. A pair may be None as a whole.
    """
    given_pairs = [pair for pair in pairs if pair is not None]
    if not given_pairs:
        return None
    lower, upper = np.full(dim, -np.inf), np.full(dim, np.inf)
    for pair in given_pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise OptionError(f"bounds must be a pair (lower, upper) of numbers, arrays or None, got {pair!r}")
        for side, name, tighten in ((lower, "lower", np.maximum), (upper, "upper", np.minimum)):
            given = pair[int(name == "upper")]
            if given is not None:
                tighten(side, read_bound(given, name, dim), out=side)
    crossed = np.flatnonzero(~(lower <= upper))
    if len(crossed):
        j = crossed[0]
        raise OptionError(
            f"bounds: no weight {j} is allowed, its lower bound {lower[j]:g} is above its upper bound {upper[j]:g} "
            "(the model's own bounds included)"
        )
    empty = np.flatnonzero((lower == np.inf) | (upper == -np.inf))
    if len(empty):
        raise OptionError(f"bounds: no finite weight {empty[0]} is allowed; lower must be < inf and upper > -inf")
    return (lower, upper) if np.isfinite(lower).any() or np.isfinite(upper).any() else None


def read_bound(given: Any, name: str, dim: int) -> np.ndarray:
    """Return one side of the bounds, a number or an array, as a (d,) array."""
    array = real(dense(given), "bounds", name, OptionError)
    if array.shape not in ((), (dim,)):
        raise InputError(f"bounds: {name} has shape {array.shape}; it must be a number or have one per weight ({dim},)")
    if np.isnan(array).any():
        raise InputError(f"bounds: {name} holds a NaN; use -inf, inf or None for weights without a bound")
    return np.broadcast_to(array, (dim,))
