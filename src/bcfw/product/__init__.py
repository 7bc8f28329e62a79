"""Block-iterative Frank-Wolfe over products of sets: domains, objectives, steps and the loop of ``bcfw.minimize``."""

from bcfw.product.loop import IterationInfo
from bcfw.product.minimizing import MinimizeResult, minimize

__all__ = ["IterationInfo", "MinimizeResult", "minimize"]
