"""Kernels that models share whose parts are one dense vector per block: z(y), mu_i, theta_i and d all have length p_i.

Block i's average mu_i is ``mu[0][data.part_off[i] : data.part_off[i + 1]]``. With a direction comes the list
of the parts that it moves (those with d != 0), because labelings and averages use few of a block's parts: ``slope``,
``advance`` and the model's own kernels run over this list.

A model that joins ``PART_VECTOR_KERNELS`` has the field ``part_off``, (n + 1,) offsets, in its data, and in its scratch

theta, d
    Scores and the current direction, as long as the largest block.
moved, n_moved
    Which parts the direction moves, and (1,) how many; in ascending order, unless the model binds a ``difference`` of
    its own.

It writes ``scores``, ``argmax``, ``loss``, ``sqnorm`` and ``apply`` of the contract (:mod:`bcfw.passes.contract`), and
for a labeling y ``value_of`` and ``add_parts`` (:mod:`bcfw.models.kernels.labelings`). How theta_i is computed when
only kept labelings matter, it chooses by joining one of two sets:

SCORES_BY_PART
    Only at the parts that are needed: it writes :func:`theta_of` and ``score_labeling``, which calls
    :func:`score_part` for every part of y. Its scratch has ``stamp``, as long as theta, the round in which a score was
    computed, and ``tick``, (1,), the current round.
SCORES_AT_ONCE
    All of it: nothing more to write.

:func:`bcfw.models.part_vectors.part_scratch` makes the scratch arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.models.kernels.labelings import LABELING_KERNELS, LABELING_VALUE_KERNELS, add_parts, slot_offset
from bcfw.passes.contract import end_direction, scores


def theta_of(data: Any, i: int, part: int, w: np.ndarray) -> float:
    """Model's kernel: ``theta_i`` at one part, loss included."""
    return 0.0


def start_direction(data, i, work):
    """``d = 0``."""
    for part in range(data.part_off[i + 1] - data.part_off[i]):
        work.d[part] = 0.0


def add_part(part, s, work):
    """``d[part] += s``, which kernels of labelings may use."""
    work.d[part] += s


def add_average(data, i, s, mu, work):
    """``d += s mu_i``."""
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
    """``d = z(y) - z(y')`` of two kept labelings, which stay where they are."""
    length = data.y_off[i + 1] - data.y_off[i]
    a = slot_offset(data, i, slot, labelings)
    b = slot_offset(data, i, other, labelings)
    start_direction(data, i, work)
    add_parts(data, i, -1.0, labelings[b : b + length], work)
    add_parts(data, i, 1.0, labelings[a : a + length], work)
    end_direction(data, i, work)


def slope(data, i, w, work):
    """``theta_i'd``."""
    total = 0.0
    for j in range(work.n_moved[0]):
        total += work.theta[work.moved[j]] * work.d[work.moved[j]]
    return total


def advance(data, i, gamma, work, mu):
    """``mu_i += gamma d``."""
    average = mu[0][data.part_off[i] :]
    for j in range(work.n_moved[0]):
        average[work.moved[j]] += gamma * work.d[work.moved[j]]


def start_round(data, i, w, work):
    """From now on no score is known."""
    work.tick[0] += 1


def score_part(data, i, part, w, work):
    """Theta_i at one part, unless this round has computed it."""
    if work.stamp[part] == work.tick[0]:
        return
    work.stamp[part] = work.tick[0]
    work.theta[part] = theta_of(data, i, part, w)


def score_moved(data, i, w, work):
    """Theta_i at the parts that the direction moves."""
    for j in range(work.n_moved[0]):
        score_part(data, i, work.moved[j], w, work)


def score_all(data, i, w, work):
    """All of theta_i, loss included."""
    scores(data, i, w, 1.0, work)


def score_labeling(data, i, y, w, work):
    """Theta_i is known."""


def direction_scores(data, i, w, work):
    """Theta_i is known."""


#: For a model's kernel set: labelings, and directions that are dense vectors with a list of the moved parts.
PART_VECTOR_KERNELS = {
    **LABELING_KERNELS,
    **LABELING_VALUE_KERNELS,
    "start_direction": start_direction,
    "add_average": add_average,
    "end_direction": list_moved,
    "difference": difference,
    "slope": slope,
    "advance": advance,
}

#: To join to ``PART_VECTOR_KERNELS``: scores are computed where they are needed; the model writes ``theta_of``.
SCORES_BY_PART = {"theta_of": None, "start_parts": start_round, "direction_scores": score_moved}

#: To join to ``PART_VECTOR_KERNELS``: all scores of a block are computed, whatever is needed.
SCORES_AT_ONCE = {
    "start_parts": score_all,
    "score_labeling": score_labeling,
    "direction_scores": direction_scores,
}
