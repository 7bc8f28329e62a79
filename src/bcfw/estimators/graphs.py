"""Labels on the nodes of graphs and trees as scikit-learn estimators: ``GraphSVM``, ``TreeSVM``, their base class."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from numbers import Number
from typing import Any

import joblib
import numpy as np
from sklearn.utils.validation import check_is_fitted

from bcfw.errors import InputError, OptionError
from bcfw.estimators.base import LabelSVM, TrainingData
from bcfw.estimators.probability import NeedsProbability, ProbabilitySVM
from bcfw.inputs.classes import encode, example_of, find_classes, flatten, label_array
from bcfw.inputs.examples import read_list
from bcfw.inputs.labels import UNLABELLED, cost_matrix
from bcfw.inputs.node_graphs import node_matrix
from bcfw.inputs.sample_weights import read_sample_weight
from bcfw.models import BinaryGraph, PairwiseGraph, PottsGraph, Tree
from bcfw.options import Choice, Flag
from bcfw.result import Result
from bcfw.run import Callback
from bcfw.solvers import Solver


class NodeSVM(LabelSVM):
    """Base of the estimators whose outputs are labels of a graph's nodes; a subclass chooses the model (``_model``).

    X is a list of tuples ``(node_features (V, F), edges (E, 2), edge_features (E, G))``; y is a list with V labels for
    each graph, None or -1 for nodes without label.
    """

    normalize: bool

    def _model(self, cost: np.ndarray) -> Any:
        """Return the model for the estimator's options; ``cost`` is (K, K) and includes the class weights."""
        raise NotImplementedError

    def predict(self, X: Any) -> list[Any]:
        """Return the best labels of every graph: (V,) arrays, or lists if labels are objects, for example tuples."""
        check_is_fitted(self)
        labels = [self.classes_[codes] for codes in self.result_.predict(self._graphs(X))]
        return [one.tolist() for one in labels] if self.classes_.dtype.kind == "O" else labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of labelled nodes that are predicted right.

        ``sample_weight`` has one number per graph, which weights all nodes of the graph.
        """
        check_is_fitted(self)
        predicted = self.result_.predict(self._graphs(X))
        flat, known, offsets = self._flatten(y, [len(codes) for codes in predicted])
        if not known.any():
            raise InputError(f"{self._name}: no node has a label to compare predictions with")
        truth = encode(flat, self.classes_, self.unseen, example_of(offsets, self._name, np.flatnonzero(known)))
        weight = read_sample_weight(sample_weight, len(predicted))
        weight = np.ones(len(predicted)) if weight is None else weight
        correct = truth == np.concatenate(predicted)[known]
        spread = np.repeat(weight, np.diff(offsets))[known]
        if not spread.any():
            raise InputError(f"{self._name}: sample_weight is zero on all graphs that have labelled nodes")
        return float(np.average(correct, weights=spread))

    def _read(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        graphs = self._graphs(X, reset=True)
        flat, known, offsets = self._flatten(y, [x[0].shape[0] for x in graphs])
        self.classes_, codes = find_classes(flat, example_of(offsets, self._name, np.flatnonzero(known)))
        if len(self.classes_) < 2:
            raise InputError(
                f"{self._name}: y has {len(self.classes_)} classes {self.classes_.tolist()[:5]}; give labels of "
                "at least 2 classes (None and -1 mean: no label)"
            )
        weight = read_sample_weight(sample_weight, len(graphs))
        spread = None if weight is None else np.repeat(weight, np.diff(offsets))[known]
        cost = self._class_weights(codes, spread)[:, None] * cost_matrix(self.cost, len(self.classes_), self._name)
        labels = np.full(len(known), UNLABELLED)
        labels[known] = codes
        truths = [labels[a:b] for a, b in itertools.pairwise(offsets)]
        useful = np.array([np.any(truth != UNLABELLED) for truth in truths])
        if not useful.all():
            weight = useful * (1.0 if weight is None else weight)
        return TrainingData(self._model(cost), graphs, truths, weight)

    def _graphs(self, X: Any, reset: bool = False) -> list[Any]:
        """Return the graphs in the form that the model takes; raise unless all have equally many node features.

        With ``reset``, for fitting, the first graph sets the number of features; otherwise the fit has set it.
        """
        graphs = []
        for i, x in enumerate(read_list(X, "X", self._name)):
            where = f"{self._name}: example {i}"
            if not isinstance(x, Sequence) or len(x) != 3:
                raise InputError(f"{where} must be a tuple (node_features, edges, edge_features)")
            nodes = node_matrix(x[0], where)
            if reset and i == 0:
                self.n_features_in_ = nodes.shape[1]
            if nodes.shape[1] != self.n_features_in_:
                raise InputError(f"{where} has {nodes.shape[1]} node features, expected {self.n_features_in_}")
            graphs.append((self._with_constant(nodes), x[1], x[2]))
        return graphs

    def _flatten(self, y: Any, sizes: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the labels of all labelled nodes, a mask of the labelled nodes, and the graphs' offsets."""
        flat, offsets = flatten(y, sizes, "nodes", self._name)
        known = np.array([not is_unlabelled(label) for label in flat.tolist()], dtype=bool)
        given = flat[known]
        return label_array(given.tolist()) if given.dtype.kind == "O" else given, known, offsets

    def _set_weights(self, result: Result) -> None:
        K, F = len(self.classes_), result.model.n_features
        self.edge_coef_ = result.model.edge_weights(result.w)
        self._set_unary(result.w[: F * K].reshape(-1, K))

    def _warm_key(self, task: TrainingData) -> Any:
        """Return a hash of costs and data: the dual state has averages of feature differences of these very graphs."""
        return joblib.hash((vars(task.model), task.X, task.y, self.classes_.tolist()))


def is_unlabelled(label: Any) -> bool:
    """Return whether a label stands for "no label": None or the number -1."""
    return label is None or (isinstance(label, Number) and not isinstance(label, bool) and label == UNLABELLED)


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
