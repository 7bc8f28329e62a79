"""Kernels of black-box models: the same contract, interpreted.

Here ``B_i = I`` and ``z(y) = phi(x_i, y)``. Theta is then ``(w, 1)`` on the pair (features, loss), so a block's average
is a vector and an averaged loss.

With slack rescaling (the model's ``slack_rescaling``) ``z(y) = phi(x_i, y_i) + L_i(y) (phi(x_i, y) - phi(x_i, y_i))``:
the difference to the truth is multiplied by the loss, and all else stays as it is.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from bcfw.errors import OracleError
from bcfw.models.failures import described, place
from bcfw.models.hooks import hook
from bcfw.passes.contract import kernel_set

#: Whether the slack is rescaled; kernel sets of models that say so bind another value.
SLACK = False

#: A loss that is negative by at most this is zero.
ROUNDING = 1e-9


class BlackBoxData(NamedTuple):
    """The user's model and examples as they are, and the features of the truths."""

    model: Any
    X: Any
    y: Any
    vectors: Any
    truths: list[Any]


class BlackBoxWork(NamedTuple):
    """``now`` holds the current labeling's z and loss, and the current direction's terms, d, d_loss and sqnorm."""

    now: SimpleNamespace


def read_features(model: Any, vectors: Any, x: Any, y: Any, i: int, given: Any = None) -> Any:
    """The features of one output, as the model returns them (or ``given``), as a vector."""
    try:
        return vectors.read(model.features(x, y) if given is None else given)
    except Exception as error:
        raise OracleError(f"example {i}: features(x, y) failed: {described(error)}", i) from error


def loss_between(model: Any, y_true: Any, y: Any) -> float:
    """The model's loss as a number; one such as ``1 - NDCG`` that rounding has moved a little below zero is zero."""
    return not_below_zero(real_loss(model.loss(y_true, y)))


def loss_on(model: Any, x: Any, y_true: Any, y: Any) -> float:
    """The same for a model whose loss may depend on the input."""
    return not_below_zero(real_loss(model._loss_of(x, y_true, y)))


def not_below_zero(loss: float) -> float:
    return 0.0 if -ROUNDING <= loss < 0.0 else loss


def real_loss(given: Any) -> float:
    """A loss as a number; conversion would drop an imaginary part."""
    if type(given) is float:
        return given
    if np.iscomplexobj(given):
        raise TypeError("the loss is complex; it must be a real number")
    return float(given)


def not_finite(i: int) -> OracleError:
    return OracleError(f"example {i}: features(x, y) holds a NaN, an infinity, or numbers too large to compute with", i)


def make_work() -> BlackBoxWork:
    return BlackBoxWork(SimpleNamespace())


def scores(data, i, w, loss_weight, work):
    """The user's oracle computes its own scores."""


def shown_weights(data, i, w):
    """What the oracle sees of w, which it must not change."""
    seen = w.view()
    seen.flags.writeable = False
    return seen


def output_features(data, i, y):
    """The features of an output of example i."""
    return read_features(data.model, data.vectors, data.X[i], y, i)


def argmax(data, i, w, work):
    model, x, y_true, now = data.model, data.X[i], data.y[i], work.now
    try:
        y = model.oracle(shown_weights(data, i, w), x, y_true)
        now.loss = loss_between(model, y_true, y)
    except Exception as error:
        raise OracleError(
            f"example {i}: {type(error).__name__} in the oracle or loss: {error}{place(error)}", i
        ) from error
    if not 0.0 <= now.loss < math.inf:
        raise OracleError(f"example {i}: loss(y_true, y) = {now.loss} on the oracle's output; it must be >= 0", i)
    now.z = output_features(data, i, y)
    if SLACK:
        truth = data.truths[i]
        now.z = data.vectors.combine(truth, now.loss, data.vectors.combine(now.z, -1.0, truth))
    value = now.loss + data.vectors.between(now.z, data.truths[i], w)
    if not math.isfinite(value):
        raise not_finite(i)
    return value


def upper_bound(data, i, w, work):
    """The user's bound, relative to the truth's value like what ``argmax`` returns."""
    try:
        bound = float(hook(data.model, "upper_bound")(w.copy(), data.X[i], data.y[i]))
    except Exception as error:
        raise OracleError(f"example {i}: {type(error).__name__} in upper_bound: {error}{place(error)}", i) from error
    return bound if SLACK else bound - data.vectors.products(data.truths[i], w)[0]


def truth_value(data, i, w, work):
    """Zero: ``argmax`` returns its value relative to the truth's, in one call."""
    return 0.0


def load_truth(data, i, work):
    work.now.z, work.now.loss = data.truths[i], 0.0


def load_labeling(data, i, slot, labelings, work):
    work.now.z, work.now.loss = labelings[i][slot]


def keep_labeling(data, i, slot, work, labelings):
    labelings[i][slot] = (work.now.z, work.now.loss)


def same_labeling(data, i, slot, labelings, work):
    """Outputs with equal features and loss are one corner."""
    z, its_loss = labelings[i][slot]
    return its_loss == work.now.loss and data.vectors.equal(z, work.now.z)


def loss(data, i, work):
    return work.now.loss


def labeling_value(data, i, w, work):
    return work.now.loss + data.vectors.products(work.now.z, w)[0]


def start_parts(data, i, w, work):
    """Theta is (w, 1): nothing to compute."""


labeling_scores = direction_scores = start_parts


def start_direction(data, i, work):
    work.now.terms = []


def add_average(data, i, s, mu, work):
    averages, losses = mu
    work.now.terms.append((s, averages[i], losses[i]))


def add_labeling(data, i, s, work):
    work.now.terms.append((s, work.now.z, work.now.loss))


def end_direction(data, i, work):
    """The terms are added up when the direction is used."""
    work.now.d = work.now.sqnorm = None


def slope(data, i, w, work):
    now = work.now
    if now.d is None and len(now.terms) == 2 and now.terms[1][0] == 1.0:
        (s, average, its_loss), (_, z, loss_of_z) = now.terms
        now.d, along, now.sqnorm = data.vectors.direct(z, s, average, w)
        now.d_loss = loss_of_z + s * its_loss
        return along + now.d_loss
    along, now.sqnorm = data.vectors.products(summed(data, now), w)
    return along + now.d_loss


def summed(data, now):
    """The direction d; the last term, if its factor is 1, is what the others are added to."""
    if now.d is None:
        terms, d, d_loss = now.terms, None, 0.0
        if terms[-1][0] == 1.0:
            *terms, (_, d, d_loss) = terms
        for s, z, its_loss in terms:
            d = data.vectors.combine(data.vectors.zero() if d is None else d, s, z)
            d_loss += s * its_loss
        now.d, now.d_loss = d, d_loss
    return now.d


def sqnorm(data, i, work):
    if work.now.sqnorm is None:
        work.now.sqnorm = data.vectors.sqnorm(summed(data, work.now))
    return work.now.sqnorm


def advance(data, i, gamma, work, mu):
    averages, losses = mu
    averages[i] = data.vectors.combine(averages[i], gamma, summed(data, work.now))
    losses[i] += gamma * work.now.d_loss


def apply(data, i, s, work, w):
    data.vectors.add_to(w, s, summed(data, work.now))


def touched(data, i, work, out):
    return data.vectors.list_places(summed(data, work.now), out)


BLACK_BOX_KERNELS = kernel_set(globals(), {"Data": BlackBoxData, "Work": BlackBoxWork}, compiled=False)
