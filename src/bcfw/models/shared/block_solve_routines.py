"""Shared routines of exact block solves, for models with one feature vector per block and one part per label.

All parts of block i have the features x_i, so that ``|B_i d|^2 = |x_i|^2 |d|^2``. Therefore the best average of the
block maximises

    theta_i'd - A/2 |d|^2,        d = mu - mu_i,    A = scale |x_i|^2

over the listed parts (``work.moved``). A model that shares these routines writes :func:`part_loss`, and ``solve_parts``
and ``list_parts`` of the contract (:mod:`bcfw.passes.contract`).
"""

from __future__ import annotations

import numpy as np

from bcfw.models.shared.feature_rows import column_pair_product
from bcfw.models.shared.part_vectors import theta_of
from bcfw.passes.records import ALL_PARTS

#: If more than this share of a block's parts is listed, the scores of all its parts are computed, because loops over
#: whole rows of weights vectorise.
MANY_PARTS = 0.4

#: A block gap below this share of the scores is due to rounding: the block does not move.
SCORE_ROUNDING = 1e-15

#: Curvatures below this number count as zero: dividing a score by a smaller number may overflow.
NO_CURVATURE = 1e-290

#: If no entry of the step is larger than this, the step is computed again by :func:`project_step`: computed as a
#: difference of averages, it would consist largely of their rounding errors.
SMALL_STEP = 1e-6

#: If the mass of a projected block differs from one by more than this, it is rescaled; blocks with few parts never need
#: this.
MASS_DRIFT = 1e-12


def load_parts(data, i, count, parts, work):
    """Write the listed parts to ``work.moved``."""
    if count == ALL_PARTS:
        count = data.part_off[i + 1] - data.part_off[i]
        for part in range(count):
            work.moved[part] = part
    else:
        for j in range(count):
            work.moved[j] = parts[j]
    work.n_moved[0] = count


def part_loss(data, i, part):
    """Return the loss of one part, an entry of ``l_i``; the model replaces this routine."""
    return 0.0


def listed_scores(data, i, w, work):
    """Write theta_i at the listed parts, two at a time; return False if too many parts are listed."""
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
    """Return ``l_i'd``."""
    total = 0.0
    for j in range(work.n_moved[0]):
        total += part_loss(data, i, work.moved[j]) * work.d[work.moved[j]]
    return total


def keep_moved(work):
    """Keep the listed parts with ``d != 0`` in the list."""
    count = 0
    for j in range(work.n_moved[0]):
        part = work.moved[j]
        if work.d[part] != 0.0:
            work.moved[count] = part
            count += 1
    work.n_moved[0] = count


def largest_step(work):
    """Return the largest ``|d|`` of the listed parts."""
    largest = 0.0
    for j in range(work.n_moved[0]):
        largest = max(largest, abs(work.d[work.moved[j]]))
    return largest


def project_step(work, best, curvature):
    """Turn d, which is mu_i at the listed parts, into the step to the projection of ``mu_i + theta_i/A``.

    The threshold tau is the one in :func:`project_listed`, but it is computed from the entries of the step. So the
    entries sum to zero up to their own rounding errors, however small they are.
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
    """Project d, at the listed parts, onto the simplex: ``d <- max(d - tau, 0)`` with the tau that makes the sum one.

    The search of tau starts with the largest entry minus one, a lower bound of tau. Each iteration sums the entries
    above the current bound, subtracts one, and divides by their number; the result is a larger lower bound. It stops
    when the set of entries above the bound no longer shrinks (Michelot, 1986). The rounding error of tau enters the sum
    once per part; if that makes the mass wrong, it is corrected.
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
        if count == 0 or count >= above:  # the set has stopped shrinking; an empty or a larger set is due to rounding
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


#: Block solves, to be added to a model's routines; the model must write the routines that are None here.
BLOCK_SOLVE_ROUTINES = {
    "part_loss": None,
    "load_parts": load_parts,
    "listed_scores": listed_scores,
    "direction_loss": direction_loss,
    "solve_parts": None,
    "list_parts": None,
}
