"""The kernel contract: what a model gives the compiled passes.

The functions here are names and documentation. A pass calls them; :class:`bcfw.kernels.KernelSet` puts a model's own
functions in their place before anything runs. Notation: block i has parts z(y) in R^p, scores
``theta_i(w) = l_i + B_i'w``, features ``phi(x_i, y) = B_i z(y)`` and loss ``L_i(y) = l_i'(z(y) - z(y_i))``, so that
``H_i(y; w) = theta_i'(z(y) - z(y_i))``. Which parts a model uses is its own choice (``z(y) = phi(x_i, y)`` with
``B_i = I`` always works: see :class:`bcfw.CompiledModel`).

Arguments that all kernels share:

data
    Named tuple (bound to ``Data``) of arrays and numbers: all examples, packed once by ``model.pack(X, y)``.
i
    The block.
w
    (d,) weights.
work
    Named tuple (bound to ``Work``) of scratch arrays made by ``model.make_work(data)``. It carries theta, the current
    labeling and the current direction from one kernel to the next. Each thread has its own.
mu
    Tuple of arrays made by ``model.initial_mu(data)``: averaged parts of all blocks.

Kernels allocate nothing, return no views of arrays, raise nothing and know nothing of lam or of block weights. (A set
made with ``allocates=True`` may do the first two, at some cost.)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from bcfw.errors import ModelError
from bcfw.kernels import KernelSet


class Data(NamedTuple):
    """The packed examples. Models with integer labelings also have y and y_off, the flat labels and offsets."""

    y: np.ndarray
    y_off: np.ndarray


class Work(NamedTuple):
    """The scratch arrays of one thread."""


def scores(data: Any, i: int, w: np.ndarray, loss_weight: float, work: Any) -> None:
    """Write ``theta_i = loss_weight l_i + B_i'w`` to the scratch (loss_weight is 0 for plain decoding, else 1)."""


def argmax(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """Write ``y* = argmax_y theta_i'z(y)`` as the current labeling and return ``theta_i'z(y*)``."""
    return 0.0


def truth_value(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """``theta_i'z(y_i)``, the value of the truth."""
    return 0.0


def load_truth(data: Any, i: int, work: Any) -> None:
    """Make the truth y_i the current labeling."""


def load_labeling(data: Any, i: int, labelings: Any, work: Any) -> None:
    """Make the labeling kept for block i in ``labelings`` the current one."""


def keep_labeling(data: Any, i: int, work: Any, labelings: Any) -> None:
    """Keep the current labeling as that of block i in ``labelings`` (see ``model.make_labelings``)."""


def loss(data: Any, i: int, work: Any) -> float:
    """``L_i`` of the current labeling."""
    return 0.0


def direction(data: Any, i: int, mu: Any, work: Any) -> None:
    """Write the direction ``d = z(y) - mu_i`` from the block's average to the current labeling y."""


def slope(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """``theta_i'd``; for ``y = y*`` this is the block gap divided by the block weight."""
    return 0.0


def sqnorm(data: Any, i: int, work: Any) -> float:
    """``|B_i d|^2``."""
    return 0.0


def reserve(data: Any, i: int, mu: Any, work: Any) -> bool:
    """Make room in ``mu`` for block i to move along d; False if ``model.enlarge_mu(mu)`` must be called first."""
    return True


def advance(data: Any, i: int, gamma: float, work: Any, mu: Any) -> None:
    """``mu_i += gamma d``."""


def apply(data: Any, i: int, s: float, work: Any, w: np.ndarray) -> None:
    """``w += s B_i d``."""


#: Every name that a model's kernel set must bind.
KERNEL_NAMES = (
    "Data",
    "Work",
    "scores",
    "argmax",
    "truth_value",
    "load_truth",
    "load_labeling",
    "keep_labeling",
    "loss",
    "direction",
    "slope",
    "sqnorm",
    "reserve",
    "advance",
    "apply",
)


def kernel_set(home: ModuleType | Mapping[str, Any], more: Mapping[str, Any], **options: Any) -> KernelSet:
    """The kernels found in a module (or mapping) by the names above, and ``more``; options of the KernelSet.

    A missing one is an error, except ``reserve``, which models of fixed size do not need.
    """
    found = vars(home) if isinstance(home, ModuleType) else home
    bindings = {"reserve": reserve, **{name: found[name] for name in KERNEL_NAMES if name in found}, **more}
    missing = [name for name in KERNEL_NAMES if name not in bindings]
    if missing:
        raise ModelError(f"a kernel set needs {', '.join(missing)} (see bcfw.models.contract)")
    return KernelSet(bindings, **options)
