"""bcfw: block-coordinate Frank-Wolfe optimisation and structural SVMs with certified duality gaps.

Public names and modules are imported at their first use, so that ``import bcfw`` is fast.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

#: The module that defines each public name.
_HOMES = {
    "train": "bcfw.training",
    **dict.fromkeys(("regularization_path", "grid_path", "RegularizationPath"), "bcfw.path"),
    "load": "bcfw.loading",
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
