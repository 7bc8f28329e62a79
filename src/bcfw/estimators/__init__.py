"""scikit-learn estimators: structural SVMs that fit, predict, score, clone, pickle and search like any other.

The structures themselves are in :mod:`bcfw.models`, under the same names; ``bcfw.train`` is the door without
scikit-learn.
"""

from __future__ import annotations

from typing import Any

from bcfw.estimators.attribute_vectorizer import AttributeVectorizer
from bcfw.estimators.chain import ChainSVM
from bcfw.estimators.chain_cross_validated import ChainSVMCV
from bcfw.estimators.graphs import GraphSVM, TreeSVM
from bcfw.estimators.matching import MatchingSVM, alignment_scores
from bcfw.estimators.multiclass import MulticlassSVM, MulticlassSVMCV
from bcfw.estimators.multilabel import MultilabelSVM, MultilabelSVMCV
from bcfw.estimators.position_wise import PositionWise
from bcfw.estimators.structural import StructuralSVM, StructuralSVMCV
from bcfw.storage import objects
from bcfw.storage.load import reads
from bcfw.storage.model_file import ModelFile

#: All estimators, by the class name that is written to model files. The common tests of estimators run over this table.
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

objects.ESTIMATORS.update(ESTIMATORS)

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


@reads("estimator")
def read_estimator(file: ModelFile, model: Any) -> Any:
    """The estimator that a model file holds, fitted as it was."""
    name = file.header["estimator"]
    if name not in ESTIMATORS:
        raise file.arrays.damaged("the header", f"has an estimator {name!r}, which this bcfw does not have")
    kind = ESTIMATORS[name]
    estimator = kind(**objects.saved_options(kind, file.header["options"], file.arrays, model))
    estimator._restore_state(file.header, file.arrays, model)
    return estimator


def __dir__() -> list[str]:
    return sorted(__all__)
