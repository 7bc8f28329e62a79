"""Averaged labels of Multiclass as lists of the labels with mass: how to make, save, restore and densify them."""

from __future__ import annotations

import numpy as np

from bcfw.errors import InputError
from bcfw.inputs.numbers import offsets
from bcfw.memory import require_room
from bcfw.models.kernels.label_lists import LabelLists
from bcfw.models.pools import check_sizes


def place_lists(size: np.ndarray, label: np.ndarray, mass: np.ndarray) -> LabelLists:
    """Return a pool with the lists of all blocks.

    Every list has twice the capacity that it needs, and the pool has as much free space again. ``label`` and ``mass``
    have the entries of all blocks, one block after the other; ``size`` (n,) has the number of entries of each block.
    """
    start, total = offsets(2 * size)[:-1], 2 * len(label)
    where = np.repeat(start - offsets(size)[:-1], size) + np.arange(len(label))
    pool = LabelLists(
        np.zeros(2 * total, np.int32), np.zeros(2 * total), start.copy(), size, 2 * size, np.array([total])
    )
    pool.part[where] = label
    pool.mass[where] = mass
    return pool


def export(average: LabelLists) -> list[np.ndarray]:
    """Return the number of entries per block, and the labels and masses of all blocks, one block after the other."""
    size = average.size
    where = np.repeat(average.start - offsets(size)[:-1], size) + np.arange(int(size.sum()))
    return [size.copy(), average.part[where], average.mass[where]]


def restored(arrays: list[np.ndarray], n: int, n_labels: int) -> LabelLists:
    """Return the lists from the arrays of :func:`export`. Raise if a number that is used as an index is invalid."""
    size, label, mass = arrays
    if len(size) != n:
        raise InputError("Multiclass: the saved state belongs to other data (other sizes)")
    check_sizes("Multiclass", size, [label, mass])
    if np.any((label < 0) | (label >= n_labels)):
        raise InputError("Multiclass: mu_1, labels, holds some that do not exist")
    if len(np.unique(np.repeat(np.arange(n), size) * n_labels + label)) < len(label):
        raise InputError("Multiclass: mu_1, labels, holds one twice for one example")
    return place_lists(size, label, mass)


def dense(average: LabelLists, n_labels: int) -> np.ndarray:
    """Return the (n, K) array with the mass of every label."""
    size, label, mass = export(average)
    sizes = {"examples": len(size), "labels": n_labels}
    require_room(
        "Multiclass", sizes, {"marginals": 8 * len(size) * n_labels}, "lists of the same mass are in snapshots"
    )
    out = np.zeros((len(size), n_labels))
    out[np.repeat(np.arange(len(size)), size), label] = mass
    return out
