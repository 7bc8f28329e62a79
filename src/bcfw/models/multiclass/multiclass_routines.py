"""Routines of multiclass models: the parts are the K labels, and the weights are a (F, K) matrix U."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.algorithms.sparse_vectors import first_argmax
from bcfw.models.shared.block_solve_routines import (
    NO_CURVATURE,
    SCORE_ROUNDING,
    SMALL_STEP,
    keep_moved,
    largest_step,
    project_listed,
    project_step,
)
from bcfw.models.shared.costs import cost_of, largest_cost, write_costs
from bcfw.models.shared.feature_rows import add_row_outer, add_rows, column_product, list_row_outer
from bcfw.models.shared.part_vectors import add_part, score_part, start_direction
from bcfw.models.shared.sum_product import softmax
from bcfw.passes.records import ALL_PARTS

#: Up to this many moved labels are updated one by one; for more labels whole rows are updated, which vectorises.
FEW_LABELS = 4


class MulticlassData(NamedTuple):
    """The packed examples of a multiclass model.

    Attributes
    ----------
    indptr, index_at, indices, values : the (n, F) features, see :class:`bcfw.inputs.rows.Rows`
    y : (n,) true labels
    y_off, part_off : (n + 1,) 0, 1, ..., n and 0, K, ..., n K
    sqnorms : (n,) |x_i|^2
    cost : (K, K) ``cost[truth, prediction]``; empty for the 0/1 loss
    n_features, n_labels : F and K
    """

    indptr: np.ndarray
    index_at: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    y: np.ndarray
    y_off: np.ndarray
    part_off: np.ndarray
    sqnorms: np.ndarray
    cost: np.ndarray
    n_features: int
    n_labels: int


class MulticlassWork(NamedTuple):
    """Scratch of one thread: the current label (1,) and arrays for K parts.

    The arrays are described in :mod:`bcfw.models.shared.part_vectors`. ``place`` is (K,) if averages are lists (see
    :mod:`bcfw.models.multiclass.label_lists`), else empty.
    """

    y: np.ndarray
    theta: np.ndarray
    d: np.ndarray
    moved: np.ndarray
    n_moved: np.ndarray
    stamp: np.ndarray
    tick: np.ndarray
    place: np.ndarray


def scores(data, i, w, loss_weight, work):
    """Write ``theta[k] = loss_weight cost[y_i, k] + x_i'U[:, k]`` for all labels k."""
    write_costs(data, data.y[i], loss_weight, work.theta)
    add_rows(data, i, w, work.theta)


def theta_of(data, i, k, w):
    """Return ``cost[y_i, k] + x_i'U[:, k]``."""
    return cost_of(data, data.y[i], k) + column_product(data, i, k, w)


def score_labeling(data, i, y, w, work):
    """Compute theta at the label ``y[0]``."""
    score_part(data, i, y[0], w, work)


def argmax(data, i, w, work):
    """Make the label of the largest score the current label, and return its score."""
    work.y[0] = first_argmax(work.theta)
    return work.theta[work.y[0]]


def loss(data, i, work):
    """Return ``cost[y_i, y]`` of the current label y."""
    return cost_of(data, data.y[i], work.y[0])


def value_of(data, i, y, w, work):
    """Return ``theta[y]``."""
    return work.theta[y[0]]


def add_parts(data, i, s, y, work):
    """Add s to ``d[y]``."""
    add_part(y[0], s, work)


def sqnorm(data, i, work):
    """Return ``|x_i|^2 |d|^2``."""
    total = 0.0
    for j in range(work.n_moved[0]):
        total += work.d[work.moved[j]] * work.d[work.moved[j]]
    return total * data.sqnorms[i]


def apply(data, i, s, work, w):
    """Add ``s x_i d'`` to U."""
    add_row_outer(data, i, s, work.n_moved[0], work, FEW_LABELS, w)


def touched(data, i, work, out):
    """List the coordinates of U at the features of x_i and the moved labels."""
    return list_row_outer(data, i, work.moved, work.n_moved[0], out)


def part_loss(data, i, k):
    """Return ``cost[y_i, k]``."""
    return cost_of(data, data.y[i], k)


def solve_parts(data, i, scale, mu, work):
    """Solve a block: mu is the projection of ``mu_i + theta_i/A`` onto the simplex; if ``A = 0``, the best corner."""
    average = mu[0][data.part_off[i] :]
    best = work.moved[0]
    value = 0.0
    for j in range(work.n_moved[0]):
        k = work.moved[j]
        value += work.theta[k] * average[k]
        if work.theta[k] > work.theta[best]:
            best = k
    start_direction(data, i, work)
    gap = work.theta[best] - value
    if gap <= SCORE_ROUNDING * abs(work.theta[best]):
        work.n_moved[0] = 0
        return gap
    curvature = scale * data.sqnorms[i]
    if curvature > NO_CURVATURE:
        for j in range(work.n_moved[0]):
            k = work.moved[j]
            work.d[k] = average[k] + (work.theta[k] - work.theta[best]) / curvature
        project_listed(work)
    else:
        work.d[best] = 1.0
    for j in range(work.n_moved[0]):
        work.d[work.moved[j]] -= average[work.moved[j]]
    if largest_step(work) < SMALL_STEP:
        for j in range(work.n_moved[0]):
            work.d[work.moved[j]] = average[work.moved[j]]
        project_step(work, best, curvature)
    keep_moved(work)
    return gap


def list_parts(data, i, slack, mu, work, out):
    """List the labels with mass and the labels whose score is within the slack of the best.

    Returns 0 if there is only one label: the block cannot move.
    """
    K = data.n_labels
    average = mu[0][data.part_off[i] :]
    least = work.theta[first_argmax(work.theta)] - slack * largest_cost(data, data.y[i])
    count = 0
    for k in range(K):
        if average[k] > 0.0 or work.theta[k] >= least:
            if count == out.shape[0]:
                return ALL_PARTS
            out[count] = k
            count += 1
    return count if count > 1 else 0


def part_marginals(data, i, work, out):
    """Write the softmax of theta to ``out`` and return ``log Z``."""
    return softmax(work.theta, out)
