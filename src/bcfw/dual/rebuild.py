"""Passes over averages and stores that do not call the oracle.

They recompute v and the averaged losses, fold the mass of a store into the averages, and shrink the mass of all outputs
but the truth.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.passes.contract import Data, Work, advance, apply, direction_from_average, load_truth, reserve, scores, slope
from bcfw.passes.records import NEEDS_ROOM, STOP, State, Store
from bcfw.passes.store import average_value, corner_values, fold
from bcfw.passes.store_steps import REST, mass_of, pair_direction


def rebuild_pass(
    data_fields: Any, work_fields: Any, state_fields: Any, lam: float, blocks: np.ndarray, out: np.ndarray
) -> None:
    """Template: recompute v (which is w without bounds): ``out += sum_i c_i/lam B_i (z(y_i) - mu_i)``."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    for j in range(blocks.shape[0]):
        i = blocks[j]
        load_truth(data, i, work)
        direction_from_average(data, i, state.mu, work)
        apply(data, i, state.c[i] / lam, work, out)


def store_rebuild_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    lam: float,
    blocks: np.ndarray,
    out: np.ndarray,
    store_fields: Any,
) -> None:
    """Template: recompute v of blocks with a store.

    ``out += sum_i c_i/lam B_i (z(y_i) - rest_i mu_i - sum_s alpha_is z(y_is))``, computed as a sum of differences: each
    labeling, and the rest, is subtracted from the truth in slot 0, because differences of two labelings are sparse.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    store = Store(*store_fields)
    for j in range(blocks.shape[0]):
        i = blocks[j]
        for s in range(REST, store.size[i]):
            mass = mass_of(i, store, s)
            if mass > 0.0 and s != 0:
                pair_direction(data, i, 0, s, state, store, work)
                apply(data, i, mass * state.c[i] / lam, work, out)


def loss_pass(data_fields: Any, work_fields: Any, state_fields: Any, w: np.ndarray, out: np.ndarray) -> None:
    """Template: write the averaged loss of every block, ``out[i] = l_i'(mu_i - z(y_i))``; ``w`` must be zero."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    for i in range(out.shape[0]):
        scores(data, i, w, 1.0, work)
        load_truth(data, i, work)
        direction_from_average(data, i, state.mu, work)
        out[i] = -slope(data, i, w, work)


def fold_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    counters: np.ndarray,
    first: int,
    blocks: np.ndarray,
    store_fields: Any,
) -> int:
    """Template: move the mass of every stored labeling into the rest; returns how many blocks are done."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    store = Store(*store_fields)
    for j in range(first, blocks.shape[0]):
        i = blocks[j]
        for s in range(store.size[i]):
            if store.alpha[i, s] > 0.0 and not fold(data, i, s, state, store, work):
                counters[STOP] = NEEDS_ROOM
                return j
    return blocks.shape[0]


def shrink_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    counters: np.ndarray,
    first: int,
    blocks: np.ndarray,
    rho: float,
) -> int:
    """Template: multiply the mass of all outputs but the truth by ``rho``, with w unchanged (gaps-2016, Alg. 7).

    ``mu_i <- rho mu_i + (1 - rho) z(y_i)``, ``ell_i <- rho ell_i`` and, with
    ``delta_i = ell_i - lam <w, v_i> = c_i sum_y alpha_i(y) H_i(y; w)``, ``g_i <- g_i + (1 - rho) delta_i``. Returns how
    many blocks are done.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    for j in range(first, blocks.shape[0]):
        i = blocks[j]
        scores(data, i, state.w, 1.0, work)
        load_truth(data, i, work)
        direction_from_average(data, i, state.mu, work)
        if not reserve(data, i, state.mu, work):
            counters[STOP] = NEEDS_ROOM
            return j
        delta = -state.c[i] * slope(data, i, state.w, work)
        advance(data, i, 1.0 - rho, work, state.mu)
        state.ell[i] *= rho
        state.gap[i] += (1.0 - rho) * delta
    return blocks.shape[0]


def store_shrink_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    blocks: np.ndarray,
    rho: float,
    store_fields: Any,
    value: np.ndarray,
) -> None:
    """Template: do the step of :func:`shrink_pass` for blocks with a store.

    The mass that the outputs lose goes to the truth in slot 0; the average ``mu_i`` does not change, only its mass.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    store = Store(*store_fields)
    for j in range(blocks.shape[0]):
        i = blocks[j]
        value_rest = corner_values(data, i, state.w, True, state, store, work, value)
        delta = state.c[i] * average_value(i, store, value, value_rest)
        store.folded_mass[i] *= rho
        for s in range(store.size[i]):
            store.alpha[i, s] *= rho
        store.alpha[i, 0] += 1.0 - rho
        state.ell[i] *= rho
        state.gap[i] += (1.0 - rho) * delta
