"""The pass that finds a cutting plane: one output of every block, from the oracle or from a cache of outputs.

A *plane* is a lower bound, linear in w, of the weighted sum of all hinge losses:
``sum_i c_i H_i(y_i; w) = ell - lam <v, w>`` with ``v = sum_i c_i/lam psi_i(y_i)`` and ``ell = sum_i c_i L_i(y_i)``,
where y_i is one output of block i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bcfw.passes.contract import (
    Data,
    Work,
    apply,
    keep_labeling,
    load_labeling,
    loss,
    same_labeling,
    scores,
    slot_value,
    start_parts,
)
from bcfw.passes.oracle import call_oracle, direction_to_truth, is_maximal
from bcfw.passes.records import BLOCK, NOT_MAXIMAL, STOP, State


class Cache(NamedTuple):
    """Outputs that the oracle returned for every block; they give cutting planes without an oracle call.

    Attributes
    ----------
    labels : the labelings, laid out by the model; slot 0 is the truth
    size : (n,) number of slots in use
    used : (n, slots) the round in which the oracle last returned each labeling
    """

    labels: Any
    size: np.ndarray
    used: np.ndarray


class PlaneSearch(NamedTuple):
    """The search for a cutting plane: where it looks, and the output of every block that it finds.

    Attributes
    ----------
    w : (d,) the weights at which outputs are compared
    lam : regularisation strength, by which ``v`` is divided
    round : number of the current round of oracle calls; 0 to search cached outputs only
    hinge_losses : (2, n) result, the value of each block's output and an upper bound of the block's hinge loss
    losses : (n,) result, the loss of each block's output
    labels : result, the outputs, laid out by the model
    v : (d,) result, ``sum_i c_i/lam psi_i(y_i)``; zero before the search
    """

    w: np.ndarray
    lam: float
    round: int
    hinge_losses: np.ndarray
    losses: np.ndarray
    labels: Any
    v: np.ndarray


def plane_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    counters: np.ndarray,
    first: int,
    blocks: np.ndarray,
    cache_fields: Any,
    search_fields: Any,
) -> int:
    """Template: find the plane of the largest value at w; in round 0, the largest among planes of cached outputs.

    Each output of the oracle enters the block's cache; if the cache is full, it replaces the output that was used least
    recently. The pass stops at a block where the oracle's output has a smaller value than a cached output. Returns how
    many blocks are done.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    cache = Cache(*cache_fields)
    search = PlaneSearch(*search_fields)
    asking = search.round > 0
    for j in range(first, blocks.shape[0]):
        i = blocks[j]
        counters[BLOCK] = i
        if asking:
            scores(data, i, search.w, 1.0, work)
        known = load_best(data, i, search.w, not asking, cache, work)
        hinge = known
        if asking:
            hinge = call_oracle(data, i, search.w, work)
            keep_in_cache(data, i, search.round, cache, work)
        if not is_maximal(hinge, known):
            state.gap[i] = state.c[i] * (hinge - known)
            counters[STOP] = NOT_MAXIMAL
            return j
        search.hinge_losses[0, i] = hinge
        search.hinge_losses[1, i] = hinge
        search.losses[i] = loss(data, i, work)
        keep_labeling(data, i, 0, work, search.labels)
        direction_to_truth(data, i, work)
        apply(data, i, state.c[i] / search.lam, work, search.v)
    return blocks.shape[0]


def load_best(data: Any, i: int, w: np.ndarray, by_parts: bool, cache: Any, work: Any) -> float:
    """Make the cached output of the largest value the current labeling and return its ``H_i``.

    With ``by_parts``, theta_i is computed here, only at the parts of the cached outputs; else it must be known already.
    """
    if by_parts:
        start_parts(data, i, w, work)
    truth = slot_value(data, i, 0, cache.labels, by_parts, w, work)
    best = 0
    largest = truth
    for s in range(1, cache.size[i]):
        value = slot_value(data, i, s, cache.labels, by_parts, w, work)
        if value > largest:
            best = s
            largest = value
    load_labeling(data, i, best, cache.labels, work)
    return largest - truth


def keep_in_cache(data: Any, i: int, number: int, cache: Any, work: Any) -> None:
    """Record in the cache that the current labeling was the oracle's output in round ``number``."""
    oldest = 1
    for s in range(cache.size[i]):
        if same_labeling(data, i, s, cache.labels, work):
            cache.used[i, s] = number
            return
        if s > 0 and cache.used[i, s] < cache.used[i, oldest]:
            oldest = s
    slot = oldest
    if cache.size[i] < cache.used.shape[1]:
        slot = cache.size[i]
        cache.size[i] += 1
    cache.used[i, slot] = number
    keep_labeling(data, i, slot, work, cache.labels)
