"""The dual of a structural SVM: one problem, its block state, certificates, change of lam, snapshots."""

from bcfw.dual.certificates import Certificate
from bcfw.dual.opening import open_problem
from bcfw.dual.problem import DualProblem
from bcfw.dual.regularisation import change_lam, move_to_first_breakpoint

__all__ = ["Certificate", "DualProblem", "change_lam", "move_to_first_breakpoint", "open_problem"]
