"""Template of the pass in which several blocks step at once, with adaptive step sizes (flexible-blocks-2026, Alg. 2).

At one w, block i of the group has the direction d_i to the oracle's output y_i*, the gap g_i and a squared distance

    D_i = lam |v_s,i - v_i|^2 = c_i^2/lam |B_i d_i|^2       in the metric of the weights, or
    D_i = |e_{y*} - alpha_i|^2                              in that of the mass, as in the paper.

With ``gamma_i = min(1, g_i/(M D_i))`` for all of them the dual gains at least

    sum_i gamma_i g_i - lam/2 |sum_i gamma_i (v_s,i - v_i)|^2      (exactly this without bounds on w),

so that it is enough for M to pass the test ``lam |sum_i gamma_i (v_s,i - v_i)|^2 <= M sum_i gamma_i^2 D_i``. In the
metric of the weights an M of the number of moving blocks always passes, and one block takes the exact step. In that of
the mass, the mass on outputs that are not kept counts as that of one output, which is none of those kept: then D_i is
too large rather than too small, and zero only where all mass is on y*.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.kernels import not_inlined
from bcfw.passes.contract import (
    Data,
    Work,
    advance,
    apply,
    direction_from_average,
    keep_labeling,
    load_labeling,
    loss,
    reserve,
    same_labeling,
    sqnorm,
    touched,
)
from bcfw.passes.oracle import oracle_and_direction
from bcfw.passes.selection import next_block
from bcfw.passes.steps import move, read_box_direction
from bcfw.records import BLOCK, CALLS, GAIN, NEEDS_ROOM, NOT_MAXIMAL, STOP, Group, State, StepRule, Visits

#: Relative tolerance of the test: both sides are sums of squares.
ROUNDING = 1e-12


def group_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    tally: np.ndarray,
    first: int,
    visits_fields: Any,
    rule_fields: Any,
    group_fields: Any,
) -> int:
    """Template: visit blocks in groups; each group asks its oracles at one w and then steps.

    Returns
    -------
    int
        How many visits are done, always whole groups; ``tally[STOP]`` says why not all, ``tally[BLOCK]`` at which block
        it stopped.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    visits = Visits(*visits_fields)
    rule = StepRule(*rule_fields)
    group = Group(*group_fields)
    start = first
    while start < visits.n_visits:
        count = min(group.size, visits.n_visits - start)
        for m in range(count):
            i = next_block(visits, start + m)
            tally[BLOCK] = i
            stop = find_output(data, i, m, state, work, rule, group)
            if stop != 0:
                tally[STOP] = stop
                return start
        tally[CALLS] += count
        tally[GAIN] += choose_steps(data, visits, start, count, state, work, rule, group)
        for m in range(count):
            step_of_block(data, next_block(visits, start + m), m, state, work, rule, tally, group)
        start += count
    return visits.n_visits


@not_inlined
def find_output(data: Any, i: int, m: int, state: Any, work: Any, rule: Any, group: Any) -> int:
    """Ask the oracle about block i, the m-th of the group, and keep its output; why that failed, or 0."""
    maximal = oracle_and_direction(data, i, state.w, state, work)[1]
    if not maximal:
        return NOT_MAXIMAL
    if not reserve(data, i, state.mu, work):
        return NEEDS_ROOM
    group.loss[m] = loss(data, i, work)
    group.slot[m] = 0
    if group.in_alpha:
        group.slot[m] = slot_for(data, i, group, work)
        group.distance[m] = mass_distance(i, group.slot[m], group)
    else:
        group.distance[m] = state.c[i] * state.c[i] / rule.lam * sqnorm(data, i, work)
    keep_labeling(data, i, group.slot[m], work, group.labels)
    return 0


def slot_for(data: Any, i: int, group: Any, work: Any) -> int:
    """The slot that holds the current labeling, a free one, or that of the least mass, which joins the rest."""
    lightest = 0
    for s in range(group.kept[i]):
        if same_labeling(data, i, s, group.labels, work):
            return s
        if group.mass[i, s] < group.mass[i, lightest]:
            lightest = s
    if group.kept[i] < group.mass.shape[1]:
        group.kept[i] += 1
        return group.kept[i] - 1
    group.rest[i] += group.mass[i, lightest]
    group.mass[i, lightest] = 0.0
    return lightest


def mass_distance(i: int, slot: int, group: Any) -> float:
    """``|e_y - alpha_i|^2`` for the output y in the slot, by the mass that is elsewhere."""
    elsewhere = group.rest[i]
    squares = group.rest[i] * group.rest[i]
    for s in range(group.kept[i]):
        if s != slot:
            elsewhere += group.mass[i, s]
            squares += group.mass[i, s] * group.mass[i, s]
    return elsewhere * elsewhere + squares


@not_inlined
def choose_steps(data: Any, visits: Any, start: int, count: int, state: Any, work: Any, rule: Any, group: Any) -> float:
    """Find an M that passes the test and write the steps; returns what the dual gains at least (lines 5 to 13).

    A block whose mass is all on the oracle's output stays: only rounding tells the two apart.
    """
    group.M[0] *= group.shrink
    while True:
        moving = 0
        along = 0.0
        squares = 0.0
        for m in range(count):
            gap = state.gap[next_block(visits, start + m)]
            group.gamma[m] = 0.0
            if gap > 0.0 and (group.distance[m] > 0.0 or not group.in_alpha):
                scaled = group.M[0] * group.distance[m]
                group.gamma[m] = 1.0 if gap >= scaled else gap / scaled
                moving += 1
            along += group.gamma[m] * gap
            squares += group.gamma[m] * group.gamma[m] * group.distance[m]
        if moving == 0:
            return 0.0
        together = joint_square(data, visits, start, count, state, work, rule, group)
        surely = not group.in_alpha and group.M[0] >= moving
        if surely or together <= group.M[0] * squares * (1.0 + ROUNDING) or together == 0.0:
            return along - 0.5 * together
        group.M[0] *= group.grow
        if not group.in_alpha:
            group.M[0] = min(group.M[0], float(moving))


def joint_square(data: Any, visits: Any, start: int, count: int, state: Any, work: Any, rule: Any, group: Any) -> float:
    """``lam |sum_i gamma_i (v_s,i - v_i)|^2``."""
    for m in range(count):
        if group.gamma[m] > 0.0:
            i = next_block(visits, start + m)
            kept_direction(data, i, m, state, work, group)
            apply(data, i, group.gamma[m] * state.c[i] / rule.lam, work, group.joint)
    total = 0.0
    for m in range(count):
        if group.gamma[m] > 0.0:
            i = next_block(visits, start + m)
            kept_direction(data, i, m, state, work, group)
            total += taken_square(touched(data, i, work, group.places), group)
    return rule.lam * total


def taken_square(n_places: int, group: Any) -> float:
    """The squares of the joint direction at the listed places, or at all if there is no list; they become zero."""
    total = 0.0
    if n_places < 0:
        for j in range(group.joint.shape[0]):
            total += group.joint[j] * group.joint[j]
            group.joint[j] = 0.0
        return total
    for p in range(n_places):
        j = group.places[p]
        total += group.joint[j] * group.joint[j]
        group.joint[j] = 0.0
    return total


@not_inlined
def kept_direction(data: Any, i: int, m: int, state: Any, work: Any, group: Any) -> None:
    """The direction from block i's average to the output that was kept."""
    load_labeling(data, i, group.slot[m], group.labels, work)
    direction_from_average(data, i, state.mu, work)


@not_inlined
def step_of_block(data: Any, i: int, m: int, state: Any, work: Any, rule: Any, tally: np.ndarray, group: Any) -> None:
    """Move block i, the m-th of the group, by its own step."""
    gamma = group.gamma[m]
    if gamma > 0.0:
        kept_direction(data, i, m, state, work, group)
        curvature = group.distance[m]  # only its value for unbounded coordinates would matter, and no one reads it
        read_box_direction(data, i, curvature, state, work, rule)
        advance(data, i, gamma, work, state.mu)
        if group.in_alpha:
            for s in range(group.kept[i]):
                group.mass[i, s] *= 1.0 - gamma
            group.rest[i] *= 1.0 - gamma
            group.mass[i, group.slot[m]] += gamma
    move(data, i, gamma, gamma * (state.c[i] * group.loss[m] - state.ell[i]), state, work, rule, tally)
