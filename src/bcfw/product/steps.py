"""Step sizes: how far to go along the directions of one iteration.

An instance holds options only; :meth:`Step.begin` gives the function that chooses the sizes of one run.

Sizes that are right for each block by itself need not be for several at once: for ``f = (x_1 + x_2)^2`` on [-1, 1]^2
the best step of each block jumps from (1, 1) to (-1, -1) and back for ever (flexible-blocks-2026, Examples 1.1 and
1.2). So blocks that move together share one line search, or one smoothness constant that is valid for the whole move.
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
    """What an iteration may do: block ``blocks[j]`` may go along a direction d_j, by a size in [0, tops[j]].

    Attributes
    ----------
    blocks : indices
    slopes : ``-<g_j, d_j>`` > 0, how fast f falls
    squares : ``|d_j|^2``
    tops : largest sizes
    probe : the objective along the directions
    """

    blocks: list[int]
    slopes: list[float]
    squares: list[float]
    tops: list[float]
    probe: Probe


Sizes = Callable[[Move], list[float]]


class Step:
    """A rule for step sizes."""

    def begin(self, tracker: Tracker) -> Sizes:
        """The function that chooses the sizes of one run."""
        raise NotImplementedError


def short_sizes(move: Move, M: float) -> list[float]:
    """``min(top, slope / (M |d|^2))``: the minimisers of the quadratic upper bound with constant M."""
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
        L, for every step. None: the objective's ``smoothness``; where one block moves alone, its own constant, if the
        objective has ``block_smoothness``.
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
    """The constant for moves of several blocks."""
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

    Each block has its own estimate. An iteration begins with ``shrink`` times the largest one of its blocks, and raises
    it at least ``grow`` times until the step passes the test. Oracles are asked once. With s the step and B its Bregman
    distance (see :mod:`bcfw.product.trackers`) the test is

    - "values": ``B <= M/2 |s|^2``, the paper's (5), which needs values of f only;
    - "gradients": ``<g+ - g, s> - B >= |g+ - g|^2 / (2M)``, the paper's (29), for convex functions only. It needs the
      gradient of all blocks at every trial, never gives a smaller M, and has the better constant in the convergence
      rate.

    Parameters
    ----------
    initial : float or None
        The first M. None: the curvature of f along the first direction, which is never above the smoothness.
    shrink, grow : float
        The paper's eta in (0, 1] and tau > 1.
    test : "auto", "values" or "gradients"
        "auto" takes "gradients" where the objective is declared convex and always computes whole gradients.
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


#: What is so many times below the rounding of a user's function is no rounding, even if it computes in float32.
CERTAIN = 1e7


class Estimates:
    """The estimates of one run."""

    def __init__(self, options: Adaptive, n_blocks: int, needed: Callable[[Move, list[float]], float]) -> None:
        self.options = options
        self.needed = needed
        self.M: list[float | None] = [options.initial] * n_blocks

    def __call__(self, move: Move) -> list[float]:
        known = [M for M in map(self.M.__getitem__, move.blocks) if M is not None]
        before = max(known) if known else self._first(move)
        M = self.options.shrink * before if known else before
        gammas = short_sizes(move, M)
        while (needed := self.needed(move, gammas)) > M:
            M = max(M * self.options.grow, needed if needed < math.inf else sys.float_info.min)
            gammas = short_sizes(move, M)
        if needed < 0.0:  # the test drowns in rounding: nothing is learned from it
            M = before
        for i in move.blocks:
            self.M[i] = M
        return gammas

    def _first(self, move: Move) -> float:
        """Curvature along the longest step; where there is none, a constant so small that the longest step is taken."""
        squared = squared_length(move, move.tops)
        fall = sum(map(math.prod, zip(move.tops, move.slopes, strict=True)))
        return max(ratio(2.0 * move.probe.bregman(move.tops), squared), ratio(1e-12 * fall, squared))


def ratio(part: float, squared: float) -> float:
    """Zero where the length of a step has vanished."""
    return part / squared if squared > 0.0 else 0.0


def squared_length(move: Move, gammas: list[float]) -> float:
    return sum(gamma * gamma * square for gamma, square in zip(gammas, move.squares, strict=True))


def needed_by_values(move: Move, gammas: list[float]) -> float:
    """The smallest M for which the step passes (5); negative if rounding hides it."""
    bregman = move.probe.bregman(gammas)
    rounding = move.probe.rounding()
    if 0.0 < rounding >= abs(bregman):
        return -1.0
    return max(0.0, ratio(2.0 * (bregman - rounding), squared_length(move, gammas)))


def needed_by_gradients(move: Move, gammas: list[float]) -> float:
    """The smallest M for which the step passes (29); infinite if none does, negative if rounding hides it."""
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


@dataclass(frozen=True)
class LineSearch(Step):
    """``gamma_i = gamma``, the best one up to the smallest top: one exact line search, shared by the blocks that move.

    In closed form for quadratic objectives; otherwise the root of the derivative is bracketed. Where the objective is
    not known to be convex, the step is also made to lower it.
    """

    def begin(self, tracker: Tracker) -> Sizes:
        def sizes(move: Move) -> list[float]:
            top = min(move.tops)
            fraction = move.probe.best_fraction([top] * len(move.tops), -top * sum(move.slopes))
            return [fraction * top] * len(move.tops)

        return sizes


@dataclass(frozen=True)
class OpenLoop(Step):
    """``2m / (k + 2m)`` after k steps on blocks: 2m/(t + 2m) for one block at a time, 2/(t + 2) for all at once."""

    def begin(self, tracker: Tracker) -> Sizes:
        double, taken = 2.0 * len(tracker.x), 0

        def sizes(move: Move) -> list[float]:
            nonlocal taken
            gamma = double / (taken + double)
            taken += len(move.blocks)
            return [gamma] * len(move.blocks)

        return sizes


#: Words for the step sizes with their default options.
STEPS: dict[str, type[Step]] = {"adaptive": Adaptive, "short": Short, "line-search": LineSearch, "open-loop": OpenLoop}


def find_step(step: Any) -> Step:
    """The rule behind a word or an instance."""
    return named("step", step, Step, STEPS)


__all__ = ["Adaptive", "LineSearch", "OpenLoop", "Short", "Step"]
