"""Routines that let a model work with an input kernel k(x, x') instead of features: look-up of scores, update by steps.

The features of input p, one of N positions or examples, are the unit vector e_p. There are two vectors of weights:

    beta    [(N, K), others]: coefficients, ``U = sum_p f(x_p) beta_p'`` where f are the features of the input kernel
    w       [(K, N), others]: scores of all inputs, ``w[k, p] = f(x_p)'U[:, k] = sum_s k(x_p, x_s) beta[s, k]``

The other weights (transitions, biases of ends) are equal in both vectors. A step changes the scores of all inputs for a
few labels. The scores of a label are contiguous in w, so that the update vectorises. The model's own routines are used
unchanged, except ``apply``, ``reserve``, and the routines that read features
(:mod:`bcfw.models.shared.feature_rows`), which are replaced by look-ups of scores.
"""

from __future__ import annotations

import collections
import functools
from typing import Any

from bcfw.compile import RoutineSet
from bcfw.passes.contract import sqnorm

#: If at least one in this many inputs is live, the scores of all inputs are updated, because that vectorises.
LIVE_SHARE = 4


#: Fields that are added to a model's data: kernel rows (see :class:`bcfw.solvers.kernelized.row_cache.KernelRows`);
#: coefficients; scratch of a step (coefficients of the block before the step, changed labels, changes); the live
#: inputs, whose scores are needed, and their number.
ROW_FIELDS = ("rows", "slot", "used", "clock", "beta", "before", "changed", "change", "live", "n_live")


def add_scores(data, token, w, out):
    """Add ``w[k, token]`` to ``out[k]`` for all labels k; replaces ``add_rows``."""
    N = data.slot.shape[0]
    for k in range(out.shape[0]):
        out[k] += w[k * N + token]


def score_of(data, row, k, w):
    """Return ``w[k, row]``; replaces ``column_product``."""
    return w[k * data.slot.shape[0] + row]


def score_pair_of(data, row, k, l, w):
    """Return ``w[k, row]`` and ``w[l, row]``; replaces ``column_pair_product``."""
    N = data.slot.shape[0]
    return w[k * N + row], w[l * N + row]


def apply_parts(data, i, s, work, w):
    """Placeholder for the model's own ``apply``."""


def reserve_parts(data, i, mu, work):
    """Placeholder for the model's own ``reserve``."""
    return True


def has_rows(data, i):
    """Return whether the kernel rows of all inputs of block i are in the cache."""
    missing = 0
    for p in range(data.y_off[i], data.y_off[i + 1]):
        if data.slot[p] < 0:
            missing += 1
    return missing == 0


def reserve_with_rows(data, i, mu, work):
    """Make room for a step along d; return False if kernel rows are missing or the averages need more room.

    Kernel rows are needed only if the step changes scores, ``|B_i d| > 0``.
    """
    if not has_rows(data, i) and sqnorm(data, i, work) > 0.0:
        return False
    return reserve_parts(data, i, mu, work)


def apply_by_rows(data, i, s, work, w):
    """Add ``s B_i d`` to beta, and update the scores of the inputs."""
    K = data.n_labels
    N = data.slot.shape[0]
    start, stop = data.y_off[i], data.y_off[i + 1]
    for j in range((stop - start) * K):
        data.before[j] = data.beta[start * K + j]
    apply_parts(data, i, s, work, data.beta)
    for j in range(N * K, w.shape[0]):
        w[j] = data.beta[j]
    if not has_rows(data, i):  # |B_i d| = 0
        return
    data.clock[0] += 1
    for p in range(start, stop):
        count = 0
        for k in range(K):
            data.change[k] = data.beta[p * K + k] - data.before[(p - start) * K + k]
            if data.change[k] != 0.0:
                data.changed[count] = k
                count += 1
        data.used[p] = data.clock[0]
        if count > 0:
            add_row(data, data.slot[p], count, w)


def add_row(data, slot, count, w):
    """Add ``change_k k(x_q, x_p)`` to ``w[k, q]`` for the changed labels k, two at a time, and the inputs q.

    ``slot`` holds the kernel row of input p. The inputs q are all inputs, or only the live inputs if these are few.
    """
    N = data.slot.shape[0]
    row = data.rows[slot]
    for m in range(0, count, 2):
        k, l = data.changed[m], data.changed[min(m + 1, count - 1)]
        first, second = w[k * N : k * N + N], w[l * N : l * N + N]
        a, b = data.change[k], data.change[l] if m + 1 < count else 0.0
        if LIVE_SHARE * data.n_live[0] >= N:
            for q in range(N):
                first[q] += a * row[q]
                second[q] += b * row[q]
        else:
            for j in range(data.n_live[0]):
                q = data.live[j]
                first[q] += a * row[q]
                second[q] += b * row[q]


@functools.cache
def record_with_rows(record: Any) -> Any:
    """Return the class of a model's data extended by the fields that kernel rows need (``ROW_FIELDS``)."""
    return collections.namedtuple(f"{record.__name__}WithRows", (*record._fields, *ROW_FIELDS))


@functools.cache
def routines_on_coefficients(routines: RoutineSet) -> RoutineSet:
    """Return a model's routines for data with kernel rows; they read scores, and steps change only coefficients."""
    return routines.rebound(
        Data=record_with_rows(routines.bindings["Data"]),
        add_rows=add_scores,
        column_product=score_of,
        column_pair_product=score_pair_of,
    )


@functools.cache
def routines_by_rows(routines: RoutineSet) -> RoutineSet:
    """Return a model's routines for data with kernel rows; steps change the coefficients and the scores."""
    own = routines.bindings
    return routines_on_coefficients(routines).rebound(
        apply=apply_by_rows, reserve=reserve_with_rows, apply_parts=own["apply"], reserve_parts=own["reserve"]
    )
