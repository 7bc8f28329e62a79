"""The dual problem: block state, gaps and certificate, change of lam, audit, save and restore."""

from bcfw.dual.problem import Certificate, DualProblem
from bcfw.dual.weights import read_sample_weight

__all__ = ["Certificate", "DualProblem", "read_sample_weight"]
