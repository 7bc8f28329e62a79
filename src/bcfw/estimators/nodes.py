"""NodeSVM: base of GraphSVM and TreeSVM, which label the nodes of graphs; it reads data, predicts and scores."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from numbers import Number
from typing import Any

import joblib
import numpy as np
from sklearn.utils.validation import check_is_fitted

from bcfw.errors import InputError
from bcfw.estimators.base import LabelSVM, Task
from bcfw.inputs.classes import encode, example_of, find_classes, flatten, label_array
from bcfw.inputs.examples import read_list
from bcfw.inputs.graphs import node_matrix
from bcfw.inputs.labels import UNLABELLED, cost_matrix
from bcfw.inputs.sample_weights import read_sample_weight
from bcfw.result import Result


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

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Task:
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
        return Task(self._model(cost), graphs, truths, weight)

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

    def _warm_key(self, task: Task) -> Any:
        """Return a hash of costs and data: the dual state has averages of feature differences of these very graphs."""
        return joblib.hash((vars(task.model), task.X, task.y, self.classes_.tolist()))


def is_unlabelled(label: Any) -> bool:
    """Return whether a label stands for "no label": None or the number -1."""
    return label is None or (isinstance(label, Number) and not isinstance(label, bool) and label == UNLABELLED)
