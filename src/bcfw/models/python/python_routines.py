"""Routines of black-box models, which call the user's Python methods and are not compiled.

Here ``B_i = I`` and ``z(y)`` is the pair of the features ``phi(x_i, y)`` and the loss ``L_i(y)``. Theta is then
``(w, 1)``, and a block's average is a feature vector and a loss.

With slack rescaling (the model's ``slack_rescaling``) the features in z(y) are
``phi(x_i, y_i) + L_i(y) (phi(x_i, y) - phi(x_i, y_i))``: the difference to the truth is multiplied by the loss. Nothing
else changes.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from bcfw.errors import OracleError
from bcfw.models.base.hooks import hook
from bcfw.models.check.failures import described, place
from bcfw.passes.contract import routine_set

#: Whether the slack is rescaled. The routines of models with ``slack_rescaling`` bind this name to True.
SLACK = False

#: A negative loss of at most this size is rounding and counts as zero.
ROUNDING = 1e-9


class BlackBoxData(NamedTuple):
    """The user's model and examples as given, the arithmetic of its feature vectors, and the features of the truths."""

    model: Any
    X: Any
    y: Any
    vectors: Any
    truths: list[Any]


class BlackBoxWork(NamedTuple):
    """Scratch: ``now`` holds ``z`` and ``loss`` of the current labeling, and the current direction.

    The direction is first a list of ``terms``, each a factor with features and a loss. Their sum (``d``, ``d_loss``)
    and its ``sqnorm`` are computed when they are needed.
    """

    now: SimpleNamespace


def read_features(model: Any, vectors: Any, x: Any, y: Any, i: int, given: Any = None) -> Any:
    """Return the features of one output as a vector; they come from the model, or from ``given`` if it is not None."""
    try:
        return vectors.read(model.features(x, y) if given is None else given)
    except Exception as error:
        raise OracleError(f"example {i}: features(x, y) failed: {described(error)}", i) from error


def loss_between(model: Any, y_true: Any, y: Any) -> float:
    """Return the model's loss as a float; a loss slightly below zero by rounding, as in ``1 - NDCG``, becomes zero."""
    return not_below_zero(real_loss(model.loss(y_true, y)))


def loss_on(model: Any, x: Any, y_true: Any, y: Any) -> float:
    """Return the loss as a float, for a model whose loss may depend on the input x."""
    return not_below_zero(real_loss(model._loss_of(x, y_true, y)))


def not_below_zero(loss: float) -> float:
    return 0.0 if -ROUNDING <= loss < 0.0 else loss


def real_loss(given: Any) -> float:
    """Return a loss as a float; refuse complex numbers, whose imaginary part the conversion would drop."""
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
    """Do nothing: the user's oracle computes its own scores."""


def shown_weights(data, i, w):
    """Return a read-only view of w, which the user's oracle gets."""
    seen = w.view()
    seen.flags.writeable = False
    return seen


def output_features(data, i, y):
    """Return the features of an output of example i as a vector."""
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
    """Return the user's bound relative to the truth's value, as ``argmax`` returns its value."""
    try:
        bound = float(hook(data.model, "upper_bound")(w.copy(), data.X[i], data.y[i]))
    except Exception as error:
        raise OracleError(f"example {i}: {type(error).__name__} in upper_bound: {error}{place(error)}", i) from error
    return bound if SLACK else bound - data.vectors.products(data.truths[i], w)[0]


def truth_value(data, i, w, work):
    """Return zero: ``argmax`` already returns its value relative to the truth's value."""
    return 0.0


def load_truth(data, i, work):
    work.now.z, work.now.loss = data.truths[i], 0.0


def load_labeling(data, i, slot, labelings, work):
    work.now.z, work.now.loss = labelings[i][slot]


def keep_labeling(data, i, slot, work, labelings):
    labelings[i][slot] = (work.now.z, work.now.loss)


def same_labeling(data, i, slot, labelings, work):
    """Return whether features and loss are equal: outputs with equal features and loss are one corner."""
    z, its_loss = labelings[i][slot]
    return its_loss == work.now.loss and data.vectors.equal(z, work.now.z)


def loss(data, i, work):
    return work.now.loss


def labeling_value(data, i, w, work):
    return work.now.loss + data.vectors.products(work.now.z, w)[0]


def start_parts(data, i, w, work):
    """Do nothing: theta is (w, 1)."""


labeling_scores = direction_scores = start_parts


def start_direction(data, i, work):
    work.now.terms = []


def add_average(data, i, s, mu, work):
    averages, losses = mu
    work.now.terms.append((s, averages[i], losses[i]))


def add_labeling(data, i, s, work):
    work.now.terms.append((s, work.now.z, work.now.loss))


def end_direction(data, i, work):
    """Mark the sum of the terms as not yet computed; it is computed when the direction is used."""
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
    """Return the direction d, the sum of its terms; if the last factor is 1, the other terms are added to that term."""
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


BLACK_BOX_ROUTINES = routine_set(globals(), {"Data": BlackBoxData, "Work": BlackBoxWork}, compiled=False)
