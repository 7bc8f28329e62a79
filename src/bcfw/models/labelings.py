"""Kernels that models with integer labelings share: truth and kept labelings are flat arrays with offsets.

They need the fields ``y`` (flat true labels) and ``y_off`` (n + 1 offsets) of the model's data and the field ``y``
(the current labeling) of its scratch.
"""

from __future__ import annotations


def load_truth(data, i, work):
    start = data.y_off[i]
    for t in range(data.y_off[i + 1] - start):
        work.y[t] = data.y[start + t]


def load_labeling(data, i, labelings, work):
    start = data.y_off[i]
    for t in range(data.y_off[i + 1] - start):
        work.y[t] = labelings[start + t]


def keep_labeling(data, i, work, labelings):
    start = data.y_off[i]
    for t in range(data.y_off[i + 1] - start):
        labelings[start + t] = work.y[t]


#: Bindings for a model's kernel set.
LABELING_KERNELS = {"load_truth": load_truth, "load_labeling": load_labeling, "keep_labeling": keep_labeling}
