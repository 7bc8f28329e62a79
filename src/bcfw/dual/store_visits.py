"""Template of the pass over the labeling store: pairwise, away and cached steps (gaps-2016; multiplane-2015)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.dual.gaps import ask, ceiling, is_maximal, toward
from bcfw.dual.steps import best_step, gain_of_step, line_search, move, read_box_direction
from bcfw.dual.store import (
    add_block,
    average_value,
    blend_direction,
    corner_values,
    drop_stale,
    slot_of_current,
)
from bcfw.kernels import called, variant
from bcfw.kernels.trees import next_block, set_value
from bcfw.models.contract import (
    EXACT,
    Data,
    Work,
    advance,
    difference,
    end_direction,
    load_labeling,
    reserve,
    scores,
    sqnorm,
    start_direction,
)
from bcfw.records import (
    AWAY,
    BEST,
    BLOCK,
    CACHE_FIRST,
    CALLS,
    FW,
    NEEDS_ROOM,
    NOT_MAXIMAL,
    ORACLE,
    STOP,
    STORE_ONLY,
    Corners,
    Rule,
    State,
    Store,
)

#: The rest of a block, where a slot is expected.
REST = -1


def store_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    order: np.ndarray,
    tally: np.ndarray,
    rule_fields: Any,
    tree: np.ndarray,
    hinges: np.ndarray,
    store_fields: Any,
    corners_fields: Any,
    value: np.ndarray,
) -> int:
    """Template: visit each block of ``order``, or drawn from ``tree``: find a corner, step towards it.

    With room in ``hinges`` (2, n) the visit asks the oracle and writes the block's structured hinge loss, what it is at
    most, and the block's gap, and that is all: a certificate.

    Returns
    -------
    int
        How many blocks were done; ``tally[STOP]`` says why not all, ``tally[BLOCK]`` where it stopped.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    rule = Rule(*rule_fields)
    store = Store(*store_fields)
    corners = Corners(*corners_fields)
    looks = hinges.shape[1] > 0
    for j in range(order.shape[0]):
        i = next_block(tree, order[j])
        tally[BLOCK] = i
        hit = False
        best = -1
        value_rest = 0.0
        if corners.source != STORE_ONLY:
            scores(data, i, state.w, 1.0, work)  # all of theta: the oracle needs it, unless the cache is hit
        if corners.source != ORACLE:
            by_parts = corners.source == STORE_ONLY
            value_rest = corner_values(data, i, state.w, by_parts, state, store, work, value)
            best = best_slot(i, store, value)
            hit = corners.source == STORE_ONLY
            if corners.source == CACHE_FIRST:
                gap = state.weight[i] * (value[best] - average_value(i, store, value, value_rest))
                hit = gap > 0.0 and gap >= max(corners.cache_share * state.gap[i], corners.cache_floor)
        if not hit:
            if not looks:
                drop_stale(data, i, corners.oldest, store, work)
            top = ask(data, i, state.w, work)
            rest = store.rest[i]
            if not looks:
                best = slot_of_current(data, i, state, store, work)
                if best < 0:
                    tally[STOP] = NEEDS_ROOM
                    return j
                store.used[i, best] = corners.round
            if corners.source == CACHE_FIRST and store.rest[i] == rest:
                value[best] = top  # the other values are known, unless a labeling was folded
            else:
                value_rest = corner_values(data, i, state.w, False, state, store, work, value)
            if not EXACT:  # a labeling found before may be better
                best = best_slot(i, store, value)
                top = max(top, value[best])
            average = average_value(i, store, value, value_rest)
            if not EXACT:
                top = max(top, average)
            state.gap[i] = state.weight[i] * (top - average)
            if not is_maximal(top, average):
                tally[STOP] = NOT_MAXIMAL
                return j
            if looks:
                hinges[0, i] = top
                hinges[1, i] = ceiling(data, i, state.w, top, work)
                continue
        if not take_step(data, i, best, value_rest, state, store, work, rule, corners, tally, value):
            tally[STOP] = NEEDS_ROOM
            return j
        if not hit:  # only now: a visit that is repeated must find everything as it was
            set_value(tree, i, state.gap[i])
            tally[CALLS] += 1.0
    return order.shape[0]


def best_slot(i: int, store: Any, value: np.ndarray) -> int:
    best = 0
    for s in range(1, store.size[i]):
        if value[s] > value[best]:
            best = s
    return best


@called
def take_step(
    data: Any,
    i: int,
    best: int,
    value_rest: float,
    state: Any,
    store: Any,
    work: Any,
    rule: Any,
    corners: Any,
    tally: np.ndarray,
    value: np.ndarray,
) -> bool:
    """A step towards slot ``best`` of the kind that ``corners`` names; False if the averages need more room first."""
    average = average_value(i, store, value, value_rest)
    if corners.step == FW:
        return fw_step(data, i, best, value[best] - average, state, store, work, rule, tally)
    away = worst_slot(i, value_rest, store, value)
    if corners.by_gain == 1:
        away = gainful_slot(data, i, best, value_rest, state, store, work, rule, value)
    worst = value_rest if away == REST else value[away]
    if corners.step == AWAY and value[best] - average < average - worst:
        away_step(data, i, away, average - worst, state, store, work, rule, tally)
        return True
    blend = corners.step == AWAY
    if corners.step == BEST:
        pair = gain(data, i, best, away, value[best] - worst, mass(i, store, away), state, store, work, rule)
        whole = gain_of_fw(data, i, best, value[best] - average, state, store, work, rule)
        blend = whole > pair
    if blend:
        blend_step(data, i, best, value[best] - average, state, store, work, rule, tally)
    else:
        pairwise_step(data, i, best, away, value[best] - worst, state, store, work, rule, tally)
    return True


@called
def pairwise_from_worst(
    data: Any,
    i: int,
    best: int,
    value_rest: float,
    state: Any,
    store: Any,
    work: Any,
    rule: Any,
    corners: Any,
    tally: np.ndarray,
    value: np.ndarray,
) -> bool:
    """The pairwise step from the active corner of the smallest value to slot ``best``."""
    away = worst_slot(i, value_rest, store, value)
    worst = value_rest if away == REST else value[away]
    pairwise_step(data, i, best, away, value[best] - worst, state, store, work, rule, tally)
    return True


def worst_slot(i: int, value_rest: float, store: Any, value: np.ndarray) -> int:
    """The active corner of the smallest value."""
    worst = REST
    least = value_rest if store.rest[i] > 0.0 else np.inf
    for s in range(store.size[i]):
        if store.alpha[i, s] > 0.0 and value[s] < least:
            least = value[s]
            worst = s
    return worst


def mass(i: int, store: Any, slot: int) -> float:
    return store.rest[i] if slot == REST else store.alpha[i, slot]


@called
def gainful_slot(
    data: Any, i: int, best: int, value_rest: float, state: Any, store: Any, work: Any, rule: Any, value: np.ndarray
) -> int:
    """The active corner to leave (FASOLE): the one whose pairwise step gains most."""
    chosen = REST
    top = -np.inf
    if store.rest[i] > 0.0:
        top = gain(data, i, best, REST, value[best] - value_rest, store.rest[i], state, store, work, rule)
    for s in range(store.size[i]):
        if store.alpha[i, s] > 0.0:
            merit = gain(data, i, best, s, value[best] - value[s], store.alpha[i, s], state, store, work, rule)
            if merit > top:
                top = merit
                chosen = s
    return chosen


def gain(
    data: Any, i: int, best: int, away: int, rise: float, bound: float, state: Any, store: Any, work: Any, rule: Any
) -> float:
    """Dual gain of the pairwise step from ``away`` to ``best``."""
    pair_direction(data, i, best, away, state, store, work)
    return gain_along(data, i, rise, bound, state, work, rule)


def gain_of_fw(data: Any, i: int, best: int, rise: float, state: Any, store: Any, work: Any, rule: Any) -> float:
    """Dual gain of the Frank-Wolfe step to ``best``."""
    blend_direction(data, i, best, 1.0, state, store, work)
    return gain_along(data, i, rise, 1.0, state, work, rule)


@called
def gain_along(data: Any, i: int, rise: float, bound: float, state: Any, work: Any, rule: Any) -> float:
    gap = state.weight[i] * rise
    curvature = state.weight[i] * state.weight[i] / rule.lam * sqnorm(data, i, work)
    free = read_box_direction(data, i, curvature, state, work, rule)
    return gain_of_step(best_step(gap, curvature, free, bound, rule), gap, free, rule)


@called
def pair_direction(data: Any, i: int, best: int, away: int, state: Any, store: Any, work: Any) -> None:
    """``d = z(best) - z(away)``."""
    if away == REST:
        load_labeling(data, i, best, store.labels, work)
        toward(data, i, state.mu, work)
    else:
        difference(data, i, best, away, store.labels, work)


@called
def search(data: Any, i: int, gap: float, bound: float, state: Any, work: Any, rule: Any, tally: np.ndarray) -> float:
    """The line search, compiled once for all kinds of steps."""
    return line_search(data, i, gap, bound, state, work, rule, tally)


@called
def settle(data: Any, i: int, gamma: float, change: float, state: Any, work: Any, rule: Any, tally: np.ndarray) -> None:
    """The move of w and ell, compiled once for all kinds of steps."""
    move(data, i, gamma, change, state, work, rule, tally)


@called
def fw_step(
    data: Any, i: int, best: int, rise: float, state: Any, store: Any, work: Any, rule: Any, tally: np.ndarray
) -> bool:
    """Frank-Wolfe step of a block whose whole mass is in the rest; False if that needs more room."""
    load_labeling(data, i, best, store.labels, work)
    toward(data, i, state.mu, work)
    if not reserve(data, i, state.mu, work):
        return False
    gamma = search(data, i, state.weight[i] * rise, 1.0, state, work, rule, tally)
    change = gamma * (state.weight[i] * store.loss[i, best] - state.ell[i])
    if gamma > 0.0:
        advance(data, i, gamma, work, state.mu)
        store.rest_loss[i] += gamma * (store.loss[i, best] - store.rest_loss[i])
    settle(data, i, gamma, change, state, work, rule, tally)
    return True


@called
def pairwise_step(
    data: Any,
    i: int,
    best: int,
    away: int,
    rise: float,
    state: Any,
    store: Any,
    work: Any,
    rule: Any,
    tally: np.ndarray,
) -> None:
    """Move mass from ``away`` to ``best`` (gaps-2016, Alg. 3)."""
    gamma = 0.0
    left = store.rest_loss[i] if away == REST else store.loss[i, away]
    if best != away and rise > 0.0:
        pair_direction(data, i, best, away, state, store, work)
        bound = mass(i, store, away)
        gamma = search(data, i, state.weight[i] * rise, bound, state, work, rule, tally)
        remaining = 0.0 if gamma >= bound else bound - gamma
        if away == REST:
            store.rest[i] = remaining
        else:
            store.alpha[i, away] = remaining
        store.alpha[i, best] += gamma
    change = gamma * state.weight[i] * (store.loss[i, best] - left)
    settle(data, i, gamma, change, state, work, rule, tally)


@called
def blend_step(
    data: Any, i: int, best: int, rise: float, state: Any, store: Any, work: Any, rule: Any, tally: np.ndarray
) -> None:
    """Frank-Wolfe step of a block whose mass is on labelings: all weights shrink, ``best`` gains."""
    blend_direction(data, i, best, 1.0, state, store, work)
    gamma = search(data, i, state.weight[i] * rise, 1.0, state, work, rule, tally)
    if gamma > 0.0:
        for s in range(store.size[i]):
            store.alpha[i, s] *= 1.0 - gamma
        store.rest[i] *= 1.0 - gamma
        store.alpha[i, best] += gamma
    change = gamma * (state.weight[i] * store.loss[i, best] - state.ell[i])
    settle(data, i, gamma, change, state, work, rule, tally)


@called
def away_step(
    data: Any, i: int, away: int, rise: float, state: Any, store: Any, work: Any, rule: Any, tally: np.ndarray
) -> None:
    """Move away from an active corner (gaps-2016, Alg. 4): its weight shrinks, all others grow."""
    held = mass(i, store, away)
    gamma = 0.0
    left = store.rest_loss[i] if away == REST else store.loss[i, away]
    if held < 1.0:
        if away == REST:
            rest_away_direction(data, i, state, store, work)
        else:
            blend_direction(data, i, away, -1.0, state, store, work)
        bound = held / (1.0 - held)
        gamma = search(data, i, state.weight[i] * rise, bound, state, work, rule, tally)
        for s in range(store.size[i]):
            store.alpha[i, s] *= 1.0 + gamma
        store.rest[i] *= 1.0 + gamma
        remaining = 0.0 if gamma >= bound else max(0.0, held * (1.0 + gamma) - gamma)
        if away == REST:
            store.rest[i] = remaining
        else:
            store.alpha[i, away] = remaining
        normalise(i, store)
    change = gamma * (state.ell[i] - state.weight[i] * left)
    settle(data, i, gamma, change, state, work, rule, tally)


def normalise(i: int, store: Any) -> None:
    """Make the block's weights sum to one again: every away step multiplies the error of their sum by 1 + gamma."""
    total = store.rest[i]
    for s in range(store.size[i]):
        total += store.alpha[i, s]
    store.rest[i] /= total
    for s in range(store.size[i]):
        store.alpha[i, s] /= total


@called
def rest_away_direction(data: Any, i: int, state: Any, store: Any, work: Any) -> None:
    """``d = average of the block - mu_i``."""
    start_direction(data, i, work)
    add_block(data, i, 1.0, -1.0, state, store, work)
    end_direction(data, i, work)


#: The pass with pairwise steps from the worst corner alone: smaller, so that it compiles in half the time.
pairwise_pass = variant(store_pass, take_step=pairwise_from_worst)
