"""Sets of labels for each example, with pairwise interactions along a forest: the model and its routines.

One label for each example is another structure (:mod:`bcfw.models.multiclass`).
"""

from bcfw.models.multilabel.multilabel import Multilabel

__all__ = ["Multilabel"]
