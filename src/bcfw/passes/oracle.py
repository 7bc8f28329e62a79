"""The oracle call at one block: hinge loss, block gap, direction to the output, and tests of the output."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.passes.contract import (
    EXACT,
    add_labeling,
    argmax,
    direction_from_average,
    end_direction,
    fetch,
    load_truth,
    scores,
    slope,
    start_direction,
    truth_value,
    upper_bound,
)

#: Relative tolerance of :func:`is_maximal`: a block gap more negative than this is not due to rounding.
ROUNDING = 1e-9

#: The same relative to the score of the truth, which is in the values of all outputs and may be far larger than they
#: differ.
SCORE_ROUNDING = 1e-13


def direction_to_truth(data: Any, i: int, work: Any) -> None:
    """Make ``d = z(y_i) - z(y)`` the direction, where y is the current labeling, so that ``B_i d = psi_i(y)``.

    Afterwards the truth y_i is the current labeling.
    """
    start_direction(data, i, work)
    add_labeling(data, i, -1.0, work)
    load_truth(data, i, work)
    add_labeling(data, i, 1.0, work)
    end_direction(data, i, work)


def call_oracle(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """Call the max oracle on the computed scores, make its output the current labeling, return ``max_y H_i(y; w)``.

    The truth counts as a possible output even if the oracle cannot return it, so that the result is at least
    ``H_i(y_i; w) = 0``.
    """
    hinge = argmax(data, i, w, work) - truth_value(data, i, w, work)
    if hinge < 0.0:
        load_truth(data, i, work)
        hinge = 0.0
    return hinge


def oracle_and_direction(data: Any, i: int, w: np.ndarray, state: Any, work: Any) -> tuple[float, bool]:
    """Compute the scores and call the max oracle; write the direction to its output and the block gap.

    The oracle's output y* becomes the current labeling, ``d = z(y*) - mu_i`` the current direction, and the block gap
    ``c_i theta_i'd`` is written to ``state.gap``.

    Returns
    -------
    float
        The structured hinge loss ``max_y H_i(y; w)``.
    bool
        Whether the oracle is maximal: False if the block's average has a larger value than the oracle's output, beyond
        rounding, or if a value is NaN.
    """
    fetch(data, i, state.mu, work)
    scores(data, i, w, 1.0, work)
    return answer_and_direction(data, i, w, state, work)


def answer_and_direction(data: Any, i: int, w: np.ndarray, state: Any, work: Any) -> tuple[float, bool]:
    """Call the max oracle on scores that are already computed; see :func:`oracle_and_direction` for the results."""
    hinge = call_oracle(data, i, w, work)
    direction_from_average(data, i, state.mu, work)
    slope_i = slope(data, i, w, work)
    if not EXACT and slope_i < 0.0:  # the average is better than what the heuristic found
        hinge -= slope_i
        slope_i = 0.0
    state.gap[i] = state.c[i] * slope_i
    if is_maximal(hinge, hinge - slope_i):
        return hinge, True
    return hinge, slope_i >= -SCORE_ROUNDING * abs(truth_value(data, i, w, work))


def hinge_upper_bound(data: Any, i: int, w: np.ndarray, hinge: float, work: Any) -> float:
    """Return an upper bound of ``max_y H_i(y; w)``; called after :func:`call_oracle`.

    With an exact oracle the bound is ``hinge`` itself; with a heuristic oracle it comes from the model's routine
    ``upper_bound``.
    """
    if EXACT:
        return hinge
    return upper_bound(data, i, w, work) - truth_value(data, i, w, work)


def is_maximal(hinge: float, average: float) -> bool:
    """Return whether the oracle's value ``hinge`` is at least the average's value ``average``, up to rounding.

    If either value is NaN, the result is False.
    """
    return hinge - average >= -ROUNDING * (1.0 + abs(hinge) + abs(average))
