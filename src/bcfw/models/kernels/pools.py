"""Averages as short lists: every block has a list of the parts with mass, in a pool that all blocks share.

A record of averages as lists has at least these fields, all arrays:

part, mass
    The pool, two arrays of the same length.
start, size, room
    (n,) where block i's list begins, its length, and the length that it may grow to.
tail
    (1,) end of the used part of the pool.

A list that outgrows its room moves to the end of the pool. If the pool is full, the model's ``enlarge_mu`` makes it
longer (:func:`bcfw.models.part_lists.enlarged`).
"""

from __future__ import annotations


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
