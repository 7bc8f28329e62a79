"""Templates of online exponentiated gradient (Collins et al., 2008): distributions of blocks in product form.

Block i's mass is ``alpha_i(y) = exp(u_i'z(y)) / Z_i``, which is never zero; the slope of the dual in ``alpha_i(y)`` is
``c_i theta_i'z(y)`` up to a constant. So a step is ``u_i += eta_i theta_i(w)``, and mu_i are the marginals of u_i.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.kernels import not_inlined
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
from bcfw.passes.selection import next_block
from bcfw.records import BLOCK, CALLS, GAIN, NEEDS_ROOM, STEPS, STOP, Exponents, State, StepRule, Visits

#: So many step sizes are tried at one visit at most. The one that is taken is made longer for the next visit.
MOST_TRIALS = 60
LONGER = 1.05

#: Relative tolerance of sums over the parts of a block.
ROUNDING = 1e-15

#: A difference of exponents beyond which mass cannot be seen beside other mass; and the largest that one step bridges:
#: marginals of exponents that are larger by orders would be inexact.
UNSEEN, WIDEST = 50.0, 1e4


def loss_parts_pass(
    data_fields: Any, work_fields: Any, state_fields: Any, w: np.ndarray, exponents_fields: Any
) -> None:
    """Template: the loss of every part of every block, and of the truths; ``w`` must be zero."""
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
    tally: np.ndarray,
    first: int,
    visits_fields: Any,
    rule_fields: Any,
    exponents_fields: Any,
) -> int:
    """Template: a step of one block after the other; if they are ``starting``, blocks go to the marginals of their u_i.

    Returns
    -------
    int
        How many visits are done; ``tally[STOP]`` says why not all, ``tally[BLOCK]`` at which block it stopped.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    state = State(*state_fields)
    visits = Visits(*visits_fields)
    rule = StepRule(*rule_fields)
    eg = Exponents(*exponents_fields)
    for j in range(first, visits.n_visits):
        i = next_block(visits, j)
        tally[BLOCK] = i
        gain = 0.0
        if eg.starting:
            begin, end = eg.offsets[i], eg.offsets[i + 1]
            expected_parts(data, i, eg.u[begin:end], work, eg.parts[: end - begin])
            direction_to_expected(data, i, eg.parts[: end - begin], state, work)
        else:
            gain = find_step(data, i, state, work, rule, eg)
        if gain >= 0.0:
            if not reserve(data, i, state.mu, work):
                tally[STOP] = NEEDS_ROOM
                return j
            accept(data, i, state, work, rule, eg)
            tally[GAIN] += gain
        tally[CALLS] += 1.0
        tally[STEPS] += 1.0
    return visits.n_visits


def find_step(data: Any, i: int, state: Any, work: Any, rule: Any, eg: Any) -> float:
    """Find an eta_i with which the dual gains; leaves direction, marginals and exponents.

    A step that makes the dual fall is too long, and halved. Where nearly all mass lies on one output, a step may change
    nothing that floating point can resolve. If the oracle says that another output is better, such a step is too short:
    longer ones are tried, the first about as wide as the exponents, and then those in the middle between the longest
    one that is too short and the shortest one that is too long. If not, the block is as good as solved.

    Returns
    -------
    float
        The gain, or -1 for no step.
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
    """Direction, marginals and exponents of a step of the size eta, from the value ``before`` of ``theta'mu_i``.

    Returns
    -------
    tuple of float
        How much the dual gains, and how far this may be off by rounding.
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
    """``d = parts - mu_i``."""
    start_direction(data, i, work)
    add_average(data, i, -1.0, state.mu, work)
    add_expected(data, i, 1.0, parts, work)
    end_direction(data, i, work)


def accept(data: Any, i: int, state: Any, work: Any, rule: Any, eg: Any) -> None:
    """Move block i along the direction, to the marginals that were found."""
    advance(data, i, 1.0, work, state.mu)
    apply(data, i, -state.c[i] / rule.lam, work, state.w)
    begin, end = eg.offsets[i], eg.offsets[i + 1]
    state.ell[i] = state.c[i] * (inner_product(eg.l[begin:end], eg.parts) - eg.truth[i])
    if not eg.starting:
        for part in range(end - begin):
            eg.u[begin + part] = eg.trial[part]


def spread(a: np.ndarray) -> float:
    """Largest minus smallest entry."""
    smallest = largest = a[0]
    for part in range(1, a.shape[0]):
        smallest = min(smallest, a[part])
        largest = max(largest, a[part])
    return largest - smallest


def inner_product(a: np.ndarray, b: np.ndarray) -> float:
    """``a'b`` for as many entries as a has."""
    total = 0.0
    for part in range(a.shape[0]):
        total += a[part] * b[part]
    return total
