"""The model Matching for bipartite matchings, for example alignments between the words of two sentences."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from bcfw.errors import InputError
from bcfw.inputs.examples import check_same_length, read_list
from bcfw.inputs.numbers import LARGEST, dense, no_feature, real, unmasked, weight_vector
from bcfw.models.base.adapter import ModelAdapter
from bcfw.models.base.model import Model
from bcfw.models.python.feature_vectors import DenseVectors
from bcfw.models.python.python_adapter import PythonAdapter
from bcfw.models.python.python_routines import BlackBoxData
from bcfw.options import Flag, NonNegative

#: The possible entries of a truth: a sure link, no link, a possible link.
SURE, NONE, POSSIBLE = 1, 0, -1


class Pair(NamedTuple):
    """The input of one example: ``rows`` (I J, F) has the features of all item pairs, ``shape`` is (I, J)."""

    rows: np.ndarray
    shape: tuple[int, int]


class Truth(NamedTuple):
    """The truth of one example, and the terms of its loss ``cost_miss missed + cost_extra extra``.

    ``labels`` (I J,) are SURE, NONE or POSSIBLE; ``gain`` (I, J) is the change of the loss if a link is predicted.
    """

    labels: np.ndarray
    gain: np.ndarray
    n_sure: int
    cost_miss: float
    cost_extra: float


class Matching(Model):
    """Links between I and J items, at most one per item: ``<w, phi(x, y)> = sum of x[i, j]'w over the links of y``.

    An input x is an (I, J, F) array: the features of every pair of items. A truth is an (I, J) array with 1 for a
    (sure) link, 0 for no link, and -1 for a possible link: the loss does not depend on whether a possible link is
    predicted, and phi leaves it out. An output is a matching: an (I, J) array of 0 and 1 with at most one 1 in each row
    and column. A truth need not be a matching. Unlinked items have score zero, so a constant feature lets the weights
    learn a threshold.

    The loss is ``cost_miss |sure links missed| + cost_extra |links where the truth has none|``. The oracle solves an
    assignment problem: it maximises the sum over the links of ``x[i, j]'w + l[i, j]``, where l is -cost_miss if the
    truth has a sure link at (i, j), cost_extra if it has none, and 0 if it has a possible link.

    Parameters
    ----------
    cost_miss, cost_extra : float
        Cost of a sure link that is missed, and of a predicted link that the truth does not have; >= 0.
    normalize : bool
        Divide the loss of an example by its number of sure links (if it has any). With False, large examples have
        larger losses.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> y = [np.array([[0, 1, 0], [1, 0, 0]]), np.array([[1, -1]])]
    >>> X = [np.stack([np.ones(one.shape), one == 1], axis=2) for one in y]
    >>> result = bcfw.train(bcfw.models.Matching(), X, y, lam=0.01)
    >>> result.predict(X)[0]
    array([[0, 1, 0],
           [1, 0, 0]])
    """

    _unlabelled = POSSIBLE

    def __init__(self, cost_miss: float = 1.0, cost_extra: float = 1.0, normalize: bool = False) -> None:
        self.cost_miss = float(NonNegative(1.0).check("Matching", "cost_miss", cost_miss))
        self.cost_extra = float(NonNegative(1.0).check("Matching", "cost_extra", cost_extra))
        self.normalize = bool(Flag(False).check("Matching", "normalize", normalize))

    def bind(self, X: Any, y: Any) -> Matching:
        """Return a copy with dim = F set."""
        check_same_length(X, y, "Matching")
        return self._bound_to(self._pair(X[0], "Matching: example 0", None))

    def _bound_to(self, pair: Pair) -> Matching:
        bound = copy.copy(self)
        bound.dim = pair.rows.shape[1]
        return bound

    def _example_of_sizes(self, sizes: Mapping[str, Any]) -> tuple[Any, Any]:
        return [np.zeros((1, 1, sizes["dim"]))], [[[NONE]]]

    def features(self, x: Any, y: Any) -> np.ndarray:
        """Return phi(x, y), (F,): the sum of x[i, j] over the links of y, without possible links."""
        pair = self._pair(x, "Matching", self.dim)
        return PackedMatching.features(pair, np.flatnonzero(read_labels(y, pair.shape, "Matching") == SURE))

    def loss(self, y_true: Any, y: Any) -> float:
        """Return ``cost_miss |sure links missed| + cost_extra |links where the truth has none|``.

        With ``normalize``, the loss is divided by the number of sure links.
        """
        truth = self._truth(y_true, np.shape(y_true), "Matching: y_true")
        links = np.flatnonzero(read_labels(y, truth.gain.shape, "Matching: y") == SURE)
        return PackedMatching.loss(truth, links)

    def oracle(self, w: np.ndarray, x: Any, y_true: Any = None) -> np.ndarray:
        """Return the matching with the largest loss plus score (without y_true: score), an (I, J) array of 0 and 1."""
        pair = self._pair(x, "Matching", self.dim)
        weights = weight_vector(w, pair.rows.shape[1], "Matching")
        truth = None if y_true is None else self._truth(y_true, pair.shape, "Matching")
        return as_matrix(PackedMatching.oracle(weights, pair, truth), pair.shape)

    def predict(self, w: np.ndarray, X: Any) -> list[np.ndarray]:
        """Return the best matching of every input: a list of (I, J) arrays of 0 and 1."""
        weights = weight_vector(w, self.dim, "Matching")
        return [as_matrix(PackedMatching.oracle(weights, pair), pair.shape) for pair in self._pairs(X)]

    def link_scores(self, w: np.ndarray, X: Any) -> list[np.ndarray]:
        """Return the score ``x[i, j]'w`` of every item pair of every input: a list of (I, J) arrays."""
        weights = weight_vector(w, self.dim, "Matching")
        return [(pair.rows @ weights).reshape(pair.shape) for pair in self._pairs(X)]

    def _open(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> tuple[ModelAdapter, BlackBoxData]:
        if type(self) is not Matching:  # a subclass may override features, loss or oracle
            return super()._open(X, y, sample_weight)
        check_same_length(X, y, "Matching")
        first = self._pair(X[0], "Matching: example 0", None)
        bound = self._bound_to(first)
        return bound._packed([first, *bound._pairs(X, start=1)], y)

    def _open_bound(self, X: Any, y: Any) -> tuple[ModelAdapter, BlackBoxData]:
        if type(self) is not Matching:
            return super()._open_bound(X, y)
        check_same_length(X, y, "Matching")
        return self._packed(self._pairs(X), y)

    def _packed(self, pairs: list[Pair], y: Any) -> tuple[MatchingAdapter, BlackBoxData]:
        truths = [self._truth(y[i], pair.shape, f"Matching: example {i}") for i, pair in enumerate(pairs)]
        phi = [
            PackedMatching.features(pair, np.flatnonzero(truth.labels == SURE))
            for pair, truth in zip(pairs, truths, strict=True)
        ]
        return MatchingAdapter(self), BlackBoxData(PackedMatching, pairs, truths, DenseVectors(int(self.dim or 0)), phi)

    def _pairs(self, X: Any, start: int = 0) -> list[Pair]:
        examples = read_list(X, "X", "Matching")[start:]
        return [self._pair(x, f"Matching: example {start + i}", self.dim) for i, x in enumerate(examples)]

    def _pair(self, x: Any, where: str, n_features: int | None) -> Pair:
        array = np.ascontiguousarray(real(x, where))
        if array.ndim != 3 or array.shape[2] == 0:
            raise InputError(f"{where}: x must be an (I, J, F) array of link features, got shape {array.shape}")
        if n_features is not None and array.shape[2] != n_features:
            raise InputError(f"{where} has {array.shape[2]} features, expected {n_features}")
        for i, j, feature in np.argwhere(~(np.abs(array) <= LARGEST))[:1]:
            wrong = no_feature(array[i, j, feature])
            raise InputError(f"{where}: link ({i}, {j}) has {wrong} in feature {feature}; clean X")
        n_rows, n_columns, n_features = array.shape
        return Pair(array.reshape(n_rows * n_columns, n_features), (n_rows, n_columns))

    def _truth(self, y: Any, shape: tuple[int, ...], where: str) -> Truth:
        labels = read_labels(y, shape, where)
        n_sure = int(np.count_nonzero(labels == SURE))
        scale = 1.0 / max(1, n_sure) if self.normalize else 1.0
        miss, extra = scale * self.cost_miss, scale * self.cost_extra
        gain = np.select([labels == SURE, labels == NONE], [-miss, extra], 0.0)
        return Truth(labels, gain.reshape(shape), n_sure, miss, extra)


class MatchingAdapter(PythonAdapter):
    """Adapter for :class:`Matching`: examples are packed once, and their arrays identify the data."""

    def data_arrays(self, data: BlackBoxData) -> list[np.ndarray]:
        truths = (array for truth in data.y for array in (truth.labels, truth.gain))
        return [*(pair.rows for pair in data.X), *truths]


class PackedMatching:
    """Features, loss and oracle on packed examples, which training calls; an output is an array of links i J + j."""

    @staticmethod
    def features(pair: Pair, links: np.ndarray) -> np.ndarray:
        return np.add.reduce(pair.rows.take(links, axis=0), axis=0)

    @staticmethod
    def loss(truth: Truth, links: np.ndarray) -> float:
        """Return the loss as counts times costs, so that the loss of the truth is exactly zero."""
        found = truth.labels.take(links)
        missed = truth.n_sure - np.count_nonzero(found == SURE)
        extra = np.count_nonzero(found == NONE)
        return truth.cost_miss * missed + truth.cost_extra * extra

    @staticmethod
    def oracle(w: np.ndarray, pair: Pair, truth: Truth | None = None) -> np.ndarray:
        gain = (pair.rows @ w).reshape(pair.shape)
        if truth is not None:
            gain += truth.gain
        return best_links(gain)


def best_links(gain: np.ndarray) -> np.ndarray:
    """Return the matching with the largest sum of ``gain`` (I, J), as flat indices of its links.

    An assignment problem links every item of the smaller side. Here negative gains are raised to 0, and afterwards all
    links without a positive gain are dropped. The remaining links are the best matching with unlinked items allowed.
    """
    worth = np.maximum(gain, 0.0)
    rows, columns = linear_sum_assignment(worth, maximize=True)
    links = rows * gain.shape[1] + columns
    return links[worth.take(links) > 0.0]


def as_matrix(links: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    y = np.zeros(math.prod(shape), np.int64)
    y[links] = 1
    return y.reshape(shape)


def read_labels(y: Any, shape: tuple[int, ...], where: str) -> np.ndarray:
    """Return the (I J,) int8 labels SURE, NONE or POSSIBLE of a truth or an output; y may hold bools or floats."""
    unmasked(y, f"{where}: y")
    try:
        labels = np.asarray(dense(y))
    except ValueError as error:
        raise InputError(f"{where}: y must be an (I, J) array ({error})") from error
    if labels.shape != shape or len(shape) != 2:
        raise InputError(f"{where}: y has shape {labels.shape}, expected {shape if len(shape) == 2 else '(I, J)'}")
    if labels.dtype.kind in "cmMV":
        raise InputError(f"{where}: y must hold 1 (link), 0 (none) or -1 (possible link), got {labels.dtype}")
    wrong = np.argwhere(~np.isin(labels, (SURE, NONE, POSSIBLE)))
    if len(wrong):
        i, j = wrong[0]
        raise InputError(f"{where}: y[{i}, {j}] is {labels[i, j]}; use 1 (link), 0 (none) or -1 (possible link)")
    return labels.astype(np.int8).ravel()
