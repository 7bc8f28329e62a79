"""The max oracle at one block: its answer, the block's gap, the direction to the answer, what is proved about it."""

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

#: Relative tolerance: a block gap more negative than this is not rounding; the oracle was not maximal.
ROUNDING = 1e-9

#: The same relative to the score of the truth, which is in the values of all outputs and may be far larger than they
#: differ.
SCORE_ROUNDING = 1e-13


def direction_to_truth(data: Any, i: int, work: Any) -> None:
    """``d = z(y_i) - z(y)`` for the current labeling y, so that ``B_i d = psi_i(y)``; y_i becomes the current one."""
    start_direction(data, i, work)
    add_labeling(data, i, -1.0, work)
    load_truth(data, i, work)
    add_labeling(data, i, 1.0, work)
    end_direction(data, i, work)


def call_oracle(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """Call the max oracle on the scores; its output becomes the current labeling, ``max_y H_i(y; w)`` is returned.

    The truth counts as a possible output even where the oracle cannot return it: ``H_i(y_i; w) = 0``.
    """
    hinge = argmax(data, i, w, work) - truth_value(data, i, w, work)
    if hinge < 0.0:
        load_truth(data, i, work)
        hinge = 0.0
    return hinge


def oracle_and_direction(data: Any, i: int, w: np.ndarray, state: Any, work: Any) -> tuple[float, bool]:
    """Call the max oracle; leave its output y*, the direction ``d = z(y*) - mu_i`` and the block gap ``c_i theta_i'd``.

    Returns
    -------
    float
        The structured hinge loss ``max_y H_i(y; w)``.
    bool
        Whether the oracle is maximal. If not, the block's average has a larger value than the oracle's output, beyond
        rounding, or a value is NaN.
    """
    fetch(data, i, state.mu, work)
    scores(data, i, w, 1.0, work)
    return answer_and_direction(data, i, w, state, work)


def answer_and_direction(data: Any, i: int, w: np.ndarray, state: Any, work: Any) -> tuple[float, bool]:
    """The same, where the scores are known."""
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
    """At least ``max_y H_i(y; w)``: the hinge itself, or what the model of a heuristic oracle proves.

    Comes after :func:`call_oracle`.
    """
    if EXACT:
        return hinge
    return upper_bound(data, i, w, work) - truth_value(data, i, w, work)


def is_maximal(hinge: float, average: float) -> bool:
    """Whether the oracle's value is at least that of the block's average, up to rounding (NaN is not)."""
    return hinge - average >= -ROUNDING * (1.0 + abs(hinge) + abs(average))
