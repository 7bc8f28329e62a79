"""Averages as short lists: every block has a list of the parts that have mass, in a pool that all blocks share.

A record of such averages has at least these fields, all arrays:

part, mass
    The pool, two arrays of one length.
start, size, room
    (n,) where block i's list begins, how long it is, and how long it may become.
tail
    (1,) end of the used part of the pool.

A list that outgrows its room moves to the end of the pool. Where the pool is used up, the model's ``enlarge_mu``
makes it longer (:func:`bcfw.models.part_lists.enlarged`).
"""

from __future__ import annotations


def make_room(average, i, needed):
    """Give block i's list room for so many parts; False when the pool is used up."""
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
