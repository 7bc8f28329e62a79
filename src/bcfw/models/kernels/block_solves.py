"""Kernels of exact block solves that models share whose parts are one dense vector per block, with features in rows.

With theta_i at the listed parts (``work.moved``), the best average of block i maximises

    theta_i'd - A/2 |d|^2,        d = mu - mu_i,    A = scale |x_i|^2

over the listed parts, because all parts of a block have the same features: ``|B_i d|^2 = |x_i|^2 |d|^2``. A model
writes :func:`part_loss`, and ``solve_parts`` and ``list_parts`` of the contract (:mod:`bcfw.passes.contract`).
"""

from __future__ import annotations

import numpy as np

from bcfw.models.kernels.feature_rows import column_pair_product
from bcfw.models.kernels.part_vectors import theta_of
from bcfw.records import ALL_PARTS

#: From this share of its parts on, all scores of a block are computed: whole rows of weights vectorise.
MANY_PARTS = 0.4

#: A block gap below this share of the scores is their rounding: the block stays.
SCORE_ROUNDING = 1e-15

#: Curvatures below this count as none: the quotient of a score and such a number may be too large for floating point.
NO_CURVATURE = 1e-290

#: Where no mass moves by more, the rounding of the mass that stays would be seen in the step.
SMALL_STEP = 1e-6

#: How far the mass of a projected block may be from one before it is corrected. Few parts never come so far.
MASS_DRIFT = 1e-12


def load_parts(data, i, count, parts, work):
    """``moved`` are the listed parts."""
    if count == ALL_PARTS:
        count = data.part_off[i + 1] - data.part_off[i]
        for part in range(count):
            work.moved[part] = part
    else:
        for j in range(count):
            work.moved[j] = parts[j]
    work.n_moved[0] = count


def part_loss(data, i, part):
    """Model's kernel: ``l_i`` at one part."""
    return 0.0


def listed_scores(data, i, w, work):
    """Theta_i at the listed parts, two at a time."""
    count = work.n_moved[0]
    if count > MANY_PARTS * (data.part_off[i + 1] - data.part_off[i]):
        return False
    for pair in range(count // 2):
        a, b = work.moved[2 * pair], work.moved[2 * pair + 1]
        first, second = column_pair_product(data, i, a, b, w)
        work.theta[a] = part_loss(data, i, a) + first
        work.theta[b] = part_loss(data, i, b) + second
    if count % 2 == 1:
        part = work.moved[count - 1]
        work.theta[part] = theta_of(data, i, part, w)
    return True


def direction_loss(data, i, work):
    """``l_i'd``."""
    total = 0.0
    for j in range(work.n_moved[0]):
        total += part_loss(data, i, work.moved[j]) * work.d[work.moved[j]]
    return total


def keep_moved(work):
    """Of the listed parts, keep those with ``d != 0``."""
    count = 0
    for j in range(work.n_moved[0]):
        part = work.moved[j]
        if work.d[part] != 0.0:
            work.moved[count] = part
            count += 1
    work.n_moved[0] = count


def largest_step(work):
    """The largest ``|d|`` of the listed parts."""
    largest = 0.0
    for j in range(work.n_moved[0]):
        largest = max(largest, abs(work.d[work.moved[j]]))
    return largest


def project_step(work, best, curvature):
    """Turn d, which is mu_i at the listed parts, into the step to the projection of ``mu_i + theta_i/A``.

    The same tau as in :func:`project_listed`, out of the steps alone: however small they are, they sum to zero but for
    their own rounding.
    """
    n = work.n_moved[0]
    tau = -np.inf
    above = n + 1
    while True:
        count = 0
        total = 0.0
        for j in range(n):
            part = work.moved[j]
            wanted = (work.theta[part] - work.theta[best]) / curvature
            if wanted - tau > -work.d[part]:
                count += 1
                total += wanted
            else:
                total -= work.d[part]
        if count == 0 or count >= above:
            break
        above = count
        tau = total / count
    for j in range(n):
        part = work.moved[j]
        work.d[part] = max((work.theta[part] - work.theta[best]) / curvature - tau, -work.d[part])


def project_listed(work):
    """Project d, at the listed parts, onto the simplex: ``d <- max(d - tau, 0)`` with the tau that makes its sum one.

    tau is at least the largest entry less one. From there on it is the mean of the entries above it, less one over
    their number, until none of them is below: each such tau is a lower bound of the right one (Michelot, 1986).
    The rounding of tau counts once for every part, which for many parts is too much: then the mass is corrected.
    """
    n = work.n_moved[0]
    tau = work.d[work.moved[0]]
    for j in range(1, n):
        tau = max(tau, work.d[work.moved[j]])
    tau -= 1.0
    above = n + 1
    while True:
        count = 0
        total = -1.0
        for j in range(n):
            entry = work.d[work.moved[j]]
            if entry > tau:
                count += 1
                total += entry
        if count == 0 or count >= above:  # more than before, or none, can only be rounding
            break
        above = count
        tau = total / count
    excess = -1.0
    for j in range(n):
        part = work.moved[j]
        work.d[part] = max(work.d[part] - tau, 0.0)
        excess += work.d[part]
    if abs(excess) > MASS_DRIFT:
        for j in range(n):
            work.d[work.moved[j]] /= 1.0 + excess


#: For a model's kernel set: block solves; the model has to write those that are None.
BLOCK_SOLVE_KERNELS = {
    "part_loss": None,
    "load_parts": load_parts,
    "listed_scores": listed_scores,
    "direction_loss": direction_loss,
    "solve_parts": None,
    "list_parts": None,
}
