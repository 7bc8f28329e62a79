"""scikit-learn estimators: structural SVMs to fit, predict with, score, clone, pickle, save and search.

There is one estimator per structure; several have a variant ``...CV`` that chooses lam by cross-validation. The models
and solvers that the estimators use are in :mod:`bcfw.models` and :mod:`bcfw.solvers`.
"""

from __future__ import annotations

from typing import Any

from bcfw import saved_objects
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
from bcfw.loading import reads
from bcfw.model_file import ModelFile

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

saved_objects.ESTIMATORS.update(ESTIMATORS)

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
    estimator = kind(**saved_objects.saved_options(kind, file.header["options"], file.arrays, model))
    estimator._restore_state(file.header, file.arrays, model)
    return estimator


def __dir__() -> list[str]:
    return sorted(__all__)
