"""The routines that a model provides for the compiled passes: their names, arguments and duties.

The functions in this module are placeholders that document the routines. A pass calls them by name;
:class:`bcfw.compile.RoutineSet` replaces them by a model's own functions before anything runs. Notation: block i has
parts z(y) in R^p, scores ``theta_i(w) = l_i + B_i'w``, features ``phi(x_i, y) = B_i z(y)`` and loss
``L_i(y) = l_i'(z(y) - z(y_i))``, so that ``H_i(y; w) = theta_i'(z(y) - z(y_i))``. Each model chooses its parts
(``z(y) = phi(x_i, y)`` with ``B_i = I`` always works: see :class:`bcfw.CompiledModel`).

Arguments that all routines share:

data
    Named tuple (bound to ``Data``) of arrays and numbers: all examples, packed once by ``model.pack(X, y)``.
i
    The block.
w
    (d,) weights.
work
    Named tuple (bound to ``Work``) of scratch arrays made by ``model.make_work(data)``. It carries theta, the current
    labeling and the current direction from one routine to the next. Each thread has its own.
mu
    Tuple of arrays made by ``model.initial_mu(data)``: averaged parts of all blocks.

Routines do not allocate memory, return views of arrays or raise exceptions, and they do not know lam or the weights of
the blocks. (The routines of a set made with ``allocates=True`` may allocate memory and return views, at some cost.)
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from bcfw.compile import RoutineSet
from bcfw.errors import ModelError
from bcfw.passes.records import ALL_PARTS


class Data(NamedTuple):
    """The packed examples, in fields of the model's choice.

    Models with integer labelings have the flat labels in ``y`` and the offsets of the blocks in ``y_off``.
    """

    y: np.ndarray
    y_off: np.ndarray


class Work(NamedTuple):
    """The scratch arrays of one thread."""


def fetch(data: Any, i: int, mu: Any, work: Any) -> None:
    """Prefetch the memory that the direction at block i will need, by reading some of it before the oracle runs.

    The routine may do nothing. It may overwrite the part of the scratch that ``scores`` and ``argmax`` write.
    """


def scores(data: Any, i: int, w: np.ndarray, loss_weight: float, work: Any) -> None:
    """Write ``theta_i = loss_weight l_i + B_i'w`` to the scratch.

    ``loss_weight`` is 0 for plain decoding and 1 for loss-augmented decoding. If the model's adapter has
    ``weighs_loss``, it may be any number > 0: a solver that stores ``s w`` instead of w passes ``loss_weight = s``. The
    scores are then ``s theta_i(w)``, whose argmax is the argmax of ``theta_i(w)``.
    """


def argmax(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """Write ``y* = argmax_y theta_i'z(y)`` as the current labeling and return ``theta_i'z(y*)``."""
    return 0.0


#: Whether ``argmax`` always finds a maximum. A model with a heuristic oracle binds this name to False. The oracle may
#: then return an output of a smaller value than one found before, and certificates are estimates, unless
#: ``upper_bound`` proves them.
EXACT = True


def upper_bound(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """Return an upper bound of ``max_y theta_i'z(y)``, infinity if unknown; called after a heuristic ``argmax``."""
    return np.inf


def truth_value(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """Return ``theta_i'z(y_i)``, the value of the truth.

    Passes use only the difference between the value of an output and this value.
    """
    return 0.0


def load_truth(data: Any, i: int, work: Any) -> None:
    """Make the truth y_i the current labeling."""


def load_labeling(data: Any, i: int, slot: int, labelings: Any, work: Any) -> None:
    """Make the labeling that ``labelings`` holds in ``slot`` of block i the current labeling."""


def keep_labeling(data: Any, i: int, slot: int, work: Any, labelings: Any) -> None:
    """Write the current labeling to ``slot`` of block i (``model.make_labelings(data, slots)`` makes ``labelings``)."""


def same_labeling(data: Any, i: int, slot: int, labelings: Any, work: Any) -> bool:
    """Return whether the current labeling equals the labeling in ``slot`` of block i."""
    return False


def loss(data: Any, i: int, work: Any) -> float:
    """Return ``L_i(y)`` of the current labeling y."""
    return 0.0


def labeling_value(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """Return ``theta_i'z(y)`` of the current labeling y."""
    return 0.0


def start_parts(data: Any, i: int, w: np.ndarray, work: Any) -> None:
    """Mark all of theta_i as unknown; later routines compute only the parts that they need."""


def labeling_scores(data: Any, i: int, w: np.ndarray, work: Any) -> None:
    """Compute theta_i, loss included, at the parts of the current labeling where theta_i is still unknown."""


def direction_scores(data: Any, i: int, w: np.ndarray, work: Any) -> None:
    """Compute theta_i, loss included, at the parts of the current direction where theta_i is still unknown."""


def start_direction(data: Any, i: int, work: Any) -> None:
    """Begin a new direction: ``d = 0``."""


def add_average(data: Any, i: int, s: float, mu: Any, work: Any) -> None:
    """Add the average to the direction: ``d += s mu_i``. Called, if at all, before :func:`add_labeling`."""


def add_labeling(data: Any, i: int, s: float, work: Any) -> None:
    """Add the current labeling y to the direction: ``d += s z(y)``."""


def end_direction(data: Any, i: int, work: Any) -> None:
    """Finish the direction d, to which nothing will be added."""


def direction_from_average(data: Any, i: int, mu: Any, work: Any) -> None:
    """Make ``d = z(y) - mu_i``, from the block's average to the current labeling, the current direction.

    A model may bind a faster routine. Passes call it before every :func:`advance`, except in "block solves" and
    "marginals", which make their directions with :func:`solve_parts` and :func:`add_expected`.
    """
    start_direction(data, i, work)
    add_average(data, i, -1.0, mu, work)
    add_labeling(data, i, 1.0, work)
    end_direction(data, i, work)


def slot_value(data: Any, i: int, slot: int, labelings: Any, by_parts: bool, w: np.ndarray, work: Any) -> float:
    """Return ``theta_i'z(y)`` of the labeling in ``slot``; with ``by_parts`` compute theta_i where it is still unknown.

    A model may bind a faster routine.
    """
    load_labeling(data, i, slot, labelings, work)
    if by_parts:
        labeling_scores(data, i, w, work)
    return labeling_value(data, i, w, work)


def difference(data: Any, i: int, slot: int, other: int, labelings: Any, work: Any) -> None:
    """Make ``d = z(y) - z(y')`` the current direction, where ``slot`` holds y and ``other`` holds y'.

    A model may bind a faster routine.
    """
    start_direction(data, i, work)
    load_labeling(data, i, other, labelings, work)
    add_labeling(data, i, -1.0, work)
    load_labeling(data, i, slot, labelings, work)
    add_labeling(data, i, 1.0, work)
    end_direction(data, i, work)


def slope(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """Return ``theta_i'd``; for ``d = z(y*) - mu_i`` this is the block gap divided by the weight of the block."""
    return 0.0


def sqnorm(data: Any, i: int, work: Any) -> float:
    """Return ``|B_i d|^2``."""
    return 0.0


def reserve(data: Any, i: int, mu: Any, work: Any) -> bool:
    """Make room in ``mu`` for block i to move along d; return False if ``model.enlarge_mu(mu)`` is needed first."""
    return True


def advance(data: Any, i: int, gamma: float, work: Any, mu: Any) -> None:
    """Move the average along the direction: ``mu_i += gamma d``, where ``d = z(y) - mu_i`` for a labeling y."""


def apply(data: Any, i: int, s: float, work: Any, w: np.ndarray) -> None:
    """Move the weights along the direction: ``w += s B_i d``."""


#: Whether w has bounds. Most problems have no bounds: their passes are compiled without the code for bounds.
BOUNDED = False


@functools.cache
def with_bounds(routines: RoutineSet) -> RoutineSet:
    """Return a model's routines with ``BOUNDED`` set, for problems with bounds on w."""
    return routines.rebound(BOUNDED=True)


def touched(data: Any, i: int, work: Any, out: np.ndarray) -> int:
    """Write the coordinates of w that :func:`apply` may change to ``out``, in any order; a coordinate may come twice.

    Steps with bounds on w then examine these coordinates only. Returns the number of coordinates written, or -1 if the
    model does not list them or they do not fit into ``out``: steps then examine all bounded coordinates.
    """
    return -1


# --- routines of models that offer "block solves"


def load_parts(data: Any, i: int, count: int, parts: np.ndarray, work: Any) -> None:
    """List the first ``count`` entries of ``parts`` for block i; a count of ``ALL_PARTS`` lists the whole block."""


def listed_scores(data: Any, i: int, w: np.ndarray, work: Any) -> bool:
    """Write theta_i, loss included, at the listed parts.

    Returns False if so many parts are listed that :func:`scores` is faster; the pass then calls :func:`scores`.
    """
    return False


def solve_parts(data: Any, i: int, scale: float, mu: Any, work: Any) -> float:
    """Make ``d = mu - mu_i`` the current direction, where mu is the best average that moves listed parts only.

    The direction maximises ``theta_i'd - scale/2 |B_i d|^2`` over all averages mu that differ from mu_i only at listed
    parts. Returns the largest ``theta_i'd`` over the corners of this set.
    """
    return 0.0


def direction_loss(data: Any, i: int, work: Any) -> float:
    """Return ``l_i'd``, the change of the block's averaged loss along d."""
    return 0.0


def list_parts(data: Any, i: int, slack: float, mu: Any, work: Any, out: np.ndarray) -> int:
    """Write the parts that may move to ``out``, judged by the scores theta_i, which are already computed.

    A part may move if its average is between its limits, or if it would move after a change of its score by less than
    ``slack`` times the loss. Returns the number of these parts: 0 if the block cannot move, ``ALL_PARTS`` if the parts
    do not fit into ``out``.
    """
    return ALL_PARTS


# --- routines of models that offer "marginals"; the vectors u, parts and out (p_i,) have an entry per part of the block


def part_scores(data: Any, i: int, w: np.ndarray, work: Any, out: np.ndarray) -> None:
    """Write theta_i of all parts, as ``scores`` has computed it, to ``out``."""


def expected_parts(data: Any, i: int, u: np.ndarray, work: Any, out: np.ndarray) -> float:
    """Write ``sum_y P(y) z(y)`` with ``P(y) = exp(u'z(y)) / Z`` to ``out`` and return ``log Z`` (sum-product).

    Large scores u must not cause overflow. The routine may overwrite theta_i in the scratch.
    """
    return 0.0


def add_expected(data: Any, i: int, s: float, parts: np.ndarray, work: Any) -> None:
    """Add a vector of parts to the direction: ``d += s parts``. Called after :func:`add_average`."""


#: Every name that a model's routines must bind.
ROUTINE_NAMES = (
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


def routine_set(
    home: ModuleType | Mapping[str, Any],
    more: Mapping[str, Any],
    shared: Mapping[str, Any] | None = None,
    **options: Any,
) -> RoutineSet:
    """Return a model's routines as a ``RoutineSet``, read from the module in which they are written.

    Raises a ``ModelError`` if a routine is missing. Routines with a default in this module may be left out: ``fetch``,
    ``reserve`` (models whose averages have a fixed size need none), ``direction_from_average``, ``slot_value``,
    ``difference``, ``upper_bound`` and ``touched``, and the constant ``EXACT``.

    Parameters
    ----------
    home : module or mapping
        Where routines are looked up, by the names in ``ROUTINE_NAMES`` and the names in ``shared``.
    more : mapping
        Further bindings; they take precedence over ``home``.
    shared : mapping or None
        Routines that several models share; ``home`` may replace them. Shared routines may call helpers that are not
        part of the contract. A helper has its name in this mapping, too, with the value None if the model must write
        it.
    options
        The options of :class:`bcfw.compile.RoutineSet`.
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
    names = dict.fromkeys([*ROUTINE_NAMES, *common])
    bindings = {**optional, **common, **{name: found[name] for name in names if name in found}, **more}
    missing = [name for name in names if bindings.get(name) is None]
    if missing:
        raise ModelError(
            f"the routines in {found.get('__name__', 'this set')} lack {', '.join(missing)}; see bcfw.passes.contract, "
            "and bcfw.models.shared.labelings and part_vectors for shared ones"
        )
    return RoutineSet(bindings, **options)
