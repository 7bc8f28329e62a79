"""The solvers of :func:`bcfw.train`, and the table of their names."""

from __future__ import annotations

from typing import Any

from bcfw import saved_objects
from bcfw.options import named
from bcfw.solvers.adaptive import AdaptiveBCFW
from bcfw.solvers.auto import Auto
from bcfw.solvers.base import Solver
from bcfw.solvers.batch import BatchFW
from bcfw.solvers.bcfw import BCFW
from bcfw.solvers.block_solves import BlockSolves
from bcfw.solvers.cutting_plane import CuttingPlane
from bcfw.solvers.exponentiated import ExponentiatedGradient
from bcfw.solvers.kernelized import KernelBCFW
from bcfw.solvers.multiplane import MultiPlane
from bcfw.solvers.run import PassInfo
from bcfw.solvers.subgradient import Subgradient

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

saved_objects.SOLVERS.update(SOLVERS)
saved_objects.register("$solver", Solver, saved_objects.encode_solver, saved_objects.decode_solver)

__all__ = ["SOLVERS", "PassInfo", "Solver", "find_solver"]
__all__ += [solver.__name__ for solver in SOLVERS.values()]


def find_solver(solver: Any) -> Solver:
    """Return the solver for the option ``solver``: the given instance, or a new one for a name of :data:`SOLVERS`."""
    return named("solver", solver, Solver, SOLVERS)


def __dir__() -> list[str]:
    return sorted(__all__)
