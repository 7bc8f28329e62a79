"""Multilabel SVMs as scikit-learn estimators: ``MultilabelSVM``, and ``MultilabelSVMCV`` that chooses lam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from bcfw.estimators.base import LinearSVM, TrainingData, check_classes
from bcfw.estimators.path_search import PathSearch, Scoring
from bcfw.estimators.probability import NeedsProbability, ProbabilitySVM
from bcfw.inputs.classes import find_classes, label_array, require_labels, require_two_classes
from bcfw.inputs.feature_matrices import in_pieces, require_finite, require_numbers
from bcfw.inputs.labels import binary_labels
from bcfw.inputs.numbers import dense
from bcfw.inputs.repeats import merge_repeats
from bcfw.inputs.sample_weights import read_sample_weight
from bcfw.models import Multilabel
from bcfw.models.shared.label_tree import chow_liu_tree
from bcfw.models.shared.max_marginals import forest_max_marginals
from bcfw.options import Choice, Flag
from bcfw.result import Result
from bcfw.run import Callback
from bcfw.solvers import Solver
from bcfw.storage.checked_arrays import SavedArrays

#: Options of scikit-learn's check of X. This module checks finiteness itself, to name the example's index in errors.
INPUT: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


class MultilabelSVM(ClassifierMixin, ProbabilitySVM, LinearSVM):
    """Multilabel SVM with independent labels or a tree over the labels, trained to a certified duality gap.

    The score of labels y (L,), each 0 or 1, is ``sum_l y_l (x'W_l + b_l) + sum_e V[e, y_a, y_b]`` over the edges
    ``e = (a, b)`` of a forest; prediction maximises it exactly. The loss is the fraction of wrong labels (Hamming).

    X is an (n, F) array or a sparse matrix (which stays sparse); y is an (n, L) array or sparse matrix of 0 and 1. As
    in scikit-learn's ``OneVsRestClassifier``, y may also have one class per example, (n,). Then every class is a label
    (with two classes, the second class is the only label), and the class with the largest ``decision_function`` is
    predicted. As everywhere in scikit-learn, a dense y with one column has one class per example; a sparse y with one
    column has a single label.

    Parameters
    ----------
    lam, C, solver, tol, max_passes, max_seconds, random_state, n_jobs, verbose, warm_start, callbacks
        See :class:`bcfw.StructuralSVM`. A warm start requires the labels and the tree of the earlier fit; the values of
        the features may have changed.
    tree : None, "auto" or (E, 2) array of label pairs
        Pairs of labels that interact; they must form a forest. "auto" takes Chow and Liu's tree, the maximum spanning
        tree of the labels' mutual information in the (weighted) training data. With None, labels are independent.
    normalize : bool
        Divide the number of wrong labels by L.
    fit_intercept : bool
        Append a constant feature to x; its weights are the intercept. False minimises over ``coef_`` and
        ``edge_coef_`` alone.
    intercept_scaling : float
        The constant feature's value. The intercept is regularised like all weights: a larger value weakens its
        regularisation, but training needs more passes.
    probability, probability_folds
        See :class:`bcfw.MulticlassSVM`.

    Attributes
    ----------
    classes_ : array
        0, ..., L - 1; or the K sorted classes, if y had one class per example.
    coef_ : (L, F) array
        One row per label. A view of ``result_.w``.
    intercept_ : (L,) array
        Zero without ``fit_intercept``.
    edges_ : (E, 2) array
        The pairs of labels that are edges of the tree.
    edge_coef_ : (E, 2, 2) array
        ``V[e, s, t]``, the score of label ``edges_[e, 0]`` being s and label ``edges_[e, 1]`` being t.
    duality_gap_ : float
        Certified bound on the objective minus its minimum.
    n_iter_ : int
        Number of passes over the data, at least 1.
    lam_ : float
        The lam of the training, also when C was given.
    result_ : bcfw.Result
        The full result of the run. Without ``warm_start``, equal examples are merged before training into one example
        with the sum of their weights.
    temperature_ : float
        Divisor of the scores that turns them into probabilities; only with ``probability=True``.
    n_features_in_, feature_names_in_
        Number of features, and their names if X had names.

    Examples
    --------
    >>> import numpy as np, bcfw.estimators
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.integers(2, size=(80, 1)) ^ np.array([[0, 0, 1]])      # three labels that depend on each other
    >>> X = Y + 0.3 * rng.standard_normal((80, 3))
    >>> svm = bcfw.estimators.MultilabelSVM(tree="auto").fit(X, Y)
    >>> svm.predict([[1, 1, 0], [0, 0, 1]])
    array([[1, 1, 0],
           [0, 0, 1]])
    >>> svm.coef_.shape, svm.edge_coef_.shape, svm.score(X, Y) > 0.95
    ((3, 3), (2, 2, 2), True)
    """

    classes_: np.ndarray

    _fitted: ClassVar[tuple[str, ...]] = ("classes_", "_is_indicator")

    def __init__(
        self,
        lam: float = 0.01,
        C: float | None = None,
        solver: Solver | str = "auto",
        tol: float = 1e-3,
        *,
        tree: Any = None,
        normalize: bool = True,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
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
        """Return differences of max-marginals: the best score with ``y_l = 1`` minus the best score with ``y_l = 0``.

        Parameters
        ----------
        X : (n, F) array or sparse matrix

        Returns
        -------
        (n, L) array
            Positive where label l is predicted. Without a tree these are the scores ``X @ coef_.T + intercept_``.
            If y had one of two classes per example: (n,), positive where ``classes_[1]`` is predicted.
        """
        X = self._inputs(X)
        differences = forest_max_marginals(in_pieces(X, self.coef_.T) + self.intercept_, self.edges_, self.edge_coef_)
        return differences if self._is_indicator or len(self.classes_) > 2 else differences[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """Return the (n, L) labels with the highest scores; the (n,) classes, if y had one class per example."""
        check_is_fitted(self)
        if self._is_indicator:
            return self.result_.predict(self._with_constant(self._inputs(X)))
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)]

    @NeedsProbability
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities ``P(y_l = 1 | x)`` of the labels, (n, L); needs ``probability=True``.

        These are the marginals of ``P(y | x) = exp(score(x, y) / temperature_) / Z``; the temperature maximises the
        likelihood of held-out labels. If y had one class per example, the result is (n, K), the probabilities of the
        classes: the probabilities of the labels divided by their sum, or (1 - p, p) for two classes.
        """
        self._require_temperature()
        labels = self._probabilities(self._with_constant(self._inputs(X))).labels
        if self._is_indicator:
            return labels  # type: ignore[no-any-return]
        if len(self.classes_) == 2:
            return np.hstack([1.0 - labels, labels])
        return labels / labels.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of examples whose labels are all predicted right."""
        check_is_fitted(self)
        truth = binary_labels(y, len(self.classes_), self._name) if self._is_indicator else dense(y)
        return float(super().score(X, truth, sample_weight))  # scikit-learn's score refuses a single sparse column

    def _inputs(self, X: Any) -> Any:
        check_is_fitted(self)
        require_numbers(X, self._name)
        X = validate_data(self, X, reset=False, ensure_all_finite=False, **INPUT)
        require_finite(X, self._name)
        return X

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        require_numbers(X, self._name)
        if y is not None and not sp.issparse(y):
            require_labels(label_array(y), f"{self._name}: example {{}}".format)
        X, y = validate_data(self, X, y, multi_output=True, ensure_all_finite=False, **INPUT)
        require_finite(X, self._name)
        weight = read_sample_weight(sample_weight, X.shape[0])
        # As everywhere in scikit-learn, a dense y with one column has one class per example.
        self._is_indicator = sp.issparse(y) or (y.ndim == 2 and y.shape[1] > 1)
        Y = self._indicator(y) if self._is_indicator else self._one_vs_rest(y, weight)
        tree = chow_liu_tree(Y, weight) if isinstance(self.tree, str) and self.tree == "auto" else self.tree
        if not self.warm_start:  # a warm start needs the examples in the order of the last fit, even with weight 0
            X, Y, weight = merge_repeats(X, Y, weight)
        return TrainingData(Multilabel(tree, self.normalize), self._with_constant(X), Y, weight)

    def _indicator(self, y: Any) -> np.ndarray:
        Y = binary_labels(y, None, self._name)
        self.classes_ = np.arange(Y.shape[1])
        return Y

    def _one_vs_rest(self, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """Return the (n, K) indicator of the classes; for two classes, the (n, 1) indicator of the second class."""
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        require_two_classes(np.bincount(codes, weights=weight), self.classes_, self._name)
        return codes[:, None] if len(self.classes_) == 2 else np.eye(len(self.classes_), dtype=np.int64)[codes]

    def _check_restored(self, result: Result, saved: SavedArrays) -> None:
        super()._check_restored(result, saved)
        Flag(True).check(self._name, "is_indicator", self._is_indicator)
        L = result.model.n_labels
        check_classes(self.classes_, L if self._is_indicator or L > 1 else 2, saved)

    def _set_weights(self, result: Result) -> None:
        model = result.model
        U, V = np.split(result.w, [model.n_features * model.n_labels])
        self._set_unary(U.reshape(-1, model.n_labels))
        self.edges_, self.edge_coef_ = model.tree, V.reshape(-1, 2, 2)

    def _warm_key(self, task: TrainingData) -> Any:
        edges = task.model.tree
        tree = None if edges is None else edges.tolist()
        return task.y.shape, task.y.tobytes(), self._is_indicator, task.X.shape[1], self.classes_.tolist(), tree

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.classifier_tags.multi_label = True
        tags.no_validation = False
        return tags


class MultilabelSVMCV(PathSearch, MultilabelSVM):
    """A :class:`bcfw.MultilabelSVM` that chooses lam by cross-validation over regularisation paths.

    X is an (n, F) array or a sparse matrix; y is an (n, L) array or sparse matrix of 0 and 1, or has one class per
    example.

    Parameters
    ----------
    eps, lam_min, cv, tol, solver, exact, refit, path_solver, max_passes, max_seconds, random_state, n_jobs, verbose,\
 callbacks
        See :class:`bcfw.StructuralSVMCV`.
    scoring : None, str or callable
        The score that lam_ maximises and that :meth:`score` returns: the fraction of examples whose labels are all
        right (None), the score of a scikit-learn scorer, or of a callable ``(estimator, X, y)``.
    tree, normalize, fit_intercept, intercept_scaling
        See :class:`bcfw.MultilabelSVM`. ``tree="auto"`` finds a tree for every fold.
    probability, probability_folds
        See :class:`bcfw.MulticlassSVM`. The temperature is fitted once lam is chosen, by more trainings with ``lam_``.

    Attributes
    ----------
    lam_, path_, validation_, scores_
        See :class:`bcfw.StructuralSVMCV`.
    classes_, coef_, intercept_, edges_, edge_coef_, duality_gap_, n_iter_, result_, temperature_,\
 n_features_in_
        See :class:`bcfw.MultilabelSVM`; set by the training with ``lam_``.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.integers(2, size=(80, 1)) ^ np.array([[0, 0, 1]])
    >>> X = Y + 0.3 * rng.standard_normal((80, 3))
    >>> svm = bcfw.MultilabelSVMCV(tree="auto", scoring="f1_macro").fit(X, Y)
    >>> svm.score(X, Y) > 0.9
    True
    """

    _single = MultilabelSVM
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
        tree: Any = None,
        normalize: bool = True,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
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

    def _strata(self, y: Any) -> np.ndarray | None:
        if self._is_indicator:
            return None
        return find_classes(label_array(y).ravel(), f"{self._name}: example {{}}".format)[1]
