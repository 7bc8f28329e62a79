"""Kernels that models with integer labelings share: truth and kept labelings are flat arrays with offsets.

They need the fields ``y`` (flat true labels) and ``y_off`` (n + 1 offsets) of the model's data and the field ``y``
(the current labeling) of its scratch.
"""

from __future__ import annotations


def load_truth(data, i, work):
    start = data.y_off[i]
    for t in range(data.y_off[i + 1] - start):
        work.y[t] = data.y[start + t]


def slot_offset(data, i, slot, labelings):
    """Where a slot of block i begins: blocks one after the other, each with all its slots."""
    slots = labelings.shape[0] // data.y.shape[0]
    return slots * data.y_off[i] + slot * (data.y_off[i + 1] - data.y_off[i])


def load_labeling(data, i, slot, labelings, work):
    start = slot_offset(data, i, slot, labelings)
    for t in range(data.y_off[i + 1] - data.y_off[i]):
        work.y[t] = labelings[start + t]


def keep_labeling(data, i, slot, work, labelings):
    start = slot_offset(data, i, slot, labelings)
    for t in range(data.y_off[i + 1] - data.y_off[i]):
        labelings[start + t] = work.y[t]


def same_labeling(data, i, slot, labelings, work):
    start = slot_offset(data, i, slot, labelings)
    T = data.y_off[i + 1] - data.y_off[i]
    t = 0
    while t < T and labelings[start + t] == work.y[t]:
        t += 1
    return t == T


#: Bindings for a model's kernel set.
LABELING_KERNELS = {
    "load_truth": load_truth,
    "load_labeling": load_labeling,
    "keep_labeling": keep_labeling,
    "same_labeling": same_labeling,
}
