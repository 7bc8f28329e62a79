"""Solvers of the structural SVM."""

from bcfw.solvers.auto import Auto
from bcfw.solvers.base import Solver
from bcfw.solvers.batch import BatchFW
from bcfw.solvers.bcfw import BCFW
from bcfw.solvers.multiplane import MultiPlane

#: Names that ``train(solver=...)`` takes besides an instance; common tests run over it.
SOLVERS = {"auto": Auto, "bcfw": BCFW, "multi-plane": MultiPlane, "batch-fw": BatchFW}

__all__ = ["BCFW", "SOLVERS", "Auto", "BatchFW", "MultiPlane", "Solver"]
