"""One step of all blocks at once: the oracle's corners at one w, and the move towards them (bcfw-2013, Alg. 2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bcfw.dual.problem import DualProblem
from bcfw.passes.batch import batch_oracle_pass, batch_step_pass
from bcfw.records import STEPS, in_order


class Corners(NamedTuple):
    """What the oracle returned for every block at the current w.

    ``hinges`` (2, n) are the hinge losses, found and at most, ``losses`` (n,) those of the labelings, ``moves`` (n,)
    says which blocks they are for, and ``step`` (d,) is where v goes from here if all of these move there.
    """

    hinges: np.ndarray
    losses: np.ndarray
    moves: np.ndarray
    step: np.ndarray
    labelings: Any


def find_corners(problem: DualProblem, labelings: Any) -> Corners:
    """Ask the oracle about all blocks at the current w; ``labelings`` has room for one per block."""
    n, blocks = problem.n_blocks, problem.blocks
    problem.expect(in_order(blocks))
    found = Corners(np.zeros((2, n)), np.zeros(n), np.zeros(n, np.bool_), np.zeros_like(problem.v), labelings)
    problem.sweep(batch_oracle_pass, len(blocks), blocks, problem.lam, *found)
    problem.oracle_calls += len(blocks)
    return found


def step_to_corners(problem: DualProblem, corners: Corners, gamma: float) -> None:
    """Move all blocks by gamma towards their corners."""
    v = problem.v
    blocks = problem.blocks
    problem.sweep(batch_step_pass, len(blocks), blocks, gamma, corners.losses, corners.moves, corners.labelings)
    problem.v = v + gamma * corners.step
    problem.tally[STEPS] += len(blocks)
