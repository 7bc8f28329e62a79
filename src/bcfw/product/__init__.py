"""The package behind ``bcfw.minimize``: block-iterative Frank-Wolfe over products of sets.

It has the sets (``domains``), objectives, directions, step sizes, the loop, and the checks of users' sets and
functions. The rules that choose the next blocks are in :mod:`bcfw.selection`.
"""

from bcfw.product.domain_check import check_domain
from bcfw.product.loop import IterationInfo
from bcfw.product.minimizing import MinimizeResult, minimize
from bcfw.product.objective_check import check_objective

__all__ = ["IterationInfo", "MinimizeResult", "check_domain", "check_objective", "minimize"]
