"""Helpers for averages that are lists in a pool: enlarge the pool, and check the sizes of saved lists.

:mod:`bcfw.models.kernels.pools` explains the pool.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.errors import InputError


def enlarged(average: Any) -> Any:
    """Return the record with its lists in a pool of twice the length."""
    part, mass = (np.concatenate([pool, np.zeros_like(pool)]) for pool in (average.part, average.mass))
    return average._replace(part=part, mass=mass)


def check_sizes(owner: str, size: np.ndarray, lists: list[np.ndarray]) -> None:
    """Raise unless the saved arrays have one entry for each of the ``size[i]`` list entries of every block i."""
    total = len(lists[0])
    fit = all(len(one) == total for one in lists) and np.all((size >= 0) & (size <= total)) and size.sum() == total
    if not fit:
        names = ", ".join(f"mu_{j + 1}" for j in range(len(lists)))
        raise InputError(f"{owner}: mu_0, the numbers of parts, does not fit the lists {names}")
