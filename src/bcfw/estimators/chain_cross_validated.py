"""Sequence labelling with lam chosen by cross-validation: ``ChainSVMCV``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bcfw.estimators.attribute_vectorizer import AttributeVectorizer
from bcfw.estimators.chain import SCORING as CHAIN_SCORING
from bcfw.estimators.chain import ChainSVM
from bcfw.estimators.path_search import PathSearch, Scoring
from bcfw.run import Callback
from bcfw.solvers import Solver


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
