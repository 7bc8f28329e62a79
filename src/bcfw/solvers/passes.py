"""Templates of the passes that take steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.dual.gaps import examine, toward
from bcfw.kernels.trees import next_block, set_value
from bcfw.models.contract import (
    Data,
    Work,
    advance,
    apply,
    keep_labeling,
    load_labeling,
    loss,
    reserve,
    sqnorm,
)
from bcfw.records import (
    AVERAGED_STEPS,
    BLOCK,
    CALLS,
    GAIN,
    NEEDS_ROOM,
    NOT_MAXIMAL,
    STEPS,
    STOP,
    TRACK_SIZE,
    Rule,
    State,
)


def fw_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    order: np.ndarray,
    tally: np.ndarray,
    rule_fields: Any,
    tree: np.ndarray,
) -> int:
    """Template: one Frank-Wolfe step on each block of ``order``, or drawn from ``tree`` (bcfw-2013, Alg. 4).

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
        if examine(data, i, state.w, state, work) < 0.0:
            tally[STOP] = NOT_MAXIMAL
            return j
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


def line_search(
    data: Any, i: int, gap: float, bound: float, state: Any, work: Any, rule: Any, tally: np.ndarray
) -> float:
    """Step size in [0, bound] along the current direction d, whose slope times c_i is ``gap``; adds the dual gain.

    In terms of d: ``w_s - w_i = -c_i/lam B_i d``, so the curvature ``lam |w_i - w_s|^2`` is ``c_i^2/lam |B_i d|^2``.
    """
    curvature = state.weight[i] * state.weight[i] / rule.lam * sqnorm(data, i, work)
    if rule.decay_blocks > 0:
        gamma = 2.0 * rule.decay_blocks / (tally[STEPS] + 2.0 * rule.decay_blocks)
    else:
        gamma = exact_step(gap, curvature, bound)
    tally[GAIN] += gamma * gap - 0.5 * gamma * gamma * curvature
    return gamma


def move(data: Any, i: int, gamma: float, change: float, state: Any, work: Any, rule: Any, tally: np.ndarray) -> None:
    """Move w by gamma along the current direction and ell_i by ``change``; keep the averages up to date.

    The weighted average of a track's iterates w_1, ..., w_s is ``w - 2/(s(s+1)) U`` with
    ``U = sum_j j(j-1)/2 (w_j - w_{j-1})``. A step of another track belongs to the way to the next iterate.
    """
    tally[STEPS] += 1.0
    scale = -gamma * state.weight[i] / rule.lam
    # Target -1 is w itself, the others are the tracks' sums.
    for target in range(-1, rule.averages.shape[0]):
        out = state.w
        past = 1.0
        if target >= 0:
            place = AVERAGED_STEPS + target * TRACK_SIZE
            out = rule.averages[target]
            past = 0.5 * tally[place] * (tally[place] + 1.0)
            tally[place + 1] += change * past
            if target == rule.track:
                tally[place] += 1.0
        if gamma > 0.0 and past > 0.0:
            apply(data, i, scale * past, work, out)
    if gamma > 0.0:
        state.ell[i] += change


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
            tally[BLOCK] = i
            return j
        losses[i] = loss(data, i, work)
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
        load_labeling(data, i, 0, labelings, work)
        toward(data, i, state.mu, work)
        if not reserve(data, i, state.mu, work):
            tally[STOP] = NEEDS_ROOM
            return j
        advance(data, i, gamma, work, state.mu)
        state.ell[i] += gamma * (state.weight[i] * losses[i] - state.ell[i])
    return order.shape[0]
