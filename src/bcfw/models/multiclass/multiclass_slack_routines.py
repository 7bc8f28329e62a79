"""Routines of multiclass models with slack rescaling, whose hinge loss is ``max_k L(k) (1 - <w, psi(k)>)``.

L(k) is the loss of label k when the truth is t. The parts are the K labels, as with margin rescaling, but the corner of
label k is ``z(k) = e_t + L(k) (e_k - e_t)``, and the loss of every wrong part is 1. Therefore ``B z(k)`` differs from
the truth's features by ``-L(k) psi(k)``, ``l'(z(k) - e_t) = L(k)``, and the value of label k minus the value of the
truth is ``theta'(z(k) - e_t) = L(k) (1 + x'U_k - x'U_t)``. Averages of corners, steps and norms need no change.
"""

from __future__ import annotations

from bcfw.models.multiclass.multiclass_routines import apply, loss, sqnorm, touched
from bcfw.models.shared.costs import cost_of
from bcfw.models.shared.feature_rows import add_rows, column_product
from bcfw.models.shared.part_vectors import add_part, score_part


def scores(data, i, w, loss_weight, work):
    """Write ``theta[k] = loss_weight [k != y_i] + x_i'U[:, k]`` for all labels k."""
    for k in range(data.n_labels):
        work.theta[k] = loss_weight
    work.theta[data.y[i]] = 0.0
    add_rows(data, i, w, work.theta)


def theta_of(data, i, k, w):
    """Return ``[k != y_i] + x_i'U[:, k]``."""
    return (0.0 if k == data.y[i] else 1.0) + column_product(data, i, k, w)


def score_labeling(data, i, y, w, work):
    """Compute theta at the label ``y[0]`` and at the truth."""
    score_part(data, i, y[0], w, work)
    score_part(data, i, data.y[i], w, work)


def argmax(data, i, w, work):
    """Find the label of the largest ``L(k) (theta[k] - theta[y_i])``, and return ``theta'z`` of it."""
    truth = data.y[i]
    best, value = 0, cost_of(data, truth, 0) * (work.theta[0] - work.theta[truth])
    for k in range(1, data.n_labels):
        other = cost_of(data, truth, k) * (work.theta[k] - work.theta[truth])
        if other > value:
            best, value = k, other
    work.y[0] = best
    return work.theta[truth] + value


def value_of(data, i, y, w, work):
    """Return ``theta'z(y)``."""
    truth = data.y[i]
    return work.theta[truth] + cost_of(data, truth, y[0]) * (work.theta[y[0]] - work.theta[truth])


def add_parts(data, i, s, y, work):
    """Add ``s z(y)`` to d."""
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
