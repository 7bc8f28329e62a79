"""What a step does: line search along a direction, and the move of w, ell and the running averages."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.passes.box import DV, LOWER, UPPER, V, box_gain, box_step, clipped
from bcfw.passes.contract import BOUNDED, apply, sqnorm, touched
from bcfw.records import AVERAGED_STEPS, DECAY_SIZE, GAIN, SHORT_SIZE, STEPS, TRACK_SIZE


def line_search(
    data: Any, i: int, gap: float, gamma_max: float, state: Any, work: Any, rule: Any, tally: np.ndarray
) -> float:
    """Step size in [0, gamma_max] along the current direction d, whose slope times c_i is ``gap``; adds the dual gain.

    In terms of d: ``w_s - w_i = -c_i/lam B_i d``, so the curvature ``lam |w_i - w_s|^2`` is ``c_i^2/lam |B_i d|^2``.
    With bounds, the part of it that belongs to unbounded coordinates is kept apart.
    """
    curvature = state.c[i] * state.c[i] / rule.lam * sqnorm(data, i, work)
    free = read_box_direction(data, i, curvature, state, work, rule)
    if rule.size == DECAY_SIZE:
        gamma = 2.0 * rule.decay_blocks / (tally[STEPS] + 2.0 * rule.decay_blocks)
    else:
        gamma = best_step(gap, curvature, free, gamma_max, rule)
    tally[GAIN] += gain_of_step(gamma, gap, free, rule)
    return gamma


def read_box_direction(data: Any, i: int, curvature: float, state: Any, work: Any, rule: Any) -> float:
    """Write ``dv = -c_i/lam B_i d`` at the bounded coordinates to the box; the curvature of the others is returned.

    A coordinate may be touched more than once; it is kept even if the changes there cancel, to be clipped again. In the
    probe, coordinates without a bound may be left as they are: nothing reads them.
    """
    if not BOUNDED:
        return curvature
    for m in range(rule.n_moved[0]):
        rule.box[DV, rule.moved[m]] = 0.0
    apply(data, i, -state.c[i] / rule.lam, work, rule.probe)
    n_touched = touched(data, i, work, rule.moved)
    if n_touched < 0:
        n_touched = rule.bounded.shape[0]
        for m in range(n_touched):
            rule.moved[m] = rule.bounded[m]
    count = 0
    inside = 0.0
    for m in range(n_touched):
        j = rule.moved[m]
        is_bounded = rule.box[LOWER, j] > -np.inf or rule.box[UPPER, j] < np.inf
        if is_bounded and rule.box[DV, j] == 0.0:
            rule.box[DV, j] = rule.probe[j]
            inside += rule.probe[j] * rule.probe[j]
            rule.moved[count] = j
            count += 1
        rule.probe[j] = 0.0
    rule.n_moved[0] = count
    return max(curvature - rule.lam * inside, 0.0)


def best_step(gap: float, curvature: float, free: float, gamma_max: float, rule: Any) -> float:
    """Maximiser over [0, gamma_max] of the dual along the current direction; short steps ignore the bounds on w."""
    if not BOUNDED or rule.size == SHORT_SIZE:
        return exact_step(gap, curvature, gamma_max)
    return box_step(gap, free, rule.lam, gamma_max, rule.box, rule.moved[: rule.n_moved[0]])


def gain_of_step(gamma: float, gap: float, free: float, rule: Any) -> float:
    """What the dual gains by a step of size gamma along the current direction."""
    if not BOUNDED:
        return gamma * gap - 0.5 * gamma * gamma * free
    return box_gain(gamma, gap, free, rule.lam, rule.box, rule.moved[: rule.n_moved[0]])


def move(data: Any, i: int, gamma: float, change: float, state: Any, work: Any, rule: Any, tally: np.ndarray) -> None:
    """Move w by gamma along the current direction and ell_i by ``change``; keep the averages up to date.

    The weighted average of a track's iterates w_1, ..., w_s is ``w - 2/(s(s+1)) U`` with
    ``U = sum_j j(j-1)/2 (w_j - w_{j-1})``. A step of another track belongs to the way to the next iterate.
    """
    tally[STEPS] += 1.0
    scale = -gamma * state.c[i] / rule.lam
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
        if BOUNDED:
            clip_moved(gamma, state, rule)


def clip_moved(gamma: float, state: Any, rule: Any) -> None:
    """Move v by gamma along the direction in the box; w follows."""
    for m in range(rule.n_moved[0]):
        j = rule.moved[m]
        rule.box[V, j] += gamma * rule.box[DV, j]
        state.w[j] = clipped(rule.box, j, 0.0)


def exact_step(gap: float, curvature: float, gamma_max: float) -> float:
    """Maximiser over [0, gamma_max] of the dual along a direction: ``gamma gap - gamma^2/2 curvature``."""
    if gap <= 0.0:
        return 0.0
    if gap >= gamma_max * curvature:
        return gamma_max
    return gap / curvature
