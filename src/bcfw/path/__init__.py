"""The regularisation path: weights for every lam, with a gap that is bounded for all of them; and grids of lam."""

from bcfw.path.grid import grid_path
from bcfw.path.result import RegularizationPath
from bcfw.path.tracing import regularization_path
from bcfw.path.validation import Validation

__all__ = ["RegularizationPath", "Validation", "grid_path", "regularization_path"]
