"""The pass over blocks with a labeling store: find a corner, then step towards it (gaps-2016; multiplane-2015)."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.compile import variant
from bcfw.passes.contract import EXACT, Data, Work, scores
from bcfw.passes.oracle import call_oracle, hinge_upper_bound, is_maximal
from bcfw.passes.order import Visits, block_in_order, next_block, no_gap_to_note, note_gap
from bcfw.passes.records import (
    BLOCK,
    CACHE_FIRST,
    CALLS,
    CERTIFY,
    FROM_ORACLE,
    FROM_STORE,
    NEEDS_ROOM,
    NOT_MAXIMAL,
    ORACLE,
    STEP,
    STOP,
    STORE_ONLY,
    State,
    StepSettings,
    Store,
    StoreUse,
)
from bcfw.passes.store import average_value, corner_values, drop_stale, slot_of_current
from bcfw.passes.store_steps import pairwise_from_worst, take_step

#: Whether ``plan.source`` may be ``CACHE_FIRST``. Bound to False, passes are compiled without the code for it.
CACHED = True


def store_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    counters: np.ndarray,
    first: int,
    visits_fields: Any,
    rule_fields: Any,
    mode: int,
    hinge_losses: np.ndarray,
    store_fields: Any,
    plan_fields: Any,
    value: np.ndarray,
) -> int:
    """Template: at each block find a corner, by the oracle or in the store, and step towards it.

    In mode ``CERTIFY`` a visit calls the oracle and takes no step: it writes the block's structured hinge loss and an
    upper bound of it to ``hinge_losses`` (2, n), and the block's gap. ``value`` is scratch, as long as the store's
    capacity.

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
    store = Store(*store_fields)
    plan = StoreUse(*plan_fields)
    for j in range(first, visits.n_visits):
        i = next_block(visits, j)
        counters[BLOCK] = i
        found, best, hinge, value_rest = find_corner(data, i, state, store, work, plan, mode, value)
        if found in (NOT_MAXIMAL, NEEDS_ROOM):
            counters[STOP] = found
            return j
        if mode == CERTIFY:
            hinge_losses[0, i] = hinge
            hinge_losses[1, i] = hinge_upper_bound(data, i, state.w, hinge, work)
            continue
        if not take_step(data, i, best, value_rest, state, store, work, rule, plan, counters, value):
            counters[STOP] = NEEDS_ROOM
            return j
        if found == FROM_ORACLE:  # counted last: a visit that lacked room is repeated and must find the state unchanged
            note_gap(visits, i, state.gap[i])
            counters[CALLS] += 1.0
    return visits.n_visits


def find_corner(
    data: Any, i: int, state: Any, store: Any, work: Any, plan: Any, mode: int, value: np.ndarray
) -> tuple[int, int, float, float]:
    """Find the corner that a visit steps towards (gaps-2016, Alg. 5), and write the values of all stored corners.

    Returns
    -------
    int
        ``FROM_STORE`` or ``FROM_ORACLE``; ``NEEDS_ROOM`` or ``NOT_MAXIMAL`` if there is no corner.
    int
        The slot of the corner; meaningless in mode ``CERTIFY``, which does not store the oracle's output.
    float
        ``max_y H_i(y; w)`` if the oracle was called, else the largest value in the store.
    float
        The value of the rest.
    """
    best = -1
    value_rest = 0.0
    if plan.source != STORE_ONLY:
        scores(data, i, state.w, 1.0, work)  # all of theta: the oracle needs it, unless a stored corner is good enough
    if plan.source != ORACLE:
        by_parts = plan.source == STORE_ONLY
        value_rest = corner_values(data, i, state.w, by_parts, state, store, work, value)
        best = best_slot(i, store, value)
        if not CACHED or plan.source == STORE_ONLY or is_hit(i, best, value_rest, state, store, plan, value):
            return FROM_STORE, best, value[best], value_rest
    if mode == STEP:
        drop_stale(data, i, plan.oldest, store, work)
    hinge = call_oracle(data, i, state.w, work)
    rest = store.folded_mass[i]
    if mode == STEP:
        best = slot_of_current(data, i, state, store, work)
        if best < 0:
            return NEEDS_ROOM, best, hinge, value_rest
        store.used[i, best] = plan.round
    if CACHED and plan.source == CACHE_FIRST and store.folded_mass[i] == rest:
        value[best] = hinge  # the other values are known, unless a labeling was folded
    else:
        value_rest = corner_values(data, i, state.w, False, state, store, work, value)
    if not EXACT:  # a labeling found before, or the average, may be better
        best = best_slot(i, store, value)
        hinge = max(hinge, value[best])
    average = average_value(i, store, value, value_rest)
    if not EXACT:
        hinge = max(hinge, average)
    state.gap[i] = state.c[i] * (hinge - average)
    return FROM_ORACLE if is_maximal(hinge, average) else NOT_MAXIMAL, best, hinge, value_rest


def best_slot(i: int, store: Any, value: np.ndarray) -> int:
    best = 0
    for s in range(1, store.size[i]):
        if value[s] > value[best]:
            best = s
    return best


def is_hit(i: int, best: int, value_rest: float, state: Any, store: Any, plan: Any, value: np.ndarray) -> bool:
    """Return whether the best stored corner is good enough to skip the oracle (gaps-2016, Alg. 5)."""
    gap = state.c[i] * (value[best] - average_value(i, store, value, value_rest))
    return gap > 0.0 and gap >= max(plan.cache_share * state.gap[i], plan.cache_floor)


#: :func:`store_pass` with pairwise steps from the worst corner only: it has less code and compiles in half the time.
pairwise_pass = variant(store_pass, take_step=pairwise_from_worst)

#: :func:`pairwise_pass` for visits in a fixed order that never look in the store before they call the oracle.
in_order_pass = variant(
    pairwise_pass, find_corner=variant(find_corner, CACHED=False), next_block=block_in_order, note_gap=no_gap_to_note
)
