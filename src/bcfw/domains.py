"""Sets over which :func:`bcfw.minimize` minimises: simplex, box, balls, hulls, and sets of matrices."""

from bcfw.product.domains import *  # noqa: F403
from bcfw.product.domains import __all__  # noqa: F401
