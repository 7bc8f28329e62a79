"""The pass of exact block solves: each visit maximises the dual over one block, along the parts listed as movable."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.passes.contract import (
    Data,
    Work,
    advance,
    apply,
    direction_loss,
    list_parts,
    listed_scores,
    load_parts,
    reserve,
    scores,
    slope,
    solve_parts,
    sqnorm,
)
from bcfw.passes.oracle import answer_and_direction
from bcfw.passes.order import Visits, next_block
from bcfw.passes.records import (
    BLOCK,
    CALLS,
    CERTIFY,
    GAIN,
    NEEDS_ROOM,
    NOT_MAXIMAL,
    STEP,
    STEPS,
    STOP,
    PartLists,
    State,
    StepSettings,
)


def solve_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    counters: np.ndarray,
    first: int,
    visits_fields: Any,
    rule_fields: Any,
    mode: int,
    hinge_losses: np.ndarray,
    lists_fields: Any,
) -> int:
    """Template: maximise the dual over one block at a time, with all other blocks fixed.

    If mu_i moves to ``mu_i + d``, the dual gains ``c_i theta_i'd - c_i^2/(2 lam) |B_i d|^2``. In mode ``STEP`` a visit
    takes the best d that moves listed parts only. In mode ``CERTIFY`` a visit calls the oracle, as ``block_pass`` does,
    writes the block's hinge loss and gap, and makes a new list of the block's parts. The oracle must be exact, and w
    must have no bounds.

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
    lists = PartLists(*lists_fields)
    for j in range(first, visits.n_visits):
        i = next_block(visits, j)
        counters[BLOCK] = i
        scored = False
        if mode == STEP:
            load_parts(data, i, lists.size[i], lists.parts[i], work)
            scored = listed_scores(data, i, state.w, work)
        if not scored:
            scores(data, i, state.w, 1.0, work)
        if mode == CERTIFY:
            hinge, maximal = answer_and_direction(data, i, state.w, state, work)
            if not maximal:
                counters[STOP] = NOT_MAXIMAL
                return j
            hinge_losses[0, i] = hinge
            hinge_losses[1, i] = hinge
            lists.size[i] = list_parts(data, i, lists.slack, state.mu, work, lists.parts[i])
            continue
        scale = state.c[i] / rule.lam
        state.gap[i] = state.c[i] * solve_parts(data, i, scale, state.mu, work)
        if not reserve(data, i, state.mu, work):
            counters[STOP] = NEEDS_ROOM
            return j
        counters[CALLS] += 1.0
        counters[STEPS] += 1.0
        along = state.c[i] * slope(data, i, state.w, work)
        curvature = state.c[i] * scale * sqnorm(data, i, work)
        lists.idle[i] = not (along > 0.0 or curvature > 0.0)
        if lists.idle[i]:
            continue
        # The best d gains at least half its curvature; the slope of a short d is lost in rounding.
        counters[GAIN] += max(along - 0.5 * curvature, 0.5 * curvature)
        advance(data, i, 1.0, work, state.mu)
        apply(data, i, -scale, work, state.w)
        state.ell[i] += state.c[i] * direction_loss(data, i, work)
    return visits.n_visits
