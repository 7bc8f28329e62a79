"""scikit-learn estimators: structural SVMs that fit, predict, score, clone, pickle and search like any other."""

from bcfw.estimators.chain import ChainSVM
from bcfw.estimators.graph import GraphSVM
from bcfw.estimators.matching import MatchingSVM, alignment_scores
from bcfw.estimators.multiclass import MulticlassSVM
from bcfw.estimators.multilabel import MultilabelSVM
from bcfw.estimators.structural import StructuralSVM

__all__ = [
    "ChainSVM",
    "GraphSVM",
    "MatchingSVM",
    "MulticlassSVM",
    "MultilabelSVM",
    "StructuralSVM",
    "alignment_scores",
]
