"""The pass over blocks without a labeling store: Frank-Wolfe steps, or a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.passes.contract import Data, Work, advance, loss, reserve
from bcfw.passes.oracle import hinge_upper_bound, oracle_and_direction
from bcfw.passes.order import Visits, next_block, note_gap
from bcfw.passes.records import BLOCK, CALLS, CERTIFY, NEEDS_ROOM, NOT_MAXIMAL, STOP, State, StepSettings
from bcfw.passes.steps import line_search, move


def block_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    counters: np.ndarray,
    first: int,
    visits_fields: Any,
    rule_fields: Any,
    mode: int,
    hinge_losses: np.ndarray,
) -> int:
    """Template: visit blocks with one oracle call each (gaps-2016, Alg. 2; bcfw-2013, Alg. 4).

    In mode ``STEP`` a visit takes one Frank-Wolfe step. In mode ``CERTIFY`` a visit takes no step: it writes the
    block's structured hinge loss and an upper bound of it to ``hinge_losses`` (2, n), and the block's gap.

    Returns
    -------
    int
        How many visits are done. If the pass ends early, ``counters[STOP]`` says why and ``counters[BLOCK]`` at which
        block.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    visits = Visits(*visits_fields)
    rule = StepSettings(*rule_fields)
    for j in range(first, visits.n_visits):
        i = next_block(visits, j)  # line 4
        counters[BLOCK] = i
        hinge, maximal = oracle_and_direction(data, i, state.w, state, work)  # lines 5 to 8
        if not maximal:
            counters[STOP] = NOT_MAXIMAL
            return j
        if mode == CERTIFY:  # lines 15 to 20
            hinge_losses[0, i] = hinge
            hinge_losses[1, i] = hinge_upper_bound(data, i, state.w, hinge, work)
            continue
        if not reserve(data, i, state.mu, work):
            counters[STOP] = NEEDS_ROOM
            return j
        counters[CALLS] += 1.0
        note_gap(visits, i, state.gap[i])
        gamma = line_search(data, i, state.gap[i], 1.0, state, work, rule, counters)  # line 9
        change = gamma * (state.c[i] * loss(data, i, work) - state.ell[i])
        if gamma > 0.0:
            advance(data, i, gamma, work, state.mu)  # line 10, as averaged parts
        move(data, i, gamma, change, state, work, rule, counters)  # lines 11 to 13
    return visits.n_visits
