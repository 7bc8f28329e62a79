"""Shared routines of models whose parts are one dense vector per block: z(y), mu_i, theta_i and d have length p_i.

The average mu_i of block i is ``mu[0][data.part_off[i] : data.part_off[i + 1]]``. Labelings and averages have mass on
few of a block's parts. Therefore a direction comes with the list of the parts that it moves (where d != 0), and
``slope``, ``advance`` and the model's own routines loop over this list.

A model that uses ``PART_VECTOR_ROUTINES`` has the field ``part_off``, (n + 1,) offsets, in its data, and these fields
in its scratch:

theta, d
    Scores and the current direction, as long as the largest block.
moved, n_moved
    The parts that the direction moves, and (1,) their number. The parts are in ascending order, unless the model binds
    its own ``difference``.

The model writes ``scores``, ``argmax``, ``loss``, ``sqnorm`` and ``apply`` of the contract
(:mod:`bcfw.passes.contract`), and ``value_of`` and ``add_parts`` for a labeling y
(:mod:`bcfw.models.shared.labelings`). It also chooses how theta_i is computed when only stored labelings are needed,
by one of two further sets of routines:

SCORES_BY_PART
    Theta_i is computed only at the parts that are needed. The model writes :func:`theta_of` and ``score_labeling``,
    which calls :func:`score_part` for every part of y. Its scratch has the fields ``stamp``, as long as theta, the
    round in which each score was computed, and ``tick``, (1,), the current round.
SCORES_AT_ONCE
    All of theta_i is computed. The model writes no further routines.

:func:`bcfw.models.shared.part_vectors.part_scratch` makes the scratch arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.models.shared.labelings import LABELING_ROUTINES, LABELING_VALUE_ROUTINES, add_parts, slot_offset
from bcfw.passes.contract import end_direction, scores


def theta_of(data: Any, i: int, part: int, w: np.ndarray) -> float:
    """Return theta_i at one part, loss included (written by the model)."""
    return 0.0


def start_direction(data, i, work):
    """Set ``d = 0``."""
    for part in range(data.part_off[i + 1] - data.part_off[i]):
        work.d[part] = 0.0


def add_part(part, s, work):
    """Add s to ``d[part]``; a model's ``add_parts`` may call this."""
    work.d[part] += s


def add_average(data, i, s, mu, work):
    """Add ``s mu_i`` to d."""
    average = mu[0][data.part_off[i] :]  # without an end: a slice with two ends takes longer
    for part in range(data.part_off[i + 1] - data.part_off[i]):
        work.d[part] += s * average[part]


def list_moved(data, i, work):
    """List the parts with ``d != 0``."""
    count = 0
    for part in range(data.part_off[i + 1] - data.part_off[i]):
        if work.d[part] != 0.0:
            work.moved[count] = part
            count += 1
    work.n_moved[0] = count


def difference(data, i, slot, other, labelings, work):
    """Make ``d = z(y) - z(y')`` for two stored labelings, which are read in their slots and not copied."""
    length = data.y_off[i + 1] - data.y_off[i]
    a = slot_offset(data, i, slot, labelings)
    b = slot_offset(data, i, other, labelings)
    start_direction(data, i, work)
    add_parts(data, i, -1.0, labelings[b : b + length], work)
    add_parts(data, i, 1.0, labelings[a : a + length], work)
    end_direction(data, i, work)


def slope(data, i, w, work):
    """Return ``theta_i'd``."""
    total = 0.0
    for j in range(work.n_moved[0]):
        total += work.theta[work.moved[j]] * work.d[work.moved[j]]
    return total


def advance(data, i, gamma, work, mu):
    """Add ``gamma d`` to mu_i."""
    average = mu[0][data.part_off[i] :]
    for j in range(work.n_moved[0]):
        average[work.moved[j]] += gamma * work.d[work.moved[j]]


def start_round(data, i, w, work):
    """Begin a new round: mark all scores as unknown."""
    work.tick[0] += 1


def score_part(data, i, part, w, work):
    """Compute theta_i at one part, unless it was computed in this round."""
    if work.stamp[part] == work.tick[0]:
        return
    work.stamp[part] = work.tick[0]
    work.theta[part] = theta_of(data, i, part, w)


def score_moved(data, i, w, work):
    """Compute theta_i at the parts that the direction moves."""
    for j in range(work.n_moved[0]):
        score_part(data, i, work.moved[j], w, work)


def score_all(data, i, w, work):
    """Compute all of theta_i, loss included."""
    scores(data, i, w, 1.0, work)


def score_labeling(data, i, y, w, work):
    """Do nothing: all of theta_i is known."""


def direction_scores(data, i, w, work):
    """Do nothing: all of theta_i is known."""


#: To be added to a model's routines: labelings, and directions that are dense vectors with a list of the moved parts.
PART_VECTOR_ROUTINES = {
    **LABELING_ROUTINES,
    **LABELING_VALUE_ROUTINES,
    "start_direction": start_direction,
    "add_average": add_average,
    "end_direction": list_moved,
    "difference": difference,
    "slope": slope,
    "advance": advance,
}


#: To be added to ``PART_VECTOR_ROUTINES``: scores are computed only at the parts needed; the model writes ``theta_of``.
SCORES_BY_PART = {"theta_of": None, "start_parts": start_round, "direction_scores": score_moved}


#: To be added to ``PART_VECTOR_ROUTINES``: all scores of a block are computed at once.
SCORES_AT_ONCE = {
    "start_parts": score_all,
    "score_labeling": score_labeling,
    "direction_scores": direction_scores,
}


def part_scratch(n_parts: int, by_part: bool) -> dict[str, np.ndarray]:
    """Return fields of a model's scratch record for blocks with at most ``n_parts`` parts.

    Parameters
    ----------
    n_parts : int
    by_part : bool
        Whether the model uses ``SCORES_BY_PART``, which computes only the scores that are needed.

    Returns
    -------
    dict
        The arrays ``theta``, ``d``, ``moved``, ``n_moved``; with ``by_part`` also ``stamp`` and ``tick``.
    """
    scratch = {
        "theta": np.zeros(n_parts),
        "d": np.zeros(n_parts),
        "moved": np.zeros(n_parts, np.int64),
        "n_moved": np.zeros(1, np.int64),
    }
    rounds = {"stamp": np.zeros(n_parts, np.int64), "tick": np.zeros(1, np.int64)}
    return scratch | rounds if by_part else scratch
