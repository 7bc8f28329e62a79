"""The records that enter compiled code: named tuples of arrays and numbers, never of Python objects.

A pass receives them as bare tuples and puts them together again inside. numba writes the class of a named tuple into
the signature of cached code, and loading that code fails where the class has been renamed or moved, or was defined in
a script.
"""

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
    c : (n,) share of block i in the objective, ``c_i = s_i / sum_j s_j`` (1/n without sample weights s)
    """

    w: np.ndarray
    mu: tuple[Any, ...]
    ell: np.ndarray
    gap: np.ndarray
    c: np.ndarray


class Store(NamedTuple):
    """Labelings kept for n blocks: active set and cache in one, and the rest of the block's mass.

    Block i is ``rest_i mu_i + sum_s alpha_is z(y_is)``, with ``rest_i + sum_s alpha_is = 1``. Slot 0 is the truth and
    never leaves. When all slots are active, the one of the smallest mass is folded into the rest.

    Attributes
    ----------
    labels : the labelings, laid out by the model; one slot more than the capacity, for scratch
    alpha : (n, capacity) their mass; zero for labelings that are only cached
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


class Lists(NamedTuple):
    """The parts of every block that may move until the next certificate, for exact block solves.

    Attributes
    ----------
    parts : (n, width) the listed parts of a block come first
    size : (n,) how many they are; ``ALL_PARTS`` for all of the block, 0 where nothing can move
    idle : (n,) whether the last visit left the block where it was
    slack : how far from moving a part may be to be listed, in units of its loss
    """

    parts: np.ndarray
    size: np.ndarray
    idle: np.ndarray
    slack: float


#: Value of ``Lists.size``: all parts of the block are listed.
ALL_PARTS = -1

#: What a pass does at a block: take a step, or only write its hinge loss and gap (a certificate).
STEP, CERTIFY = range(2)


class Visits(NamedTuple):
    """Which blocks a pass visits.

    Attributes
    ----------
    kind : ``IN_ORDER``, ``BY_GAP`` (drawn in proportion to the gaps) or ``LARGEST_GAP``
    n_visits : number of visits
    order : (n_visits,) the blocks, for ``IN_ORDER``; else empty
    draws : (n_visits,) random whole numbers, for ``BY_GAP``; else empty
    tree : tree over the blocks' gaps (see :mod:`bcfw.kernels.trees`); empty for ``IN_ORDER``
    """

    kind: int
    n_visits: int
    order: np.ndarray
    draws: np.ndarray
    tree: np.ndarray


#: Values of ``Visits.kind``.
IN_ORDER, BY_GAP, LARGEST_GAP = range(3)


def in_order(blocks: np.ndarray) -> Visits:
    """Visit the given blocks one after the other."""
    return Visits(IN_ORDER, len(blocks), blocks, np.zeros(0, np.int64), np.zeros(0))


class StepRule(NamedTuple):
    """What a step needs to know besides the state.

    Attributes
    ----------
    lam : regularisation strength
    size : ``EXACT_SIZE``, ``DECAY_SIZE`` or ``SHORT_SIZE``
    decay_blocks : n of the predefined step 2n/(k + 2n)
    averages : (tracks, d) running sums ``U`` of lazy weighted averaging; no tracks when averaging is off
    track : the track that steps of this pass belong to
    bounded : (b,) coordinates of w that have a finite bound; none of the following matters without any
    box : (4, d) bounds, unclipped values and direction, at these coordinates (see :mod:`bcfw.passes.box`)
    probe : (d,) scratch to read a direction
    moved, n_moved : (b,) and (1,), the bounded coordinates that the direction in the box moves, and how many
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


class Subgradients(NamedTuple):
    """Sums of subgradients psi_j, one per step: ``w_k = clip(total / (lam k))`` after k steps.

    Attributes
    ----------
    lam : regularisation strength
    n_blocks : number of blocks n; the subgradient of block i is ``n c_i psi_i(y*)``
    lazy : whether w is never written, and kernels see ``total`` and a loss of weight ``lam k`` instead
    averaging : whether ``moment`` is kept
    w : (d,) the current iterate, unless ``lazy``
    total : (d,) ``sum_j psi_j``
    moment : (d,) ``sum_j j psi_j`` if ``lazy``, else ``sum_j j w_j``: what the weighted average needs
    done : (1,) k
    bounded, lower, upper : coordinates of w that have a finite bound, and all bounds; empty without any
    """

    lam: float
    n_blocks: int
    lazy: bool
    averaging: bool
    w: np.ndarray
    total: np.ndarray
    moment: np.ndarray
    done: np.ndarray
    bounded: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class Cache(NamedTuple):
    """Outputs of every block that the oracle returned, for planes that need no call.

    Attributes
    ----------
    labels : the labelings, laid out by the model; slot 0 is the truth
    size : (n,) slots in use
    used : (n, slots) the round in which each was last the oracle's output
    """

    labels: Any
    size: np.ndarray
    used: np.ndarray


class PlaneSearch(NamedTuple):
    """Where a plane is looked for, and what is found: one output of every block.

    Attributes
    ----------
    w : (d,) the weights at which outputs are compared
    lam : the regularisation, the unit of ``v``
    round : which round of the oracle it is; 0 to look among cached outputs alone
    hinges : (2, n) values of the outputs, found and at most
    losses : (n,) their losses
    labels : the outputs, laid out by the model
    v : (d,) ``sum_i c_i/lam psi_i(y_i)``; begins as zero
    """

    w: np.ndarray
    lam: float
    round: int
    hinges: np.ndarray
    losses: np.ndarray
    labels: Any
    v: np.ndarray


class Exponents(NamedTuple):
    """Distributions of all blocks, ``alpha_i(y) = exp(u_i'z(y)) / Z_i``, and what moving them needs.

    Attributes
    ----------
    offsets : (n + 1,) where the parts of a block begin in ``u`` and ``l``
    u : the exponents
    l : loss of every part, ``L_i(y) = l_i'(z(y) - z(y_i))``
    truth : (n,) ``l_i'z(y_i)``
    eta : (n,) step sizes; 0 for blocks that have not moved yet
    last : (1,) the step size that was accepted last: where blocks begin
    theta, trial, parts : scratch for the block with the most parts
    starting : whether blocks go to the marginals of their u_i instead of taking a step
    """

    offsets: np.ndarray
    u: np.ndarray
    l: np.ndarray
    truth: np.ndarray
    eta: np.ndarray
    last: np.ndarray
    theta: np.ndarray
    trial: np.ndarray
    parts: np.ndarray
    starting: bool


class Expectations(NamedTuple):
    """Sums over all outputs of every block, weighted by ``P(y) = exp(sharpness s(y)) / Z``.

    Attributes
    ----------
    offsets : (n + 1,) where the parts of a block would begin in one vector of all blocks: their numbers
    first : (n,) where they are written in ``parts``; all 0 if only the sums are of interest
    parts : output, ``sum_y P(y) z(y)``
    truth : (n,) output, the score ``s(y_i)`` of the truth
    log_partition : (n,) output, ``log Z``
    mean : (n,) output, ``sum_y P(y) s(y)``
    theta, scaled : scratch for the block with the most parts
    """

    offsets: np.ndarray
    first: np.ndarray
    parts: np.ndarray
    truth: np.ndarray
    log_partition: np.ndarray
    mean: np.ndarray
    theta: np.ndarray
    scaled: np.ndarray


class Group(NamedTuple):
    """Several blocks that step at once, with step sizes by an estimate M of how much they get in each other's way.

    Attributes
    ----------
    size : blocks per group
    in_alpha : whether distances are those of the mass, |alpha_i - e_y|^2, or of the weights, lam |v_i - v_s|^2
    shrink, grow : factors of M before every group, and whenever the test fails
    M : (1,) the estimate
    slot, gamma, distance, loss : (size,) of the group's blocks: where the oracle's output is kept, the step, the
        squared distance to the output, its loss
    labels : the kept outputs, laid out by the model; one slot per block unless ``in_alpha``
    mass, kept : (n, slots) and (n,) mass of the kept outputs and how many they are; no slots unless ``in_alpha``
    rest : (n,) mass of other outputs; empty unless ``in_alpha``
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


#: Values of ``StepRule.size``: the maximiser of the dual; ``2n/(k + 2n)`` at step k; the maximiser that there would be
#: without bounds on w, which is safe with them but too short (gaps-2016, App. H).
EXACT_SIZE, DECAY_SIZE, SHORT_SIZE = range(3)


class StorePlan(NamedTuple):
    """How a pass uses the store.

    Attributes
    ----------
    step : ``FW``, ``PAIRWISE``, ``AWAY`` or ``BEST`` (the better of the first two)
    away_corner : the active corner that a pairwise step leaves, ``WORST`` (smallest value) or ``MOST_GAIN``
    source : where the corner to step to is looked for: ``ORACLE``, ``CACHE_FIRST`` or ``STORE_ONLY``
    cache_share, cache_floor : a cached corner is used if its gap is at least ``max(cache_share g_i, cache_floor)``
    round : number of the current round, written to ``used``
    oldest : labelings without mass that were last used before this round are dropped
    """

    step: int
    away_corner: int
    source: int
    cache_share: float
    cache_floor: float
    round: int
    oldest: int


#: Values of ``StorePlan.step``, ``StorePlan.away_corner`` and ``StorePlan.source``.
FW, PAIRWISE, AWAY, BEST = range(4)
WORST, MOST_GAIN = range(2)
ORACLE, CACHE_FIRST, STORE_ONLY = range(3)

#: How the search for a corner ended: a stored one, the oracle's, or not at all. The last two are also the values of
#: ``tally[STOP]``: the oracle was not maximal, or the block's average needs more room.
FROM_STORE, FROM_ORACLE, NOT_MAXIMAL, NEEDS_ROOM = range(4)

#: Places in the ``tally`` array that a pass updates: steps ever taken (k); of this pass the dual gain, the oracle calls
#: and the steps that left a labeling without mass; why and at which block a pass ended early; then for each of two
#: averaging tracks the steps since averaging began (s) and the running sum of ell.
STEPS, GAIN, CALLS, DROPS, STOP, BLOCK, AVERAGED_STEPS = range(7)
TRACK_SIZE = 2
TALLY_SIZE = AVERAGED_STEPS + 2 * TRACK_SIZE
