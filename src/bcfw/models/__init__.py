"""The built-in models (one module each), the base classes for a user's own models, and ``check_model``."""

from bcfw import saved_objects
from bcfw.models.binary_graph import BinaryGraph
from bcfw.models.chain import Chain
from bcfw.models.check import check_model
from bcfw.models.compiled import CompiledModel
from bcfw.models.displacement_types import displacement_types
from bcfw.models.joint_kernel import JointKernelModel
from bcfw.models.kernel_model import KernelModel
from bcfw.models.matching import Matching
from bcfw.models.model import Model
from bcfw.models.multiclass import Multiclass
from bcfw.models.multilabel import Multilabel
from bcfw.models.pairwise_graph import PairwiseGraph
from bcfw.models.pictorial_tree import PictorialTree
from bcfw.models.potts_graph import PottsGraph
from bcfw.models.tree import Tree

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

saved_objects.MODELS.update(MODELS)
saved_objects.register("$model", Model, saved_objects.model_header, saved_objects.unbound_model)

__all__ = ["MODELS", "CompiledModel", "JointKernelModel", "KernelModel", "Model", "check_model", "displacement_types"]
__all__ += [model.__name__ for model in MODELS.values()]


def __dir__() -> list[str]:
    return sorted(__all__)
