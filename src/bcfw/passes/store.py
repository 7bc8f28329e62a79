"""The labeling store of one block: values of its corners, management of its slots, and directions made from it.

A *corner* is a stored labeling or the *rest*, the part of the block's mass that is on the average ``mu_i``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.compile import not_inlined
from bcfw.passes.contract import (
    add_average,
    add_labeling,
    advance,
    direction_from_average,
    direction_scores,
    end_direction,
    keep_labeling,
    load_labeling,
    loss,
    reserve,
    same_labeling,
    slope,
    slot_value,
    start_direction,
    start_parts,
)


@not_inlined
def corner_values(
    data: Any, i: int, w: np.ndarray, by_parts: bool, state: Any, store: Any, work: Any, value: np.ndarray
) -> float:
    """Write ``value[s] = H_i(y_is; w)`` of every slot, and return the value of the rest (0 if the rest has no mass).

    With ``by_parts``, theta_i is computed here, only at the parts of the labelings and of the rest; else it must be
    known already. Slot 0, the truth, has value 0.
    """
    if by_parts:
        start_parts(data, i, w, work)
    for s in range(store.size[i]):
        value[s] = slot_value(data, i, s, store.labels, by_parts, w, work)
    truth = value[0]
    for s in range(store.size[i]):
        value[s] -= truth
    if store.folded_mass[i] == 0.0:
        return 0.0
    start_direction(data, i, work)
    add_average(data, i, 1.0, state.mu, work)
    end_direction(data, i, work)
    if by_parts:
        direction_scores(data, i, w, work)
    return slope(data, i, w, work) - truth


def average_value(i: int, store: Any, value: np.ndarray, value_rest: float) -> float:
    """Return the value of the block's average, ``sum_y alpha_i(y) H_i(y; w)``."""
    total = store.folded_mass[i] * value_rest
    for s in range(store.size[i]):
        total += store.alpha[i, s] * value[s]
    return total


@not_inlined
def slot_of_current(data: Any, i: int, state: Any, store: Any, work: Any) -> int:
    """Return the slot that holds the current labeling; if no slot does, write the labeling to a slot with mass zero.

    The labeling goes to a free slot. If no slot is free, it replaces the least recently used labeling without mass. If
    all labelings have mass, the labeling of the smallest mass is first folded into the rest: ``mu_i`` moves towards it
    by its share of the joint mass, which leaves w unchanged. Returns -1 if the fold needs more room in the averages.
    """
    for s in range(store.size[i]):
        if same_labeling(data, i, s, store.labels, work):
            return s
    capacity = store.alpha.shape[1]
    slot = store.size[i]
    if slot < capacity:
        store.size[i] = slot + 1
    else:
        slot = lightest_slot(i, store)
        if store.alpha[i, slot] > 0.0:
            keep_labeling(data, i, capacity, work, store.labels)
            if not fold(data, i, slot, state, store, work):
                return -1
            load_labeling(data, i, capacity, store.labels, work)
    keep_labeling(data, i, slot, work, store.labels)
    store.alpha[i, slot] = 0.0
    store.loss[i, slot] = loss(data, i, work)
    return slot


def lightest_slot(i: int, store: Any) -> int:
    """Return the slot of the smallest mass, and among equal masses the least recently used; never the truth's slot."""
    slot = 1
    for s in range(2, store.size[i]):
        if store.alpha[i, s] < store.alpha[i, slot] or (
            store.alpha[i, s] == store.alpha[i, slot] and store.used[i, s] < store.used[i, slot]
        ):
            slot = s
    return slot


@not_inlined
def fold(data: Any, i: int, slot: int, state: Any, store: Any, work: Any) -> bool:
    """Move the mass of a labeling into the rest; return False if the averages need more room first."""
    load_labeling(data, i, slot, store.labels, work)
    direction_from_average(data, i, state.mu, work)
    if not reserve(data, i, state.mu, work):
        return False
    mass = store.alpha[i, slot]
    joint = store.folded_mass[i] + mass
    advance(data, i, mass / joint, work, state.mu)
    store.rest_loss[i] += mass / joint * (store.loss[i, slot] - store.rest_loss[i])
    store.folded_mass[i] = joint
    store.alpha[i, slot] = 0.0
    return True


def remove_slot(data: Any, i: int, slot: int, store: Any, work: Any) -> None:
    """Remove the labeling in ``slot``; the labeling of the last slot moves there."""
    last = store.size[i] - 1
    if slot < last:
        load_labeling(data, i, last, store.labels, work)
        keep_labeling(data, i, slot, work, store.labels)
        store.alpha[i, slot] = store.alpha[i, last]
        store.loss[i, slot] = store.loss[i, last]
        store.used[i, slot] = store.used[i, last]
    store.alpha[i, last] = 0.0
    store.size[i] = last


def add_block(data: Any, i: int, s: float, more_rest: float, state: Any, store: Any, work: Any) -> None:
    """Add the block's average and more of mu_i to the direction: ``d += s (average of the block) + more_rest mu_i``.

    Called before :func:`add_labeling` of other labelings.
    """
    share = s * store.folded_mass[i] + more_rest
    if share != 0.0:
        add_average(data, i, share, state.mu, work)
    for slot in range(store.size[i]):
        if store.alpha[i, slot] > 0.0:
            load_labeling(data, i, slot, store.labels, work)
            add_labeling(data, i, s * store.alpha[i, slot], work)


@not_inlined
def blend_direction(data: Any, i: int, slot: int, sign: float, state: Any, store: Any, work: Any) -> None:
    """Make ``d = sign (z(slot) - average of the block)`` the current direction."""
    start_direction(data, i, work)
    add_block(data, i, -sign, 0.0, state, store, work)
    load_labeling(data, i, slot, store.labels, work)
    add_labeling(data, i, sign, work)
    end_direction(data, i, work)


@not_inlined
def drop_stale(data: Any, i: int, oldest: int, store: Any, work: Any) -> None:
    """Remove labelings without mass that the oracle last returned before round ``oldest``."""
    for s in range(store.size[i] - 1, 0, -1):
        if store.alpha[i, s] == 0.0 and store.used[i, s] < oldest:
            remove_slot(data, i, s, store, work)
