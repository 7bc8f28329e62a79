"""Kernels of multiclass models: parts are the K labels, weights are (F, K)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.models.kernels.chain import first_argmax
from bcfw.models.kernels.feature_rows import add_row_outer, add_rows, column_product

#: Up to this many moved labels are updated one by one; more are updated as a whole row, which vectorises.
FEW_LABELS = 4


class MulticlassData(NamedTuple):
    """All examples.

    Attributes
    ----------
    indptr, indices, values : CSR of the (n, F) features
    y : (n,) true labels
    y_off : (n + 1,) 0, 1, ..., n
    sqnorms : (n,) |x_i|^2
    cost : (K, K) loss of predicting the column for the row
    n_features, n_labels : F and K
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    y: np.ndarray
    y_off: np.ndarray
    sqnorms: np.ndarray
    cost: np.ndarray
    n_features: int
    n_labels: int


class MulticlassWork(NamedTuple):
    """Scratch: (K,) scores, the current label, (K,) direction, how many and which labels it moves, and in which round
    (K,) scores were computed.
    """

    theta: np.ndarray
    y: np.ndarray
    d: np.ndarray
    n_moved: np.ndarray
    moved: np.ndarray
    stamp: np.ndarray
    tick: np.ndarray


def scores(data, i, w, loss_weight, work):
    cost = data.cost[data.y[i]]
    for k in range(data.n_labels):
        work.theta[k] = loss_weight * cost[k]
    add_rows(data, i, w, work.theta)


def argmax(data, i, w, work):
    work.y[0] = first_argmax(work.theta)
    return work.theta[work.y[0]]


def truth_value(data, i, w, work):
    return work.theta[data.y[i]]


def loss(data, i, work):
    return data.cost[data.y[i], work.y[0]]


def labeling_value(data, i, w, work):
    return work.theta[work.y[0]]


def start_parts(data, i, w, work):
    work.tick[0] += 1


def labeling_scores(data, i, w, work):
    score_part(data, i, work.y[0], w, work)


def direction_scores(data, i, w, work):
    for j in range(work.n_moved[0]):
        score_part(data, i, work.moved[j], w, work)


def score_part(data, i, k, w, work):
    """theta[k] with the loss, unless this round has computed it."""
    if work.stamp[k] == work.tick[0]:
        return
    work.stamp[k] = work.tick[0]
    work.theta[k] = data.cost[data.y[i], k] + column_product(data, i, k, w)


def start_direction(data, i, work):
    for k in range(data.n_labels):
        work.d[k] = 0.0


def add_average(data, i, s, mu, work):
    average = mu[0][i]
    for k in range(data.n_labels):
        work.d[k] += s * average[k]


def add_labeling(data, i, s, work):
    work.d[work.y[0]] += s


def end_direction(data, i, work):
    count = 0
    for k in range(data.n_labels):
        if work.d[k] != 0.0:
            work.moved[count] = k
            count += 1
    work.n_moved[0] = count


def slope(data, i, w, work):
    total = 0.0
    for j in range(work.n_moved[0]):
        total += work.theta[work.moved[j]] * work.d[work.moved[j]]
    return total


def sqnorm(data, i, work):
    total = 0.0
    for j in range(work.n_moved[0]):
        total += work.d[work.moved[j]] * work.d[work.moved[j]]
    return total * data.sqnorms[i]


def advance(data, i, gamma, work, mu):
    average = mu[0][i]
    for j in range(work.n_moved[0]):
        average[work.moved[j]] += gamma * work.d[work.moved[j]]


def apply(data, i, s, work, w):
    add_row_outer(data, i, s, work.n_moved[0], work, FEW_LABELS, w)
