"""The records that enter compiled code: named tuples of arrays and numbers, never of Python objects.

A pass receives each record as a bare tuple and makes the named tuple again inside. The reason is that numba writes the
class of a named tuple argument into the signature of cached code, and cannot load that code if the class was renamed,
moved, or defined in a script.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class State(NamedTuple):
    """Primal-dual state of one structural SVM with n blocks.

    Attributes
    ----------
    w : (d,) weights, ``w = sum_i c_i/lam B_i (z(y_i) - mu_i)``, clipped to the bounds if w has bounds
    mu : tuple of arrays, the averaged parts of all blocks, laid out by the model
    ell : (n,) ``ell_i = c_i sum_y alpha_i(y) L_i(y)``
    gap : (n,) gap of block i at its last visit by a step or a certificate
    c : (n,) weight of block i in the objective, ``c_i = s_i / sum_j s_j`` (1/n without sample weights s)
    """

    w: np.ndarray
    mu: tuple[Any, ...]
    ell: np.ndarray
    gap: np.ndarray
    c: np.ndarray


class Store(NamedTuple):
    """The labeling store of n blocks: active set and cache of oracle outputs in one, and the rest of each block's mass.

    The average of block i is ``rest_i mu_i + sum_s alpha_is z(y_is)``, with ``rest_i + sum_s alpha_is = 1``. Slot 0
    holds the truth and is never removed. When all slots are active and a new labeling comes, the labeling of the
    smallest mass is folded into the rest.

    Attributes
    ----------
    labels : the labelings, laid out by the model; one slot more than the capacity, for scratch
    alpha : (n, capacity) mass of each labeling; zero for labelings that are only cached
    loss : (n, capacity) loss of each labeling
    used : (n, capacity) the round in which the oracle last returned the labeling
    size : (n,) number of slots in use
    folded_mass, rest_loss : (n,) mass of the rest, which is the mass on ``mu``, and the averaged loss of ``mu``
    """

    labels: Any
    alpha: np.ndarray
    loss: np.ndarray
    used: np.ndarray
    size: np.ndarray
    folded_mass: np.ndarray
    rest_loss: np.ndarray


class PartLists(NamedTuple):
    """The parts of every block that may move until the next certificate, for exact block solves.

    Attributes
    ----------
    parts : (n, width) the listed parts of each block, in the first ``size`` entries of its row
    size : (n,) number of listed parts; ``ALL_PARTS`` if all parts of the block are listed, 0 if no part can move
    idle : (n,) whether the last visit did not move the block
    slack : largest distance from moving at which a part is still listed, in units of its loss
    """

    parts: np.ndarray
    size: np.ndarray
    idle: np.ndarray
    slack: float


#: Value of ``PartLists.size``: all parts of the block are listed.
ALL_PARTS = -1


#: Modes of a pass: take a step at each block, or only write each block's hinge loss and gap (a certificate).
STEP, CERTIFY = range(2)


class StepSettings(NamedTuple):
    """The settings of a step: regularisation, step size rule, averaging, and bounds on w with their scratch arrays.

    Attributes
    ----------
    lam : regularisation strength
    size : ``EXACT_SIZE``, ``DECAY_SIZE`` or ``SHORT_SIZE``
    decay_blocks : n of the predefined step 2n/(k + 2n)
    averages : (tracks, d) running sums ``U`` of lazy weighted averaging; no tracks if averaging is off
    track : the track that the steps of this pass belong to
    bounded : (b,) coordinates of w that have a finite bound; if there are none, the fields below are not used
    box : (4, d) bounds, unclipped values and direction, at the bounded coordinates (see
    :mod:`bcfw.passes.bounded_steps`)
    probe : (d,) scratch into which a direction is written
    moved, n_moved : (b,) and (1,), the bounded coordinates that the direction in the box moves, and their number
    """

    lam: float
    size: int
    decay_blocks: int
    averages: np.ndarray
    track: int
    bounded: np.ndarray
    box: np.ndarray
    probe: np.ndarray
    moved: np.ndarray
    n_moved: np.ndarray


#: Values of ``StepSettings.size``: the maximiser of the dual; ``2n/(k + 2n)`` at step k; the maximiser of the dual
#: without bounds on w, which is safe but too short if w has bounds (gaps-2016, App. H).
EXACT_SIZE, DECAY_SIZE, SHORT_SIZE = range(3)


class StoreUse(NamedTuple):
    """How a pass uses the store.

    Attributes
    ----------
    step : ``FW``, ``PAIRWISE``, ``AWAY`` or ``BEST`` (the better of a Frank-Wolfe and a pairwise step)
    away_corner : the active corner that a pairwise step leaves, ``WORST`` (smallest value) or ``MOST_GAIN``
    source : where a visit finds the corner to step towards: ``ORACLE``, ``CACHE_FIRST`` or ``STORE_ONLY``
    cache_share, cache_floor : a stored corner is used if its gap is at least ``max(cache_share g_i, cache_floor)``
    round : number of the current round, written to ``used``
    oldest : labelings without mass that the oracle last returned before this round are removed
    """

    step: int
    away_corner: int
    source: int
    cache_share: float
    cache_floor: float
    round: int
    oldest: int


#: Values of ``StoreUse.step``, ``StoreUse.away_corner`` and ``StoreUse.source``.
FW, PAIRWISE, AWAY, BEST = range(4)

WORST, MOST_GAIN = range(2)

ORACLE, CACHE_FIRST, STORE_ONLY = range(3)


#: How the search for a corner ended: with a stored corner, with the oracle's output, or without a corner. The last two
#: values are also the values of ``counters[STOP]``: the oracle was not maximal; the averages need more room.
FROM_STORE, FROM_ORACLE, NOT_MAXIMAL, NEEDS_ROOM = range(4)


#: Entries of the ``counters`` array that a pass updates: the steps of the whole run (k); the dual gain, the oracle
#: calls and the steps that left a labeling without mass, in this pass; why the pass ended early, and at which block;
#: then for each of two averaging tracks the steps since averaging began (s) and the running sum of ell.
STEPS, GAIN, CALLS, DROPS, STOP, BLOCK, AVERAGED_STEPS = range(7)

TRACK_SIZE = 2

N_COUNTERS = AVERAGED_STEPS + 2 * TRACK_SIZE
