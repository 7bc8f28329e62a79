"""What a step does: line search along a direction, and the move of w, ell and the running averages."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.models.contract import apply, sqnorm
from bcfw.records import AVERAGED_STEPS, GAIN, STEPS, TRACK_SIZE


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
