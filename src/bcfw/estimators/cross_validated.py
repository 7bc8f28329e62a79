"""The estimators ``...CV``, which choose lam by cross-validated regularisation paths; their search is PathSearch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bcfw.estimators.attributes import AttributeVectorizer
from bcfw.estimators.chain import SCORING as CHAIN_SCORING
from bcfw.estimators.chain import ChainSVM
from bcfw.estimators.multiclass import MulticlassSVM
from bcfw.estimators.multilabel import MultilabelSVM
from bcfw.estimators.path_search import PathSearch, Scoring
from bcfw.estimators.structural import SCORING as STRUCTURAL_SCORING
from bcfw.estimators.structural import StructuralSVM
from bcfw.inputs.classes import find_classes, label_array
from bcfw.models import Model
from bcfw.options import Choice
from bcfw.run import Callback
from bcfw.solvers import Solver


class StructuralSVMCV(PathSearch, StructuralSVM):
    """A :class:`bcfw.StructuralSVM` that chooses lam by cross-validation over regularisation paths.

    For every fold, :func:`bcfw.regularization_path` computes weights for every lam from the examples that are not held
    out; the weights are within ``eps P(0)`` of the optimum. Their scores on the held-out examples are piecewise
    constant in lam. ``lam_`` is the lam with the largest mean score over all folds; if several lam have this score, it
    is the largest of them. Then the model is trained on all examples with ``lam_``, to the tolerance ``tol``.

    X and y are sequences of inputs and outputs in the form that the model takes.

    Parameters
    ----------
    model, tol, solver, check_model, random_state, callbacks
        See :class:`bcfw.StructuralSVM`. Tolerance and solver apply to the training with ``lam_``. Callbacks are called
        by this training and by the paths; in the paths, their argument also has ``lam``.
    eps : float
        Largest suboptimality of the weights of the paths, as a fraction of P(0).
    lam_min : float
        The lam where the paths end, unless they are complete before.
    exact : bool
        Whether the gaps of the paths are certified; see :func:`bcfw.regularization_path`.
    cv : int, splitter, iterable or None
        Folds as everywhere in scikit-learn; None takes five folds, stratified by class if each example has one class.
    scoring : "loss", "exact", str or callable
        The score that lam_ maximises and that :meth:`score` returns: the estimator's own score ("loss" or "exact"), the
        score of a scikit-learn scorer, or of a callable ``(estimator, X, y)``. Scorers and callables receive
        ``sample_weight`` if :meth:`fit` does.
    refit : bool
        Whether to train with ``lam_``; with False, only ``lam_``, ``path_``, ``validation_`` and ``scores_`` are set.
    path_solver : Solver, str or None
        The solver that the paths use; None as in :func:`bcfw.regularization_path`.
    max_passes, max_seconds : float
        Limits on each path, and on the last training. If a limit ends a path early, smaller lam are not considered.
    n_jobs : int or None
        Number of paths that are computed at once, in threads, and number of threads of the last training; -1 takes all
        cores, None is 1.
    verbose : int
        0: quiet; 1 or 2: a line about each path and, if ``n_jobs`` is 1, the display of the run in progress.

    Attributes
    ----------
    lam_ : float
        The chosen lam.
    path_ : RegularizationPath
        The path of all examples.
    validation_ : bcfw.path.Validation
        ``lambdas``, the breakpoints of all folds; ``losses``, one minus the mean score at each breakpoint; ``best``,
        which is ``lam_``; and ``interval``, the lam around ``lam_`` with an equal score.
    scores_ : (folds, m) array
        The score of every fold at ``validation_.lambdas``.
    coef_, duality_gap_, n_iter_, result_
        See :class:`bcfw.StructuralSVM`; set by the training with ``lam_``.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=60)
    >>> X = np.eye(3)[y] + 0.5 * rng.standard_normal((60, 3))
    >>> svm = bcfw.StructuralSVMCV(bcfw.models.Multiclass(3)).fit(X, y)
    >>> bool(svm.validation_.best == svm.lam_), svm.scores_.shape[0], svm.score(X, y) > 0.8
    (True, 5, True)
    """

    _single = StructuralSVM
    _scoring = Scoring(STRUCTURAL_SCORING)

    def __init__(
        self,
        model: Model,
        eps: float = 0.1,
        lam_min: float = 1e-5,
        cv: Any = None,
        scoring: Any = "loss",
        tol: float = 1e-3,
        *,
        solver: Solver | str = "auto",
        exact: bool = True,
        refit: bool = True,
        path_solver: Solver | str | None = None,
        check_model: bool = True,
        max_passes: float = 10_000,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = 1,
        verbose: int = 0,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self._keep(locals())


class ChainSVMCV(PathSearch, ChainSVM):
    """A :class:`bcfw.ChainSVM` that chooses lam by cross-validation over regularisation paths.

    X is a list of (T_i, F) arrays or sparse matrices, or of sequences whose positions have named attributes; y is a
    list with T_i labels, of any hashable type, for each sequence.

    Parameters
    ----------
    eps, lam_min, cv, tol, solver, exact, refit, path_solver, max_passes, max_seconds, random_state, n_jobs, verbose,\
 callbacks
        See :class:`bcfw.StructuralSVMCV`.
    scoring : "label", "sequence", str or callable
        The score that lam_ maximises and that :meth:`score` returns: the fraction of positions or of whole sequences
        that are predicted right, the score of a scikit-learn scorer, or of a callable ``(estimator, X, y)``.
    cost, class_weight, end_bias, normalize, fit_intercept, intercept_scaling, encoding, vectorizer, unseen
        See :class:`bcfw.ChainSVM`. Within the folds, held-out labels that the training examples do not have count as
        wrong predictions, and held-out attributes that they do not have are ignored.
    probability, probability_folds
        See :class:`bcfw.MulticlassSVM`. The temperature is fitted once lam is chosen, by more trainings with ``lam_``.

    Attributes
    ----------
    lam_, path_, validation_, scores_
        See :class:`bcfw.StructuralSVMCV`.
    classes_, coef_, intercept_, transitions_, first_, last_, duality_gap_, n_iter_, result_, temperature_,\
 n_features_in_
        See :class:`bcfw.ChainSVM`; set by the training with ``lam_``.

    Examples
    --------
    >>> import bcfw
    >>> words = bcfw.datasets.load_digit_words()
    >>> svm = bcfw.ChainSVMCV(cv=3).fit(words.X_train[:60], words.y_train[:60])
    >>> svm.score(words.X_test, words.y_test) > 0.8, svm.path_.certified
    (True, True)
    """

    _single = ChainSVM
    _scoring = Scoring(CHAIN_SCORING)

    def __init__(
        self,
        eps: float = 0.1,
        lam_min: float = 1e-5,
        cv: Any = None,
        scoring: Any = "label",
        tol: float = 1e-3,
        *,
        solver: Solver | str = "auto",
        exact: bool = True,
        refit: bool = True,
        path_solver: Solver | str | None = None,
        cost: Any = None,
        class_weight: dict[Any, float] | str | None = None,
        end_bias: bool = True,
        normalize: bool = True,
        fit_intercept: bool = False,
        intercept_scaling: float = 1.0,
        encoding: str | None = None,
        vectorizer: AttributeVectorizer | None = None,
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
