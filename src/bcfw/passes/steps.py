"""One step of a block: the line search along its direction, and the update of w, ell and the running averages."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.passes.bounded_steps import DV, LOWER, UPPER, V, box_gain, box_step, clipped
from bcfw.passes.contract import BOUNDED, apply, sqnorm, touched
from bcfw.passes.records import AVERAGED_STEPS, DECAY_SIZE, GAIN, SHORT_SIZE, STEPS, TRACK_SIZE


def line_search(
    data: Any, i: int, gap: float, gamma_max: float, state: Any, work: Any, rule: Any, counters: np.ndarray
) -> float:
    """Return the step size in [0, gamma_max] along the current direction d, and add the dual gain to the counters.

    ``gap`` is the slope of the dual along d, ``c_i theta_i'd``. Since ``w_s - w_i = -c_i/lam B_i d``, the curvature
    ``lam |w_i - w_s|^2`` is ``c_i^2/lam |B_i d|^2``. With bounds on w, the curvature of the unbounded coordinates is
    computed separately (``free``).
    """
    curvature = state.c[i] * state.c[i] / rule.lam * sqnorm(data, i, work)
    free = read_box_direction(data, i, curvature, state, work, rule)
    if rule.size == DECAY_SIZE:
        gamma = 2.0 * rule.decay_blocks / (counters[STEPS] + 2.0 * rule.decay_blocks)
    else:
        gamma = best_step(gap, curvature, free, gamma_max, rule)
    counters[GAIN] += gain_of_step(gamma, gap, free, rule)
    return gamma


def read_box_direction(data: Any, i: int, curvature: float, state: Any, work: Any, rule: Any) -> float:
    """Write ``dv = -c_i/lam B_i d`` at the bounded coordinates to the box; return the curvature of the others.

    The model may list a coordinate more than once. A bounded coordinate stays in ``rule.moved`` even if its changes
    cancel, so that :func:`clip_moved` clips it again. If the model lists no coordinates, the probe is not cleared at
    coordinates without a bound: nothing reads them.
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
    """Return the maximiser over [0, gamma_max] of the dual along the direction; short steps ignore the bounds on w."""
    if not BOUNDED or rule.size == SHORT_SIZE:
        return exact_step(gap, curvature, gamma_max)
    return box_step(gap, free, rule.lam, gamma_max, rule.box, rule.moved[: rule.n_moved[0]])


def gain_of_step(gamma: float, gap: float, free: float, rule: Any) -> float:
    """Return the dual gain of a step of size gamma along the current direction."""
    if not BOUNDED:
        return gamma * gap - 0.5 * gamma * gamma * free
    return box_gain(gamma, gap, free, rule.lam, rule.box, rule.moved[: rule.n_moved[0]])


def move(
    data: Any, i: int, gamma: float, change: float, state: Any, work: Any, rule: Any, counters: np.ndarray
) -> None:
    """Move w by gamma along the current direction, add ``change`` to ell_i, and update the running averages.

    A track averages the iterates w_1, ..., w_s after its own steps; the weighted average is ``w - 2/(s(s+1)) U`` with
    ``U = sum_j j(j-1)/2 (w_j - w_{j-1})``. A step that belongs to another track is part of the difference to the
    track's next iterate.
    """
    counters[STEPS] += 1.0
    scale = -gamma * state.c[i] / rule.lam
    # Target -1 is w itself, targets 0, 1, ... are the sums U of the tracks.
    for target in range(-1, rule.averages.shape[0]):
        out = state.w
        past = 1.0
        if target >= 0:
            place = AVERAGED_STEPS + target * TRACK_SIZE
            out = rule.averages[target]
            past = 0.5 * counters[place] * (counters[place] + 1.0)
            counters[place + 1] += change * past
            if target == rule.track:
                counters[place] += 1.0
        if gamma > 0.0 and past > 0.0:
            apply(data, i, scale * past, work, out)
    if gamma > 0.0:
        state.ell[i] += change
        if BOUNDED:
            clip_moved(gamma, state, rule)


def clip_moved(gamma: float, state: Any, rule: Any) -> None:
    """Move v by gamma along the direction in the box, and set w to the clipped v at the moved coordinates."""
    for m in range(rule.n_moved[0]):
        j = rule.moved[m]
        rule.box[V, j] += gamma * rule.box[DV, j]
        state.w[j] = clipped(rule.box, j, 0.0)


def exact_step(gap: float, curvature: float, gamma_max: float) -> float:
    """Return the maximiser over [0, gamma_max] of ``gamma gap - gamma^2/2 curvature``, the dual along a direction."""
    if gap <= 0.0:
        return 0.0
    if gap >= gamma_max * curvature:
        return gamma_max
    return gap / curvature
