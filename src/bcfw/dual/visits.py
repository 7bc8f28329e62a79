"""Template of the pass that visits blocks whose mass is in the averages: a certificate, or Frank-Wolfe steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.dual.gaps import ceiling, examine
from bcfw.dual.steps import line_search, move
from bcfw.kernels.trees import next_block, set_value
from bcfw.models.contract import Data, Work, advance, loss, reserve
from bcfw.records import BLOCK, CALLS, NEEDS_ROOM, NOT_MAXIMAL, STOP, Rule, State


def block_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    order: np.ndarray,
    tally: np.ndarray,
    rule_fields: Any,
    tree: np.ndarray,
    hinges: np.ndarray,
) -> int:
    """Template: visit each block of ``order``, or drawn from ``tree``, with one call of the oracle.

    With room in ``hinges`` (2, n) the visit writes the block's structured hinge loss there, what it is at most, and the
    block's gap, and that is all: a certificate. Otherwise it takes one Frank-Wolfe step (bcfw-2013, Alg. 4).

    Returns
    -------
    int
        How many blocks were done; ``tally[STOP]`` says why not all, ``tally[BLOCK]`` where it stopped.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    rule = Rule(*rule_fields)
    for j in range(order.shape[0]):
        i = next_block(tree, order[j])
        tally[BLOCK] = i
        value = examine(data, i, state.w, state, work)
        if value < 0.0:
            tally[STOP] = NOT_MAXIMAL
            return j
        if hinges.shape[1] > 0:
            hinges[0, i] = value
            hinges[1, i] = ceiling(data, i, state.w, value, work)
            continue
        if not reserve(data, i, state.mu, work):
            tally[STOP] = NEEDS_ROOM
            return j
        tally[CALLS] += 1.0
        set_value(tree, i, state.gap[i])
        gamma = line_search(data, i, state.gap[i], 1.0, state, work, rule, tally)
        change = gamma * (state.weight[i] * loss(data, i, work) - state.ell[i])
        if gamma > 0.0:
            advance(data, i, gamma, work, state.mu)
        move(data, i, gamma, change, state, work, rule, tally)
    return order.shape[0]
