"""Marginals of linear chains by the forward-backward algorithm, in scaled probabilities or in logarithms.

The vector of a chain's parts has T K entries for labels of positions, row by row, then K^2 entries for transitions,
counted over all positions.
"""

from __future__ import annotations

import numpy as np

from bcfw.models.chain.chain_directions import POSITION, TRANSITION, add_part, order_positions
from bcfw.models.chain.chain_routines import transition_offset

#: If no two transition scores differ by more than this, the sums of scaled probabilities cannot underflow to zero.
WIDEST = 300.0


def part_scores(data, i, w, work, out):
    """Write theta of all positions, then the weights of the transitions."""
    K = data.n_labels
    T = data.y_off[i + 1] - data.y_off[i]
    for t in range(T):
        for k in range(K):
            out[t * K + k] = work.theta[t, k]
    trans = w[transition_offset(data) :]
    for part in range(K * K):
        out[T * K + part] = trans[part]


def expected_parts(data, i, u, work, out):
    """Compute marginals and log Z in scaled probabilities, or in logarithms if transition scores differ too much.

    Scaled probabilities need only one exponential per part.
    """
    K = data.n_labels
    T = data.y_off[i + 1] - data.y_off[i]
    smallest = largest = u[T * K]
    for part in range(T * K, u.shape[0]):
        smallest = min(smallest, u[part])
        largest = max(largest, u[part])
    if largest - smallest <= WIDEST:
        return expected_by_probabilities(u, largest, T, K, work, out)
    return expected_by_logarithms(u, T, K, work, out)


def expected_by_probabilities(u, top, T, K, work, out):
    """Compute marginals with forward sums f, scaled by s_t so that they sum to one, and backward sums b.

    ``f_t(k) = e_t(k)/s_t sum_a f_{t-1}(a) E(a, k)`` and ``b_t(a) = sum_k E(a, k) e_{t+1}(k)/s_{t+1} b_{t+1}(k)``, with
    ``e_t = exp(u_t - max u_t)`` and ``E = exp(trans - top)``. The probability of label k at t is ``f_t(k) b_t(k)``. The
    array ``work.best`` holds f, ``out`` holds b until the end, and ``work.theta`` is overwritten.
    """
    E = out[T * K :]
    for part in range(K * K):
        E[part] = np.exp(u[T * K + part] - top)
    total = top * (T - 1)
    for t in range(T):
        total += forward_row(u[t * K :], t, K, E, work)
    for k in range(K):
        out[(T - 1) * K + k] = 1.0
    for t in range(T - 2, -1, -1):
        later = work.theta[t + 1]
        for k in range(K):
            later[k] *= out[(t + 1) * K + k]
        for a in range(K):
            row = E[a * K :]
            value = 0.0
            for k in range(K):
                value += row[k] * later[k]
            out[t * K + a] = value
    for a in range(K):
        for b in range(K):
            count = 0.0
            for t in range(1, T):
                count += work.best[t - 1, a] * work.theta[t, b]
            E[a * K + b] *= count
    for t in range(T):
        for k in range(K):
            out[t * K + k] *= work.best[t, k]
    return total


def forward_row(u, t, K, E, work):
    """Write f_t and ``theta_t = e_t / s_t``; return ``log s_t + max u_t``, the term of position t in log Z."""
    row, share = work.best[t], work.theta[t]
    largest = u[0]
    for k in range(K):
        largest = max(largest, u[k])
        row[k] = 1.0 if t == 0 else 0.0
    if t > 0:
        before = work.best[t - 1]
        for a in range(K):
            mass = before[a]
            to = E[a * K :]
            for k in range(K):
                row[k] += mass * to[k]
    scale = 0.0
    for k in range(K):
        share[k] = np.exp(u[k] - largest)
        row[k] *= share[k]
        scale += row[k]
    for k in range(K):
        row[k] /= scale
        share[k] /= scale
    return largest + np.log(scale)


def expected_by_logarithms(u, T, K, work, out):
    """Compute marginals in logarithms: forward sums in ``work.best``, backward sums in ``out`` until the last loop."""
    trans = u[T * K :]
    for k in range(K):
        work.best[0, k] = u[k]
        out[(T - 1) * K + k] = 0.0
    for t in range(1, T):
        for k in range(K):
            work.best[t, k] = u[t * K + k] + sum_before(work.best[t - 1], trans, k)
    for t in range(T - 2, -1, -1):
        for k in range(K):
            out[t * K + k] = sum_after(u[(t + 1) * K :], out[(t + 1) * K :], trans, k, K)
    total = log_sum(work.best[T - 1])
    write_transitions(u, work.best, total, T, K, out)
    for t in range(T):
        for k in range(K):
            out[t * K + k] = np.exp(work.best[t, k] + out[t * K + k] - total)
    return total


def write_transitions(u, ahead, total, T, K, out):
    """Write the expected counts of all transitions."""
    trans = u[T * K :]
    counts = out[T * K :]
    for part in range(K * K):
        counts[part] = 0.0
    for t in range(1, T):
        for a in range(K):
            for b in range(K):
                score = ahead[t - 1, a] + trans[a * K + b] + u[t * K + b] + out[t * K + b]
                counts[a * K + b] += np.exp(score - total)


def log_sum(x):
    """Return ``log sum_k exp(x_k)``."""
    largest = x[0]
    for k in range(1, x.shape[0]):
        largest = max(largest, x[k])
    total = 0.0
    for k in range(x.shape[0]):
        total += np.exp(x[k] - largest)
    return largest + np.log(total)


def sum_before(before, trans, k):
    """Return ``log sum_a exp(before[a] + trans[a, k])``."""
    K = before.shape[0]
    largest = before[0] + trans[k]
    for a in range(1, K):
        largest = max(largest, before[a] + trans[a * K + k])
    total = 0.0
    for a in range(K):
        total += np.exp(before[a] + trans[a * K + k] - largest)
    return largest + np.log(total)


def sum_after(u, behind, trans, k, K):
    """Return ``log sum_b exp(trans[k, b] + u[b] + behind[b])``."""
    row = trans[k * K :]
    largest = row[0] + u[0] + behind[0]
    for b in range(1, K):
        largest = max(largest, row[b] + u[b] + behind[b])
    total = 0.0
    for b in range(K):
        total += np.exp(row[b] + u[b] + behind[b] - largest)
    return largest + np.log(total)


def add_expected(data, i, s, parts, work):
    """Add ``s parts`` to the direction, with entries for parts with mass only, sorted as in the list of the average."""
    K = data.n_labels
    T = data.y_off[i + 1] - data.y_off[i]
    for t in range(T):
        for k in range(K):
            if parts[t * K + k] > 0.0:
                add_part(POSITION, t, k, s * parts[t * K + k], work)
    for a in range(K):
        for b in range(K):
            if parts[T * K + a * K + b] > 0.0:
                add_part(TRANSITION, a, b, s * parts[T * K + a * K + b], work)
    order_positions(work)


#: The routines of "marginals", to be added to the routines of chains.
CHAIN_MARGINAL_ROUTINES = {
    "part_scores": part_scores,
    "expected_parts": expected_parts,
    "add_expected": add_expected,
}
