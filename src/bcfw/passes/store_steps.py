"""Steps of a block whose mass is on stored labelings: Frank-Wolfe, pairwise and away (gaps-2016, Alg. 3 and 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.compile import not_inlined
from bcfw.passes.contract import (
    advance,
    difference,
    direction_from_average,
    end_direction,
    load_labeling,
    reserve,
    sqnorm,
    start_direction,
)
from bcfw.passes.records import AWAY, BEST, DROPS, FW, MOST_GAIN
from bcfw.passes.steps import best_step, gain_of_step, line_search, move, read_box_direction
from bcfw.passes.store import add_block, average_value, blend_direction

#: Stands for the rest of a block where functions expect a slot.
REST = -1


@not_inlined
def take_step(
    data: Any,
    i: int,
    best: int,
    value_rest: float,
    state: Any,
    store: Any,
    work: Any,
    rule: Any,
    plan: Any,
    counters: np.ndarray,
    value: np.ndarray,
) -> bool:
    """Take a step of kind ``plan.step`` towards slot ``best``; return False if the averages need more room first."""
    average = average_value(i, store, value, value_rest)
    if plan.step == FW:
        return fw_step(data, i, best, value[best] - average, state, store, work, rule, counters)
    away = worst_slot(i, value_rest, store, value)
    if plan.away_corner == MOST_GAIN:
        away = most_gaining_slot(data, i, best, value_rest, state, store, work, rule, value)
    worst = value_rest if away == REST else value[away]
    if plan.step == AWAY and value[best] - average < average - worst:  # Alg. 4, line 12
        away_step(data, i, away, average - worst, state, store, work, rule, counters)
        return True
    blend = plan.step == AWAY
    if plan.step == BEST:
        pair = gain_of_pairwise(data, i, best, away, value[best] - worst, state, store, work, rule)
        whole = gain_of_fw(data, i, best, value[best] - average, state, store, work, rule)
        blend = whole > pair
    if blend:
        blend_step(data, i, best, value[best] - average, state, store, work, rule, counters)
    else:
        pairwise_step(data, i, best, away, value[best] - worst, state, store, work, rule, counters)
    return True


@not_inlined
def pairwise_from_worst(
    data: Any,
    i: int,
    best: int,
    value_rest: float,
    state: Any,
    store: Any,
    work: Any,
    rule: Any,
    plan: Any,
    counters: np.ndarray,
    value: np.ndarray,
) -> bool:
    """Take the pairwise step from the active corner of the smallest value to ``best``; replaces :func:`take_step`."""
    away = worst_slot(i, value_rest, store, value)
    worst = value_rest if away == REST else value[away]
    pairwise_step(data, i, best, away, value[best] - worst, state, store, work, rule, counters)
    return True


def worst_slot(i: int, value_rest: float, store: Any, value: np.ndarray) -> int:
    """Return the active corner of the smallest value."""
    worst = REST
    least = value_rest if store.folded_mass[i] > 0.0 else np.inf
    for s in range(store.size[i]):
        if store.alpha[i, s] > 0.0 and value[s] < least:
            least = value[s]
            worst = s
    return worst


def mass_of(i: int, store: Any, slot: int) -> float:
    return store.folded_mass[i] if slot == REST else store.alpha[i, slot]


@not_inlined
def most_gaining_slot(
    data: Any, i: int, best: int, value_rest: float, state: Any, store: Any, work: Any, rule: Any, value: np.ndarray
) -> int:
    """Return the active corner whose pairwise step has the largest dual gain (the choice of FASOLE)."""
    chosen = REST
    most = -np.inf
    if store.folded_mass[i] > 0.0:
        most = gain_of_pairwise(data, i, best, REST, value[best] - value_rest, state, store, work, rule)
    for s in range(store.size[i]):
        if store.alpha[i, s] > 0.0:
            gain = gain_of_pairwise(data, i, best, s, value[best] - value[s], state, store, work, rule)
            if gain > most:
                most = gain
                chosen = s
    return chosen


def gain_of_pairwise(
    data: Any, i: int, best: int, away: int, rise: float, state: Any, store: Any, work: Any, rule: Any
) -> float:
    """Return the dual gain of the pairwise step from ``away`` to ``best``, whose values differ by ``rise``."""
    pair_direction(data, i, best, away, state, store, work)
    return gain_along(data, i, rise, mass_of(i, store, away), state, work, rule)


def gain_of_fw(data: Any, i: int, best: int, rise: float, state: Any, store: Any, work: Any, rule: Any) -> float:
    """Return the dual gain of the Frank-Wolfe step towards ``best``."""
    blend_direction(data, i, best, 1.0, state, store, work)
    return gain_along(data, i, rise, 1.0, state, work, rule)


@not_inlined
def gain_along(data: Any, i: int, rise: float, gamma_max: float, state: Any, work: Any, rule: Any) -> float:
    """Return the dual gain of the best step in [0, gamma_max] along the current direction, whose slope is ``rise``."""
    gap = state.c[i] * rise
    curvature = state.c[i] * state.c[i] / rule.lam * sqnorm(data, i, work)
    free = read_box_direction(data, i, curvature, state, work, rule)
    return gain_of_step(best_step(gap, curvature, free, gamma_max, rule), gap, free, rule)


@not_inlined
def pair_direction(data: Any, i: int, best: int, away: int, state: Any, store: Any, work: Any) -> None:
    """Make ``d = z(best) - z(away)`` the current direction; ``away`` may be the rest."""
    if away == REST:
        load_labeling(data, i, best, store.labels, work)
        direction_from_average(data, i, state.mu, work)
    else:
        difference(data, i, best, away, store.labels, work)


@not_inlined
def shared_line_search(
    data: Any, i: int, gap: float, gamma_max: float, state: Any, work: Any, rule: Any, counters: np.ndarray
) -> float:
    """Call :func:`line_search`; not inlined, so that it is compiled once for all kinds of steps."""
    return line_search(data, i, gap, gamma_max, state, work, rule, counters)


@not_inlined
def shared_move(
    data: Any, i: int, gamma: float, change: float, state: Any, work: Any, rule: Any, counters: np.ndarray
) -> None:
    """Call :func:`move`; not inlined, so that it is compiled once for all kinds of steps."""
    move(data, i, gamma, change, state, work, rule, counters)


@not_inlined
def fw_step(
    data: Any, i: int, best: int, rise: float, state: Any, store: Any, work: Any, rule: Any, counters: np.ndarray
) -> bool:
    """Take the Frank-Wolfe step of a block whose whole mass is in the rest.

    Returns False, without a step, if the averages need more room first.
    """
    load_labeling(data, i, best, store.labels, work)
    direction_from_average(data, i, state.mu, work)
    if not reserve(data, i, state.mu, work):
        return False
    gamma = shared_line_search(data, i, state.c[i] * rise, 1.0, state, work, rule, counters)
    change = gamma * (state.c[i] * store.loss[i, best] - state.ell[i])
    if gamma > 0.0:
        advance(data, i, gamma, work, state.mu)
        store.rest_loss[i] += gamma * (store.loss[i, best] - store.rest_loss[i])
    shared_move(data, i, gamma, change, state, work, rule, counters)
    return True


@not_inlined
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
    counters: np.ndarray,
) -> None:
    """Move mass from ``away`` to ``best`` (gaps-2016, Alg. 3)."""
    gamma = 0.0
    loss_away = store.rest_loss[i] if away == REST else store.loss[i, away]
    if best != away and rise > 0.0:
        pair_direction(data, i, best, away, state, store, work)  # line 10
        held = mass_of(i, store, away)
        gamma = shared_line_search(data, i, state.c[i] * rise, held, state, work, rule, counters)  # line 11
        remaining = 0.0 if gamma >= held else held - gamma  # lines 17 to 21
        counters[DROPS] += 1.0 if remaining == 0.0 else 0.0
        if away == REST:
            store.folded_mass[i] = remaining
        else:
            store.alpha[i, away] = remaining
        store.alpha[i, best] += gamma
    change = gamma * state.c[i] * (store.loss[i, best] - loss_away)
    shared_move(data, i, gamma, change, state, work, rule, counters)  # lines 12 to 15


@not_inlined
def blend_step(
    data: Any, i: int, best: int, rise: float, state: Any, store: Any, work: Any, rule: Any, counters: np.ndarray
) -> None:
    """Take the Frank-Wolfe step of a block whose mass is on labelings (gaps-2016, Alg. 4, line 13).

    The mass of all corners shrinks by the factor ``1 - gamma``, and ``best`` gains mass gamma.
    """
    blend_direction(data, i, best, 1.0, state, store, work)
    gamma = shared_line_search(data, i, state.c[i] * rise, 1.0, state, work, rule, counters)
    if gamma > 0.0:  # lines 14 to 17
        for s in range(store.size[i]):
            store.alpha[i, s] *= 1.0 - gamma
        store.folded_mass[i] *= 1.0 - gamma
        store.alpha[i, best] += gamma
    change = gamma * (state.c[i] * store.loss[i, best] - state.ell[i])
    shared_move(data, i, gamma, change, state, work, rule, counters)


@not_inlined
def away_step(
    data: Any, i: int, away: int, rise: float, state: Any, store: Any, work: Any, rule: Any, counters: np.ndarray
) -> None:
    """Take the away step from an active corner, whose mass shrinks while all other mass grows.

    See gaps-2016, Alg. 4, lines 19 to 27.
    """
    held = mass_of(i, store, away)
    gamma = 0.0
    loss_away = store.rest_loss[i] if away == REST else store.loss[i, away]
    if held < 1.0:
        if away == REST:
            rest_away_direction(data, i, state, store, work)
        else:
            blend_direction(data, i, away, -1.0, state, store, work)
        gamma_max = held / (1.0 - held)
        gamma = shared_line_search(data, i, state.c[i] * rise, gamma_max, state, work, rule, counters)
        for s in range(store.size[i]):
            store.alpha[i, s] *= 1.0 + gamma
        store.folded_mass[i] *= 1.0 + gamma
        remaining = 0.0 if gamma >= gamma_max else max(0.0, held * (1.0 + gamma) - gamma)
        counters[DROPS] += 1.0 if remaining == 0.0 else 0.0
        if away == REST:
            store.folded_mass[i] = remaining
        else:
            store.alpha[i, away] = remaining
        normalise(i, store)
    change = gamma * (state.ell[i] - state.c[i] * loss_away)
    shared_move(data, i, gamma, change, state, work, rule, counters)


def normalise(i: int, store: Any) -> None:
    """Scale the block's mass to sum one: every away step multiplies the error of the sum by 1 + gamma."""
    total = store.folded_mass[i]
    for s in range(store.size[i]):
        total += store.alpha[i, s]
    store.folded_mass[i] /= total
    for s in range(store.size[i]):
        store.alpha[i, s] /= total


@not_inlined
def rest_away_direction(data: Any, i: int, state: Any, store: Any, work: Any) -> None:
    """Make ``d = average of the block - mu_i`` the current direction, which moves away from the rest."""
    start_direction(data, i, work)
    add_block(data, i, 1.0, -1.0, state, store, work)
    end_direction(data, i, work)
