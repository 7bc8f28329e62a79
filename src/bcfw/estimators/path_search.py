"""PathSearch: base of the estimators that choose lam by a regularisation path per fold and the best mean score."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.parallel import Parallel, delayed

from bcfw.errors import BcfwError, InputError, OptionError
from bcfw.estimators.base import BaseSVM, seed_of
from bcfw.inputs.examples import example_count
from bcfw.inputs.sample_weights import read_sample_weight
from bcfw.options import Choice, Flag, Option, Positive
from bcfw.path import RegularizationPath, Validation, regularization_path
from bcfw.path.validation import validation
from bcfw.result import predict
from bcfw.storage.checked_arrays import SavedArrays
from bcfw.storage.values import decode, encode
from bcfw.training import thread_count


class Scoring(Option):
    """Option ``scoring``: a score of the estimator itself, by name, a scikit-learn scorer's name, or a callable."""

    def __init__(self, own: Choice) -> None:
        super().__init__(own.default)
        self.own = own

    def allowed(self) -> str:
        return f"{self.own.allowed()}, the name of a scikit-learn scorer, or a callable (estimator, X, y) -> float"

    def accepts(self, value: Any) -> bool:
        return self.own.accepts(value) or callable(value) or (isinstance(value, str) and value in get_scorer_names())


class PathPoint(NamedTuple):
    """Weights of a path at one breakpoint; stands for the ``result_`` of an estimator while it is scored."""

    model: Any
    w: np.ndarray
    kernel_weights: None = None

    def predict(self, X: Any) -> Any:
        """Return the best outputs for the inputs X."""
        return predict(self.model, self.w, X)


class Data(NamedTuple):
    """Examples in the form that the user gave, with their sample weights (None: all 1)."""

    X: Any
    y: Any
    weight: np.ndarray | None

    def take(self, indices: np.ndarray) -> Data:
        """Return the examples with the given indices."""
        X, y = (_safe_indexing(values, indices) for values in (self.X, self.y))
        return Data(X, y, None if self.weight is None else self.weight[indices])


class Fold(NamedTuple):
    """A path for the training examples of a fold, and the scores of all breakpoints' weights on held-out examples."""

    path: RegularizationPath
    scores: np.ndarray

    def at(self, lambdas: np.ndarray) -> np.ndarray:
        """Return the scores at values of lam that the path covers; the first breakpoint's score holds above it, too."""
        places = np.searchsorted(-self.path.lambdas, -lambdas, side="right") - 1
        return self.scores[np.maximum(places, 0)]


class PathSearch(BaseSVM):
    """Base of the estimators that choose lam; it comes before the estimator with a given lam among the base classes.

    A subclass sets ``_single``, the class of the estimator with a given lam, and ``_scoring``, the scores that the
    search may maximise, and writes its constructor. The options are documented in :class:`bcfw.StructuralSVMCV`.
    """

    eps: float
    lam_min: float
    exact: bool
    cv: Any
    scoring: Any
    refit: bool
    path_solver: Any
    path_: RegularizationPath
    validation_: Validation
    scores_: np.ndarray

    C = None
    warm_start = False

    _single: type[BaseSVM]
    _scoring: Any
    _fitted: ClassVar[tuple[str, ...]] = ("scores_",)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose lam by cross-validation, then train on all examples.

        Parameters
        ----------
        X, y : training data, in the form that the class describes
        sample_weight : (n,) array or None
            Non-negative weights for training and validation; an integer weight equals repetition.
        groups : (n,) array or None
            Groups for a ``cv`` that keeps the examples of a group together.

        Returns
        -------
        self
        """
        before = dict(vars(self))
        try:
            self._search(X, y, sample_weight, groups)
            self.__dict__.pop("result_", None)  # an earlier fit may have set it
            if self.refit:
                super().fit(X, y, sample_weight)
        except BaseException:  # keep the earlier fit unchanged
            self.__dict__ = before
            raise
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score, by the option ``scoring``, of the predictions for X; higher is better."""
        if self._scoring.own.accepts(self.scoring):
            return float(super().score(X, y, sample_weight))  # type: ignore[misc]
        return self._measure(self, Data(X, y, sample_weight))

    def _saved_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the header and the arrays of a model file, with the path and the validation that chose lam."""
        header, arrays = super()._saved_state()
        path, chosen = self.path_._saved(arrays), encode(self.validation_._asdict(), "validation", arrays)
        return {**header, "path": path, "validation": chosen}, arrays

    def _restore_state(self, header: dict[str, Any], arrays: SavedArrays, model: Any = None) -> None:
        super()._restore_state(header, arrays, model)
        self.path_ = RegularizationPath._restored(header["path"], arrays, self.result_.model)
        self.validation_ = Validation(**decode(header["validation"], arrays))
        m = len(self.validation_.lambdas)
        if np.shape(self.validation_.losses) != (m,) or np.shape(self.scores_)[1:] != (m,):
            raise arrays.damaged("the header", f"has losses and scores that do not belong to {m} values of lam")

    def _read_options(self) -> None:
        super()._read_options()
        if vars(self).get("_kernel_solver") is not None:
            raise OptionError(
                f"{type(self).__name__}: paths need explicit features, which KernelBCFW has not; choose lam by "
                "scikit-learn's GridSearchCV instead"
            )
        name = type(self).__name__
        self._scoring.check(name, "scoring", self.scoring)
        Flag(True).check(name, "refit", self.refit)
        Positive(0.1).check(name, "eps", self.eps)

    def _regularisation(self, total: float) -> float:
        return self.validation_.best

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Set ``path_``, ``scores_``, ``validation_`` and ``lam_``."""
        self._read_options()
        self._read(X, y, sample_weight)  # so that errors name an index into all examples, not into a fold
        X, y = indexable(X, self._one_per_example(y))
        data = Data(X, y, read_sample_weight(sample_weight, example_count(y)))
        splits = self._splits(data, groups)
        jobs, seed = thread_count(1 if self.n_jobs is None else self.n_jobs), seed_of(self.random_state)
        tasks = [(f"fold {k} of {len(splits)}", *map(data.take, split)) for k, split in enumerate(splits, start=1)]
        run = Parallel(n_jobs=min(jobs, 1 + len(tasks)), prefer="threads")
        verbose = self.verbose if jobs == 1 else 0
        whole, *folds = run(
            delayed(self._fold)(*task, seed=seed, verbose=verbose) for task in [("all examples", data, None), *tasks]
        )
        self.path_ = dataclasses.replace(whole.path, snapshot={})
        self._choose(folds)

    def _splits(self, data: Data, groups: Any) -> list[Any]:
        """Return the indices of the training and of the validation examples of every fold."""
        strata = self._strata(data.y)
        try:
            cv = check_cv(self.cv, strata, classifier=is_classifier(self))
            splits = list(cv.split(np.zeros(example_count(data.y)), strata, groups))
        except (TypeError, ValueError) as error:
            raise InputError(f"{type(self).__name__}: cv={self.cv!r} does not split these data: {error}") from error
        if not splits:
            raise InputError(f"{type(self).__name__}: cv={self.cv!r} has no folds")
        return splits

    def _one_per_example(self, y: Any) -> Any:
        """Return the outputs in a form that can be split into folds."""
        return y

    def _strata(self, y: Any) -> np.ndarray | None:
        """Return the classes by which folds are stratified; None for folds that are not stratified."""
        return None

    def _fold(self, name: str, training: Data, held_out: Data | None, seed: int, verbose: int) -> Fold:
        """Return the path of the training examples and its scores on the held-out examples."""
        single = self._single(**self._single_options())
        if verbose:
            print(f"the path of {name}:", file=sys.stderr, flush=True)
        try:
            single._read_options()
            task = single._read(*training)
            path = regularization_path(
                task.model,
                task.X,
                task.y,
                tol=self.eps,
                lam_min=self.lam_min,
                exact=self.exact,
                solver=self.path_solver,
                max_passes=self.max_passes,
                max_seconds=self.max_seconds,
                sample_weight=task.sample_weight,
                callbacks=self.callbacks,
                seed=seed,
                verbose=verbose,
            )
        except BcfwError as error:
            error.add_note(f"This was in the path of {name}; indices count its training examples.")
            raise
        if path.status == "interrupted":
            raise KeyboardInterrupt
        scores = np.zeros(0)
        if held_out is not None:
            scores = path.evaluate(lambda w: self._score_of(single, PathPoint(path.model, w), held_out))
        if self.verbose and not verbose:  # with verbose, the path's own display has printed the summary
            print(f"{name}: {path.summary()}", file=sys.stderr, flush=True)
        return Fold(path, scores)

    def _single_options(self) -> dict[str, Any]:
        """Return the options of the estimator whose lam is chosen.

        In a fold, labels that its training examples do not have count as wrong predictions and raise no error.
        """
        known = self._single._get_param_names()
        options = {name: value for name, value in self.get_params(deep=False).items() if name in known}
        if not self._scoring.own.accepts(self.scoring):
            options.pop("scoring", None)
        fixed = {"verbose": 0, "unseen": "wrong", "check_model": False, "probability": False}
        return {**options, **{name: value for name, value in fixed.items() if name in known}}

    def _score_of(self, single: BaseSVM, point: PathPoint, held_out: Data) -> float:
        """Return the score of one breakpoint's weights on the held-out examples."""
        single.result_ = point  # type: ignore[assignment]
        single._set_weights(point)  # type: ignore[arg-type]
        return self._measure(single, held_out)

    def _measure(self, estimator: Any, data: Data) -> float:
        scoring, weights = self.scoring, {} if data.weight is None else {"sample_weight": data.weight}
        if self._scoring.own.accepts(scoring):
            return float(estimator.score(data.X, data.y, **weights))
        scorer = scoring if callable(scoring) else get_scorer(scoring)
        try:
            return float(scorer(estimator, data.X, data.y, **weights))
        except AttributeError as error:
            if "predict_proba" not in str(error):
                raise
            raise OptionError(
                f"{type(self).__name__}: scoring={scoring!r} needs probabilities, and weights along a path have no "
                "temperature; choose lam by labels, or by scikit-learn's GridSearchCV with probability=True"
            ) from error

    def _choose(self, folds: list[Fold]) -> None:
        """Set ``scores_``, ``validation_`` and ``lam_``, the best lam among the breakpoints of all folds.

        Only breakpoints that the paths of all folds have reached are considered.
        """
        end = max(fold.path.end for fold in folds)
        union = np.unique(np.concatenate([fold.path.lambdas for fold in folds]))[::-1]
        self.scores_ = np.array([fold.at(union[union >= end]) for fold in folds])
        if not np.all(np.isfinite(self.scores_)):
            raise InputError(f"{type(self).__name__}: scoring={self.scoring!r} is not a finite number in every fold")
        self.validation_ = validation(union[union >= end], 1.0 - self.scores_.mean(axis=0), end)
        self.lam_ = self.validation_.best

    def __sklearn_is_fitted__(self) -> bool:
        return "result_" in vars(self)
