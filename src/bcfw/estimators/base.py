"""What all estimators share: options, the call of ``train``, fitted attributes, warm starts and pickles."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from bcfw.dual import read_sample_weight
from bcfw.errors import InputError, OptionError
from bcfw.estimators.features import with_constant
from bcfw.estimators.labels import UNSEEN, class_weights, require_two_classes
from bcfw.options import Flag
from bcfw.run import Callback, Result
from bcfw.solvers import Solver
from bcfw.training import is_number, train


class Task(NamedTuple):
    """What an estimator hands to ``train``: the core's model, data in its form, sample weights or None."""

    model: Any
    X: Any
    y: Any
    sample_weight: np.ndarray | None


class BaseSVM(BaseEstimator):
    """Base of all estimators; the options are documented in :class:`bcfw.StructuralSVM`.

    A subclass writes ``_read`` (data and options to a :class:`Task`), ``_set_weights`` (the result's w to fitted
    attributes), ``_warm_key`` and the methods that predict.
    """

    result_: Result

    def __init__(
        self,
        lam: float = 0.01,
        C: float | None = None,
        solver: Solver | str = "auto",
        tol: float = 1e-3,
        *,
        max_passes: float = 1000,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = 1,
        verbose: int = 0,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self.lam = lam
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_passes = max_passes
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.warm_start = warm_start
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train until the duality gap is certified to be at most ``tol P(0)``.

        Parameters
        ----------
        X, y : training data, in the form that the class describes
        sample_weight : (n,) array or None
            Non-negative weights; an integer weight equals repetition.

        Returns
        -------
        self
        """
        Flag(False).check(type(self).__name__, "warm_start", self.warm_start)
        before = dict(vars(self))
        try:
            task = self._read(X, y, sample_weight)
            key = self._warm_key(task) if self.warm_start else None
            self.result_ = self._train(task, self._previous(key))
            self._key = key
            self.duality_gap_ = self.result_.gap
            self.n_iter_ = max(1, math.ceil(self.result_.n_passes))
            self.lam_ = self.result_.lam
            self._set_weights(self.result_)
        except BaseException:  # an earlier fit stays as it was
            self.__dict__ = before
            raise
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Task:
        """Check and convert the training data."""
        raise NotImplementedError

    def _set_weights(self, result: Result) -> None:
        """Set ``coef_`` and its like."""
        raise NotImplementedError

    def _warm_key(self, task: Task) -> Any:
        """What must be equal for one fit's dual state to be feasible in the next."""
        raise NotImplementedError

    def _train(self, task: Task, warm_start: Result | None) -> Result:
        weight = task.sample_weight
        total = float(len(task.y) if weight is None else weight.sum())
        return train(
            task.model,
            task.X,
            task.y,
            lam=regularisation(self.lam, self.C, total),
            solver=self.solver,
            tol=self.tol,
            max_passes=self.max_passes,
            max_seconds=self.max_seconds,
            sample_weight=weight,
            callbacks=self.callbacks,
            seed=seed_of(self.random_state),
            warm_start=warm_start,
            n_jobs=1 if self.n_jobs is None else self.n_jobs,
            verbose=self.verbose,
        )

    def _previous(self, key: Any) -> Result | None:
        """The last fit's result if warm starts are on and its state fits the new data."""
        fitted = vars(self)
        return fitted["result_"] if key is not None and fitted.get("_key") == key else None

    def __sklearn_tags__(self) -> Any:
        """Inputs are anything a model takes, which the model itself checks."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.no_validation = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Pickles leave out the dual state (n K numbers and more) unless ``warm_start`` will need it."""
        state = dict(super().__getstate__())
        if "result_" in state and not self.warm_start:
            state |= {"result_": without_snapshot(state["result_"]), "_key": None}
        return state


class LinearSVM(BaseSVM):
    """Base of the estimators that score every label by ``x'U``, perhaps with an intercept."""

    n_features_in_: int

    def __init__(
        self,
        lam: float = 0.01,
        C: float | None = None,
        solver: Solver | str = "auto",
        tol: float = 1e-3,
        *,
        fit_intercept: bool = False,
        intercept_scaling: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__(lam, C, solver, tol, **options)
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling

    def _read_options(self) -> None:
        """Check the options, and fix the constant feature's value for this fit and its predictions."""
        Flag(False).check(self._name, "fit_intercept", self.fit_intercept)
        scaling = self.intercept_scaling
        if not is_number(scaling) or not 0 < scaling < math.inf:
            raise OptionError(f"{self._name}: intercept_scaling must be a finite number > 0, got {scaling!r}")
        self._constant = float(scaling) if self.fit_intercept else None

    def _with_constant(self, X: Any) -> Any:
        """The features that the core's model sees."""
        return X if self._constant is None else with_constant(X, self._constant)

    def _set_unary(self, U: np.ndarray) -> None:
        """``coef_`` (K, F), a view, and ``intercept_`` (K,) out of the weights U (F or F + 1, K)."""
        F = self.n_features_in_
        self.coef_ = U[:F].T
        self.intercept_ = np.zeros(U.shape[1]) if self._constant is None else self._constant * U[F]

    @property
    def _name(self) -> str:
        return type(self).__name__


class LabelSVM(LinearSVM):
    """Base of the estimators whose outputs are made of labels from a finite set ``classes_``."""

    classes_: np.ndarray

    def __init__(
        self,
        lam: float = 0.01,
        C: float | None = None,
        solver: Solver | str = "auto",
        tol: float = 1e-3,
        *,
        cost: Any = None,
        class_weight: dict[Any, float] | str | None = None,
        unseen: str = "error",
        **options: Any,
    ) -> None:
        super().__init__(lam, C, solver, tol, **options)
        self.cost = cost
        self.class_weight = class_weight
        self.unseen = unseen

    def _read_options(self) -> None:
        super()._read_options()
        UNSEEN.check(self._name, "unseen", self.unseen)

    def _class_weights(self, codes: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """(K,) factors of ``class_weight``, for labels ``codes`` with the given weights (1 for None)."""
        totals = np.bincount(codes, weights=weight, minlength=len(self.classes_))
        factors = class_weights(self.class_weight, self.classes_, totals, self._name)
        require_two_classes(factors * totals, self.classes_, self._name)
        return factors


def regularisation(lam: float, C: float | None, total: float) -> float:
    """``lam``, or ``1 / (C S)`` when C is given; S is the sum of the sample weights."""
    if C is None:
        return lam
    if not is_number(C) or not 0 < C < math.inf:
        raise OptionError(f"C must be a finite number > 0 or None, got {C!r}")
    return 1.0 / (C * total)


def seed_of(random_state: Any) -> int:
    """A whole number as it is; otherwise one drawn from scikit-learn's random state."""
    if isinstance(random_state, Integral):
        if random_state < 0:
            raise OptionError(f"random_state must be a whole number >= 0, got {random_state}")
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError as error:
        raise OptionError(
            f"random_state must be a whole number >= 0, a numpy.random.RandomState or None, got {random_state!r}"
        ) from error


def read_list(values: Any, what: str, owner: str) -> list[Any]:
    """Examples as a list."""
    if values is None:
        raise InputError(f"{owner} requires {what} to be passed, but the target {what} is None")
    try:
        return list(values)
    except TypeError as error:
        raise InputError(f"{owner}: {what} must be a list with one entry per example ({error})") from error


def without_snapshot(result: Result) -> Result:
    last = None if result.last is None else without_snapshot(result.last)
    return dataclasses.replace(result, snapshot={}, last=last)


def weighted_mean(values: Any, sample_weight: Any, n: int) -> float:
    """Mean of n values with the weights of their examples."""
    return float(np.average(values, weights=read_sample_weight(sample_weight, n)))
