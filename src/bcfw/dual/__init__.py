"""The dual of a structural SVM: one problem, its block state, certificates, change of lam, snapshots.

It relates w, lam and the shares c_i. Which blocks are visited, and until when, is decided in :mod:`bcfw.solvers`; files
of snapshots are in :mod:`bcfw.storage`; kernels are in :mod:`bcfw.solvers.kernelized`.
"""

from bcfw.dual.certificates import Certificate
from bcfw.dual.change_of_lam import change_lam, move_to_first_breakpoint
from bcfw.dual.opening import open_problem
from bcfw.dual.problem import DualProblem

__all__ = ["Certificate", "DualProblem", "change_lam", "move_to_first_breakpoint", "open_problem"]
