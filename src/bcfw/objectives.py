"""Objectives of :func:`bcfw.minimize` whose steps cost one block, and a wrapper of users' functions."""

from bcfw.product.objectives import Function, LeastSquares, Logistic, Quadratic

__all__ = ["Function", "LeastSquares", "Logistic", "Quadratic"]
