"""Labels on the nodes of graphs as a scikit-learn estimator."""

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
    """Labels on the nodes of graphs by a structural SVM.

    With ``pairwise="potts"`` the score of labels y for a graph is
    ``sum_p x_p'coef[y_p] + b[y_p] - sum_e <edge_coef, f_e> [y_p != y_q]`` with ``edge_coef >= 0``: neighbours prefer
    equal labels, the more so the larger their edge's features. With ``pairwise="full"`` every pair of labels has
    weights of its own, ``+ sum_e sum_g f_eg edge_coef[g, y_p, y_q]``. The loss of a graph is the mean over its labelled
    nodes of ``cost[true, predicted]``.

    Two labels with "potts" are found by exact minimum cuts, and the duality gap is certified
    (:class:`bcfw.models.BinaryGraph`). More labels are found by alpha-expansion (:class:`bcfw.models.PottsGraph`) and
    "full" ones by message passing (:class:`bcfw.models.PairwiseGraph`), which are exact on forests; on other graphs
    ``result_.certified`` says whether the gap is proved.

    X is a list of tuples ``(node_features (V, F), edges (E, 2), edge_features (E, G))``, features dense or sparse, edge
    features >= 0 for "potts"; y a list with V labels for each: two or more different ones of any hashable type, and
    None or -1 for nodes without label, which take no part in training or in the score (a graph without any label counts
    as not given). Edge features may be None, a constant, except for two labels with "potts".

    Parameters
    ----------
    lam, C, solver, tol, max_passes, max_seconds, random_state, n_jobs, verbose, warm_start, callbacks
        See :class:`bcfw.StructuralSVM`. Features are summed over the nodes while the loss is a mean, so good values of
        lam grow with the size of the graphs: try 1 and more.
    pairwise : "potts" or "full"
        What neighbours prefer: equal labels, or whatever the data say about each pair of labels.
    symmetric : bool
        For "full": whether ``edge_coef[g, a, b] = edge_coef[g, b, a]``, so that an edge's nodes may change places.
    bound_iterations : int or None
        Iterations of the upper bounds that certify heuristic oracles, at most; None is 100 for "full" and 0, which is
        none, for "potts".
    cost : (K, K) array or None
        ``cost[true, predicted] >= 0`` of one node, in the order of ``classes_``, zero diagonal; None is the Hamming
        loss.
    class_weight : dict, "balanced" or None
        Factors of the cost by true label. "balanced" is inversely proportional to the number of nodes with the label.
    normalize : bool
        Divide the summed cost of a graph by the number of its labelled nodes; otherwise large graphs weigh more.
    fit_intercept : bool
        Append a constant feature to every node, whose weights are the intercept.
    intercept_scaling : float
        The constant feature's value; the larger, the less the intercept is regularised.
    unseen : "error" or "wrong"
        What :meth:`score` makes of a label that was not in the training data.

    Attributes
    ----------
    classes_ : (K,) array
        The labels, sorted if they can be compared, else in order of first appearance.
    coef_, intercept_ : (K, F) and (K,) arrays
        Node weights, one row per class; the intercept is zero without ``fit_intercept``.
    edge_coef_ : (G,) or (G, K, K) array
        Weights of the edge features: >= 0 for "potts", one for each pair of classes for "full".
    duality_gap_, n_iter_, lam_, result_
        Bound on the suboptimality (an estimate of it if ``result_.certified`` is False), passes (at least 1),
        regularisation used, all else about the run.
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
        """How sure the labels are: an array per graph.

        For two labels with "potts" it is (V,), positive where ``classes_[1]`` is predicted: the score of the best
        labels of the graph among those with ``classes_[1]`` at the node, minus that among those with ``classes_[0]``,
        which needs one minimum cut per node. Otherwise it is (V, K): the score of the predicted labels of the graph
        with that of the node alone changed to each class.
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
        """The model for the classes and options at hand."""
        options: dict[str, Any] = {"cost": cost, "normalize": self.normalize}
        if self.pairwise == "potts" and len(cost) == 2:
            return BinaryGraph(**options)
        if self.bound_iterations is not None:
            options["bound_iterations"] = self.bound_iterations
        if self.pairwise == "potts":
            return PottsGraph(len(cost), **options)
        return PairwiseGraph(len(cost), self.symmetric, **options)
