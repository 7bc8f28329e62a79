"""Step-size rules for :func:`bcfw.minimize`, with their options."""

from bcfw.product.steps import Adaptive, LineSearch, OpenLoop, Short

__all__ = ["Adaptive", "LineSearch", "OpenLoop", "Short"]
