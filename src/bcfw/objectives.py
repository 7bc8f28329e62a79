"""Objectives for :func:`bcfw.minimize`: least squares, quadratic and logistic functions, and users' functions.

With the first three functions, a step on one block uses the data of this block only.
"""

from bcfw.product.objectives import Function, LeastSquares, Logistic, Quadratic

__all__ = ["Function", "LeastSquares", "Logistic", "Quadratic"]
