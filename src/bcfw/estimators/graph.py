"""GraphSVM: labels on the nodes of graphs as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bcfw.errors import OptionError
from bcfw.estimators.nodes import NodeSVM
from bcfw.models import BinaryGraph, PairwiseGraph, PottsGraph
from bcfw.options import Choice, Flag
from bcfw.run import Callback
from bcfw.solvers import Solver

#: How neighbours interact.
PAIRWISE = Choice("potts", "full")


class GraphSVM(NodeSVM):
    """Node labelling of graphs by a structural SVM.

    With ``pairwise="potts"`` the score of labels y for a graph is
    ``sum_p x_p'coef[y_p] + b[y_p] - sum_e <edge_coef, f_e> [y_p != y_q]`` with ``edge_coef >= 0``: neighbours prefer
    equal labels, and the preference grows with the features of the edge. With ``pairwise="full"`` the edge term is
    ``+ sum_e sum_g f_eg edge_coef[g, y_p, y_q]``, with separate weights for every pair of labels. The loss of a graph
    is the mean over its labelled nodes of ``cost[true, predicted]``.

    With "potts" and two labels, the best labels are found exactly by minimum cuts, and the duality gap is certified
    (:class:`bcfw.models.BinaryGraph`). With "potts" and more labels, the oracle is alpha-expansion
    (:class:`bcfw.models.PottsGraph`); with "full", it is message passing (:class:`bcfw.models.PairwiseGraph`). On
    forests, both models decode exactly; on other graphs ``result_.certified`` says whether the gap is proved.

    X is a list of tuples ``(node_features (V, F), edges (E, 2), edge_features (E, G))``. Features are dense or sparse;
    edge features are >= 0 for "potts". Edge features may be None, which stands for a constant feature, except with
    "potts" and two labels. y is a list with V labels for each graph: two or more different labels of any hashable type,
    and None or -1 for nodes without label, which do not take part in training or in the score. A graph without any
    label is ignored.

    Parameters
    ----------
    lam, C, solver, tol, max_passes, max_seconds, random_state, n_jobs, verbose, warm_start, callbacks
        See :class:`bcfw.StructuralSVM`. Features are summed over the nodes while the loss is a mean, so good values of
        lam grow with the size of the graphs: try 1 and more.
    pairwise : "potts" or "full"
        Edge term of the score: neighbours prefer equal labels ("potts"), or the weights of each pair of labels are
        learned ("full").
    symmetric : bool
        For "full": whether ``edge_coef[g, a, b] = edge_coef[g, b, a]``, so that the direction of an edge has no effect.
    bound_iterations : int or None
        Largest number of iterations for the upper bounds that certify heuristic oracles; None is 100 for "full" and 0,
        which computes no bounds, for "potts".
    cost : (K, K) array or None
        ``cost[true, predicted] >= 0`` of one node, in the order of ``classes_``, zero diagonal; None is the Hamming
        loss.
    class_weight : dict, "balanced" or None
        Factors of the cost by true label. "balanced" is inversely proportional to the number of nodes with the label.
    normalize : bool
        Divide the summed cost of a graph by the number of its labelled nodes; otherwise large graphs weigh more.
    fit_intercept : bool
        Append a constant feature to every node; its weights are the intercept.
    intercept_scaling : float
        The constant feature's value; a larger value weakens the regularisation of the intercept.
    unseen : "error" or "wrong"
        How :meth:`score` treats a label that was not in the training data: as an error, or as a wrong prediction.

    Attributes
    ----------
    classes_ : (K,) array
        The labels, sorted if they can be compared, else in order of first appearance.
    coef_, intercept_ : (K, F) and (K,) arrays
        Node weights, one row per class; the intercept is zero without ``fit_intercept``.
    edge_coef_ : (G,) or (G, K, K) array
        Weights of the edge features: (G,) and >= 0 for "potts"; (G, K, K), with a weight for each pair of classes, for
        "full".
    duality_gap_, n_iter_, lam_, result_
        Bound on the suboptimality (an estimate if ``result_.certified`` is False), number of passes (at least 1), lam
        of the training, and the full result of the run.
    n_features_in_ : int
        Number of node features.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> path, alike = np.array([[0, 1], [1, 2], [2, 3]]), np.ones((3, 1))
    >>> X = [(np.array([[2.0], [1.0], [-0.1], [2.0]]), path, alike), (-np.ones((4, 1)), path, alike)]
    >>> y = [["horse", "horse", "horse", "horse"], ["grass", "grass", None, "grass"]]
    >>> svm = bcfw.GraphSVM(lam=0.1).fit(X, y)
    >>> [labels.tolist() for labels in svm.predict(X)]
    [['horse', 'horse', 'horse', 'horse'], ['grass', 'grass', 'grass', 'grass']]
    >>> svm.coef_.shape, svm.edge_coef_.shape, svm.score(X, y)
    ((2, 1), (1,), 1.0)
    """

    def __init__(
        self,
        lam: float = 1.0,
        C: float | None = None,
        solver: Solver | str = "auto",
        tol: float = 1e-3,
        *,
        pairwise: str = "potts",
        symmetric: bool = False,
        bound_iterations: int | None = None,
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
    ) -> None:
        self._keep(locals())

    def decision_function(self, X: Any) -> list[np.ndarray]:
        """Return one array per graph that measures how sure the predicted labels are.

        With "potts" and two labels the array is (V,): the best score of the graph with ``classes_[1]`` at the node
        minus the best score with ``classes_[0]`` at the node. It is positive where ``classes_[1]`` is predicted and
        needs one minimum cut per node. Otherwise the array is (V, K): the score of the predicted labels of the graph
        after the label of this node alone is changed to each class.
        """
        check_is_fitted(self)
        model = self.result_.model
        sure = model.margins if isinstance(model, BinaryGraph) else model.changes
        return sure(self.result_.w, self._graphs(X))  # type: ignore[no-any-return]

    def _read_options(self) -> None:
        super()._read_options()
        PAIRWISE.check(self._name, "pairwise", self.pairwise)
        Flag(False).check(self._name, "symmetric", self.symmetric)
        if self.symmetric and self.pairwise != "full":
            raise OptionError(f"{self._name}: symmetric=True needs pairwise='full'; \"potts\" is symmetric by itself")

    def _model(self, cost: np.ndarray) -> Any:
        """Return the model for the classes and the estimator's options."""
        options: dict[str, Any] = {"cost": cost, "normalize": self.normalize}
        if self.pairwise == "potts" and len(cost) == 2:
            return BinaryGraph(**options)
        if self.bound_iterations is not None:
            options["bound_iterations"] = self.bound_iterations
        if self.pairwise == "potts":
            return PottsGraph(len(cost), **options)
        return PairwiseGraph(len(cost), self.symmetric, **options)
