"""Sets with a linear minimisation oracle, the blocks of :func:`bcfw.minimize`."""

from bcfw.product.domains import *  # noqa: F403
from bcfw.product.domains import __all__  # noqa: F401
