"""Averages as lists in a pool (see :mod:`bcfw.models.kernels.pools`): longer ones, and the sizes of saved ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.errors import InputError


def enlarged(average: Any) -> Any:
    """A record with a pool twice as long and the same lists."""
    part, mass = (np.concatenate([pool, np.zeros_like(pool)]) for pool in (average.part, average.mass))
    return average._replace(part=part, mass=mass)


def check_sizes(owner: str, size: np.ndarray, lists: list[np.ndarray]) -> None:
    """Raise unless the saved lists of all blocks have as many entries as ``size`` says."""
    total = len(lists[0])
    fit = all(len(one) == total for one in lists) and np.all((size >= 0) & (size <= total)) and size.sum() == total
    if not fit:
        names = ", ".join(f"mu_{j + 1}" for j in range(len(lists)))
        raise InputError(f"{owner}: mu_0, the numbers of parts, does not fit the lists {names}")
