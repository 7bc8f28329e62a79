"""Reading of sample weights s_i, and the weights ``c_i = s_i / sum s`` of the blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.errors import InputError, OptionError
from bcfw.inputs.numbers import real
from bcfw.options import Positive


def read_sample_weight(sample_weight: Any, n: int) -> np.ndarray | None:
    """Return the checked sample weights as an (n,) float64 array; None is returned as None. Raise if all are zero."""
    s = _weights(sample_weight, n)
    if s is not None and s.sum() == 0:
        raise InputError("sample_weight is zero for every example; give at least one a positive weight")
    return s


def read_part_weight(sample_weight: Any, n: int, total: Any) -> np.ndarray | None:
    """Return the checked sample weights of n examples that are part of a larger set with total weight ``total``.

    The weights may all be zero; raise if their sum exceeds ``total``.
    """
    Positive(1.0).check("", "total_weight", total)
    s = _weights(sample_weight, n)
    own = float(n if s is None else s.sum())
    if own > (1.0 + 1e-9) * total:
        raise OptionError(f"total_weight is {total:g}, less than the weight of these examples alone ({own:g})")
    return s


def _weights(sample_weight: Any, n: int) -> np.ndarray | None:
    if sample_weight is None:
        return None
    s = real(sample_weight, "", "sample_weight")
    if s.shape != (n,):
        raise InputError(f"sample_weight must have one number per example ({n}), got shape {s.shape}")
    bad = np.flatnonzero(~(np.isfinite(s) & (s >= 0)))
    if len(bad):
        raise InputError(f"sample_weight of example {bad[0]} is {s[bad[0]]}; weights must be finite and >= 0")
    if s.max(initial=0.0) > np.finfo(np.float64).max / n:
        raise InputError("the sum of sample_weight is too large for a floating-point number; divide the weights")
    return s


def block_shares(weight: np.ndarray | None, n: int, total: float | None = None) -> np.ndarray:
    """Return ``c_i = s_i / total`` of n examples with sample weights s; None stands for weights 1.

    ``total`` is the total weight of a larger set that the examples are part of; None stands for the sum of s.
    """
    s = np.ones(n) if weight is None else weight
    return np.full(n, 1.0 / n) if weight is None and total is None else s / (s.sum() if total is None else total)
