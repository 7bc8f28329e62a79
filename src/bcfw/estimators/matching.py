"""MatchingSVM: bipartite matching, for example word alignment, as a scikit-learn estimator; alignment error rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import joblib
import numpy as np
from sklearn.utils.validation import check_is_fitted

from bcfw.estimators.base import BaseSVM, TrainingData
from bcfw.inputs.examples import check_same_length, read_list
from bcfw.inputs.sample_weights import read_sample_weight
from bcfw.models import Matching
from bcfw.models.matching import NONE, SURE, read_labels
from bcfw.result import Result
from bcfw.run import Callback
from bcfw.solvers import Solver


class MatchingSVM(BaseSVM):
    """Bipartite matching by a structural SVM with a certified duality gap: links of two sides, at most one per item.

    The score of a matching is the sum of ``x[i, j]'coef_`` over its links; prediction maximises it. Items without link
    add nothing to the score, so include a constant feature: its weight is the threshold of a link.

    X is a list of (I, J, F) arrays with the features of every potential link; y is a list of (I, J) arrays with 1 for a
    sure link, 0 for no link and -1 for a possible link (see :class:`bcfw.models.Matching`).

    Parameters
    ----------
    lam, C, solver, tol, max_passes, max_seconds, random_state, n_jobs, verbose, warm_start, callbacks
        See :class:`bcfw.StructuralSVM`.
    cost_miss, cost_extra : float
        Cost of a sure link that is not predicted, and of a predicted link that is neither sure nor possible; both
        >= 0. A larger ``cost_miss`` increases recall at the expense of precision.
    normalize : bool
        Divide the loss of an example by its number of sure links; otherwise large examples weigh more.

    Attributes
    ----------
    coef_ : (F,) array
        The weights w.
    duality_gap_, n_iter_, lam_, result_
        Certified bound on the suboptimality, number of passes (at least 1), lam of the training, and the full result of
        the run.
    n_features_in_ : int
        Number of features F.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> y = [np.array([[0, 1, 0], [1, 0, 0]]), np.array([[1, -1]])]
    >>> X = [np.stack([np.ones(one.shape), one == 1], axis=2) for one in y]
    >>> svm = bcfw.MatchingSVM(lam=0.01).fit(X, y)
    >>> svm.predict(X)[1], svm.score(X, y)
    (array([[1, 0]]), 1.0)
    """

    def __init__(
        self,
        lam: float = 0.01,
        C: float | None = None,
        solver: Solver | str = "auto",
        tol: float = 1e-3,
        *,
        cost_miss: float = 1.0,
        cost_extra: float = 1.0,
        normalize: bool = False,
        max_passes: float = 1000,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = 1,
        verbose: int = 0,
        warm_start: bool = False,
        callbacks: Sequence[Callback] = (),
    ) -> None:
        self._keep(locals())

    def predict(self, X: Any) -> list[np.ndarray]:
        """Return the best matching of every input: (I, J) arrays of 0 and 1."""
        check_is_fitted(self)
        return self.result_.predict(read_list(X, "X", "MatchingSVM"))

    def decision_function(self, X: Any) -> list[np.ndarray]:
        """Return the (I, J) scores ``x[i, j]'coef_`` of the single links of every input; only links > 0 can help."""
        check_is_fitted(self)
        return self.result_.model.link_scores(self.coef_, read_list(X, "X", "MatchingSVM"))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return one minus the alignment error rate of all inputs together (see :func:`alignment_scores`)."""
        outputs = self.predict(X)
        return 1.0 - alignment_scores(read_list(y, "y", "MatchingSVM"), outputs, sample_weight)["aer"]

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        inputs, truths = read_list(X, "X", "MatchingSVM"), read_list(y, "y", "MatchingSVM")
        check_same_length(inputs, truths, "MatchingSVM")
        model = Matching(self.cost_miss, self.cost_extra, self.normalize)
        return TrainingData(model, inputs, truths, read_sample_weight(sample_weight, len(inputs)))

    def _set_weights(self, result: Result) -> None:
        self.coef_ = result.w
        self.n_features_in_ = len(result.w)

    def _warm_key(self, task: TrainingData) -> Any:
        """Return a hash of costs and data: the dual state, in feature space, is feasible for these data only."""
        return joblib.hash((vars(task.model), task.X, task.y))


def alignment_scores(y_true: Any, y: Any, sample_weight: Any = None) -> dict[str, float]:
    """Return precision, recall and alignment error rate of predicted links, over all examples together.

    Let A be the predicted links, S the sure links and P the sure or possible links (Och and Ney, 2003), counted with
    weights ``sample_weight``::

        precision = |A & P| / |A|,  recall = |A & S| / |S|,  AER = 1 - (|A & S| + |A & P|) / (|A| + |S|)

    A fraction 0 / 0 counts as 1, a perfect result.

    Parameters
    ----------
    y_true : list of (I, J) arrays
        1 = sure, 0 = none, -1 = possible.
    y : list of (I, J) arrays
        1 = link, 0 = none.
    sample_weight : (n,) array or None

    Returns
    -------
    dict with "aer", "precision" and "recall"
    """
    check_same_length(y, y_true, "alignment_scores")
    counts = np.array([link_counts(y_true[i], one, f"alignment_scores: example {i}") for i, one in enumerate(y)])
    weight = read_sample_weight(sample_weight, len(counts))
    found, allowed, predicted, sure = counts.sum(axis=0) if weight is None else weight @ counts
    return {
        "aer": 1.0 - ratio(found + allowed, predicted + sure),
        "precision": ratio(allowed, predicted),
        "recall": ratio(found, sure),
    }


def link_counts(y_true: Any, y: Any, where: str) -> tuple[int, int, int, int]:
    """Return |A & S|, |A & P|, |A| and |S| of one example (see :func:`alignment_scores`)."""
    truth = read_labels(y_true, np.shape(y), where)
    sure, links = truth == SURE, read_labels(y, np.shape(y), where) == SURE
    kinds = (links & sure, links & (truth != NONE), links, sure)
    found, allowed, predicted, total = (int(np.count_nonzero(kind)) for kind in kinds)
    return found, allowed, predicted, total


def ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 1.0
