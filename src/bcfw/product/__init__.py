"""Block-iterative Frank-Wolfe over products of sets: domains, objectives, steps and the loop of ``bcfw.minimize``."""

from bcfw.product.domain_check import check_domain
from bcfw.product.loop import IterationInfo
from bcfw.product.minimizing import MinimizeResult, minimize
from bcfw.product.objective_check import check_objective

__all__ = ["IterationInfo", "MinimizeResult", "check_domain", "check_objective", "minimize"]
