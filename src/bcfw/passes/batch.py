"""Passes of batch Frank-Wolfe: one calls the oracle on all blocks, the other moves all blocks by one step size."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.passes.contract import (
    EXACT,
    Data,
    Work,
    advance,
    apply,
    direction_from_average,
    keep_labeling,
    load_labeling,
    loss,
    reserve,
)
from bcfw.passes.oracle import hinge_upper_bound, oracle_and_direction
from bcfw.records import BLOCK, NEEDS_ROOM, NOT_MAXIMAL, STOP, State


def batch_oracle_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    tally: np.ndarray,
    first: int,
    blocks: np.ndarray,
    lam: float,
    hinges: np.ndarray,
    losses: np.ndarray,
    moves: np.ndarray,
    step: np.ndarray,
    labelings: Any,
) -> int:
    """Template: call the oracle on all blocks at one w (bcfw-2013, Alg. 2: the loop over i).

    For every block the pass writes the hinge loss and an upper bound of it to ``hinges`` (2, n), the block gap to the
    state, the loss of the oracle's output to ``losses``, and to ``moves`` whether the block will move (with a heuristic
    oracle a block stays if the output is no better than its average). For blocks that move it writes the output to
    ``labelings`` and adds ``-c_i/lam B_i d_i`` to ``step``; the sum over all blocks is ``w_s - w``. Returns how many
    blocks are done.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    for j in range(first, blocks.shape[0]):
        i = blocks[j]
        hinges[0, i], maximal = oracle_and_direction(data, i, state.w, state, work)
        hinges[1, i] = hinge_upper_bound(data, i, state.w, hinges[0, i], work)
        if not maximal:
            tally[STOP] = NOT_MAXIMAL
            tally[BLOCK] = i
            return j
        losses[i] = loss(data, i, work)
        moves[i] = EXACT or state.gap[i] > 0.0
        if moves[i]:
            keep_labeling(data, i, 0, work, labelings)
            apply(data, i, -state.c[i] / lam, work, step)
    return blocks.shape[0]


def batch_step_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    tally: np.ndarray,
    first: int,
    blocks: np.ndarray,
    gamma: float,
    losses: np.ndarray,
    moves: np.ndarray,
    labelings: Any,
) -> int:
    """Template: move every block with ``moves`` by ``gamma`` towards its labeling in ``labelings``; the caller moves w.

    Returns how many blocks are done.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    for j in range(first, blocks.shape[0]):
        i = blocks[j]
        if not moves[i]:
            continue
        load_labeling(data, i, 0, labelings, work)
        direction_from_average(data, i, state.mu, work)
        if not reserve(data, i, state.mu, work):
            tally[STOP] = NEEDS_ROOM
            return j
        advance(data, i, gamma, work, state.mu)
        state.ell[i] += gamma * (state.c[i] * losses[i] - state.ell[i])
    return blocks.shape[0]
