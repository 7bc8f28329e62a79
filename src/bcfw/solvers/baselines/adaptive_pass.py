"""Template of the pass in which several blocks step at once, with adaptive step sizes (flexible-blocks-2026, Alg. 2).

At one w, block i of the group has the direction d_i to the oracle's output y_i*, the block gap g_i and a squared
distance

    D_i = lam |v_s,i - v_i|^2 = c_i^2/lam |B_i d_i|^2       in the metric of the weights, or
    D_i = |e_{y*} - alpha_i|^2                              in the metric of the mass, as in the paper.

If every block of the group takes the step ``gamma_i = min(1, g_i/(M D_i))``, the dual gains at least

    sum_i gamma_i g_i - lam/2 |sum_i gamma_i (v_s,i - v_i)|^2      (exactly this without bounds on w).

The pass increases M until ``lam |sum_i gamma_i (v_s,i - v_i)|^2 <= M sum_i gamma_i^2 D_i``, which is enough. In the
metric of the weights, this test always succeeds if M is the number of moving blocks, and a group of one block takes the
exact step. In the metric of the mass, all mass on outputs that are not stored is treated as the mass of a single output
that is not stored. D_i is then too large rather than too small, and zero only if all mass is on y*.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bcfw.compile import not_inlined
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
from bcfw.passes.order import Visits, next_block
from bcfw.passes.records import BLOCK, CALLS, GAIN, NEEDS_ROOM, NOT_MAXIMAL, STOP, State, StepSettings
from bcfw.passes.steps import move, read_box_direction


class Group(NamedTuple):
    """A group of blocks that step at once, with step sizes from an estimate M of how strongly the steps interact.

    Attributes
    ----------
    size : blocks per group
    in_alpha : whether distances are measured in the mass, |alpha_i - e_y|^2, or in the weights, lam |v_i - v_s|^2
    shrink : factor of M before every group
    grow : factor of M whenever the test of the step sizes fails
    M : (1,) the estimate
    slot, gamma, distance, loss : (size,) for each block of the group: the slot of the oracle's output, the step size,
        the squared distance to the output, the loss of the output
    labels : the stored outputs, laid out by the model; one slot per block unless ``in_alpha``
    mass : (n, slots) mass of the stored outputs; no slots unless ``in_alpha``
    kept : (n,) number of the stored outputs
    rest : (n,) mass of all other outputs; empty unless ``in_alpha``
    joint : (d,) scratch, zero between groups
    places : scratch for coordinates of w
    """

    size: int
    in_alpha: bool
    shrink: float
    grow: float
    M: np.ndarray
    slot: np.ndarray
    gamma: np.ndarray
    distance: np.ndarray
    loss: np.ndarray
    labels: Any
    mass: np.ndarray
    kept: np.ndarray
    rest: np.ndarray
    joint: np.ndarray
    places: np.ndarray


#: Relative rounding tolerance of the test, whose two sides are sums of squares.
ROUNDING = 1e-12


def group_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    counters: np.ndarray,
    first: int,
    visits_fields: Any,
    rule_fields: Any,
    group_fields: Any,
) -> int:
    """Template: visit blocks in groups; the oracle calls of a group are made at one w, and then all its blocks step.

    Returns
    -------
    int
        The number of completed visits, always whole groups. If the pass stopped early, ``counters[STOP]`` is the reason
        and ``counters[BLOCK]`` the block at which it stopped.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    visits = Visits(*visits_fields)
    rule = StepSettings(*rule_fields)
    group = Group(*group_fields)
    start = first
    while start < visits.n_visits:
        count = min(group.size, visits.n_visits - start)
        for m in range(count):
            i = next_block(visits, start + m)
            counters[BLOCK] = i
            stop = find_output(data, i, m, state, work, rule, group)
            if stop != 0:
                counters[STOP] = stop
                return start
        counters[CALLS] += count
        counters[GAIN] += choose_steps(data, visits, start, count, state, work, rule, group)
        for m in range(count):
            step_of_block(data, next_block(visits, start + m), m, state, work, rule, counters, group)
        start += count
    return visits.n_visits


@not_inlined
def find_output(data: Any, i: int, m: int, state: Any, work: Any, rule: Any, group: Any) -> int:
    """Call the oracle on block i, the m-th of the group, and store its output; return 0, or the reason to stop."""
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
    """Return the slot for the current labeling: the slot that holds it, else a free slot, else the slot of least mass.

    In the last case, the mass of the slot is added to ``group.folded_mass``.
    """
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
    """Return ``|e_y - alpha_i|^2`` for the output y in the slot, computed from the mass on other outputs."""
    elsewhere = group.rest[i]
    squares = group.rest[i] * group.rest[i]
    for s in range(group.kept[i]):
        if s != slot:
            elsewhere += group.mass[i, s]
            squares += group.mass[i, s] * group.mass[i, s]
    return elsewhere * elsewhere + squares


@not_inlined
def choose_steps(data: Any, visits: Any, start: int, count: int, state: Any, work: Any, rule: Any, group: Any) -> float:
    """Find an M that passes the test, write the step sizes, and return a lower bound of the gain (lines 5 to 13).

    A block whose mass is all on the oracle's output does not move: a positive gap of this block is due to rounding.
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
    """Return ``lam |sum_i gamma_i (v_s,i - v_i)|^2``."""
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
    """Return the sum of squares of ``group.joint`` at the listed coordinates, and set these coordinates to zero.

    If ``n_places`` is negative, all coordinates count as listed.
    """
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
    """Compute the direction from block i's average to the stored output of the block, the m-th of the group."""
    load_labeling(data, i, group.slot[m], group.labels, work)
    direction_from_average(data, i, state.mu, work)


@not_inlined
def step_of_block(
    data: Any, i: int, m: int, state: Any, work: Any, rule: Any, counters: np.ndarray, group: Any
) -> None:
    """Move block i, the m-th of the group, by its step size."""
    gamma = group.gamma[m]
    if gamma > 0.0:
        kept_direction(data, i, m, state, work, group)
        curvature = group.distance[m]  # only changes the result of read_box_direction, which is not used here
        read_box_direction(data, i, curvature, state, work, rule)
        advance(data, i, gamma, work, state.mu)
        if group.in_alpha:
            for s in range(group.kept[i]):
                group.mass[i, s] *= 1.0 - gamma
            group.rest[i] *= 1.0 - gamma
            group.mass[i, group.slot[m]] += gamma
    move(data, i, gamma, gamma * (state.c[i] * group.loss[m] - state.ell[i]), state, work, rule, counters)
