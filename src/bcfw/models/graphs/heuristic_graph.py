"""HeuristicGraph, base of the graph models with a heuristic oracle: iterations, upper bounds and confidences."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bcfw.models.graphs.label_graph import LabelGraph
from bcfw.models.graphs.label_graph_routines import brackets_pass, changes_pass
from bcfw.options import Count

#: Iterations of TRW-S and of max-product for a prediction; longer inference pays in predictions but not in training.
PREDICTION = (100, 20)


class HeuristicGraph(LabelGraph):
    """Base of the graph models whose exact oracle would be too hard to compute.

    For upper bounds, TRW-S runs ``bound_iterations`` iterations.
    """

    exact_oracle = False

    #: Iterations of TRW-S and of max-product in the oracle of training.
    _iterations: tuple[int, int] = (0, 0)

    def __init__(
        self, n_labels: int | None, cost: Any, class_balance: bool, normalize: bool, bound_iterations: int
    ) -> None:
        super().__init__(n_labels, cost, class_balance, normalize)
        self.bound_iterations = int(Count(100, least=0).check(self._owner, "bound_iterations", bound_iterations))

    def _effort(self, predicting: bool) -> tuple[int, int, int]:
        reweighted, max_product = PREDICTION if predicting else self._iterations
        return reweighted, max_product, self.bound_iterations

    def brackets(self, w: np.ndarray, X: Any, y: Any = None) -> np.ndarray:
        """Return a (2, n) array with the oracle's value and an upper bound for each graph.

        Row 0 has the value of the oracle's labeling, row 1 an upper bound on the values of all labelings (infinity if
        no bound is known). With y, a value is loss plus score, as in training; without y, it is the score. If the two
        rows are equal up to rounding, the labeling is proved to be optimal.
        """
        data = self.pack(X, y)
        weights = self._checked_weights(w, data)
        out = np.zeros((2, len(data.y_off) - 1))
        work = self.make_work(data)
        self.routines.compiled_pass(brackets_pass)(tuple(data), tuple(work), weights, float(y is not None), out)
        return out

    def upper_bound(self, w: np.ndarray, x: Any, y_true: Any) -> float:
        """Return an upper bound on ``max_y loss(y_true, y) + <w, features(x, y)>``; infinity if no bound is known."""
        return float(self.brackets(w, [x], [y_true])[1, 0])

    def changes(self, w: np.ndarray, X: Any) -> list[np.ndarray]:
        """Return scores of changed predictions, a (V, K) array per graph, which show how sure a prediction is.

        The entry of node p and label a is the score of the predicted labeling after the label of p alone is changed
        to a.
        """
        data = self.pack(X)
        weights = self._checked_weights(w, data)
        labels = self.decoded(weights, data, 0.0).astype(np.int64)
        out = np.zeros((len(data.y), data.n_labels))
        work = self.make_work(data)
        self.routines.compiled_pass(changes_pass)(tuple(data), tuple(work), weights, labels, out)
        return [out[a:b] for a, b in itertools.pairwise(data.y_off)]
