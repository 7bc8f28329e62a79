"""The named tuples that enter compiled code. Fields are arrays or numbers, never Python objects."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class State(NamedTuple):
    """Primal-dual state of one structural SVM with n blocks.

    Attributes
    ----------
    w : (d,) weights, ``w = sum_i c_i/lam B_i (z(y_i) - mu_i)``, clipped to the bounds where there are any
    mu : tuple of arrays, the averaged parts of all blocks, laid out by the model
    ell : (n,) ``ell_i = c_i sum_y alpha_i(y) L_i(y)``
    gap : (n,) block gap when block i was last visited by a step or a certificate
    weight : (n,) block weights ``c_i = s_i / sum_j s_j`` (1/n without sample weights)
    """

    w: np.ndarray
    mu: tuple[Any, ...]
    ell: np.ndarray
    gap: np.ndarray
    weight: np.ndarray


class Store(NamedTuple):
    """Labelings kept for n blocks: active set and cache in one, and the rest of the block's mass.

    Block i is ``rest_i mu_i + sum_s alpha_is z(y_is)``, with ``rest_i + sum_s alpha_is = 1``. Slot 0 is the truth and
    never leaves. When all slots are active, the lightest one is folded into the rest.

    Attributes
    ----------
    labels : the labelings, laid out by the model; one slot more than the capacity, for scratch
    alpha : (n, capacity) weights; zero for labelings that are only cached
    loss : (n, capacity) their losses
    used : (n, capacity) the round in which the oracle last returned them
    size : (n,) slots in use
    rest, rest_loss : (n,) mass and averaged loss of the part that ``mu`` holds
    """

    labels: Any
    alpha: np.ndarray
    loss: np.ndarray
    used: np.ndarray
    size: np.ndarray
    rest: np.ndarray
    rest_loss: np.ndarray


class Rule(NamedTuple):
    """What a step needs to know besides the state.

    Attributes
    ----------
    lam : regularisation strength
    decay_blocks : n for the predefined step 2n/(k + 2n), 0 for the exact line search
    averages : (tracks, d) running sums ``U`` of lazy weighted averaging; no tracks when averaging is off
    track : the track that steps of this pass belong to
    short : 1 for the step of the unbounded problem even with bounds, which is safe but too short (multiplane-2015)
    bounded : (b,) coordinates of w that have a finite bound
    box : (4, b) their bounds, unclipped values and direction (see :mod:`bcfw.dual.box`)
    probe : (d,) scratch to read a direction at the bounded coordinates; empty without any
    """

    lam: float
    decay_blocks: int
    averages: np.ndarray
    track: int
    short: int
    bounded: np.ndarray
    box: np.ndarray
    probe: np.ndarray


class Corners(NamedTuple):
    """How a pass over the store works.

    Attributes
    ----------
    step : 0 Frank-Wolfe, 1 pairwise, 2 away, 3 the better of Frank-Wolfe and pairwise
    by_gain : 1 to take the away corner whose pairwise step gains most, 0 the one of the smallest value
    source : 0 ask the oracle, 1 the cache first, 2 the store alone
    cache_share, cache_floor : a cached corner is used if its gap is at least ``max(cache_share g_i, cache_floor)``
    round : number of the current round, written to ``used``
    oldest : labelings without weight that were last used before this round are dropped
    """

    step: int
    by_gain: int
    source: int
    cache_share: float
    cache_floor: float
    round: int
    oldest: int


#: Values of ``Corners.step`` and ``Corners.source``.
FW, PAIRWISE, AWAY, BEST = range(4)
ORACLE, CACHE_FIRST, STORE_ONLY = range(3)


#: Places in the ``tally`` array that a pass updates: steps ever taken (k), dual gain of this pass, oracle calls of this
#: pass, why and at which block a pass ended before the end of its order; then for each of two averaging tracks the
#: steps since averaging began (s) and the running sum of ell.
STEPS, GAIN, CALLS, STOP, BLOCK, AVERAGED_STEPS = range(6)
TRACK_SIZE = 2
TALLY_SIZE = AVERAGED_STEPS + 2 * TRACK_SIZE

#: Values of ``tally[STOP]``: the oracle was not maximal, or the block's average needs more room.
NOT_MAXIMAL, NEEDS_ROOM = 1.0, 2.0
