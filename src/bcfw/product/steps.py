"""Rules for the step sizes of :func:`bcfw.minimize`.

An instance holds options only; :meth:`Step.begin` returns the function that chooses the step sizes of one run.

Step sizes that are best for each block separately can be wrong if several blocks move at once: for
``f = (x_1 + x_2)^2`` on [-1, 1]^2, the best steps of both blocks jump from (1, 1) to (-1, -1) and back for ever
(flexible-blocks-2026, Examples 1.1 and 1.2). So the blocks of one iteration share one line search, or one smoothness
constant that is valid for the whole step.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from bcfw.errors import InputError, OptionError
from bcfw.options import Choice, Positive, named
from bcfw.product.trackers import Probe, Tracker


class Move(NamedTuple):
    """The directions of one iteration: block ``blocks[j]`` can move along d_j with a step size in [0, tops[j]].

    Attributes
    ----------
    blocks : indices of the blocks
    slopes : ``-<g_j, d_j>`` > 0, the rate at which f decreases along d_j
    squares : ``|d_j|^2``
    tops : largest step sizes
    probe : evaluates the objective along the directions
    """

    blocks: list[int]
    slopes: list[float]
    squares: list[float]
    tops: list[float]
    probe: Probe


Sizes = Callable[[Move], list[float]]


class Step:
    """Base class of rules for step sizes."""

    def begin(self, tracker: Tracker) -> Sizes:
        """Return the function that chooses the step sizes of one run."""
        raise NotImplementedError


def short_sizes(move: Move, M: float) -> list[float]:
    """Return ``min(top, slope / (M |d|^2))`` per block: the minimisers of the quadratic upper bound with constant M."""
    return [
        top if M * square * top <= slope else slope / (M * square)
        for slope, square, top in zip(move.slopes, move.squares, move.tops, strict=True)
    ]


@dataclass(frozen=True)
class Short(Step):
    """``gamma_i = min(top, -<g_i, d_i> / (L |d_i|^2))`` (flexible-blocks-2026, Alg. 3).

    Parameters
    ----------
    smoothness : float or None
        L for every step. None: the objective's ``smoothness``; if one block moves alone and the objective has
        ``block_smoothness``, the constant of this block.
    """

    smoothness: float | None = None

    def __post_init__(self) -> None:
        Positive(None, or_none=True).check("Short", "smoothness", self.smoothness)

    def begin(self, tracker: Tracker) -> Sizes:
        own = tracker.block_smoothness if self.smoothness is None else None
        if own is not None:
            return lambda move: short_sizes(move, own[move.blocks[0]] if len(move.blocks) == 1 else whole(tracker))
        L = whole(tracker) if self.smoothness is None else self.smoothness
        return lambda move: short_sizes(move, L)


def whole(tracker: Tracker) -> float:
    """Return the smoothness constant for steps on several blocks; raise OptionError if the objective has none."""
    L = tracker.smoothness
    if L is None:
        raise OptionError(
            "step='short' needs the objective's smoothness, a Lipschitz constant of its gradient (block_smoothness "
            "holds for one block at a time only); give it, or use step='adaptive'"
        )
    return L


@dataclass(frozen=True)
class Adaptive(Step):
    """Short steps with an estimate M of the smoothness that is tested at every step (flexible-blocks-2026, Alg. 2).

    Each block has its own estimate. An iteration starts with M = ``shrink`` times the largest estimate of its blocks,
    and multiplies M by at least ``grow`` until the step passes the test. Each oracle is called once per iteration. Let
    s be the step and B its Bregman distance (see :mod:`bcfw.product.trackers`). The test is

    - "values": ``B <= M/2 |s|^2``, equation (5) of the paper, which needs values of f only;
    - "gradients": ``<g+ - g, s> - B >= |g+ - g|^2 / (2M)``, equation (29) of the paper, for convex functions only. It
      needs the gradients of all blocks at every trial, never gives a smaller M than "values", and has the better
      constant in the convergence rate.

    Where ``M/2 |s|^2`` is below the rounding of f, values cannot decide, and a step that fails passes if
    ``<g+ - g, s> <= M |s|^2``: half of the left side is B by the trapezoidal rule.

    Parameters
    ----------
    initial : float or None
        The first M. None: the curvature of f along the first step, which is at most the smoothness constant of f.
    shrink, grow : float
        The paper's eta in (0, 1] and tau > 1.
    test : "auto", "values" or "gradients"
        "auto" uses "gradients" if the objective is declared convex and always computes the gradients of all blocks.
    """

    initial: float | None = None
    shrink: float = 0.9
    grow: float = 2.0
    test: str = "auto"

    def __post_init__(self) -> None:
        Positive(None, or_none=True).check("Adaptive", "initial", self.initial)
        Positive(0.9).check("Adaptive", "shrink", self.shrink)
        Positive(2.0).check("Adaptive", "grow", self.grow)
        if self.shrink > 1.0 or self.grow <= 1.0:
            raise OptionError("Adaptive: shrink must be at most 1 and grow above 1")
        Choice("auto", "values", "gradients").check("Adaptive", "test", self.test)

    def begin(self, tracker: Tracker) -> Sizes:
        test = self.test
        if test == "auto":
            test = "gradients" if tracker.convex and tracker.whole_gradients else "values"
        if test == "gradients" and tracker.convex is False:
            raise OptionError(
                "Adaptive: test='gradients' does not go with an objective that is not convex; use 'values'"
            )
        return Estimates(self, len(tracker.x), needed_by_gradients if test == "gradients" else needed_by_values)


#: A quantity that should not be negative, but is more than this many times the rounding error below zero, is not the
#: result of rounding, even if the user's function computes in float32.
CERTAIN = 1e7

#: Two estimates of a curvature that differ by less than this share are equal but for rounding.
EQUAL = 1e-12


class Estimates:
    """The step sizes of one run with :class:`Adaptive`: ``M`` holds the estimate of each block, None at first.

    ``needed`` returns the smallest M with which a step passes the test; negative if rounding hides it.
    """

    def __init__(self, options: Adaptive, n_blocks: int, needed: Callable[[Move, list[float]], float]) -> None:
        self.options = options
        self.needed = needed
        self.M: list[float | None] = [options.initial] * n_blocks

    def __call__(self, move: Move) -> list[float]:
        known = [M for M in map(self.M.__getitem__, move.blocks) if M is not None]
        before = max(known) if known else self._first(move)
        least = M = self.options.shrink * before if known else before
        gammas, needed_by = short_sizes(move, M), self.needed
        while (needed := needed_by(move, gammas)) > M * (1.0 + EQUAL):
            if needed_by is not needed_by_slopes and self._hidden(move, gammas, M):
                needed_by = needed_by_slopes
                continue
            M = max(M * self.options.grow, needed if needed < math.inf else sys.float_info.min)
            gammas = short_sizes(move, M)
        if needed < 0.0:  # the test is below rounding: keep the old estimate
            M = before
        elif needed_by is needed_by_slopes:  # M may have grown because of rounding errors, the slopes have not
            M = max(least, needed)
        for i in move.blocks:
            self.M[i] = M
        return gammas

    def _hidden(self, move: Move, gammas: list[float], M: float) -> bool:
        """Return whether values of f cannot show that M is too small, because ``M/2 |s|^2`` is below their rounding.

        The rounding error of a user's f can be larger than is allowed, for example if large terms cancel. It looks like
        a curvature of ``2 error / |s|^2``, which increases as the steps become shorter: with values alone, M would grow
        until s is lost in the rounding of x, and the blocks would never move again.
        """
        return 0.5 * M * squared_length(move, gammas) <= move.probe.rounding()

    def _first(self, move: Move) -> float:
        """Return the curvature along the longest step; without curvature, an M so small that this step is taken."""
        squared = squared_length(move, move.tops)
        fall = sum(map(math.prod, zip(move.tops, move.slopes, strict=True)))
        return max(ratio(2.0 * move.probe.bregman(move.tops), squared), ratio(1e-12 * fall, squared))


def ratio(part: float, squared: float) -> float:
    """Return ``part / squared``; zero if the squared length is zero."""
    return part / squared if squared > 0.0 else 0.0


def squared_length(move: Move, gammas: list[float]) -> float:
    return sum(gamma * gamma * square for gamma, square in zip(gammas, move.squares, strict=True))


def needed_by_values(move: Move, gammas: list[float]) -> float:
    """Return the smallest M with which the step passes test (5); negative if rounding hides it."""
    bregman = move.probe.bregman(gammas)
    rounding = move.probe.rounding()
    if 0.0 < rounding >= abs(bregman):
        return -1.0
    return max(0.0, ratio(2.0 * (bregman - rounding), squared_length(move, gammas)))


def needed_by_gradients(move: Move, gammas: list[float]) -> float:
    """Return the smallest M with which the step passes test (29); infinite if none, negative if rounding hides it."""
    bregman = move.probe.bregman(gammas)
    rounding = move.probe.rounding()
    squared, along = move.probe.gradient_change(gammas)
    back = along - bregman
    if squared == 0.0:
        return 0.0
    if 0.0 < rounding >= abs(back):
        return -1.0
    if back < -CERTAIN * rounding < 0.0:
        raise InputError(
            "the objective is declared convex, but lies below one of its tangents: it is not convex (declare "
            "convex=False), or its gradient does not belong to its value"
        )
    back += rounding
    return squared / (2.0 * back) if back > 0.0 else math.inf


def needed_by_slopes(move: Move, gammas: list[float]) -> float:
    """Return the average curvature of f along the step, which is at most L_f; negative if rounding hides it."""
    change = move.probe.slope_change(gammas)
    return -1.0 if change is None else max(0.0, ratio(change, squared_length(move, gammas)))


@dataclass(frozen=True)
class LineSearch(Step):
    """One exact line search for all moving blocks: ``gamma_i = gamma``, the best size up to the smallest top.

    For quadratic objectives the best size has a closed form; for others, a root of the derivative is bracketed. If the
    objective is not known to be convex, the step is shortened until it decreases the objective.
    """

    def begin(self, tracker: Tracker) -> Sizes:
        def sizes(move: Move) -> list[float]:
            top = min(move.tops)
            fraction = move.probe.best_fraction([top] * len(move.tops), -top * sum(move.slopes))
            return [fraction * top] * len(move.tops)

        return sizes


@dataclass(frozen=True)
class OpenLoop(Step):
    """``gamma = 2m / (k + 2m)``, with m blocks and k block steps so far.

    In iteration t this is 2m/(t + 2m) if one block moves at a time, and 2/(t + 2) if all blocks move at once.
    """

    def begin(self, tracker: Tracker) -> Sizes:
        double, taken = 2.0 * len(tracker.x), 0

        def sizes(move: Move) -> list[float]:
            nonlocal taken
            gamma = double / (taken + double)
            taken += len(move.blocks)
            return [gamma] * len(move.blocks)

        return sizes


#: The words of the option ``step``; each stands for a rule with its default options.
STEPS: dict[str, type[Step]] = {"adaptive": Adaptive, "short": Short, "line-search": LineSearch, "open-loop": OpenLoop}


def find_step(step: Any) -> Step:
    """Return the rule for the option ``step``, a word or an instance of a rule."""
    return named("step", step, Step, STEPS)


__all__ = ["Adaptive", "LineSearch", "OpenLoop", "Short", "Step"]
