"""Probabilities from an SVM's scores: one temperature, fitted to labels that the weights have not seen."""

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
from bcfw.estimators.base import BaseSVM, Task, seed_of
from bcfw.inputs.sequences import Sequences
from bcfw.models.probabilities import LogLikelihood
from bcfw.options import Count, Flag, Positive
from bcfw.result import Result
from bcfw.saved_arrays import SavedArrays

#: Where scores know nothing of the labels: differences of scores, times the sharpness, stay below this.
FLAT = 1e-3

#: Relative accuracy of the sharpness; how fast the search for an interval grows, and how often at most.
ACCURACY = 1e-6
GROWTH = 4.0
MOST_GROWTHS = 30


class ProbabilitySVM(BaseSVM):
    """Base of the estimators with ``predict_proba``, whose models have a sum-product.

    ``P(y | x) = exp(<w, phi(x, y)> / temperature_) / Z``: scores of an SVM, made into probabilities by one number.
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

    def _complete(self, task: Task) -> None:
        """Fit the temperature to the labels of every fold, scored by weights trained on the other folds."""
        self.__dict__.pop("temperature_", None)  # of an earlier fit
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

    def _folds(self, task: Task, weight: np.ndarray) -> list[np.ndarray]:
        """Indices of the examples of every fold; where each has one label, labels are shared out evenly."""
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
        """Raise unless the last fit has found a temperature."""
        check_is_fitted(self)
        check_is_fitted(self, "temperature_", msg="%(name)s has no temperature; fit it again, with probability=True")

    def _probabilities(self, X: Any) -> Any:
        """The model's probabilities for inputs in its own form."""
        weights = self.result_.kernel_weights
        if weights is not None:
            return weights.probabilities(X, self.temperature_)
        return self.result_.model.probabilities(self.result_.w, X, temperature=self.temperature_)


class NeedsProbability:
    """A decorator: scikit-learn's ``available_if``, with an error whose last line says what to do."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._hidden = available_if(offers_probabilities)(method)
        functools.update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        try:
            return self._hidden.__get__(estimator, owner)
        except AttributeError as error:
            raise AttributeError(str(error.__cause__)) from error.__cause__


def offers_probabilities(estimator: Any) -> bool:
    """Whether ``predict_proba`` is there."""
    if not estimator.probability:
        name = type(estimator).__name__
        raise AttributeError(f"{name}: predict_proba needs probability=True; make the estimator with it and fit it")
    return True


class HeldOut(NamedTuple):
    """Examples that some weights were not trained on, with their sample weights."""

    likelihood: LogLikelihood
    weight: np.ndarray


def held_out_labels(result: Result, task: Task, weight: np.ndarray) -> HeldOut:
    """The labels of a task, as the model and the weights of a result score them."""
    if result.kernel_weights is not None:
        return HeldOut(result.kernel_weights.log_likelihood(task.X, task.y), weight)
    return HeldOut(LogLikelihood(result.model, result.w, result.model.pack(task.X, task.y)), weight)


def fit_temperature(held_out: list[HeldOut]) -> float:
    """The temperature of the largest log-likelihood of held-out labels, which is concave in its inverse b.

    Labels that are all predicted right would have the largest likelihood in the limit of b = infinity. As in Platt's
    method, n labels are therefore taken for slightly wrong: the truth has the weight ``n / (n + 1)``, and all outputs
    together, each as much, the rest. With the mean score m over all outputs, the slope of the log-likelihood is

        sum_i s_i [n/(n + 1) s(y_i) + 1/(n + 1) m_i - sum_y P_b(y) s(y)].

    Scores that are no better than none at b = 0 get a small b: probabilities that are nearly equal, in the order of
    the scores.
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
    """Where a function that falls on the positive numbers is zero; the search begins at ``start``."""
    factor = GROWTH if slope(start) > 0.0 else 1.0 / GROWTH
    here = start
    for _ in range(MOST_GROWTHS):
        there = here * factor
        if (slope(there) > 0.0) != (factor > 1.0):
            low, high = sorted((here, there))
            return float(brentq(slope, low, high, xtol=ACCURACY * low, rtol=ACCURACY))
        here = there
    return here


def take(task: Task, indices: np.ndarray) -> Task:
    """Some of a task's examples."""
    weight = None if task.sample_weight is None else task.sample_weight[indices]
    X, y = (_safe_indexing(values, indices) for values in (task.X, task.y))
    return Task(task.model, X, y, weight)
