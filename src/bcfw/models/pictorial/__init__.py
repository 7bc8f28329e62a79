"""Pictorial structures: a tree of parts with a place in the image each, its routines, and types of displacements.

The distance transform is in :mod:`bcfw.algorithms`.
"""

from bcfw.models.pictorial.displacement_types import displacement_types
from bcfw.models.pictorial.pictorial_tree import PictorialTree

__all__ = ["PictorialTree", "displacement_types"]
