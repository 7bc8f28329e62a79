"""The pass of the stochastic subgradient method: one oracle call and one step of w per visit, without a dual point."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bcfw.passes.contract import BOUNDED, Data, Work, apply, scores
from bcfw.passes.oracle import call_oracle, direction_to_truth, is_maximal
from bcfw.passes.order import Visits, next_block
from bcfw.passes.records import BLOCK, CALLS, NOT_MAXIMAL, STEPS, STOP, State


class Subgradients(NamedTuple):
    """Sums of the subgradients of all steps so far: after k steps, ``w_k = clip(total / (lam k))``.

    Attributes
    ----------
    lam : regularisation strength
    n_blocks : number of blocks n; the subgradient of a step at block i is ``psi_j = n c_i psi_i(y*)``
    lazy : whether w is never written; the model's routines then get ``total`` and the loss weight ``lam k``
    averaging : whether ``moment`` is updated
    w : (d,) the current iterate, unless ``lazy``
    total : (d,) ``sum_j psi_j``
    moment : (d,) the sum for the weighted average: ``sum_j j psi_j`` if ``lazy``, else ``sum_j j w_j``
    done : (1,) the number of steps k
    bounded : the coordinates of w that have a finite bound; empty if w has no bounds
    lower, upper : the bounds of all coordinates; empty if w has no bounds
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


def subgradient_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    counters: np.ndarray,
    first: int,
    visits_fields: Any,
    sums_fields: Any,
) -> int:
    """Template: take one Pegasos step per visit.

    A step is ``w_{k+1} = k/(k+1) w_k + 1/(lam (k+1)) n c_i psi_i(y*)``, where y* is the oracle's output at w_k. It
    follows that ``lam k w_k = sum_j n c_{i_j} psi_j``. A lazy step therefore adds a multiple of ``psi_i(y*)`` to
    ``total`` and, for the weighted average, to ``moment``; its cost is the number of nonzero features. The oracle gets
    the scores ``lam k theta_i(w_k) = lam k l_i + B_i'total``, whose maximiser is the maximiser of theta_i. For models
    that do not take weighted losses, and for problems with bounds on w, steps are not lazy: w itself is written, which
    costs d additions per step.

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
    sums = Subgradients(*sums_fields)
    for j in range(first, visits.n_visits):
        i = next_block(visits, j)
        counters[BLOCK] = i
        at = sums.w
        loss_weight = 1.0
        if sums.lazy:
            at = sums.total
            loss_weight = sums.lam * max(sums.done[0], 1.0)  # at w_0 = 0 every positive weight gives the same output
        scores(data, i, at, loss_weight, work)
        hinge = call_oracle(data, i, at, work)
        counters[CALLS] += 1.0
        if not is_maximal(hinge, 0.0):
            state.gap[i] = hinge
            counters[STOP] = NOT_MAXIMAL
            return j
        direction_to_truth(data, i, work)
        counters[STEPS] += 1.0
        sums.done[0] += 1.0
        scale = sums.n_blocks * state.c[i]
        apply(data, i, scale, work, sums.total)
        if not sums.lazy:
            write_iterate(sums)
        elif sums.averaging:
            apply(data, i, scale * sums.done[0], work, sums.moment)
    return visits.n_visits


def write_iterate(sums: Any) -> None:
    """Write the iterate ``w = clip(total / (lam k))``, and add ``k w`` to ``moment`` if iterates are averaged."""
    k = sums.done[0]
    for j in range(sums.w.shape[0]):
        sums.w[j] = sums.total[j] / (sums.lam * k)
    if BOUNDED:
        for m in range(sums.bounded.shape[0]):
            j = sums.bounded[m]
            sums.w[j] = min(max(sums.w[j], sums.lower[j]), sums.upper[j])
    if sums.averaging:
        for j in range(sums.w.shape[0]):
            sums.moment[j] += k * sums.w[j]
