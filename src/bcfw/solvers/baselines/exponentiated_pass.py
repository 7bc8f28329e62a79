"""Templates of the passes of online exponentiated gradient (Collins et al., 2008).

The mass of block i has the form ``alpha_i(y) = exp(u_i'z(y)) / Z_i`` with exponents u_i, so that it is never zero. The
derivative of the dual with respect to ``alpha_i(y)`` is ``c_i theta_i'z(y)`` up to a constant. So a step is ``u_i +=
eta_i theta_i(w)``, and the block average mu_i holds the marginals of the distribution with exponents u_i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bcfw.compile import not_inlined
from bcfw.passes.contract import (
    Data,
    Work,
    add_average,
    add_expected,
    advance,
    apply,
    argmax,
    end_direction,
    expected_parts,
    part_scores,
    reserve,
    scores,
    slope,
    sqnorm,
    start_direction,
    truth_value,
)
from bcfw.passes.order import Visits, next_block
from bcfw.passes.records import BLOCK, CALLS, GAIN, NEEDS_ROOM, STEPS, STOP, State, StepSettings


class Exponents(NamedTuple):
    """The exponents u of the distributions ``alpha_i(y) = exp(u_i'z(y)) / Z_i`` of all blocks, and data of their steps.

    Attributes
    ----------
    offsets : (n + 1,) where the parts of each block begin in ``u`` and ``l``
    u : the exponents
    l : loss of every part, ``L_i(y) = l_i'(z(y) - z(y_i))``
    truth : (n,) ``l_i'z(y_i)``
    eta : (n,) step size of each block; 0 for blocks that have not moved yet
    last : (1,) the last accepted step size, which is the first trial of blocks that have not moved yet
    theta, trial, parts : scratch for the block with the most parts
    starting : whether a visit sets the block's average to the marginals of u_i instead of taking a step
    """

    offsets: np.ndarray
    u: np.ndarray
    l: np.ndarray
    truth: np.ndarray
    eta: np.ndarray
    last: np.ndarray
    theta: np.ndarray
    trial: np.ndarray
    parts: np.ndarray
    starting: bool


#: The largest number of step sizes that one visit tries.
MOST_TRIALS = 60


#: The next visit of a block first tries the accepted step size times this factor.
LONGER = 1.05


#: Relative rounding error of sums over the parts of a block.
ROUNDING = 1e-15


#: If exponents differ by more than ``UNSEEN``, the smaller mass is lost to rounding beside the larger mass. A longer
#: trial step may change differences of exponents by ``UNSEEN`` plus their present spread, which counts as at most
#: ``WIDEST``: with far larger exponents the marginals would be inexact.
UNSEEN, WIDEST = 50.0, 1e4


def loss_parts_pass(
    data_fields: Any, work_fields: Any, state_fields: Any, w: np.ndarray, exponents_fields: Any
) -> None:
    """Template: write the loss of every part of every block, and of every truth; ``w`` must be zero."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    eg = Exponents(*exponents_fields)
    for i in range(eg.truth.shape[0]):
        scores(data, i, w, 1.0, work)
        part_scores(data, i, w, work, eg.l[eg.offsets[i] : eg.offsets[i + 1]])
        eg.truth[i] = truth_value(data, i, w, work)


def exponent_pass(
    data_fields: Any,
    work_fields: Any,
    state_fields: Any,
    counters: np.ndarray,
    first: int,
    visits_fields: Any,
    rule_fields: Any,
    exponents_fields: Any,
) -> int:
    """Template: take a step at one block after another; with ``starting``, set each average to the marginals of u_i.

    Returns
    -------
    int
        The number of completed visits. If the pass stopped early, ``counters[STOP]`` is the reason and
        ``counters[BLOCK]`` the block at which it stopped.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    visits = Visits(*visits_fields)
    rule = StepSettings(*rule_fields)
    eg = Exponents(*exponents_fields)
    for j in range(first, visits.n_visits):
        i = next_block(visits, j)
        counters[BLOCK] = i
        gain = 0.0
        if eg.starting:
            begin, end = eg.offsets[i], eg.offsets[i + 1]
            expected_parts(data, i, eg.u[begin:end], work, eg.parts[: end - begin])
            direction_to_expected(data, i, eg.parts[: end - begin], state, work)
        else:
            gain = find_step(data, i, state, work, rule, eg)
        if gain >= 0.0:
            if not reserve(data, i, state.mu, work):
                counters[STOP] = NEEDS_ROOM
                return j
            accept(data, i, state, work, rule, eg)
            counters[GAIN] += gain
        counters[CALLS] += 1.0
        counters[STEPS] += 1.0
    return visits.n_visits


def find_step(data: Any, i: int, state: Any, work: Any, rule: Any, eg: Any) -> float:
    """Find a step size eta_i that increases the dual, and compute its direction, marginals and exponents.

    A step that decreases the dual is too long, and eta_i is halved. If nearly all mass lies on one output, a step may
    change the dual by less than rounding. In this case the oracle is called. If it finds a better output, the step is
    too short: a step about as wide as the spread of the exponents is tried first, and then step sizes in the middle
    between the longest step that is too short and the shortest step that is too long. If the oracle finds no better
    output, the block counts as solved.

    Returns
    -------
    float
        The gain of the dual, or -1 if no step is taken.
    """
    begin, end = eg.offsets[i], eg.offsets[i + 1]
    theta = eg.theta[: end - begin]
    scores(data, i, state.w, 1.0, work)
    part_scores(data, i, state.w, work, theta)
    start_direction(data, i, work)
    add_average(data, i, 1.0, state.mu, work)
    end_direction(data, i, work)
    before = slope(data, i, state.w, work)
    eta = eg.eta[i] if eg.eta[i] > 0.0 else eg.last[0]
    short, long = 0.0, np.inf
    for tried in range(MOST_TRIALS):
        gain, noise = try_step(data, i, eta, before, state, work, rule, eg)
        if gain > noise:
            break
        if gain < -noise:
            long = eta
        else:
            if short == 0.0:
                scores(data, i, state.w, 1.0, work)
                if state.c[i] * (argmax(data, i, state.w, work) - before) <= noise:
                    if tried == 0:
                        return -1.0
                    break
            short = eta
        if long < np.inf:
            eta = 0.5 * (short + long)
            continue
        widest = (UNSEEN + min(spread(eg.u[begin:end]), WIDEST)) / spread(theta)
        if eta >= widest:
            break
        eta = widest
    if gain < -noise:
        if short == 0.0:
            return -1.0
        eta = short
        gain = try_step(data, i, eta, before, state, work, rule, eg)[0]
    eg.last[0] = eta
    eg.eta[i] = eta * LONGER
    return max(gain, 0.0)


@not_inlined
def try_step(
    data: Any, i: int, eta: float, before: float, state: Any, work: Any, rule: Any, eg: Any
) -> tuple[float, float]:
    """Compute direction, marginals and exponents of a step of size eta; ``before`` is the present ``theta'mu_i``.

    Returns
    -------
    tuple of float
        The gain of the dual, and a bound of its rounding error.
    """
    begin, end = eg.offsets[i], eg.offsets[i + 1]
    theta, trial, parts = eg.theta[: end - begin], eg.trial[: end - begin], eg.parts[: end - begin]
    for part in range(end - begin):
        trial[part] = eg.u[begin + part] + eta * theta[part]
    expected_parts(data, i, trial, work, parts)
    direction_to_expected(data, i, parts, state, work)
    after = 0.0
    size = abs(before)
    for part in range(end - begin):
        after += theta[part] * parts[part]
        size += abs(theta[part]) * parts[part]
    curvature = state.c[i] * state.c[i] / rule.lam * sqnorm(data, i, work)
    return state.c[i] * (after - before) - 0.5 * curvature, ROUNDING * state.c[i] * size


@not_inlined
def direction_to_expected(data: Any, i: int, parts: np.ndarray, state: Any, work: Any) -> None:
    """Compute the direction ``d = parts - mu_i``."""
    start_direction(data, i, work)
    add_average(data, i, -1.0, state.mu, work)
    add_expected(data, i, 1.0, parts, work)
    end_direction(data, i, work)


def accept(data: Any, i: int, state: Any, work: Any, rule: Any, eg: Any) -> None:
    """Move block i along the direction to the new marginals, and store its new exponents unless ``eg.starting``."""
    advance(data, i, 1.0, work, state.mu)
    apply(data, i, -state.c[i] / rule.lam, work, state.w)
    begin, end = eg.offsets[i], eg.offsets[i + 1]
    state.ell[i] = state.c[i] * (inner_product(eg.l[begin:end], eg.parts) - eg.truth[i])
    if not eg.starting:
        for part in range(end - begin):
            eg.u[begin + part] = eg.trial[part]


def spread(a: np.ndarray) -> float:
    """Return the largest minus the smallest entry."""
    smallest = largest = a[0]
    for part in range(1, a.shape[0]):
        smallest = min(smallest, a[part])
        largest = max(largest, a[part])
    return largest - smallest


def inner_product(a: np.ndarray, b: np.ndarray) -> float:
    """Return ``a'b`` over the entries of a; b may be longer."""
    total = 0.0
    for part in range(a.shape[0]):
        total += a[part] * b[part]
    return total
