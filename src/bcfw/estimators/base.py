"""Base classes of all estimators: options, the call of ``train``, fitted attributes, warm starts, files and pickles."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bcfw.errors import OptionError
from bcfw.inputs.classes import UNSEEN, class_weights, require_two_classes
from bcfw.inputs.feature_matrices import with_constant
from bcfw.inputs.sample_weights import read_sample_weight
from bcfw.options import Count, Flag, Positive
from bcfw.result import Result
from bcfw.run import Callback
from bcfw.solvers import Solver
from bcfw.storage import model_file
from bcfw.storage.checked_arrays import SavedArrays
from bcfw.storage.files import PathLike
from bcfw.storage.objects import option_header, option_headers, saved_option
from bcfw.training import train


class TrainingData(NamedTuple):
    """The arguments of ``train``: a model, data in the form that this model takes, and sample weights or None."""

    model: Any
    X: Any
    y: Any
    sample_weight: np.ndarray | None


class BaseSVM(BaseEstimator):
    """Base of all estimators; the options are documented in :class:`bcfw.StructuralSVM`.

    A subclass writes the methods that predict and these:

    - the constructor, which only keeps its arguments (:meth:`_keep`) and whose signature scikit-learn reads;
    - ``_read``, which converts the data to a :class:`TrainingData`;
    - ``_set_weights``, which sets fitted attributes from the w of the result;
    - ``_warm_key``.

    ``_fitted`` lists the attributes besides the weights that a fit sets; model files save them, and ``_check_restored``
    checks them against the model. A subclass may also extend ``_saved_state`` and ``_restore_state``.
    """

    #: Attributes that a fit sets outside ``_set_weights``. Each class lists the attributes that it adds.
    _fitted: ClassVar[tuple[str, ...]] = ()

    lam: float
    C: float | None
    solver: Solver | str
    tol: float
    max_passes: float
    max_seconds: float | None
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    verbose: int
    warm_start: bool
    callbacks: Sequence[Callback]
    result_: Result

    def _keep(self, given: dict[str, Any]) -> None:
        """Set the arguments of a constructor, its ``locals()``, as attributes; scikit-learn requires this."""
        for name, value in given.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

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
        before = dict(vars(self))
        try:
            self._read_options()
            task = self._read(X, y, sample_weight)
            key = self._warm_key(task) if self.warm_start else None
            result = self._train(task, self._previous(key))
            self._key = key
            self._set_result(result)
            self._complete(task)
        except BaseException:  # keep the earlier fit unchanged
            self.__dict__ = before
            raise
        return self

    def _set_result(self, result: Result) -> None:
        """Set the fitted attributes that depend only on the result of the run."""
        self.result_ = result
        self.duality_gap_ = result.gap
        self.n_iter_ = max(1, math.ceil(result.n_passes))
        self.lam_ = result.lam
        self._set_weights(result)

    def save(self, path: PathLike) -> None:
        """Write a model file with the fitted estimator, its options and ``result_``; :func:`bcfw.load` reads the file.

        The file does not contain the dual state, so a ``warm_start`` of the loaded estimator starts from the beginning.
        It leaves out options that cannot be saved as data and that only another fit would read: callbacks, a
        RandomState, a splitter, a solver of your own. If predictions depend on something that cannot be saved as data,
        for example a function as kernel, ``save`` raises.

        Parameters
        ----------
        path : path
            The file to write. An existing file is replaced only when the new file is complete.
        """
        check_is_fitted(self)
        header, arrays = self._saved_state()
        model_file.write(path, "estimator", header, arrays)

    def _saved_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the header and the arrays of a model file; subclasses may add entries."""
        header, arrays = self.result_._saved_state()
        options, left_out = option_headers(self, arrays)
        kept = {name: vars(self)[name] for name in self._all_fitted() if name in vars(self)}
        fitted = {name.strip("_"): option_header(value, name.strip("_"), arrays) for name, value in kept.items()}
        return {"estimator": type(self).__name__, "options": options, "left_out": left_out, **fitted, **header}, arrays

    def _restore_state(self, header: dict[str, Any], arrays: SavedArrays, model: Any = None) -> None:
        """Set the fitted attributes from the header and arrays of a model file; the options are set already.

        This is the inverse of :meth:`_saved_state`; subclasses may read the entries that they have added. ``model`` is
        given by the user if the estimator was trained with a user's own model, whose code no file contains.
        """
        for name in self._all_fitted():
            if name.strip("_") in header:
                setattr(self, name, saved_option(header[name.strip("_")], arrays))
        result = Result._restored(header, arrays, model)
        self._check_restored(result, arrays)
        self._key = None
        self._set_result(result)

    @classmethod
    def _all_fitted(cls) -> list[str]:
        return [name for kind in cls.__mro__ for name in vars(kind).get("_fitted", ())]

    def _check_restored(self, result: Result, saved: SavedArrays) -> None:
        """Raise unless the saved attributes agree with the model."""

    def _read_options(self) -> None:
        """Check the options that are not arguments of ``train``, before the data are read."""
        Flag(False).check(type(self).__name__, "warm_start", self.warm_start)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        """Check the training data and convert them to a :class:`TrainingData`."""
        raise NotImplementedError

    def _set_weights(self, result: Result) -> None:
        """Set ``coef_`` and the other attributes that hold weights."""
        raise NotImplementedError

    def _complete(self, task: TrainingData) -> None:
        """Set the fitted attributes that are computed after the weights."""

    def _warm_key(self, task: TrainingData) -> Any:
        """Return a value that must be equal in two fits for the first fit's dual state to be feasible in the second."""
        raise NotImplementedError

    def _regularisation(self, total: float) -> float:
        """Return the lam to train with: ``lam``, or ``1 / (C S)`` if C is given; S is ``total``, the sum of weights."""
        if self.C is None:
            return self.lam
        return 1.0 / (float(Positive(None, or_none=True).check("", "C", self.C)) * total)

    @property
    def _solver(self) -> Solver | str:
        """The value of ``solver`` for the call of ``train``."""
        return self.solver

    def _train(self, task: TrainingData, warm_start: Result | None, lam: float | None = None) -> Result:
        """Train with the estimator's options; ``lam`` replaces the estimator's lam if it is given."""
        weight = task.sample_weight
        if lam is None:
            lam = self._regularisation(float(len(task.y) if weight is None else weight.sum()))
        return train(
            task.model,
            task.X,
            task.y,
            lam=lam,
            solver=self._solver,
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
        """Return the last fit's result if its warm-start key equals ``key`` and is not None; otherwise None."""
        fitted = vars(self)
        return fitted["result_"] if key is not None and fitted.get("_key") == key else None

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: inputs may be anything that the model takes, and the model checks them."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.no_validation = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the dual state (n K numbers and more) unless ``warm_start`` is on."""
        state = dict(super().__getstate__())
        if "result_" in state and not self.warm_start:
            state |= {"result_": without_snapshot(state["result_"]), "_key": None}
        return state


class LinearSVM(BaseSVM):
    """Base of the estimators that score all labels of an input x by ``x'U``, with or without an intercept."""

    fit_intercept: bool
    intercept_scaling: float
    n_features_in_: int

    _fitted: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_", "_constant")

    def _read_options(self) -> None:
        """Check the options and fix the constant feature's value for this fit and its predictions."""
        super()._read_options()
        Flag(False).check(self._name, "fit_intercept", self.fit_intercept)
        scaling = float(Positive(1.0).check(self._name, "intercept_scaling", self.intercept_scaling))
        self._constant = scaling if self.fit_intercept else None

    def _check_restored(self, result: Result, saved: SavedArrays) -> None:
        super()._check_restored(result, saved)
        constant, names = self._constant, vars(self).get("feature_names_in_")
        if constant is not None:
            Positive(1.0).check(self._name, "constant", constant)
        expected = result.model.n_features - (constant is not None)
        if not isinstance(self.n_features_in_, int) or self.n_features_in_ != expected:
            raise saved.damaged("the header", f"has n_features_in = {self.n_features_in_!r} instead of {expected}")
        if names is not None and np.shape(names) != (expected,):
            raise saved.damaged("the header", f"has feature names of shape {np.shape(names)} instead of ({expected},)")

    def _with_constant(self, X: Any) -> Any:
        """Return the features that the model sees: X, and the constant feature if there is an intercept."""
        return X if self._constant is None else with_constant(X, self._constant)

    def _set_unary(self, U: np.ndarray) -> None:
        """Set ``coef_`` (K, F), a view, and ``intercept_`` (K,) from the weights U (F or F + 1, K)."""
        F = self.n_features_in_
        self.coef_ = U[:F].T
        self.intercept_ = np.zeros(U.shape[1]) if self._constant is None else self._constant * U[F]

    @property
    def _name(self) -> str:
        return type(self).__name__


class LabelSVM(LinearSVM):
    """Base of the estimators whose outputs are made of labels from a finite set ``classes_``."""

    cost: Any
    class_weight: dict[Any, float] | str | None
    unseen: str
    classes_: np.ndarray

    _fitted: ClassVar[tuple[str, ...]] = ("classes_",)

    def _check_restored(self, result: Result, saved: SavedArrays) -> None:
        super()._check_restored(result, saved)
        check_classes(self.classes_, getattr(result.model, "n_labels", 2), saved)

    def _read_options(self) -> None:
        super()._read_options()
        UNSEEN.check(self._name, "unseen", self.unseen)

    def _class_weights(self, codes: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """Return the (K,) factors of the classes that the option ``class_weight`` stands for.

        ``codes`` are the training labels, and ``weight`` their sample weights; None stands for 1. Raise unless two
        classes have weight.
        """
        totals = np.bincount(codes, weights=weight, minlength=len(self.classes_))
        factors = class_weights(self.class_weight, self.classes_, totals, self._name)
        require_two_classes(factors * totals, self.classes_, self._name)
        return factors


def check_classes(classes: Any, count: int, saved: SavedArrays) -> None:
    """Raise unless the saved classes are an array of ``count`` different labels."""
    if not isinstance(classes, np.ndarray) or classes.shape != (count,) or len(set(classes.tolist())) != count:
        raise saved.damaged("the header", f"has classes that are not {count} different labels")


def seed_of(random_state: Any) -> int:
    """Return the seed of a run: ``random_state`` if it is a whole number, otherwise a number drawn from it."""
    if isinstance(random_state, Integral):
        return int(Count(0, least=0).check("", "random_state", random_state))
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError as error:
        raise OptionError(
            f"random_state must be a whole number >= 0, a numpy.random.RandomState or None, got {random_state!r}"
        ) from error


def without_snapshot(result: Result) -> Result:
    last = None if result.last is None else without_snapshot(result.last)
    return dataclasses.replace(result, snapshot={}, last=last)


def weighted_mean(values: Any, sample_weight: Any, n: int) -> float:
    """Return the mean of n values, each weighted by its example's sample weight."""
    return float(np.average(values, weights=read_sample_weight(sample_weight, n)))
