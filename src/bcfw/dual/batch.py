"""One step of all blocks at once (bcfw-2013, Alg. 2): the compiled passes, and the functions that call them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bcfw.dual.problem import DualProblem
from bcfw.passes.contract import (
    EXACT,
    Data,
    Work,
    advance,
    apply,
    direction_from_average,
    keep_labeling,
    load_labeling,
    loss,
    reserve,
)
from bcfw.passes.oracle import hinge_upper_bound, oracle_and_direction
from bcfw.passes.order import in_order
from bcfw.passes.records import BLOCK, NEEDS_ROOM, NOT_MAXIMAL, STEPS, STOP, State


def batch_oracle_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    counters: np.ndarray,
    first: int,
    blocks: np.ndarray,
    lam: float,
    hinge_losses: np.ndarray,
    losses: np.ndarray,
    moves: np.ndarray,
    step: np.ndarray,
    labelings: Any,
) -> int:
    """Template: call the oracle on all blocks at one w (bcfw-2013, Alg. 2: the loop over i).

    For every block the pass writes the hinge loss and an upper bound of it to ``hinge_losses`` (2, n), the block gap to
    the state, the loss of the oracle's output to ``losses``, and to ``moves`` whether the block will move (with a
    heuristic oracle a block stays if the output is no better than its average). For blocks that move it writes the
    output to ``labelings`` and adds ``-c_i/lam B_i d_i`` to ``step``; the sum over all blocks is ``w_s - w``. Returns
    how many blocks are done.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    for j in range(first, blocks.shape[0]):
        i = blocks[j]
        hinge_losses[0, i], maximal = oracle_and_direction(data, i, state.w, state, work)
        hinge_losses[1, i] = hinge_upper_bound(data, i, state.w, hinge_losses[0, i], work)
        if not maximal:
            counters[STOP] = NOT_MAXIMAL
            counters[BLOCK] = i
            return j
        losses[i] = loss(data, i, work)
        moves[i] = EXACT or state.gap[i] > 0.0
        if moves[i]:
            keep_labeling(data, i, 0, work, labelings)
            apply(data, i, -state.c[i] / lam, work, step)
    return blocks.shape[0]


def batch_step_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    counters: np.ndarray,
    first: int,
    blocks: np.ndarray,
    gamma: float,
    losses: np.ndarray,
    moves: np.ndarray,
    labelings: Any,
) -> int:
    """Template: move every block with ``moves`` by ``gamma`` towards its labeling in ``labelings``; the caller moves w.

    Returns how many blocks are done.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    for j in range(first, blocks.shape[0]):
        i = blocks[j]
        if not moves[i]:
            continue
        load_labeling(data, i, 0, labelings, work)
        direction_from_average(data, i, state.mu, work)
        if not reserve(data, i, state.mu, work):
            counters[STOP] = NEEDS_ROOM
            return j
        advance(data, i, gamma, work, state.mu)
        state.ell[i] += gamma * (state.c[i] * losses[i] - state.ell[i])
    return blocks.shape[0]


class Corners(NamedTuple):
    """What the oracle returned for every block at the current w.

    Attributes
    ----------
    hinges : (2, n) hinge losses: the values that the oracle found, and upper bounds of them
    losses : (n,) losses of the oracle's outputs
    moves : (n,) whether the block will move; with a heuristic oracle, a block stays if its output is no better than
        its average
    step : (d,) change of v if every block with ``moves`` goes all the way to its corner
    labelings : outputs of the blocks with ``moves``, laid out by the model
    """

    hinge_losses: np.ndarray
    losses: np.ndarray
    moves: np.ndarray
    step: np.ndarray
    labelings: Any


def find_corners(problem: DualProblem, labelings: Any) -> Corners:
    """Call the oracle on all blocks at the current w; its outputs are written to ``labelings``, one slot per block."""
    n, blocks = problem.n_blocks, problem.blocks
    problem.announce_visits(in_order(blocks))
    found = Corners(np.zeros((2, n)), np.zeros(n), np.zeros(n, np.bool_), np.zeros_like(problem.v), labelings)
    problem.run_template(batch_oracle_pass, len(blocks), blocks, problem.lam, *found)
    problem.oracle_calls += len(blocks)
    return found


def step_to_corners(problem: DualProblem, corners: Corners, gamma: float) -> None:
    """Move all blocks with ``corners.moves`` by the step size gamma towards their corners."""
    v = problem.v
    blocks = problem.blocks
    problem.run_template(batch_step_pass, len(blocks), blocks, gamma, corners.losses, corners.moves, corners.labelings)
    problem.v = v + gamma * corners.step
    problem.counters[STEPS] += len(blocks)
