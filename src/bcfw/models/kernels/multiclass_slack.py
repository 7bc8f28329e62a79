"""Kernels of multiclass models with slack rescaling: ``max_k L(k) (1 - <w, psi(k)>)``.

L(k) is the cost of label k in place of the truth t. Parts are the K labels, as with margin rescaling, but a label's
corner is ``z(k) = e_t + L(k) (e_k - e_t)``, and the loss of every wrong part is 1. So ``B z(k)`` differs from the
truth's features by ``L(k) psi(k)``, ``l'(z(k) - e_t) = L(k)``, and the value of a label relative to the truth's is
``theta'(z(k) - e_t) = L(k) (1 + x'W_k - x'W_t)``. Averages of corners, steps and norms are those of any other parts.
"""

from __future__ import annotations

from bcfw.models.kernels.costs import cost_of
from bcfw.models.kernels.feature_rows import add_rows, column_product
from bcfw.models.kernels.multiclass import apply, loss, sqnorm, touched
from bcfw.models.kernels.part_vectors import add_part, score_part


def scores(data, i, w, loss_weight, work):
    """``theta[k] = loss_weight [k != y_i] + x_i'U[:, k]``."""
    for k in range(data.n_labels):
        work.theta[k] = loss_weight
    work.theta[data.y[i]] = 0.0
    add_rows(data, i, w, work.theta)


def theta_of(data, i, k, w):
    """``[k != y_i] + x_i'U[:, k]``."""
    return (0.0 if k == data.y[i] else 1.0) + column_product(data, i, k, w)


def score_labeling(data, i, y, w, work):
    """Theta at the parts of the label and of the truth."""
    score_part(data, i, y[0], w, work)
    score_part(data, i, data.y[i], w, work)


def argmax(data, i, w, work):
    """The label of the largest ``L(k) (theta[k] - theta[y_i])``."""
    truth = data.y[i]
    best, value = 0, cost_of(data, truth, 0) * (work.theta[0] - work.theta[truth])
    for k in range(1, data.n_labels):
        other = cost_of(data, truth, k) * (work.theta[k] - work.theta[truth])
        if other > value:
            best, value = k, other
    work.y[0] = best
    return work.theta[truth] + value


def value_of(data, i, y, w, work):
    """``theta'z(y)``."""
    truth = data.y[i]
    return work.theta[truth] + cost_of(data, truth, y[0]) * (work.theta[y[0]] - work.theta[truth])


def add_parts(data, i, s, y, work):
    """``d += s z(y)``."""
    truth = data.y[i]
    cost = cost_of(data, truth, y[0])
    add_part(y[0], s * cost, work)
    add_part(truth, s * (1.0 - cost), work)


__all__ = [
    "add_parts",
    "apply",
    "argmax",
    "loss",
    "score_labeling",
    "scores",
    "sqnorm",
    "theta_of",
    "touched",
    "value_of",
]
