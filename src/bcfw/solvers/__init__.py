"""Solvers of the structural SVM."""

from __future__ import annotations

from typing import Any

from bcfw.errors import OptionError, nearest
from bcfw.solvers.auto import Auto
from bcfw.solvers.base import Solver
from bcfw.solvers.batch import BatchFW
from bcfw.solvers.bcfw import BCFW
from bcfw.solvers.multiplane import MultiPlane
from bcfw.solvers.run import PassInfo

#: Names that ``train(solver=...)`` takes besides an instance; common tests run over it.
SOLVERS: dict[str, type[Solver]] = {"auto": Auto, "bcfw": BCFW, "multi-plane": MultiPlane, "batch-fw": BatchFW}

__all__ = ["SOLVERS", "PassInfo", "Solver", "find_solver"]
__all__ += [solver.__name__ for solver in SOLVERS.values()]


def find_solver(solver: Any) -> Solver:
    """An instance as it is, or made for a name."""
    if isinstance(solver, Solver):
        return solver
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]()
    if isinstance(solver, type) and issubclass(solver, Solver):
        raise OptionError(f"solver is the class {solver.__name__}; give an instance, {solver.__name__}()")
    raise OptionError(f"solver {solver!r} is unknown; {nearest(str(solver), list(SOLVERS))}")
