"""Structures to learn: a folder for each, with its model and routines, and the base classes of users' models.

How a model is trained is not here (:mod:`bcfw.solvers`), nor its scikit-learn estimator (:mod:`bcfw.estimators`).
"""

from bcfw.models.base.compiled import CompiledModel
from bcfw.models.base.kernel_model import KernelModel
from bcfw.models.base.model import Model
from bcfw.models.chain.chain import Chain
from bcfw.models.check.check_model import check_model
from bcfw.models.graphs.binary_graph import BinaryGraph
from bcfw.models.graphs.pairwise_graph import PairwiseGraph
from bcfw.models.graphs.potts_graph import PottsGraph
from bcfw.models.graphs.tree import Tree
from bcfw.models.joint_kernel.joint_kernel_model import JointKernelModel
from bcfw.models.matching import Matching
from bcfw.models.multiclass.multiclass import Multiclass
from bcfw.models.multilabel.multilabel import Multilabel
from bcfw.models.pictorial.displacement_types import displacement_types
from bcfw.models.pictorial.pictorial_tree import PictorialTree
from bcfw.storage import objects

#: Every built-in model by name; the common tests run over this table.
MODELS = {
    "multiclass": Multiclass,
    "chain": Chain,
    "matching": Matching,
    "multilabel": Multilabel,
    "binary_graph": BinaryGraph,
    "pairwise_graph": PairwiseGraph,
    "potts_graph": PottsGraph,
    "tree": Tree,
    "pictorial_tree": PictorialTree,
}

objects.MODELS.update(MODELS)
objects.register("$model", Model, objects.model_header, objects.unbound_model)

__all__ = ["MODELS", "CompiledModel", "JointKernelModel", "KernelModel", "Model", "check_model", "displacement_types"]
__all__ += [model.__name__ for model in MODELS.values()]


def __dir__() -> list[str]:
    return sorted(__all__)
