"""Regularisation paths: weights with a bounded gap for every lam of a range, or for a grid of values of lam."""

from bcfw.path.grid import grid_path
from bcfw.path.result import RegularizationPath
from bcfw.path.tracing import regularization_path
from bcfw.path.validation import Validation

__all__ = ["RegularizationPath", "Validation", "grid_path", "regularization_path"]
