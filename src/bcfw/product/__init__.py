"""``bcfw.minimize``: block-iterative Frank-Wolfe over products of sets; objectives, steps, and the loop.

It knows no models; structural SVMs are trained by :mod:`bcfw.solvers`. The rules that choose blocks are in
:mod:`bcfw.selection`.
"""

from bcfw.product.domain_check import check_domain
from bcfw.product.loop import IterationInfo
from bcfw.product.minimizing import MinimizeResult, minimize
from bcfw.product.objective_check import check_objective

__all__ = ["IterationInfo", "MinimizeResult", "check_domain", "check_objective", "minimize"]
