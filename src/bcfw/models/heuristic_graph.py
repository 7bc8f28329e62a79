"""What the graph models share whose oracle is a heuristic: its effort, upper bounds, and how sure predictions are."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bcfw.models.kernels.label_graph import brackets_pass, changes_pass
from bcfw.models.label_graph import LabelGraph
from bcfw.options import Count

#: Iterations of TRW-S and of max-product for a prediction: there it pays to look longer than in a step of training.
PREDICTION = (100, 20)


class HeuristicGraph(LabelGraph):
    """Base of the graph models whose best labels are hard to find; TRW-S takes ``bound_iterations`` for bounds."""

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
        """What the oracle finds for each graph and what no labeling can exceed: a (2, n) array.

        Row 0 has the value of the oracle's labeling, row 1 an upper bound of all values (infinity if none is known).
        With y, values are loss plus score, as in training; without, scores. Where the two rows are equal up to
        rounding, the labeling is proved to be optimal.
        """
        data = self.pack(X, y)
        weights = self._checked_weights(w, data)
        out = np.zeros((2, len(data.y_off) - 1))
        work = self.make_work(data)
        self.kernels.entry(brackets_pass)(tuple(data), tuple(work), weights, float(y is not None), out)
        return out

    def upper_bound(self, w: np.ndarray, x: Any, y_true: Any) -> float:
        """At least ``max_y loss(y_true, y) + <w, features(x, y)>``; infinity if no bound is known."""
        return float(self.brackets(w, [x], [y_true])[1, 0])

    def changes(self, w: np.ndarray, X: Any) -> list[np.ndarray]:
        """How sure predictions are: a (V, K) array per graph.

        The entry of node p and label a is the score of the predicted labels with that of p alone changed to a.
        """
        data = self.pack(X)
        weights = self._checked_weights(w, data)
        labels = self.decoded(weights, data, 0.0).astype(np.int64)
        out = np.zeros((len(data.y), data.n_labels))
        work = self.make_work(data)
        self.kernels.entry(changes_pass)(tuple(data), tuple(work), weights, labels, out)
        return [out[a:b] for a, b in itertools.pairwise(data.y_off)]
