"""Solvers of the structural SVM."""

from bcfw.solvers.base import Solver
from bcfw.solvers.batch import BatchFW
from bcfw.solvers.bcfw import BCFW

#: Names that ``train(solver=...)`` takes besides an instance; common tests run over it.
SOLVERS = {"bcfw": BCFW, "batch-fw": BatchFW}

__all__ = ["BCFW", "SOLVERS", "BatchFW", "Solver"]
