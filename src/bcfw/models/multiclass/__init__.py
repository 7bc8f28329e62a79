"""Multiclass classification: the model, its routines for margin and slack rescaling, and averages as lists of labels.

Several labels of one example are another structure (:mod:`bcfw.models.multilabel`).
"""

from bcfw.models.multiclass.multiclass import Multiclass

__all__ = ["Multiclass"]
