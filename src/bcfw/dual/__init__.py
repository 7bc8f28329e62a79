"""The dual problem: block state, gaps and certificate, change of lam, audit, save and restore."""

from bcfw.dual.problem import Certificate, DualProblem, block_weights

__all__ = ["Certificate", "DualProblem", "block_weights"]
