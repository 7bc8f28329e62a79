"""The regularisation path: weights for every lam, with a gap that is bounded for all of them; and grids of lam.

The change of lam in one problem is in :mod:`bcfw.dual.change_of_lam`; estimators that choose their lam are in
:mod:`bcfw.estimators`.
"""

from bcfw.path.grid import grid_path
from bcfw.path.path_result import RegularizationPath
from bcfw.path.regularization import regularization_path
from bcfw.path.validation import Validation

__all__ = ["RegularizationPath", "Validation", "grid_path", "regularization_path"]
