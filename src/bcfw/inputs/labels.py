"""Reading of labels that are whole numbers, of the number of labels, and of cost matrices."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError, OptionError
from bcfw.inputs.memory import require_room
from bcfw.inputs.numbers import masked_place, real, unmasked
from bcfw.inputs.sequences import Sequences

#: The label of a node that has no label.
UNLABELLED = -1

#: Largest number of labels, because labels are stored as int32.
MOST_LABELS = 2**31

#: If ``n_labels`` is not given and y implies more than MANY_LABELS labels, at least one in SPARSEST of them must occur.
#: Labels that were numbered on purpose satisfy this, and one wrong entry of y must not cost gigabytes.
MANY_LABELS = 10_000
SPARSEST = 100


def integer_labels(y: Any, n_labels: int | None, where: Callable[[int], str]) -> np.ndarray:
    """Return labels 0 .. n_labels - 1 as an int64 array; for ``n_labels=None``, any labels >= 0.

    Floats that are whole numbers and bools are accepted. ``where(position)`` names the place of a wrong label in
    errors.
    """
    hidden = masked_place(y)
    if hidden:
        raise InputError(f"{where(hidden[0])} has a masked label; fill in or leave out what is missing")
    array = label_numbers(y, where(0))
    most = (MOST_LABELS if n_labels is None else n_labels) - 1
    bad = np.flatnonzero(~((array >= 0) & (array <= most) & (array == np.floor(array))))
    if len(bad):
        allowed = "0, 1, ... below 2**31" if n_labels is None else f"0 .. {most} (n_labels = {n_labels})"
        value = array.ravel()[bad[0]]
        raise InputError(f"{where(int(bad[0]))} has label {value}; labels must be whole numbers {allowed}")
    return array.astype(np.int64)


def label_numbers(y: Any, where: str) -> np.ndarray:
    """Return labels as an array of numbers; raise if they are not numbers."""
    unmasked(y, f"{where}: y")
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise InputError(f"{where}: labels must be whole numbers 0, 1, ... ({error})") from error
    if array.dtype.kind not in "iufb":
        raise InputError(f"{where}: labels must be whole numbers 0, 1, ..., got {array.dtype}")
    return array


def sequence_labels(y: Any, length: int | None, where: str) -> np.ndarray:
    """Return the labels of one sequence as a 1-D array of numbers; ``length`` is the required length, or None."""
    array = label_numbers(y, where)
    if array.ndim != 1:
        raise InputError(f"{where} must have one label per position, got labels of shape {array.shape}")
    if length is not None and len(array) != length:
        raise InputError(f"{where} has {length} positions and {len(array)} labels; they must match")
    return array


def stacked_labels(y: Any, y_off: np.ndarray, owner: str) -> np.ndarray:
    """Return the labels of all sequences in one array of numbers; raise unless their lengths agree with ``y_off``."""
    lengths = np.diff(y_off).tolist()
    if isinstance(y, Sequences):
        for i in np.flatnonzero(y.lengths != lengths)[:1]:
            sequence_labels(y[i], lengths[i], f"{owner}: example {i}")
        return sequence_labels(y.rows, int(y_off[-1]), f"{owner}: y")
    return np.concatenate([sequence_labels(one, lengths[i], f"{owner}: example {i}") for i, one in enumerate(y)])


def label_count(n_labels: Any, owner: str) -> int | None:
    """Return the option ``n_labels``; raise unless it is a whole number >= 1 or None."""
    if n_labels is None:
        return None
    if not isinstance(n_labels, Integral) or isinstance(n_labels, bool) or not 1 <= int(n_labels) <= MOST_LABELS:
        raise OptionError(f"{owner}: n_labels must be a whole number from 1 to {MOST_LABELS} or None, got {n_labels!r}")
    return int(n_labels)


def counted_labels(labels: np.ndarray, where: Callable[[int], str]) -> int:
    """Return the number of labels that a flat array of labels 0, 1, ... implies: one more than the largest label.

    Raise if this number is implausibly large (see ``MANY_LABELS``). The error message names the place of the largest
    label as ``where(index)``, a function of the label's index in the array.
    """
    count = 1 + int(labels.max())
    if count > MANY_LABELS:
        occur = len(np.unique(labels))
        if count > SPARSEST * occur:
            raise InputError(
                f"{where(int(labels.argmax()))} has label {count - 1}, but only {occur} different labels occur in y; "
                f"number them 0, 1, ... without such gaps, or give n_labels={count} if that is meant"
            )
    return count


def binary_labels(y: Any, n_labels: int | None, owner: str) -> np.ndarray:
    """Return an (n, L) int64 array of 0 and 1 from an array, a sparse matrix, or a list of rows, dense or sparse."""
    if isinstance(y, list | tuple):
        y = [row.toarray().ravel() if sp.issparse(row) else row for row in y]
        check_row_lengths(y, owner)
    array = y.toarray() if sp.issparse(y) else np.asarray(unmasked(y, f"{owner}: y"))
    if array.ndim == 1 and len(array) == 0:
        array = array.reshape(0, n_labels or 1)
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"{owner}: y must be an (n, L) array of 0 and 1, one row per example, got shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise InputError(f"{owner}: labels must be 0 or 1, got {array.dtype}")
    for i, label in np.argwhere((array != 0) & (array != 1))[:1]:
        raise InputError(f"{owner}: example {i} has {array[i, label]} at label {label}; labels must be 0 or 1")
    if n_labels not in (None, array.shape[1]):
        raise InputError(f"{owner}: y has {array.shape[1]} labels per example, expected {n_labels}")
    return array.astype(np.int64)


def check_row_lengths(rows: Any, owner: str) -> None:
    """Raise unless all rows are one-dimensional and have equal lengths; the error names the first wrong row."""
    for i, row in enumerate(rows):
        if np.ndim(row) != 1:
            raise InputError(f"{owner}: example {i} must have a row of L labels, got {row!r}")
        if len(row) != len(rows[0]):
            raise InputError(f"{owner}: example {i} has {len(row)} labels, example 0 has {len(rows[0])}")


def node_labels(y: Any, n_labels: int | None, n_nodes: int | None, where: str) -> np.ndarray:
    """Return the (V,) int64 labels of nodes: 0 .. n_labels - 1, or -1 for a node without label.

    None for ``n_labels`` or ``n_nodes`` allows any number of labels or nodes.
    """
    unmasked(y, f"{where}: y")
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise InputError(f"{where} must have one label per node ({error})") from error
    most = (MOST_LABELS if n_labels is None else n_labels) - 1
    allowed = f"whole numbers 0 .. {most}, or -1 for a node without label"
    if array.ndim != 1:
        raise InputError(f"{where} must have one label per node, got labels of shape {array.shape}")
    if array.dtype.kind not in "iufb":
        raise InputError(f"{where}: labels must be {allowed}, got {array.dtype}")
    if n_nodes not in (None, len(array)):
        raise InputError(f"{where} has {n_nodes} nodes and {len(array)} labels; they must match")
    for p in np.flatnonzero(~((array >= UNLABELLED) & (array <= most) & (array == np.floor(array))))[:1]:
        raise InputError(f"{where}: node {p} has label {array[p]}; labels must be {allowed}")
    return array.astype(np.int64)


def given_cost(cost: Any, n_labels: int, owner: str) -> np.ndarray | None:
    """Return the (K, K) matrix cost[true, predicted]; None, which stands for the 0/1 loss, is returned as None."""
    return None if cost is None else cost_matrix(cost, n_labels, owner)


def packed_cost(cost: np.ndarray | None) -> np.ndarray:
    """Return the result of :func:`given_cost` in the form for compiled code (see :mod:`bcfw.models.shared.costs`)."""
    return np.zeros((0, 0)) if cost is None else cost


def cost_matrix(cost: Any, n_labels: int, owner: str) -> np.ndarray:
    """Return the checked (K, K) matrix cost[true, predicted]; for None, the matrix of the 0/1 loss."""
    require_room(owner, {"labels": n_labels}, {"costs": 8 * n_labels * n_labels}, "use fewer labels")
    if cost is None:
        return 1.0 - np.eye(n_labels)
    matrix = np.array(real(cost, owner, "cost", OptionError))
    if matrix.shape != (n_labels, n_labels):
        raise OptionError(f"{owner}: cost must have shape ({n_labels}, {n_labels}), got {matrix.shape}")
    if not np.all(np.isfinite(matrix)) or matrix.min() < 0:
        raise OptionError(f"{owner}: cost must be finite and >= 0")
    if np.any(np.diag(matrix) != 0):
        raise OptionError(f"{owner}: cost must have a zero diagonal (the truth costs nothing)")
    return matrix
