"""TreeSVM: labels on the nodes of trees as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bcfw.estimators.nodes import NodeSVM
from bcfw.estimators.probability import NeedsProbability, ProbabilitySVM
from bcfw.models import Tree
from bcfw.options import Flag
from bcfw.run import Callback
from bcfw.solvers import Solver


class TreeSVM(ProbabilitySVM, NodeSVM):
    """Node labelling of trees and forests by a structural SVM with an exact oracle.

    The score of labels y for a tree is
    ``sum_p x_p'coef[y_p] + b[y_p] + sum_{e = (p, q)} sum_g f_eg edge_coef[g, y_p, y_q]``, with separate weights for
    every pair of neighbouring labels. The loss of a tree is the mean over its labelled nodes of
    ``cost[true, predicted]``. Best labels are found by dynamic programming (:class:`bcfw.models.Tree`), and the duality
    gap is always certified. :class:`bcfw.GraphSVM` with ``pairwise="full"`` has this score for graphs with cycles.

    X is a list of tuples ``(node_features (V, F), edges (E, 2), edge_features (E, G))`` whose edges form no cycle.
    Features are dense or sparse; edge features may be None, which stands for a constant feature. y is a list with V
    labels for each tree: two or more different labels of any hashable type, and None or -1 for nodes without label,
    which do not take part in training or in the score. A tree without any label is ignored.

    Parameters
    ----------
    lam, C, solver, tol, max_passes, max_seconds, random_state, n_jobs, verbose, warm_start, callbacks
        See :class:`bcfw.StructuralSVM`. Features are summed over the nodes while the loss is a mean, so good values of
        lam grow with the size of the trees.
    symmetric : bool
        Whether ``edge_coef[g, a, b] = edge_coef[g, b, a]``, so that the direction of an edge has no effect.
    cost, class_weight, normalize, fit_intercept, intercept_scaling, unseen
        See :class:`bcfw.GraphSVM`.
    probability, probability_folds
        See :class:`bcfw.MulticlassSVM`.

    Attributes
    ----------
    classes_ : (K,) array
        The labels, sorted if they can be compared, else in order of first appearance.
    coef_, intercept_ : (K, F) and (K,) arrays
        Node weights, one row per class; the intercept is zero without ``fit_intercept``.
    edge_coef_ : (G, K, K) array
        Weights of the edge features for each pair of classes.
    duality_gap_, n_iter_, lam_, result_
        Certified bound on the suboptimality, number of passes (at least 1), lam of the training, and the full result of
        the run.
    temperature_ : float
        Divisor of the scores that turns them into probabilities; only with ``probability=True``.
    n_features_in_ : int
        Number of node features.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> seen = np.eye(3)[:, :1]                            # only the first word; nouns stand below verbs
    >>> X = [(seen, [[0, 1], [0, 2]], None), (-seen, [[1, 0], [2, 1]], None)]
    >>> y = [["verb", "noun", "noun"], ["noun", "verb", None]]
    >>> svm = bcfw.TreeSVM(lam=0.01).fit(X, y)
    >>> [labels.tolist() for labels in svm.predict(X)][0]
    ['verb', 'noun', 'noun']
    >>> svm.edge_coef_.shape, svm.score(X, y), svm.result_.certified
    ((1, 2, 2), 1.0, True)
    """

    def __init__(
        self,
        lam: float = 1.0,
        C: float | None = None,
        solver: Solver | str = "auto",
        tol: float = 1e-3,
        *,
        symmetric: bool = False,
        cost: Any = None,
        class_weight: dict[Any, float] | str | None = None,
        normalize: bool = True,
        fit_intercept: bool = False,
        intercept_scaling: float = 1.0,
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

    def decision_function(self, X: Any) -> list[np.ndarray]:
        """Return the max-marginals, a (V, K) array per tree: the best score of the tree with ``y_p = classes_[k]``.

        The largest entry in the row of a node belongs to the predicted label, up to ties.
        """
        check_is_fitted(self)
        return self.result_.model.max_marginals(self.result_.w, self._graphs(X))  # type: ignore[no-any-return]

    @NeedsProbability
    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """Probabilities ``P(y_p = classes_[k] | x)``, a (V, K) array per tree; needs ``probability=True``.

        These are the marginals of ``P(y | x) = exp(score(x, y) / temperature_) / Z`` over the labels y of the whole
        tree; the temperature maximises the likelihood of the labelled nodes of held-out trees.
        """
        self._require_temperature()
        return [one.nodes for one in self._probabilities(self._graphs(X))]

    def _read_options(self) -> None:
        super()._read_options()
        Flag(False).check(self._name, "symmetric", self.symmetric)

    def _model(self, cost: np.ndarray) -> Tree:
        return Tree(len(cost), self.symmetric, cost, normalize=self.normalize)
