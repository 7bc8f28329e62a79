"""Routines in feature space (``B_i = I``), built from three compiled functions of the user: decode, loss and features.

Here z(y) has d + 1 entries, ``phi(x_i, y) - phi(x_i, y_i)`` and the loss; theta is ``(w, 1)``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bcfw.models.shared.labelings import load_labeling as load_labels
from bcfw.models.shared.labelings import load_truth as load_true_labels
from bcfw.passes.contract import Data


class FeatureWork(NamedTuple):
    """Scratch: the current labeling, its z (d + 1,), the current direction (d + 1,), and the loss weight of theta."""

    y: np.ndarray
    z: np.ndarray
    d: np.ndarray
    loss_weight: np.ndarray


def decode(data: Any, i: int, w: np.ndarray, loss_weight: float, y: np.ndarray) -> None:
    """Write ``argmax_y loss_weight L_i(y) + <w, phi(x_i, y)>`` to ``y`` (written by the user)."""


def decode_bound(data: Any, i: int, w: np.ndarray) -> float:
    """Return an upper bound of ``max_y L_i(y) + <w, phi(x_i, y)>`` (written by the user if ``decode`` is heuristic)."""
    return np.inf


def labeling_loss(data: Any, i: int, y: np.ndarray) -> float:
    """Return ``L_i(y)`` (written by the user)."""
    return 0.0


def add_features(data: Any, i: int, y: np.ndarray, s: float, out: np.ndarray) -> None:
    """Add ``s phi(x_i, y)`` to ``out`` (written by the user)."""


def scores(data, i, w, loss_weight, work):
    work.loss_weight[0] = loss_weight


def fill(data, i, work):
    """Write z of the current labeling."""
    d = work.z.shape[0] - 1
    size = data.y_off[i + 1] - data.y_off[i]
    for j in range(d):
        work.z[j] = 0.0
    add_features(data, i, work.y[:size], 1.0, work.z[:d])
    add_features(data, i, data.y[data.y_off[i] : data.y_off[i + 1]], -1.0, work.z[:d])
    work.z[d] = labeling_loss(data, i, work.y[:size])


def argmax(data, i, w, work):
    decode(data, i, w, work.loss_weight[0], work.y[: data.y_off[i + 1] - data.y_off[i]])
    fill(data, i, work)
    return labeling_value(data, i, w, work)


def labeling_value(data, i, w, work):
    value = work.loss_weight[0] * work.z[w.shape[0]]
    for j in range(w.shape[0]):
        value += w[j] * work.z[j]
    return value


def start_parts(data, i, w, work):
    work.loss_weight[0] = 1.0


def labeling_scores(data, i, w, work):
    """Do nothing: theta is (w, 1)."""


def direction_scores(data, i, w, work):
    """Do nothing: theta is (w, 1)."""


def upper_bound(data, i, w, work):
    """Return the user's bound minus the truth's value: all values here are relative to the truth."""
    d = w.shape[0]
    work.z[:] = 0.0
    add_features(data, i, data.y[data.y_off[i] : data.y_off[i + 1]], 1.0, work.z[:d])
    value = decode_bound(data, i, w)
    for j in range(d):
        value -= w[j] * work.z[j]
    fill(data, i, work)
    return value


def truth_value(data, i, w, work):
    return 0.0


def load_truth(data, i, work):
    load_true_labels(data, i, work)
    for j in range(work.z.shape[0]):
        work.z[j] = 0.0


def load_labeling(data, i, slot, labelings, work):
    load_labels(data, i, slot, labelings, work)
    fill(data, i, work)


def loss(data, i, work):
    return work.z[work.z.shape[0] - 1]


def start_direction(data, i, work):
    for j in range(work.d.shape[0]):
        work.d[j] = 0.0


def add_average(data, i, s, mu, work):
    average = mu[0][i]
    for j in range(work.d.shape[0]):
        work.d[j] += s * average[j]


def add_labeling(data, i, s, work):
    for j in range(work.d.shape[0]):
        work.d[j] += s * work.z[j]


def end_direction(data, i, work):
    """Do nothing: the direction is complete without further work."""


def slope(data, i, w, work):
    total = work.loss_weight[0] * work.d[w.shape[0]]
    for j in range(w.shape[0]):
        total += w[j] * work.d[j]
    return total


def sqnorm(data, i, work):
    total = 0.0
    for j in range(work.d.shape[0] - 1):
        total += work.d[j] * work.d[j]
    return total


def advance(data, i, gamma, work, mu):
    average = mu[0][i]
    for j in range(work.d.shape[0]):
        average[j] += gamma * work.d[j]


def apply(data, i, s, work, w):
    for j in range(w.shape[0]):
        w[j] += s * work.d[j]


#: To be added to the routines of a model in feature space. The model's scratch has the fields of :class:`FeatureWork`;
#: the model writes ``argmax``, the routines that store labelings, and the two routines that are None here.
FEATURE_SPACE_ROUTINES = {
    "add_features": None,
    "labeling_loss": None,
    "scores": scores,
    "labeling_value": labeling_value,
    "start_parts": start_parts,
    "labeling_scores": labeling_scores,
    "direction_scores": direction_scores,
    "truth_value": truth_value,
    "load_truth": load_truth,
    "load_labeling": load_labeling,
    "loss": loss,
    "start_direction": start_direction,
    "add_average": add_average,
    "add_labeling": add_labeling,
    "end_direction": end_direction,
    "slope": slope,
    "sqnorm": sqnorm,
    "advance": advance,
    "apply": apply,
}


def features_pass(data_fields: Any, y: np.ndarray, out: np.ndarray, at: np.ndarray) -> None:
    """Template: add the features of labeling ``y`` of the only packed example to ``out``.

    ``at``, the number of the example, stays 0.
    """
    add_features(Data(*data_fields), 0, y, 1.0, out)


def truth_losses_pass(data_fields: Any, out: np.ndarray) -> None:
    """Template: write the loss of every packed truth to ``out``."""
    data = Data(*data_fields)
    for i in range(out.shape[0]):
        out[i] = labeling_loss(data, i, data.y[data.y_off[i] : data.y_off[i + 1]])


def outputs_pass(
    data_fields: Any, w: np.ndarray, loss_weight: float, blocks: np.ndarray, out: np.ndarray, at: np.ndarray
) -> None:
    """Template: decode some blocks and write their outputs to their places in ``out``.

    The packed labels are not used. During the pass ``at`` holds the current block.
    """
    data = Data(*data_fields)
    for j in range(blocks.shape[0]):
        i = blocks[j]
        at[0] = i
        decode(data, i, w, loss_weight, out[data.y_off[i] : data.y_off[i + 1]])
