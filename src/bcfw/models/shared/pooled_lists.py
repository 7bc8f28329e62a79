"""Averages as short lists: every block has a list of the parts with mass, in a pool that all blocks share.

A record of averages as lists has at least these fields, all arrays:

part, mass
    The pool, two arrays of the same length.
start, size, room
    (n,) where block i's list begins, its length, and the length that it may grow to.
tail
    (1,) end of the used part of the pool.

A list that outgrows its room moves to the end of the pool. If the pool is full, the model's ``enlarge_mu`` makes it
longer (:func:`enlarged`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.errors import InputError


def make_room(average, i, needed):
    """Make room for ``needed`` parts in block i's list; return False if the pool is full."""
    if needed <= average.room[i]:
        return True
    room = max(needed, 2 * average.room[i])
    start = average.tail[0]
    if start + room > average.mass.shape[0]:
        return False
    old = average.start[i]
    for e in range(average.size[i]):
        average.part[start + e] = average.part[old + e]
        average.mass[start + e] = average.mass[old + e]
    average.start[i] = start
    average.room[i] = room
    average.tail[0] = start + room
    return True


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
