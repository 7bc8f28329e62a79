"""A batch Frank-Wolfe step: find the corners of all blocks at one w, then move towards them (bcfw-2013, Alg. 2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bcfw.dual.problem import DualProblem
from bcfw.passes.batch import batch_oracle_pass, batch_step_pass
from bcfw.records import STEPS, in_order


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

    hinges: np.ndarray
    losses: np.ndarray
    moves: np.ndarray
    step: np.ndarray
    labelings: Any


def find_corners(problem: DualProblem, labelings: Any) -> Corners:
    """Call the oracle on all blocks at the current w; its outputs are written to ``labelings``, one slot per block."""
    n, blocks = problem.n_blocks, problem.blocks
    problem.expect(in_order(blocks))
    found = Corners(np.zeros((2, n)), np.zeros(n), np.zeros(n, np.bool_), np.zeros_like(problem.v), labelings)
    problem.sweep(batch_oracle_pass, len(blocks), blocks, problem.lam, *found)
    problem.oracle_calls += len(blocks)
    return found


def step_to_corners(problem: DualProblem, corners: Corners, gamma: float) -> None:
    """Move all blocks with ``corners.moves`` by the step size gamma towards their corners."""
    v = problem.v
    blocks = problem.blocks
    problem.sweep(batch_step_pass, len(blocks), blocks, gamma, corners.losses, corners.moves, corners.labelings)
    problem.v = v + gamma * corners.step
    problem.tally[STEPS] += len(blocks)
