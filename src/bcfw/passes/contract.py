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

import functools
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from bcfw.errors import ModelError
from bcfw.kernels import KernelSet
from bcfw.records import ALL_PARTS


class Data(NamedTuple):
    """The packed examples. Models with integer labelings also have y and y_off, the flat labels and offsets."""

    y: np.ndarray
    y_off: np.ndarray


class Work(NamedTuple):
    """The scratch arrays of one thread."""


def fetch(data: Any, i: int, mu: Any, work: Any) -> None:
    """Read here and there what the direction at block i will need: memory brings it while the oracle runs.

    It may do nothing, and may leave anything where ``scores`` and ``argmax`` write.
    """


def scores(data: Any, i: int, w: np.ndarray, loss_weight: float, work: Any) -> None:
    """Write ``theta_i = loss_weight l_i + B_i'w`` to the scratch (loss_weight is 0 for plain decoding, else 1).

    Where a form says that it ``weighs_loss``, any other weight > 0 may come: theta_i of weights that are kept as a
    multiple of w, which has the same argmax.
    """


def argmax(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """Write ``y* = argmax_y theta_i'z(y)`` as the current labeling and return ``theta_i'z(y*)``."""
    return 0.0


#: Whether ``argmax`` finds a maximum. Bound to False, the oracle is taken as a heuristic: it may return less than was
#: found before, and certificates become estimates unless ``upper_bound`` closes them.
EXACT = True


def upper_bound(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """At least ``max_y theta_i'z(y)``; called after a heuristic ``argmax``. Infinity when nothing is known."""
    return np.inf


def truth_value(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """``theta_i'z(y_i)``, the value of the truth; only its difference to the value of ``argmax`` is used."""
    return 0.0


def load_truth(data: Any, i: int, work: Any) -> None:
    """Make the truth y_i the current labeling."""


def load_labeling(data: Any, i: int, slot: int, labelings: Any, work: Any) -> None:
    """Make the labeling kept for block i in ``slot`` of ``labelings`` the current one."""


def keep_labeling(data: Any, i: int, slot: int, work: Any, labelings: Any) -> None:
    """Keep the current labeling in a slot of block i (``model.make_labelings(data, slots)`` makes the room)."""


def same_labeling(data: Any, i: int, slot: int, labelings: Any, work: Any) -> bool:
    """Whether the current labeling is the one kept in a slot."""
    return False


def loss(data: Any, i: int, work: Any) -> float:
    """``L_i`` of the current labeling."""
    return 0.0


def labeling_value(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """``theta_i'z(y)`` of the current labeling y."""
    return 0.0


def start_parts(data: Any, i: int, w: np.ndarray, work: Any) -> None:
    """Begin with an unknown theta_i, of which only the needed parts will be computed."""


def labeling_scores(data: Any, i: int, w: np.ndarray, work: Any) -> None:
    """Compute theta_i, loss included, at the parts of the current labeling, where it is still unknown."""


def direction_scores(data: Any, i: int, w: np.ndarray, work: Any) -> None:
    """Compute theta_i, loss included, at the parts of the current direction, where it is still unknown."""


def start_direction(data: Any, i: int, work: Any) -> None:
    """``d = 0``."""


def add_average(data: Any, i: int, s: float, mu: Any, work: Any) -> None:
    """``d += s mu_i``; where used, it comes before the labelings."""


def add_labeling(data: Any, i: int, s: float, work: Any) -> None:
    """``d += s z(y)`` for the current labeling y."""


def end_direction(data: Any, i: int, work: Any) -> None:
    """The direction d is complete."""


def direction_from_average(data: Any, i: int, mu: Any, work: Any) -> None:
    """Make ``d = z(y) - mu_i``, from the block's average to the current labeling, the current direction.

    A model may bind a faster one. It comes before every :func:`advance` but those of "block solves" and "marginals".
    """
    start_direction(data, i, work)
    add_average(data, i, -1.0, mu, work)
    add_labeling(data, i, 1.0, work)
    end_direction(data, i, work)


def slot_value(data: Any, i: int, slot: int, labelings: Any, by_parts: bool, w: np.ndarray, work: Any) -> float:
    """``theta_i'z(y)`` of a kept labeling; with ``by_parts`` theta is computed where it is still unknown.

    A model may bind a faster one of its own.
    """
    load_labeling(data, i, slot, labelings, work)
    if by_parts:
        labeling_scores(data, i, w, work)
    return labeling_value(data, i, w, work)


def difference(data: Any, i: int, slot: int, other: int, labelings: Any, work: Any) -> None:
    """``d = z(y) - z(y')`` for the labelings kept in ``slot`` and ``other``. A model may bind a faster one."""
    start_direction(data, i, work)
    load_labeling(data, i, other, labelings, work)
    add_labeling(data, i, -1.0, work)
    load_labeling(data, i, slot, labelings, work)
    add_labeling(data, i, 1.0, work)
    end_direction(data, i, work)


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
    """``mu_i += gamma d``; d is ``z(y) - mu_i`` for a labeling y."""


def apply(data: Any, i: int, s: float, work: Any, w: np.ndarray) -> None:
    """``w += s B_i d``."""


#: Whether w has bounds. Most problems have none: their passes are compiled without the code for them.
BOUNDED = False


@functools.cache
def with_bounds(kernels: KernelSet) -> KernelSet:
    """The same kernels, for problems with bounds on w."""
    return kernels.rebound(BOUNDED=True)


def touched(data: Any, i: int, work: Any, out: np.ndarray) -> int:
    """List the coordinates of w that :func:`apply` may change, in any order and perhaps some of them twice.

    Steps with bounds on w then look at these alone. Returns how many there are, or -1 if they are not listed or do not
    fit into ``out``: then all bounded coordinates are looked at.
    """
    return -1


# --- kernels of models that offer "block solves"


def load_parts(data: Any, i: int, count: int, parts: np.ndarray, work: Any) -> None:
    """Take the first ``count`` of ``parts``, or all of the block for ``ALL_PARTS``, as the listed parts of block i."""


def listed_scores(data: Any, i: int, w: np.ndarray, work: Any) -> bool:
    """Write theta_i, loss included, at the listed parts; False if so many are listed that ``scores`` is better."""
    return False


def solve_parts(data: Any, i: int, scale: float, mu: Any, work: Any) -> float:
    """Make ``d = mu - mu_i`` the current direction, mu the best average that differs from mu_i at listed parts only.

    It maximises ``theta_i'd - scale/2 |B_i d|^2``. Returns the largest ``theta_i'd`` that a corner can have there.
    """
    return 0.0


def direction_loss(data: Any, i: int, work: Any) -> float:
    """``l_i'd``."""
    return 0.0


def list_parts(data: Any, i: int, slack: float, mu: Any, work: Any, out: np.ndarray) -> int:
    """List the parts that may move, by the scores theta_i, which are known.

    These are the parts whose average is between its limits, and those that miss moving by less than ``slack`` times
    the loss. Returns how many, 0 if the block cannot move, or ``ALL_PARTS`` where they do not fit into ``out``.
    """
    return ALL_PARTS


# --- kernels of models that offer "marginals"; a block's parts are here one vector, u or out (p_i,)


def part_scores(data: Any, i: int, w: np.ndarray, work: Any, out: np.ndarray) -> None:
    """Write theta_i, which ``scores`` has computed, of all parts to ``out``."""


def expected_parts(data: Any, i: int, u: np.ndarray, work: Any, out: np.ndarray) -> float:
    """Write ``sum_y P(y) z(y)`` with ``P(y) = exp(u'z(y)) / Z`` to ``out``; returns ``log Z`` (sum-product).

    Scores may be large: nothing overflows. Theta_i of the scratch may be lost.
    """
    return 0.0


def add_expected(data: Any, i: int, s: float, parts: np.ndarray, work: Any) -> None:
    """``d += s parts``; comes after :func:`add_average`."""


#: The kernels of block solves, for a model's kernel set: it has to write them, or to join shared ones.
BLOCK_SOLVE_NAMES = ("load_parts", "listed_scores", "solve_parts", "direction_loss", "list_parts")

#: Every name that a model's kernel set must bind.
KERNEL_NAMES = (
    "Data",
    "Work",
    "fetch",
    "scores",
    "argmax",
    "EXACT",
    "upper_bound",
    "truth_value",
    "load_truth",
    "load_labeling",
    "keep_labeling",
    "same_labeling",
    "loss",
    "labeling_value",
    "start_parts",
    "labeling_scores",
    "direction_scores",
    "start_direction",
    "add_average",
    "add_labeling",
    "end_direction",
    "direction_from_average",
    "slot_value",
    "difference",
    "slope",
    "sqnorm",
    "reserve",
    "advance",
    "apply",
    "touched",
)


def kernel_set(
    home: ModuleType | Mapping[str, Any],
    more: Mapping[str, Any],
    shared: Mapping[str, Any] | None = None,
    **options: Any,
) -> KernelSet:
    """A model's kernels, from the module in which they are written.

    A missing one is an error, except those that have a sensible form here: ``fetch``, ``reserve`` (models of fixed size
    need none), ``direction_from_average``, ``slot_value``, ``difference``, ``upper_bound`` and ``touched``.

    Parameters
    ----------
    home : module or mapping
        Kernels are found here by the names above and by those of ``shared``.
    more : mapping
        Further bindings; they come before those of ``home``.
    shared : mapping or None
        Kernels that several models share, which ``home`` may replace by its own. They may call kernels that the
        contract does not know: these have names here, too, and the value None where the model has to write them.
    options
        Those of :class:`bcfw.kernels.KernelSet`.
    """
    found = vars(home) if isinstance(home, ModuleType) else home
    optional = {
        "fetch": fetch,
        "reserve": reserve,
        "direction_from_average": direction_from_average,
        "slot_value": slot_value,
        "difference": difference,
        "upper_bound": upper_bound,
        "touched": touched,
        "EXACT": EXACT,
    }
    common = {} if shared is None else shared
    names = dict.fromkeys([*KERNEL_NAMES, *common])
    bindings = {**optional, **common, **{name: found[name] for name in names if name in found}, **more}
    missing = [name for name in names if bindings.get(name) is None]
    if missing:
        raise ModelError(
            f"the kernels in {found.get('__name__', 'this set')} lack {', '.join(missing)}; see bcfw.passes.contract, "
            "and bcfw.models.kernels.labelings and part_vectors for shared ones"
        )
    return KernelSet(bindings, **options)
