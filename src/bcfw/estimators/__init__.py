"""scikit-learn estimators: structural SVMs that fit, predict, score, clone, pickle and search like any other."""

from bcfw.estimators.attributes import AttributeVectorizer
from bcfw.estimators.chain import ChainSVM
from bcfw.estimators.cross_validated import ChainSVMCV, MulticlassSVMCV, MultilabelSVMCV, StructuralSVMCV
from bcfw.estimators.graph import GraphSVM
from bcfw.estimators.matching import MatchingSVM, alignment_scores
from bcfw.estimators.multiclass import MulticlassSVM
from bcfw.estimators.multilabel import MultilabelSVM
from bcfw.estimators.position_wise import PositionWise
from bcfw.estimators.structural import StructuralSVM
from bcfw.estimators.tree import TreeSVM

#: Every estimator by the name that model files have; common tests run over it.
ESTIMATORS = {
    kind.__name__: kind
    for kind in (
        StructuralSVM,
        MulticlassSVM,
        MultilabelSVM,
        ChainSVM,
        GraphSVM,
        MatchingSVM,
        TreeSVM,
        StructuralSVMCV,
        MulticlassSVMCV,
        MultilabelSVMCV,
        ChainSVMCV,
    )
}

__all__ = [
    "AttributeVectorizer",
    "ChainSVM",
    "ChainSVMCV",
    "GraphSVM",
    "MatchingSVM",
    "MulticlassSVM",
    "MulticlassSVMCV",
    "MultilabelSVM",
    "MultilabelSVMCV",
    "PositionWise",
    "StructuralSVM",
    "StructuralSVMCV",
    "TreeSVM",
    "alignment_scores",
]
