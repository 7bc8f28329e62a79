"""Templates of batch Frank-Wolfe: the oracle on all blocks, then a step of all blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.dual.gaps import ceiling, examine, toward
from bcfw.models.contract import EXACT, Data, Work, advance, apply, keep_labeling, load_labeling, loss, reserve
from bcfw.records import BLOCK, NEEDS_ROOM, NOT_MAXIMAL, STOP, State


def batch_oracle_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    order: np.ndarray,
    tally: np.ndarray,
    lam: float,
    hinges: np.ndarray,
    losses: np.ndarray,
    toward: np.ndarray,
    labelings: Any,
) -> int:
    """Template: the oracle on all blocks at one w (bcfw-2013, Alg. 2).

    Writes hinge losses (found, and at most), gap and loss per block, keeps the labelings, and adds ``w_s - w`` to
    ``toward``. Returns how many blocks were done.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    for j in range(order.shape[0]):
        i = order[j]
        hinges[0, i] = examine(data, i, state.w, state, work)
        hinges[1, i] = ceiling(data, i, state.w, hinges[0, i], work)
        if hinges[0, i] < 0.0:
            tally[STOP] = NOT_MAXIMAL
            tally[BLOCK] = i
            return j
        losses[i] = loss(data, i, work)
        if not EXACT and state.gap[i] <= 0.0:  # nothing better was found: the block stays where it is
            losses[i] = -1.0
            continue
        keep_labeling(data, i, 0, work, labelings)
        apply(data, i, -state.weight[i] / lam, work, toward)
    return order.shape[0]


def batch_step_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    order: np.ndarray,
    tally: np.ndarray,
    gamma: float,
    losses: np.ndarray,
    labelings: Any,
) -> int:
    """Template: move every block by ``gamma`` toward its kept labeling (w is moved by the caller)."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    for j in range(order.shape[0]):
        i = order[j]
        if losses[i] < 0.0:
            continue
        load_labeling(data, i, 0, labelings, work)
        toward(data, i, state.mu, work)
        if not reserve(data, i, state.mu, work):
            tally[STOP] = NEEDS_ROOM
            return j
        advance(data, i, gamma, work, state.mu)
        state.ell[i] += gamma * (state.weight[i] * losses[i] - state.ell[i])
    return order.shape[0]
