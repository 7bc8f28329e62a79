"""Templates around the max oracle: hinge losses, block gaps, and w rebuilt from the block averages."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.models.contract import (
    EXACT,
    Data,
    Work,
    add_average,
    add_labeling,
    apply,
    argmax,
    end_direction,
    load_truth,
    scores,
    slope,
    start_direction,
    truth_value,
    upper_bound,
)
from bcfw.records import State

#: A block gap below minus this, relative to the values it is a difference of, is no rounding.
ROUNDING = 1e-9


def toward(data: Any, i: int, mu: Any, work: Any) -> None:
    """Make ``d = z(y) - mu_i``, from the block's average to the current labeling, the current direction."""
    start_direction(data, i, work)
    add_average(data, i, -1.0, mu, work)
    add_labeling(data, i, 1.0, work)
    end_direction(data, i, work)


def ask(data: Any, i: int, w: np.ndarray, work: Any) -> float:
    """Call the max oracle on the scores; its output becomes the current labeling, ``max_y H_i(y; w)`` is returned.

    The truth counts as a possible output even where the oracle cannot return it: ``H_i(y_i; w) = 0``.
    """
    hinge = argmax(data, i, w, work) - truth_value(data, i, w, work)
    if hinge < 0.0:
        load_truth(data, i, work)
        hinge = 0.0
    return hinge


def examine(data: Any, i: int, w: np.ndarray, state: Any, work: Any) -> float:
    """Call the max oracle; leave its output y*, the direction ``d = z(y*) - mu_i`` and the block gap ``c_i theta_i'd``.

    Returns the structured hinge loss ``max_y H_i(y; w)``, or -1 if the oracle is not maximal: then the block's average
    has a larger value than the oracle's output, beyond rounding (or a value is NaN).
    """
    scores(data, i, w, 1.0, work)
    hinge = ask(data, i, w, work)
    toward(data, i, state.mu, work)
    slope_i = slope(data, i, w, work)
    if not EXACT and slope_i < 0.0:  # the average is better than what the heuristic found
        hinge -= slope_i
        slope_i = 0.0
    state.gap[i] = state.weight[i] * slope_i
    return hinge if is_maximal(hinge, hinge - slope_i) else -1.0


def ceiling(data: Any, i: int, w: np.ndarray, hinge: float, work: Any) -> float:
    """What ``max_y H_i(y; w)`` is at most, as the model says; comes after :func:`ask`."""
    if EXACT:
        return hinge
    return upper_bound(data, i, w, work) - truth_value(data, i, w, work)


def is_maximal(hinge: float, average: float) -> bool:
    """Whether the oracle's value is at least that of the block's average, up to rounding (NaN is not)."""
    return hinge - average >= -ROUNDING * (1.0 + abs(hinge) + abs(average))


def rebuild_pass(
    data_fields: Any, work_fields: Any, state_fields: Any, lam: float, blocks: np.ndarray, out: np.ndarray
) -> None:
    """Template: ``out += sum_i c_i/lam B_i (z(y_i) - mu_i)``, which is w."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    for j in range(blocks.shape[0]):
        i = blocks[j]
        load_truth(data, i, work)
        toward(data, i, state.mu, work)
        apply(data, i, state.weight[i] / lam, work, out)


def loss_pass(data_fields: Any, work_fields: Any, state_fields: Any, w: np.ndarray, out: np.ndarray) -> None:
    """Template: ``out[i] = l_i'(mu_i - z(y_i))``, the averaged loss of every block; ``w`` must be zero."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    for i in range(out.shape[0]):
        scores(data, i, w, 1.0, work)
        load_truth(data, i, work)
        toward(data, i, state.mu, work)
        out[i] = -slope(data, i, w, work)
