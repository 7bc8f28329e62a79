"""Averages and directions of multiclass blocks as lists of labels with mass, for models with very many labels.

These routines replace the dense averages and directions of :mod:`bcfw.models.shared.part_vectors`. Only exact block
solves and marginals loop over all K labels. Between calls of the routines, d is zero outside ``moved``, and ``place``
is -1 for every label.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.algorithms.sparse_vectors import first_argmax
from bcfw.errors import InputError
from bcfw.inputs.memory import require_room
from bcfw.inputs.numbers import offsets
from bcfw.models.shared.block_solve_routines import (
    NO_CURVATURE,
    SCORE_ROUNDING,
    SMALL_STEP,
    keep_moved,
    largest_step,
    project_listed,
    project_step,
)
from bcfw.models.shared.costs import largest_cost
from bcfw.models.shared.feature_rows import add_row_outer
from bcfw.models.shared.pooled_lists import check_sizes, make_room
from bcfw.passes.records import ALL_PARTS

#: If all labels of a block are listed, the block is solved over the labels with mass and this many others, which have
#: the largest scores.
NEW_LABELS = 32


#: If the direction moves more than one in this many labels, whole rows of weights are updated.
MOVED_SHARE = 8


class LabelLists(NamedTuple):
    """Averaged labels of all blocks: lists in a pool (see :mod:`bcfw.models.shared.pooled_lists`)."""

    part: np.ndarray
    mass: np.ndarray
    start: np.ndarray
    size: np.ndarray
    room: np.ndarray
    tail: np.ndarray


def start_direction(data, i, work):
    """Set ``d = 0``, with an empty list of moved labels."""
    for j in range(work.n_moved[0]):
        work.d[work.moved[j]] = 0.0
    work.n_moved[0] = 0


def add_part(k, s, work):
    """Add s to ``d[k]``, and enter label k in the list of moved labels."""
    if work.place[k] < 0:
        work.place[k] = work.n_moved[0]
        work.moved[work.n_moved[0]] = k
        work.n_moved[0] += 1
    work.d[k] += s


def add_average(data, i, s, mu, work):
    """Add ``s mu_i`` to d."""
    average = LabelLists(*mu)
    for e in range(average.start[i], average.start[i] + average.size[i]):
        add_part(average.part[e], s * average.mass[e], work)


def add_expected(data, i, s, parts, work):
    """Add ``s parts`` to d."""
    for k in range(data.n_labels):
        add_part(k, s * parts[k], work)


def end_direction(data, i, work):
    """Keep the labels with ``d != 0`` in the list of moved labels, and clear ``place``."""
    count = 0
    for j in range(work.n_moved[0]):
        k = work.moved[j]
        work.place[k] = -1
        if work.d[k] != 0.0:
            work.moved[count] = k
            count += 1
    work.n_moved[0] = count


def mark_moved(work):
    """Write the place of every moved label in the list to ``place``."""
    for j in range(work.n_moved[0]):
        work.place[work.moved[j]] = j


def reserve(data, i, mu, work):
    """Make room for labels without mass that the direction moves; return False if the pool is full."""
    average = LabelLists(*mu)
    mark_moved(work)
    needed = average.size[i] + work.n_moved[0]
    for e in range(average.start[i], average.start[i] + average.size[i]):
        if work.place[average.part[e]] >= 0:
            needed -= 1
    for j in range(work.n_moved[0]):
        work.place[work.moved[j]] = -1
    return make_room(average, i, needed)


def advance(data, i, gamma, work, mu):
    """Add ``gamma d`` to mu_i; labels whose mass becomes zero leave the list."""
    average = LabelLists(*mu)
    begin = average.start[i]
    end = begin
    mark_moved(work)
    for e in range(begin, begin + average.size[i]):
        k = average.part[e]
        mass = average.mass[e] + gamma * work.d[k]
        work.place[k] = -1
        if mass != 0.0:
            average.part[end] = k
            average.mass[end] = mass
            end += 1
    for j in range(work.n_moved[0]):
        k = work.moved[j]
        if work.place[k] >= 0:
            work.place[k] = -1
            average.part[end] = k
            average.mass[end] = gamma * work.d[k]
            end += 1
    average.size[i] = end - begin


def apply(data, i, s, work, w):
    """Add ``s x_i d'`` to U."""
    add_row_outer(data, i, s, work.n_moved[0], work, data.n_labels // MOVED_SHARE, w)


def load_parts(data, i, count, parts, work):
    """Write the listed labels to ``work.moved``; if all labels are listed, write only their number."""
    start_direction(data, i, work)
    if count == ALL_PARTS:
        work.n_moved[0] = data.n_labels
        return
    for j in range(count):
        work.moved[j] = parts[j]
    work.n_moved[0] = count


def list_labels(average, i, out, work):
    """Write the labels of block i with mass to the beginning of ``out``, mark them in ``place``; return how many."""
    size = average.size[i]
    for j in range(size):
        k = average.part[average.start[i] + j]
        out[j] = k
        work.place[k] = j
    return size


def forget_labels(average, i, work):
    """Clear the marks of :func:`list_labels` in ``place``."""
    for e in range(average.start[i], average.start[i] + average.size[i]):
        work.place[average.part[e]] = -1


def choose_labels(data, i, average, work):
    """List the labels with mass, then the ``NEW_LABELS`` other labels of the largest scores, in descending order."""
    first = list_labels(average, i, work.moved, work)
    count = first
    least = -np.inf
    for k in range(data.n_labels):
        score = work.theta[k]
        if (count - first < NEW_LABELS or score > least) and work.place[k] < 0:
            j = count
            if count - first < NEW_LABELS:
                count += 1
            else:
                j -= 1
            while j > first and work.theta[work.moved[j - 1]] < score:
                work.moved[j] = work.moved[j - 1]
                j -= 1
            work.moved[j] = k
            least = work.theta[work.moved[count - 1]]
    work.n_moved[0] = count
    forget_labels(average, i, work)


def solve_parts(data, i, scale, mu, work):
    """Solve a block: mu is the projection of ``mu_i + theta_i/A`` onto the simplex; if ``A = 0``, the best corner."""
    average = LabelLists(*mu)
    if work.n_moved[0] == data.n_labels:
        choose_labels(data, i, average, work)
    begin, end = average.start[i], average.start[i] + average.size[i]
    best = work.moved[0]
    for j in range(work.n_moved[0]):
        if work.theta[work.moved[j]] > work.theta[best]:
            best = work.moved[j]
    value = 0.0
    for e in range(begin, end):
        value += work.theta[average.part[e]] * average.mass[e]
    gap = work.theta[best] - value
    if gap <= SCORE_ROUNDING * abs(work.theta[best]):
        work.n_moved[0] = 0
        return gap
    curvature = scale * data.sqnorms[i]
    if curvature > NO_CURVATURE:
        for e in range(begin, end):
            work.d[average.part[e]] = average.mass[e]
        for j in range(work.n_moved[0]):
            k = work.moved[j]
            work.d[k] += (work.theta[k] - work.theta[best]) / curvature
        project_listed(work)
    else:
        work.d[best] = 1.0
    for e in range(begin, end):
        work.d[average.part[e]] -= average.mass[e]
    if largest_step(work) < SMALL_STEP:
        for j in range(work.n_moved[0]):
            work.d[work.moved[j]] = 0.0
        for e in range(begin, end):
            work.d[average.part[e]] = average.mass[e]
        project_step(work, best, curvature)
    keep_moved(work)
    return gap


def list_parts(data, i, slack, mu, work, out):
    """List the labels with mass and the labels whose score is within the slack of the best.

    Returns 0 if there is only one label: the block cannot move.
    """
    average = LabelLists(*mu)
    if average.size[i] > out.shape[0]:
        return ALL_PARTS
    least = work.theta[first_argmax(work.theta)] - slack * largest_cost(data, data.y[i])
    count = list_labels(average, i, out, work)
    fits = True
    for k in range(data.n_labels):
        if work.theta[k] >= least and work.place[k] < 0:
            fits = count < out.shape[0]
            if not fits:
                break
            out[count] = k
            count += 1
    forget_labels(average, i, work)
    if not fits:
        return ALL_PARTS
    return count if count > 1 else 0


#: To be added to a multiclass model's routines, where they replace the routines of dense averages.
LABEL_LIST_ROUTINES = {
    "LabelLists": LabelLists,
    "start_direction": start_direction,
    "add_part": add_part,
    "add_average": add_average,
    "end_direction": end_direction,
    "reserve": reserve,
    "advance": advance,
    "apply": apply,
}


#: Replace the routines of block solves and marginals, for multiclass models that have them.
SOLVE_LIST_ROUTINES = {
    "load_parts": load_parts,
    "solve_parts": solve_parts,
    "list_parts": list_parts,
    "add_expected": add_expected,
}


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
