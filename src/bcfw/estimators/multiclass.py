"""Multiclass SVMs as scikit-learn estimators: ``MulticlassSVM``, and ``MulticlassSVMCV`` that chooses lam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bcfw.errors import InputError
from bcfw.estimators.base import TrainingData, weighted_mean
from bcfw.estimators.kernel_options import KernelSVM
from bcfw.estimators.path_search import PathSearch, Scoring
from bcfw.estimators.probability import NeedsProbability, ProbabilitySVM
from bcfw.inputs.classes import encode, find_classes, label_array, require_labels
from bcfw.inputs.feature_matrices import in_pieces, require_finite, require_numbers
from bcfw.inputs.repeats import merge_repeats
from bcfw.inputs.sample_weights import read_sample_weight
from bcfw.models import Multiclass
from bcfw.options import Choice
from bcfw.result import Result
from bcfw.run import Callback
from bcfw.solvers import Solver

#: Options of scikit-learn's check of X. This module checks finiteness itself, to name the example's index in errors.
INPUT: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


#: Largest number of scores that prediction computes at once.
SCORES_AT_ONCE = 1 << 24


class MulticlassSVM(ClassifierMixin, ProbabilitySVM, KernelSVM):
    """Multiclass SVM (Crammer and Singer, with any cost matrix), trained to a certified duality gap.

    Minimises ``P = lam/2 |W|^2 + (1/S) sum_i s_i max_k [cost[y_i, k] - x_i'W_{y_i} + x_i'W_k]`` over W (K, F), where
    s_i are the sample weights and S their sum. Predicts ``argmax_k x'W_k + b_k``.

    X is an (n, F) array or a sparse matrix (which stays sparse); y has n labels of any hashable type.

    Parameters
    ----------
    lam, C, solver, tol, max_passes, max_seconds, random_state, n_jobs, verbose, warm_start, callbacks
        See :class:`bcfw.StructuralSVM`. ``C`` takes class weights into account: S is the sum of sample weight times
        class weight. A warm start requires the labels of the earlier fit; the values of the features may have changed.
    cost : (K, K) array or None
        ``cost[true, predicted] >= 0`` in the order of ``classes_``, zero diagonal; None is the 0/1 loss.
    class_weight : dict, "balanced" or None
        Factors of the sample weights by label (1 for labels that the dict does not name); "balanced" gives all classes
        equal total weight.
    fit_intercept : bool
        Append a constant feature to x; its weights are the intercept. False minimises P over ``coef_`` alone.
    intercept_scaling : float
        The constant feature's value. The intercept is regularised like all weights: a larger value weakens its
        regularisation, but training needs more passes.
    kernel : None, "linear", "rbf", "poly", "precomputed" or function
        The kernel between two inputs, with ``gamma``, ``degree`` and ``coef0`` as in scikit-learn's SVC; see
        :class:`bcfw.solvers.KernelBCFW`. With None and "linear", features are explicit.
    gamma, degree, coef0
        Parameters of the kernels "rbf" and "poly". gamma: "scale" for 1 / (F var(X)), "auto" for 1 / F, or a
        number > 0; degree: a whole number; coef0: a number >= 0.
    unseen : "error" or "wrong"
        How :meth:`score` treats a label that was not in the training data: as an error, or as a wrong prediction, which
        suits cross-validation with rare labels.
    probability : bool
        Whether to fit ``temperature_``, which :meth:`predict_proba` needs; this trains once more for every fold.
    probability_folds : int
        Number of folds for the temperature, at least 2; with fewer examples than folds, every example is a fold. For
        each fold, weights are trained on the other folds with the estimator's lam, limits and callbacks.
        :meth:`predict` does not depend on these weights.

    Attributes
    ----------
    classes_ : (K,) array
        The labels, sorted if they can be compared, else in order of first appearance.
    coef_ : (K, F) array
        One row per class, also for two classes. A view of ``result_.w``.
    intercept_ : (K,) array
        Zero without ``fit_intercept``.
    support_, dual_coef_ : (M,) and (K, M) arrays
        With a kernel, instead of ``coef_`` and ``intercept_``: the indices of the training examples that are support
        vectors, and the coefficients of the support vectors.
    duality_gap_ : float
        Certified bound on ``P(coef_) - min P``.
    n_iter_ : int
        Number of passes over the data, at least 1.
    lam_ : float
        The lam of the training, also when C was given.
    result_ : bcfw.Result
        The full result of the run. Without ``warm_start`` and without a kernel, equal examples are merged before
        training into one example with the sum of their weights.
    temperature_ : float
        Divisor of the scores that turns them into probabilities; only with ``probability=True``.
    n_features_in_, feature_names_in_
        Number of features, and their names if X had names.

    Examples
    --------
    >>> import numpy as np, bcfw.estimators
    >>> rng = np.random.default_rng(0)
    >>> y = rng.choice(["cat", "dog", "owl"], size=60)
    >>> X = (y[:, None] == ["cat", "dog", "owl"]) + 0.2 * rng.standard_normal((60, 3))
    >>> svm = bcfw.estimators.MulticlassSVM(lam=0.01).fit(X, y)
    >>> svm.predict([[1, 0, 0], [0, 0, 1]])
    array(['cat', 'owl'], dtype='<U3')
    >>> svm.coef_.shape, svm.score(X, y) > 0.9, svm.duality_gap_ <= 1e-3
    ((3, 3), True, True)
    """

    def __init__(
        self,
        lam: float = 0.01,
        C: float | None = None,
        solver: Solver | str = "auto",
        tol: float = 1e-3,
        *,
        cost: Any = None,
        class_weight: dict[Any, float] | str | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        kernel: Any = None,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        unseen: str = "error",
        max_passes: float = 1000,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = 1,
        verbose: int = 0,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
        probability: bool = False,
        probability_folds: int = 5,
    ) -> None:
        self._keep(locals())

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores of the classes; for two classes, the difference of their scores.

        Parameters
        ----------
        X : (n, F) array or sparse matrix

        Returns
        -------
        (n, K) array
            ``X @ coef_.T + intercept_``; with a kernel, the scores by the support vectors. For two classes, as
            everywhere in scikit-learn, the (n,) differences, which are positive where ``classes_[1]`` is predicted.
        """
        scores = self._scores(self._inputs(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the (n,) labels with the highest scores; they have the type of the training labels."""
        codes = self._codes(X)
        return self.classes_[codes]

    @NeedsProbability
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, (n, K) in the order of ``classes_``; needs ``probability=True``.

        ``P(k | x) = exp((x'coef_[k] + intercept_[k]) / temperature_) / Z``; the temperature maximises the likelihood of
        held-out labels. The class with the largest probability is the predicted class.
        """
        self._require_temperature()
        return self._probabilities(self._with_constant(self._inputs(X))).labels  # type: ignore[no-any-return]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the weighted fraction of labels that are predicted right.

        A label that was not in the training data raises an error; with ``unseen="wrong"`` it counts as a wrong
        prediction.
        """
        predicted = self._codes(X)
        truth = label_array(y)
        if truth.shape != predicted.shape:
            raise InputError(f"{self._name}: X has {len(predicted)} examples and y has shape {truth.shape}")
        correct = encode(truth, self.classes_, self.unseen, self._example) == predicted
        return weighted_mean(correct, sample_weight, len(correct))

    def _inputs(self, X: Any) -> Any:
        check_is_fitted(self)
        require_numbers(X, self._name)
        X = validate_data(self, X, reset=False, ensure_all_finite=False, **INPUT)
        require_finite(X, self._name)
        return X

    def _scores(self, X: Any) -> np.ndarray:
        weights = self.result_.kernel_weights
        return in_pieces(X, self.coef_.T) + self.intercept_ if weights is None else weights.scores(X)

    def _codes(self, X: Any) -> np.ndarray:
        """Return the (n,) indices of the best classes, computed in pieces of X to bound the memory for the scores."""
        X = self._inputs(X)
        step = max(1, SCORES_AT_ONCE // len(self.classes_))
        return np.concatenate([self._best(X[start : start + step]) for start in range(0, X.shape[0], step)])

    def _best(self, X: Any) -> np.ndarray:
        """Return the indices of the best classes for one piece of X.

        Of two classes, the sign of ``decision_function`` decides, so that predictions never contradict it.
        """
        scores = self._scores(X)
        if scores.shape[1] == 2:
            return (scores[:, 1] - scores[:, 0] > 0).astype(np.int64)
        return scores.argmax(axis=1)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        labels = None if y is None else label_array(y)
        require_numbers(X, self._name)
        if labels is not None:
            require_labels(labels, self._example)
        X, labels = validate_data(self, X, labels, ensure_all_finite=False, **INPUT)
        require_finite(X, self._name)
        if labels.dtype.kind != "O":
            check_classification_targets(labels)
        self.classes_, codes = find_classes(labels, self._example)
        weight = read_sample_weight(sample_weight, len(codes))
        factors = self._class_weights(codes, weight)
        if self.class_weight is not None:
            weight = factors[codes] * (1.0 if weight is None else weight)
        # A warm start needs the examples in the order of the last fit. With a kernel, support_ has the user's indices.
        if not self.warm_start and self._kernel_solver is None:
            X, codes, weight = merge_repeats(X, codes, weight)
        return TrainingData(Multiclass(len(self.classes_), self.cost), self._with_constant(X), codes, weight)

    def _example(self, position: int) -> str:
        return f"{self._name}: example {position}"

    def _set_weights(self, result: Result) -> None:
        if result.w is None:
            self._set_support()
            return
        self._set_unary(result.w.reshape(-1, len(self.classes_)))

    def _warm_key(self, task: TrainingData) -> Any:
        return task.y.tobytes(), task.X.shape[1], self.classes_.tolist()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.no_validation = False
        return tags


class MulticlassSVMCV(PathSearch, MulticlassSVM):
    """A :class:`bcfw.MulticlassSVM` that chooses lam by cross-validation over regularisation paths.

    X is an (n, F) array or a sparse matrix; y has n labels of any hashable type.

    Parameters
    ----------
    eps, lam_min, cv, tol, solver, exact, refit, path_solver, max_passes, max_seconds, random_state, n_jobs, verbose,\
 callbacks
        See :class:`bcfw.StructuralSVMCV`.
    scoring : None, str or callable
        The score that lam_ maximises and that :meth:`score` returns: the accuracy (None), the score of a scikit-learn
        scorer, or of a callable ``(estimator, X, y)``.
    cost, class_weight, fit_intercept, intercept_scaling, unseen
        See :class:`bcfw.MulticlassSVM`. Within the folds, held-out labels that the training examples do not have count
        as wrong predictions.
    probability, probability_folds
        See :class:`bcfw.MulticlassSVM`. The temperature is fitted once lam is chosen, by more trainings with ``lam_``.

    Attributes
    ----------
    lam_, path_, validation_, scores_
        See :class:`bcfw.StructuralSVMCV`.
    classes_, coef_, intercept_, duality_gap_, n_iter_, result_, temperature_,\
 n_features_in_
        See :class:`bcfw.MulticlassSVM`; set by the training with ``lam_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import bcfw
    >>> X, y = load_iris(return_X_y=True)
    >>> svm = bcfw.MulticlassSVMCV().fit(X, y)
    >>> bool(svm.scores_.mean(axis=0).max() > 0.9), svm.result_.lam == svm.lam_
    (True, True)
    """

    _single = MulticlassSVM
    _scoring = Scoring(Choice(None))

    def __init__(
        self,
        eps: float = 0.1,
        lam_min: float = 1e-5,
        cv: Any = None,
        scoring: Any = None,
        tol: float = 1e-3,
        *,
        solver: Solver | str = "auto",
        exact: bool = True,
        refit: bool = True,
        path_solver: Solver | str | None = None,
        cost: Any = None,
        class_weight: dict[Any, float] | str | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        unseen: str = "error",
        max_passes: float = 10_000,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = 1,
        verbose: int = 0,
        callbacks: Sequence[Callback] = (),
        probability: bool = False,
        probability_folds: int = 5,
    ) -> None:
        self._keep(locals())

    def _one_per_example(self, y: Any) -> Any:
        return label_array(y).ravel()  # y may be a column; reading it has warned of that

    def _strata(self, y: Any) -> np.ndarray | None:
        return find_classes(y, self._example)[1]
