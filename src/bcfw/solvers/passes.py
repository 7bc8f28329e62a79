"""Templates of the passes that take steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.dual.gaps import examine
from bcfw.models.contract import (
    Data,
    Work,
    advance,
    apply,
    direction,
    keep_labeling,
    load_labeling,
    loss,
    reserve,
    sqnorm,
)
from bcfw.records import (
    AVERAGE_ELL,
    AVERAGED_STEPS,
    GAIN,
    NEEDS_ROOM,
    NOT_MAXIMAL,
    STEPS,
    STOP,
    Rule,
    State,
)


def fw_pass(
    data_fields: Any, work_fields: Any, state_fields: Any, order: np.ndarray, tally: np.ndarray, rule_fields: Any
) -> int:
    """Template: one Frank-Wolfe step on each block of ``order`` (bcfw-2013, Alg. 4).

    Returns
    -------
    int
        How many blocks were done; ``tally[STOP]`` says why not all.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    rule = Rule(*rule_fields)
    for j in range(order.shape[0]):
        i = order[j]
        if examine(data, i, state.w, state, work) < 0.0:
            tally[STOP] = NOT_MAXIMAL
            return j
        if not reserve(data, i, state.mu, work):
            tally[STOP] = NEEDS_ROOM
            return j
        # In terms of d = z* - mu_i: w_s - w_i = -c_i/lam B_i d, so lam |w_i - w_s|^2 = c_i^2/lam |B_i d|^2.
        scale = state.weight[i] / rule.lam
        curvature = state.weight[i] * scale * sqnorm(data, i, work)
        if rule.decay_blocks > 0:
            gamma = 2.0 * rule.decay_blocks / (tally[STEPS] + 2.0 * rule.decay_blocks)
        else:
            gamma = exact_step(state.gap[i], curvature, 1.0)
        tally[STEPS] += 1.0
        tally[GAIN] += gamma * state.gap[i] - 0.5 * gamma * gamma * curvature
        change = gamma * (state.weight[i] * loss(data, i, work) - state.ell[i])
        if gamma > 0.0:
            advance(data, i, gamma, work, state.mu)
            apply(data, i, -gamma * scale, work, state.w)
            state.ell[i] += change
        if rule.average.shape[0] > 0:
            # w_bar = w - 2/(s(s+1)) U with U = sum_s s(s-1)/2 (change of w in step s); the same for ell.
            tally[AVERAGED_STEPS] += 1.0
            s = tally[AVERAGED_STEPS]
            past = 0.5 * s * (s - 1.0)
            if gamma > 0.0 and past > 0.0:
                apply(data, i, -gamma * scale * past, work, rule.average)
                tally[AVERAGE_ELL] += change * past
    return order.shape[0]


def exact_step(gap: float, curvature: float, bound: float) -> float:
    """Maximiser over [0, bound] of the dual along a direction: ``gamma gap - gamma^2/2 curvature``."""
    if gap <= 0.0:
        return 0.0
    if gap >= bound * curvature:
        return bound
    return gap / curvature


def batch_oracle_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    order: np.ndarray,
    tally: np.ndarray,
    lam: float,
    hinge: np.ndarray,
    losses: np.ndarray,
    toward: np.ndarray,
    labelings: Any,
) -> int:
    """Template: the oracle on all blocks at one w (bcfw-2013, Alg. 2).

    Writes hinge, gap and loss per block, keeps the labelings, and adds ``w_s - w`` to ``toward``. Returns how
    many blocks were done.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    for j in range(order.shape[0]):
        i = order[j]
        hinge[i] = examine(data, i, state.w, state, work)
        if hinge[i] < 0.0:
            tally[STOP] = NOT_MAXIMAL
            return j
        losses[i] = loss(data, i, work)
        keep_labeling(data, i, work, labelings)
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
        load_labeling(data, i, labelings, work)
        direction(data, i, state.mu, work)
        if not reserve(data, i, state.mu, work):
            tally[STOP] = NEEDS_ROOM
            return j
        advance(data, i, gamma, work, state.mu)
        state.ell[i] += gamma * (state.weight[i] * losses[i] - state.ell[i])
    return order.shape[0]
