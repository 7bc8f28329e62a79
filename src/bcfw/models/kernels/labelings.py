"""Kernels that models with integer labelings share: the truth, the current labeling and the kept ones are all arrays y.

They need the fields ``y`` (flat true labels) and ``y_off`` (n + 1 offsets) of the model's data and the field ``y``
(the current labeling) of its scratch. Kept labelings are one flat array.

``LABELING_KERNELS`` load, keep and compare labelings. ``LABELING_VALUE_KERNELS`` are values, scores and directions of
the truth, the current labeling and the kept ones; a model that joins them writes instead, for any labeling y,
:func:`value_of`, :func:`add_parts` and :func:`score_labeling`. Where it knows a faster way (two labelings that differ
in few places), it binds its own kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def value_of(data: Any, i: int, y: np.ndarray, w: np.ndarray, work: Any) -> float:
    """Model's kernel: ``theta_i'z(y)``, with theta_i known at the parts of y."""
    return 0.0


def add_parts(data: Any, i: int, s: float, y: np.ndarray, work: Any) -> None:
    """Model's kernel: ``d += s z(y)``."""


def score_labeling(data: Any, i: int, y: np.ndarray, w: np.ndarray, work: Any) -> None:
    """Model's kernel: compute theta_i, loss included, at the parts of y where it is still unknown."""


def load_truth(data, i, work):
    """Current labeling: y_i."""
    start = data.y_off[i]
    for t in range(data.y_off[i + 1] - start):
        work.y[t] = data.y[start + t]


def slot_offset(data, i, slot, labelings):
    """Where a slot of block i begins: blocks one after the other, each with all its slots."""
    slots = labelings.shape[0] // data.y.shape[0]
    return slots * data.y_off[i] + slot * (data.y_off[i + 1] - data.y_off[i])


def load_labeling(data, i, slot, labelings, work):
    """Current labeling: the one in the slot."""
    start = slot_offset(data, i, slot, labelings)
    for t in range(data.y_off[i + 1] - data.y_off[i]):
        work.y[t] = labelings[start + t]


def keep_labeling(data, i, slot, work, labelings):
    """Copy the current labeling to the slot."""
    start = slot_offset(data, i, slot, labelings)
    for t in range(data.y_off[i + 1] - data.y_off[i]):
        labelings[start + t] = work.y[t]


def same_labeling(data, i, slot, labelings, work):
    """Whether the slot holds the current labeling."""
    start = slot_offset(data, i, slot, labelings)
    T = data.y_off[i + 1] - data.y_off[i]
    t = 0
    while t < T and labelings[start + t] == work.y[t]:
        t += 1
    return t == T


def truth_value(data, i, w, work):
    """``theta_i'z(y_i)``."""
    return value_of(data, i, data.y[data.y_off[i] : data.y_off[i + 1]], w, work)


def labeling_value(data, i, w, work):
    """``theta_i'z(y)`` of the current labeling y."""
    return value_of(data, i, work.y[: data.y_off[i + 1] - data.y_off[i]], w, work)


def slot_value(data, i, slot, labelings, by_parts, w, work):
    """``theta_i'z(y)`` of a kept labeling, which stays where it is."""
    begin = slot_offset(data, i, slot, labelings)
    y = labelings[begin : begin + data.y_off[i + 1] - data.y_off[i]]
    if by_parts:
        score_labeling(data, i, y, w, work)
    return value_of(data, i, y, w, work)


def labeling_scores(data, i, w, work):
    """Theta_i at the parts of the current labeling."""
    score_labeling(data, i, work.y[: data.y_off[i + 1] - data.y_off[i]], w, work)


def add_labeling(data, i, s, work):
    """``d += s z(y)`` for the current labeling y."""
    add_parts(data, i, s, work.y[: data.y_off[i + 1] - data.y_off[i]], work)


#: For a model's kernel set: labelings as they are.
LABELING_KERNELS = {
    "load_truth": load_truth,
    "load_labeling": load_labeling,
    "keep_labeling": keep_labeling,
    "same_labeling": same_labeling,
}

#: For a model's kernel set: values, scores and directions of labelings; the model has to write those that are None.
LABELING_VALUE_KERNELS = {
    "value_of": None,
    "add_parts": None,
    "score_labeling": None,
    "truth_value": truth_value,
    "labeling_value": labeling_value,
    "slot_value": slot_value,
    "labeling_scores": labeling_scores,
    "add_labeling": add_labeling,
}
