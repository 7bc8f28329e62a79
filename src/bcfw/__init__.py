"""bcfw: block-coordinate Frank-Wolfe optimisation and structural SVMs with certified duality gaps.

Public names and modules are imported at their first use, so that ``import bcfw`` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what __getattr__ loads, with its types
    from bcfw import datasets as datasets
    from bcfw import domains as domains
    from bcfw import estimators as estimators
    from bcfw import formats as formats
    from bcfw import metrics as metrics
    from bcfw import models as models
    from bcfw import objectives as objectives
    from bcfw import report as report
    from bcfw import selection as selection
    from bcfw import solvers as solvers
    from bcfw import steps as steps
    from bcfw.errors import BcfwError as BcfwError
    from bcfw.errors import ConvergenceWarning as ConvergenceWarning
    from bcfw.errors import DomainError as DomainError
    from bcfw.errors import InputError as InputError
    from bcfw.errors import InputWarning as InputWarning
    from bcfw.errors import ModelError as ModelError
    from bcfw.errors import ObjectiveError as ObjectiveError
    from bcfw.errors import OptionError as OptionError
    from bcfw.errors import OracleError as OracleError
    from bcfw.errors import TooLargeError as TooLargeError
    from bcfw.estimators import AttributeVectorizer as AttributeVectorizer
    from bcfw.estimators import ChainSVM as ChainSVM
    from bcfw.estimators import ChainSVMCV as ChainSVMCV
    from bcfw.estimators import GraphSVM as GraphSVM
    from bcfw.estimators import MatchingSVM as MatchingSVM
    from bcfw.estimators import MulticlassSVM as MulticlassSVM
    from bcfw.estimators import MulticlassSVMCV as MulticlassSVMCV
    from bcfw.estimators import MultilabelSVM as MultilabelSVM
    from bcfw.estimators import MultilabelSVMCV as MultilabelSVMCV
    from bcfw.estimators import PositionWise as PositionWise
    from bcfw.estimators import StructuralSVM as StructuralSVM
    from bcfw.estimators import StructuralSVMCV as StructuralSVMCV
    from bcfw.estimators import TreeSVM as TreeSVM
    from bcfw.inputs.sequences import Sequences as Sequences
    from bcfw.models import CompiledModel as CompiledModel
    from bcfw.models import JointKernelModel as JointKernelModel
    from bcfw.models import Model as Model
    from bcfw.models import check_model as check_model
    from bcfw.path import RegularizationPath as RegularizationPath
    from bcfw.path import grid_path as grid_path
    from bcfw.path import regularization_path as regularization_path
    from bcfw.product import MinimizeResult as MinimizeResult
    from bcfw.product import check_domain as check_domain
    from bcfw.product import check_objective as check_objective
    from bcfw.product import minimize as minimize
    from bcfw.progress import Progress as Progress
    from bcfw.result import Result as Result
    from bcfw.solvers.legs import Legs as Legs
    from bcfw.storage.load import load as load
    from bcfw.training import train as train

__version__ = "0.1.0"

#: The module that defines each public name.
_HOMES = {
    "train": "bcfw.training",
    **dict.fromkeys(("regularization_path", "grid_path", "RegularizationPath"), "bcfw.path"),
    "load": "bcfw.storage.load",
    **dict.fromkeys(("minimize", "check_domain", "check_objective"), "bcfw.product"),
    "Result": "bcfw.result",
    "Legs": "bcfw.solvers.legs",
    "MinimizeResult": "bcfw.product",
    "Progress": "bcfw.progress",
    "Sequences": "bcfw.inputs.sequences",
    "Model": "bcfw.models",
    "CompiledModel": "bcfw.models",
    "JointKernelModel": "bcfw.models",
    "check_model": "bcfw.models",
    **dict.fromkeys(
        ("StructuralSVM", "MulticlassSVM", "MultilabelSVM", "ChainSVM", "GraphSVM", "MatchingSVM", "TreeSVM"),
        "bcfw.estimators",
    ),
    **dict.fromkeys(("StructuralSVMCV", "MulticlassSVMCV", "MultilabelSVMCV", "ChainSVMCV"), "bcfw.estimators"),
    **dict.fromkeys(("AttributeVectorizer", "PositionWise"), "bcfw.estimators"),
    **dict.fromkeys(("BcfwError", "InputError", "ModelError", "OptionError", "OracleError"), "bcfw.errors"),
    **dict.fromkeys(("DomainError", "ObjectiveError", "TooLargeError"), "bcfw.errors"),
    **dict.fromkeys(("ConvergenceWarning", "InputWarning"), "bcfw.errors"),
}
_MODULES = (
    "datasets",
    "domains",
    "estimators",
    "formats",
    "metrics",
    "models",
    "objectives",
    "report",
    "selection",
    "solvers",
    "steps",
)

__all__ = ["__version__", *_HOMES, *_MODULES]


if not TYPE_CHECKING:  # so that a name that does not exist is found by type checkers, too

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return importlib.import_module(f"bcfw.{name}")
        if name in _HOMES:
            value = getattr(importlib.import_module(_HOMES[name]), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module 'bcfw' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
