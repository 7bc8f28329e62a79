"""Kernels of multiclass models: parts are the K labels, weights are (F, K)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.models.chain_kernels import add_rows, first_argmax

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
    """Scratch: (K,) scores, the current label, (K,) direction, how many and which labels it moves."""

    theta: np.ndarray
    y: np.ndarray
    d: np.ndarray
    n_moved: np.ndarray
    moved: np.ndarray


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


def direction(data, i, mu, work):
    average = mu[0][i]
    chosen = work.y[0]
    count = 0
    for k in range(data.n_labels):
        mass = average[k]
        work.d[k] = -mass
        if mass != 0.0 and k != chosen:
            work.moved[count] = k
            count += 1
    work.d[chosen] += 1.0
    if count > 0 or work.d[chosen] != 0.0:
        work.moved[count] = chosen
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
    K = data.n_labels
    count = work.n_moved[0]
    if count == 0:
        return
    for j in range(data.indptr[i], data.indptr[i + 1]):
        f = data.indices[j]
        row = w[f * K : f * K + K]
        c = s * data.values[j]
        if count <= FEW_LABELS:
            for m in range(count):
                row[work.moved[m]] += c * work.d[work.moved[m]]
        else:
            for k in range(K):
                row[k] += c * work.d[k]
