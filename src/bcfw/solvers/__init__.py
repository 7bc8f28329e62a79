"""Solvers of the structural SVM: BCFW and what accelerates it, with the baselines and the kernel trick in folders.

``bcfw.minimize``, for products of other sets, has its own loop in :mod:`bcfw.product`.
"""

from __future__ import annotations

from typing import Any

from bcfw.options import named
from bcfw.solvers.auto import Auto
from bcfw.solvers.baselines.adaptive import AdaptiveBCFW
from bcfw.solvers.baselines.batch_fw import BatchFW
from bcfw.solvers.baselines.cutting_plane import CuttingPlane
from bcfw.solvers.baselines.exponentiated import ExponentiatedGradient
from bcfw.solvers.baselines.subgradient import Subgradient
from bcfw.solvers.bcfw import BCFW
from bcfw.solvers.block_solves import BlockSolves
from bcfw.solvers.counted_run import PassInfo
from bcfw.solvers.kernelized.kernel_bcfw import KernelBCFW
from bcfw.solvers.multiplane import MultiPlane
from bcfw.solvers.solver import Solver
from bcfw.storage import objects

#: The names that ``train(solver=...)`` accepts, besides an instance; tests of all solvers run over this table.
SOLVERS: dict[str, type[Solver]] = {
    "auto": Auto,
    "bcfw": BCFW,
    "multi-plane": MultiPlane,
    "block-solves": BlockSolves,
    "batch-fw": BatchFW,
    "adaptive-bcfw": AdaptiveBCFW,
    "cutting-plane": CuttingPlane,
    "exponentiated-gradient": ExponentiatedGradient,
    "subgradient": Subgradient,
    "kernel-bcfw": KernelBCFW,
}

objects.SOLVERS.update(SOLVERS)
objects.register("$solver", Solver, objects.encode_solver, objects.decode_solver)

__all__ = ["SOLVERS", "PassInfo", "Solver", "find_solver"]
__all__ += [solver.__name__ for solver in SOLVERS.values()]


def find_solver(solver: Any) -> Solver:
    """Return the solver for the option ``solver``: the given instance, or a new one for a name of :data:`SOLVERS`."""
    return named("solver", solver, Solver, SOLVERS)


def __dir__() -> list[str]:
    return sorted(__all__)
