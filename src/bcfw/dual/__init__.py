"""The dual of a structural SVM: data and state of one problem, certificates, change of lam, snapshots.

Solvers, which change the state, are not here but in :mod:`bcfw.solvers`.
"""

from bcfw.dual.certificates import Certificate
from bcfw.dual.opening import open_problem
from bcfw.dual.problem import DualProblem
from bcfw.dual.regularisation import change_lam, move_to_first_breakpoint

__all__ = ["Certificate", "DualProblem", "change_lam", "move_to_first_breakpoint", "open_problem"]
