"""Shared routines of models whose labelings are integer arrays y: loading, storing, comparing, values, directions.

The model's data must have the fields ``y`` (flat true labels) and ``y_off`` (n + 1 offsets), and its scratch the field
``y`` (the current labeling). Stored labelings are one flat array.

``LABELING_KERNELS`` load, store and compare labelings. ``LABELING_VALUE_KERNELS`` compute values, scores and directions
of the truth, the current labeling and stored labelings; a model that uses them writes :func:`value_of`,
:func:`add_parts` and :func:`score_labeling` for any labeling y. If a model has a faster routine (for example for two
labelings that differ in few places), it binds its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def value_of(data: Any, i: int, y: np.ndarray, w: np.ndarray, work: Any) -> float:
    """Return ``theta_i'z(y)``, with theta_i known at the parts of y (written by the model)."""
    return 0.0


def add_parts(data: Any, i: int, s: float, y: np.ndarray, work: Any) -> None:
    """Add ``s z(y)`` to d (written by the model)."""


def score_labeling(data: Any, i: int, y: np.ndarray, w: np.ndarray, work: Any) -> None:
    """Compute theta_i, loss included, at the parts of y where it is still unknown (written by the model)."""


def load_truth(data, i, work):
    """Make y_i the current labeling."""
    start = data.y_off[i]
    for t in range(data.y_off[i + 1] - start):
        work.y[t] = data.y[start + t]


def slot_offset(data, i, slot, labelings):
    """Return where a slot of block i begins; the array holds the blocks in order, each with all its slots."""
    slots = labelings.shape[0] // data.y.shape[0]
    return slots * data.y_off[i] + slot * (data.y_off[i + 1] - data.y_off[i])


def load_labeling(data, i, slot, labelings, work):
    """Make the labeling in the slot the current labeling."""
    start = slot_offset(data, i, slot, labelings)
    for t in range(data.y_off[i + 1] - data.y_off[i]):
        work.y[t] = labelings[start + t]


def keep_labeling(data, i, slot, work, labelings):
    """Copy the current labeling to the slot."""
    start = slot_offset(data, i, slot, labelings)
    for t in range(data.y_off[i + 1] - data.y_off[i]):
        labelings[start + t] = work.y[t]


def same_labeling(data, i, slot, labelings, work):
    """Return whether the slot holds the current labeling."""
    start = slot_offset(data, i, slot, labelings)
    T = data.y_off[i + 1] - data.y_off[i]
    t = 0
    while t < T and labelings[start + t] == work.y[t]:
        t += 1
    return t == T


def truth_value(data, i, w, work):
    """Return ``theta_i'z(y_i)``."""
    return value_of(data, i, data.y[data.y_off[i] : data.y_off[i + 1]], w, work)


def labeling_value(data, i, w, work):
    """Return ``theta_i'z(y)`` of the current labeling y."""
    return value_of(data, i, work.y[: data.y_off[i + 1] - data.y_off[i]], w, work)


def slot_value(data, i, slot, labelings, by_parts, w, work):
    """Return ``theta_i'z(y)`` of a stored labeling, which is read in its slot and not copied."""
    begin = slot_offset(data, i, slot, labelings)
    y = labelings[begin : begin + data.y_off[i + 1] - data.y_off[i]]
    if by_parts:
        score_labeling(data, i, y, w, work)
    return value_of(data, i, y, w, work)


def labeling_scores(data, i, w, work):
    """Compute theta_i at the parts of the current labeling."""
    score_labeling(data, i, work.y[: data.y_off[i + 1] - data.y_off[i]], w, work)


def add_labeling(data, i, s, work):
    """Add ``s z(y)`` of the current labeling y to d."""
    add_parts(data, i, s, work.y[: data.y_off[i + 1] - data.y_off[i]], work)


#: To be added to a model's routines: loading, storing and comparing labelings.
LABELING_KERNELS = {
    "load_truth": load_truth,
    "load_labeling": load_labeling,
    "keep_labeling": keep_labeling,
    "same_labeling": same_labeling,
}

#: To be added to a model's routines: values, scores and directions of labelings; the model must write the routines that
#: are None here.
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
