"""Probabilities from an SVM's scores: a temperature for the scores, fitted to held-out labels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import brentq
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from bcfw.errors import InputError
from bcfw.estimators.base import BaseSVM, TrainingData, seed_of
from bcfw.inputs.sequences import Sequences
from bcfw.models.shared.sum_product import LogLikelihood
from bcfw.options import Count, Flag, Positive
from bcfw.result import Result
from bcfw.storage.checked_arrays import SavedArrays

#: If held-out scores carry no information about the labels, the sharpness (one over the temperature) is chosen so small
#: that sharpness times score differences are at most this number.
FLAT = 1e-3

#: Relative accuracy of the sharpness; growth factor of the search for an interval, and its largest number of steps.
ACCURACY = 1e-6
GROWTH = 4.0
MOST_GROWTHS = 30


class ProbabilitySVM(BaseSVM):
    """Base of the estimators with ``predict_proba``, whose models can compute marginals by a sum-product algorithm.

    ``P(y | x) = exp(<w, phi(x, y)> / temperature_) / Z``: a single number turns the scores of an SVM into
    probabilities.
    """

    probability: bool
    probability_folds: int
    temperature_: float

    _fitted: ClassVar[tuple[str, ...]] = ("temperature_",)

    def _check_restored(self, result: Result, saved: SavedArrays) -> None:
        super()._check_restored(result, saved)
        if "temperature_" in vars(self):
            Positive(1.0).check(type(self).__name__, "temperature", self.temperature_)

    def _read_options(self) -> None:
        super()._read_options()
        Flag(False).check(type(self).__name__, "probability", self.probability)
        Count(5, least=2).check(type(self).__name__, "probability_folds", self.probability_folds)

    def _complete(self, task: TrainingData) -> None:
        """Fit the temperature to the labels of every fold, scored by weights trained on the other folds."""
        self.__dict__.pop("temperature_", None)  # an earlier fit may have set it
        if not self.probability or self.result_.status == "interrupted":
            return
        weight = np.ones(len(task.y)) if task.sample_weight is None else task.sample_weight
        held_out = []
        for fold in self._folds(task, weight):
            rest = np.setdiff1d(np.flatnonzero(weight > 0.0), fold)
            result = self._train(take(task, rest), None, self.lam_)
            if result.status == "interrupted":
                raise KeyboardInterrupt
            held_out.append(held_out_labels(result, take(task, fold), weight[fold]))
        self.temperature_ = fit_temperature(held_out)

    def _folds(self, task: TrainingData, weight: np.ndarray) -> list[np.ndarray]:
        """Return the indices of the examples of every fold; if every example has one label, folds are stratified."""
        used = np.flatnonzero(weight > 0.0)
        if len(used) < 2:
            raise InputError(f"{type(self).__name__}: probability=True needs at least 2 examples, got {len(used)}")
        order = np.random.default_rng(seed_of(self.random_state)).permutation(used)
        labels = np.asarray(task.y) if not isinstance(task.y, Sequences | list) else np.zeros(0)
        if labels.ndim == 1 and len(labels):
            order = order[np.argsort(labels[order], kind="stable")]
        n_folds = min(self.probability_folds, len(used))
        return [np.sort(order[k::n_folds]) for k in range(n_folds)]

    def _require_temperature(self) -> None:
        """Raise unless the last fit has set ``temperature_``."""
        check_is_fitted(self)
        check_is_fitted(self, "temperature_", msg="%(name)s has no temperature; fit it again, with probability=True")

    def _probabilities(self, X: Any) -> Any:
        """Return the model's probabilities for inputs in the form that the model takes."""
        weights = self.result_.kernel_weights
        if weights is not None:
            return weights.probabilities(X, self.temperature_)
        return self.result_.model.probabilities(self.result_.w, X, temperature=self.temperature_)


class NeedsProbability:
    """Decorator of methods that need ``probability=True``.

    It is scikit-learn's ``available_if``, but the message of the AttributeError says what to do.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self._hidden = available_if(offers_probabilities)(method)
        functools.update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        try:
            return self._hidden.__get__(estimator, owner)
        except AttributeError as error:
            raise AttributeError(str(error.__cause__)) from error.__cause__


def offers_probabilities(estimator: Any) -> bool:
    """Return True if the estimator has ``predict_proba``; raise AttributeError if not."""
    if not estimator.probability:
        name = type(estimator).__name__
        raise AttributeError(f"{name}: predict_proba needs probability=True; make the estimator with it and fit it")
    return True


class HeldOut(NamedTuple):
    """Log-likelihood and sample weights of held-out examples, which the weights were not trained on."""

    likelihood: LogLikelihood
    weight: np.ndarray


def held_out_labels(result: Result, task: TrainingData, weight: np.ndarray) -> HeldOut:
    """Return the log-likelihood of a task's labels under the model and the weights of a result."""
    if result.kernel_weights is not None:
        return HeldOut(result.kernel_weights.log_likelihood(task.X, task.y), weight)
    return HeldOut(LogLikelihood(result.model, result.w, result.model.pack(task.X, task.y)), weight)


def fit_temperature(held_out: list[HeldOut]) -> float:
    """Return the temperature that maximises the log-likelihood of held-out labels.

    The log-likelihood is concave in the sharpness b, the inverse of the temperature. If all labels are predicted right,
    it increases up to the limit b = infinity. Therefore labels are smoothed as in Platt's method: with n labels, the
    truth has the weight ``n / (n + 1)``, and the rest is spread evenly over all outputs. With m_i the mean score over
    all outputs, the slope of the log-likelihood is

        sum_i s_i [n/(n + 1) s(y_i) + 1/(n + 1) m_i - sum_y P_b(y) s(y)].

    If this slope is not positive at b = 0, the scores do not help to predict the labels. Then b is small: probabilities
    are nearly equal and in the order of the scores.
    """
    n = sum(len(part.weight) for part in held_out)
    weight = np.concatenate([part.weight for part in held_out])
    total = float(weight.sum())

    def slopes(sharpness: float) -> np.ndarray:
        return np.concatenate([part.likelihood.slopes(sharpness) for part in held_out])

    margins = slopes(0.0)
    largest = float(np.max(np.abs(margins)))
    if largest == 0.0:
        return 1.0
    if float(weight @ margins) <= 0.0:
        return largest / FLAT
    pull = float(weight @ margins) / (n + 1) / total
    return 1.0 / falling_root(lambda b: float(weight @ slopes(b)) / total - pull, total / float(weight @ abs(margins)))


def falling_root(slope: Callable[[float], float], start: float) -> float:
    """Return the zero of a function that is decreasing on the positive numbers; the search starts at ``start``."""
    factor = GROWTH if slope(start) > 0.0 else 1.0 / GROWTH
    here = start
    for _ in range(MOST_GROWTHS):
        there = here * factor
        if (slope(there) > 0.0) != (factor > 1.0):
            low, high = sorted((here, there))
            return float(brentq(slope, low, high, xtol=ACCURACY * low, rtol=ACCURACY))
        here = there
    return here


def take(task: TrainingData, indices: np.ndarray) -> TrainingData:
    """Return the task with the examples of the given indices only."""
    weight = None if task.sample_weight is None else task.sample_weight[indices]
    X, y = (_safe_indexing(values, indices) for values in (task.X, task.y))
    return TrainingData(task.model, X, y, weight)
