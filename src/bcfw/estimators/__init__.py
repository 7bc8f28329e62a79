"""scikit-learn estimators: structural SVMs that fit, predict, score, clone, pickle and search like any other."""

from bcfw.estimators.chain import ChainSVM
from bcfw.estimators.graph import GraphSVM
from bcfw.estimators.multiclass import MulticlassSVM
from bcfw.estimators.structural import StructuralSVM

__all__ = ["ChainSVM", "GraphSVM", "MulticlassSVM", "StructuralSVM"]
