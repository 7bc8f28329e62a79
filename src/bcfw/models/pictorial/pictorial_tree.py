"""The model PictorialTree (pictorial structures): object parts on a grid, joined by springs in a tree."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bcfw.algorithms.distance_transform import make_envelope
from bcfw.errors import InputError, OptionError
from bcfw.inputs.examples import check_same_length, read_list
from bcfw.inputs.labels import label_numbers
from bcfw.inputs.node_graphs import read_pairs
from bcfw.inputs.numbers import LARGEST, offsets, real, stacked, weight_vector
from bcfw.models.base.kernel_model import KernelModel
from bcfw.models.pictorial import pictorial_tree_routines as pictorial_routines
from bcfw.models.pictorial.pictorial_tree_routines import PictorialData, PictorialWork
from bcfw.models.shared.feature_space import FEATURE_SPACE_ROUTINES
from bcfw.models.shared.label_tree import check_forest, orient
from bcfw.models.shared.labelings import keep_labeling, same_labeling
from bcfw.options import Count, Positive
from bcfw.passes.contract import routine_set

#: Indices of the squared terms among the four features of a displacement.
SQUARES = (1, 3)

#: Operations of the oracle per state of a part: its score, a distance transform along both axes, and the maximum.
OPERATIONS = 70

#: Upper limit for the number of states of a part, because stored labelings are int32.
MOST_STATES = 2**31


class Scores(NamedTuple):
    """The input of one example: its scores (V, T, H, W), or (V, 1, H, W) if all types share them, and its scale."""

    values: np.ndarray
    scale: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape[2], self.values.shape[3]


class PictorialTree(KernelModel):
    """Pictorial structure: locations of an object's parts on a grid; springs along the edges of a tree join the parts.

    An input is ``x = (scores, scale)``. ``scores (V, H, W)`` or ``(V, T, H, W)`` tell how well a part (of a type) fits
    the image at each location; without the axis of length T all T types share the scores. A score of ``-inf`` forbids a
    location. The number ``scale > 0`` is used in the loss. Inputs may have grids of different sizes. An output is
    ``y (V, 2)``, the locations ``l_p = (row, column)`` of the parts. With T > 1 types it is ``y (V, 3)``, with the type
    ``t_p`` of each part in the last column. The type of a part says where the part lies relative to its neighbours.

    With ``w = [U (V, T), C (E, T, T), D (E, T, 4)]`` in C order, and without C if T = 1,

        <w, phi(x, y)> = sum_p U[p, t_p] scores[p, t_p, l_p]
                         + sum_{e = (p, q)} C[e, t_p, t_q]
                         + sum_{e = (p, q)} <D[e, t_q], (d_1, -d_1^2, d_2, -d_2^2)>,    d = (l_q - l_p - r_e) / unit,

    where ``r_e = anchors[e, t_q]`` is the typical displacement from p to q if q has type t_q. (This is the score of
    gaps-2016, App. I.4, with types of parts instead of types of arcs.) :meth:`bounds` keeps the weights of the squares
    >= 0; all other weights are free. The loss does not depend on the types:

        L(y_i, y) = 1/V sum_p min(1, |l_p - l_{i,p}|^2 / scale_i).

    In the paper, scale_i is the squared distance between left shoulder and right hip.

    The oracle is exact: max-sum over the tree computes messages by the generalised distance transform. For every
    location it takes O(E T) time, and O(E T^2) more for C. A block average is a vector in feature space: d + 1 numbers.

    Parameters
    ----------
    edges : (E, 2) array
        Pairs (p, q) of parts 0 .. E that form a tree, in any order. An empty list means a single part.
    n_types : int
        The number T of types of each part.
    anchors : (E, T, 2) array or None
        Displacements (rows, columns) from p to q for each type of q; None means zeros.
        :func:`bcfw.models.displacement_types` computes anchors by K-means.
    unit : float
        Unit of displacements, in cells of the grid. With unit 1, the squares of large displacements are hundreds of
        times larger than the scores, and training takes many more passes. If the unit is about the typical deviation
        from the anchors, squares and scores have similar sizes.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> scores = np.zeros((2, 1, 5))                 # two parts on a line of five places
    >>> scores[0, 0, 1] = scores[1, 0, 0] = 1.0
    >>> model = bcfw.models.PictorialTree([(0, 1)], anchors=[[[0, 2]]])
    >>> for square in (0.0, 1.0):                    # the spring wants the second part two places to the right
    ...     w = np.array([1.0, 1.0, 0.0, 0.0, 0.0, square])
    ...     print(model.oracle(w, (scores, 1.0)).tolist())
    [[0, 1], [0, 0]]
    [[0, 1], [0, 3]]
    """

    routines = routine_set(
        pictorial_routines,
        {"Data": PictorialData, "Work": PictorialWork, "keep_labeling": keep_labeling, "same_labeling": same_labeling},
        shared=FEATURE_SPACE_ROUTINES,
    )

    def __init__(self, edges: Any, n_types: int = 1, anchors: Any = None, unit: float = 1.0) -> None:
        demand = "PictorialTree: edges must be an (E, 2) array of pairs of parts"
        self.edges = read_pairs(edges, OptionError, demand, "got {dtype} of shape {shape}").astype(np.int64)
        check_forest(self.edges, len(self.edges) + 1, "PictorialTree", "parts", "edges")
        self.n_types = int(Count(1).check("PictorialTree", "n_types", n_types))
        self.anchors = read_anchors(anchors, len(self.edges), self.n_types)
        self.unit = float(Positive(1.0).check("PictorialTree", "unit", unit))
        self.scale: float | None = None
        E, T = len(self.edges), self.n_types
        self.dim = (E + 1) * T + (E * T * T if T > 1 else 0) + 4 * E * T

    @property
    def n_parts(self) -> int:
        """The number V of parts."""
        return len(self.edges) + 1

    # --- reading -------------------------------------------------------------------------------------------------

    def _read(self, X: Any, y: Any = None) -> tuple[list[Scores], list[np.ndarray] | None]:
        """Return the inputs, and the true states of their parts (None without y)."""
        if y is not None:
            check_same_length(X, y, "PictorialTree")
        inputs = [self._scores(x, f"PictorialTree: example {i}") for i, x in enumerate(read_list(X, "X", self._owner))]
        if y is None:
            return inputs, None
        return inputs, [self._states(y[i], x, f"PictorialTree: example {i}") for i, x in enumerate(inputs)]

    def _scores(self, x: Any, where: str) -> Scores:
        """Return the input ``x = (scores, scale)`` after checking it."""
        if not isinstance(x, tuple | list) or len(x) != 2:
            raise InputError(f"{where}: x must be a pair (scores, scale), got {type(x).__name__}")
        values, V, T = real(x[0], where, "scores"), self.n_parts, self.n_types
        values = values[:, None] if values.ndim == 3 else values
        if values.ndim != 4 or values.shape[:2] not in ((V, 1), (V, T)) or values.size == 0:
            types = f" or ({V}, {T}, H, W)" if T > 1 else ""
            raise InputError(f"{where}: scores must have shape ({V}, H, W){types}, got {np.shape(x[0])}")
        if T * values.shape[2] * values.shape[3] > MOST_STATES:
            raise InputError(f"{where}: the grid has too many places, a part may have 2**31 states")
        for place in np.argwhere(~((np.abs(values) <= LARGEST) | (values == -np.inf)))[:1]:
            p, t, r, c = place.tolist()
            raise InputError(
                f"{where}: part {p} has the score {values[p, t, r, c]:g} at row {r}, column {c} (type {t}); scores "
                "must be finite, or -inf where a part may not be"
            )
        for p in np.flatnonzero((values == -np.inf).all(axis=(1, 2, 3)))[:1]:
            raise InputError(f"{where}: all scores of part {p} are -inf; it must be allowed somewhere")
        if not Positive(1.0).accepts(x[1]):
            raise InputError(f"{where}: scale must be a finite number > 0, got {x[1]!r}")
        return Scores(values, float(x[1]))

    def _places(self, y: Any, where: str) -> np.ndarray:
        """Return the (V, 3) rows, columns and types of an output after checking that all are valid and >= 0."""
        array, columns = label_numbers(y, where), 2 if self.n_types == 1 else 3
        if array.shape != (self.n_parts, columns):
            names = "row, column" if columns == 2 else "row, column, type"
            raise InputError(f"{where}: y must have shape ({self.n_parts}, {columns}), {names}; got {array.shape}")
        for p in np.flatnonzero(~((array >= 0) & (array == np.floor(array))).all(axis=1))[:1]:
            raise InputError(f"{where}: part {p} is at {array[p].tolist()}; y must hold whole numbers >= 0")
        types = array[:, 2] if columns == 3 else np.zeros(len(array))
        for p in np.flatnonzero(types >= self.n_types)[:1]:
            raise InputError(f"{where}: part {p} has type {types[p]:g}; types are 0 .. {self.n_types - 1}")
        return np.column_stack([array[:, :2], types]).astype(np.int64)

    def _states(self, y: Any, x: Scores, where: str) -> np.ndarray:
        """Return the (V,) states of an output. Raise if a location is off the grid or has the score -inf."""
        places, (H, W) = self._places(y, where), x.shape
        for p in np.flatnonzero((places[:, 0] >= H) | (places[:, 1] >= W))[:1]:
            raise InputError(
                f"{where}: part {p} is at row {places[p, 0]}, column {places[p, 1]}, outside the grid of {H} x {W}"
            )
        row, column, kind = places.T
        layer = kind if x.values.shape[1] > 1 else 0
        for p in np.flatnonzero(x.values[np.arange(len(places)), layer, row, column] == -np.inf)[:1]:
            raise InputError(f"{where}: part {p} is at row {row[p]}, column {column[p]}, where its score is -inf")
        return (kind * H + row) * W + column

    def _bound_to(self, examples: Any, sample_weight: np.ndarray | None) -> PictorialTree:
        """Return a copy; its ``scale`` is the common scale of the examples, or None if their scales differ."""
        bound = copy.copy(self)
        scales = {x.scale for x in examples[0]}
        bound.scale = scales.pop() if len(scales) == 1 else None
        return bound

    def _example_of_sizes(self, sizes: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return one example, or two examples with different scales if the model has no common scale."""
        scales = (1.0, 2.0) if sizes["scale"] is None else (sizes["scale"],)
        truth = np.zeros((self.n_parts, 2 if self.n_types == 1 else 3), np.int64)
        return [(np.zeros((self.n_parts, 1, 1)), scale) for scale in scales], [truth for _ in scales]

    def _packed(self, examples: tuple[list[Scores], list[np.ndarray] | None]) -> PictorialData:
        inputs, states = examples
        if states is None:  # any allowed states
            states = [np.argmax(x.values.reshape(self.n_parts, -1), axis=1) for x in inputs]
        shape = np.array([x.shape for x in inputs], np.int64).reshape(-1, 2)
        types = np.array([x.values.shape[1] for x in inputs], np.int64)
        forest = orient(self.edges, self.n_parts)
        return PictorialData(
            y=stacked([np.zeros(0, np.int64), *states], np.int64),
            y_off=self.n_parts * np.arange(len(inputs) + 1),
            scores=stacked([np.zeros(0), *(x.values.ravel() for x in inputs)], np.float64),
            score_off=offsets([x.values.size for x in inputs]),
            type_step=np.where(types == self.n_types, shape.prod(axis=1), 0),
            shape=shape,
            scale=np.array([x.scale for x in inputs]),
            edges=self.edges,
            anchors=self.anchors,
            order=forest.order,
            above=forest.above,
            link=forest.link,
            unit=self.unit,
            n_types=self.n_types,
        )

    # --- what solvers call ---------------------------------------------------------------------------------------

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds (lower, upper): weights of squared displacements are >= 0, all other weights are free."""
        lower, upper = np.full(int(self.dim or 0), -np.inf), np.full(int(self.dim or 0), np.inf)
        self.weight_parts(lower)[2][:, :, SQUARES] = 0.0
        return lower, upper

    def weight_parts(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return views of w as U (V, T), C (E, T, T) and D (E, T, 4); with a single type, C is (E, 0, 0)."""
        E, T = len(self.edges), self.n_types
        pair = T if T > 1 else 0
        ends = (self.n_parts * T, self.n_parts * T + E * pair * pair)
        U, C, D = w[: ends[0]], w[ends[0] : ends[1]], w[ends[1] :]
        return U.reshape(-1, T), C.reshape(E, pair, pair), D.reshape(E, T, 4)

    def oracle_operations(self, data: PictorialData) -> float:
        """Return the operations for the scores and transforms of all states and for sums over pairs of types."""
        T, locations = self.n_types, float(data.shape.prod(axis=1).sum())
        return locations * T * (OPERATIONS * self.n_parts + (T * len(self.edges) if T > 1 else 0))

    def label_limits(self, data: PictorialData) -> tuple[int, int]:
        return 0, int(self._states_of(data).max()) - 1

    def keeps_truths(self, data: PictorialData, labelings: np.ndarray) -> bool:
        """Return whether the first slots hold the truths and all slots hold states that exist on the example's grid."""
        slots = len(labelings) // max(len(data.y), 1)
        inside = labelings < np.repeat(self._states_of(data), slots * self.n_parts)
        return bool(inside.all()) and super().keeps_truths(data, labelings)

    def _states_of(self, data: PictorialData) -> np.ndarray:
        """Return the (n,) numbers of states of a part in each example."""
        return self.n_types * data.shape.prod(axis=1)

    def make_work(self, data: PictorialData) -> PictorialWork:
        S, N = int(data.shape.prod(axis=1).max(initial=1)), int(data.shape.max(initial=1))
        envelope = make_envelope(N)
        return PictorialWork(
            y=np.zeros(self.n_parts, np.int64),
            z=np.zeros(int(self.dim or 0) + 1),
            d=np.zeros(int(self.dim or 0) + 1),
            loss_weight=np.zeros(1),
            total=np.zeros((self.n_parts * self.n_types, S)),
            transformed=np.zeros((self.n_types, S)),
            joined=np.zeros(S),
            half=np.zeros(S),
            place=np.zeros((self.n_parts, 3), np.int64),
            truth_score=np.zeros(1),
            **envelope._asdict(),
        )

    def initial_mu(self, data: PictorialData) -> tuple[np.ndarray]:
        """Return the initial (n, dim + 1) averages of features relative to the truth and of losses: zeros."""
        return (np.zeros((len(data.y_off) - 1, int(self.dim or 0) + 1)),)

    def decoded(self, w: np.ndarray, data: PictorialData, loss_weight: float) -> np.ndarray:
        weights = weight_vector(w, self.dim, "PictorialTree")
        squares = self.weight_parts(weights)[2][:, :, SQUARES]
        for e, t, axis in np.argwhere(~(squares >= 0.0))[:1].tolist():
            raise InputError(
                f"PictorialTree: edge {e} has the weight {squares[e, t, axis]:.6g} of squared displacements along axis "
                f"{axis} (type {t}); distance transforms need weights >= 0 (see bounds())"
            )
        return super().decoded(weights, data, loss_weight)

    def output(self, data: PictorialData, labelings: np.ndarray) -> list[np.ndarray]:
        """Return the labelings as a list of (V, 2) or (V, 3) int arrays."""
        found = []
        for (H, W), states in zip(data.shape.tolist(), labelings.reshape(-1, self.n_parts), strict=True):
            kind, row, column = np.unravel_index(states.astype(np.int64), (self.n_types, H, W))
            found.append(np.column_stack([row, column, kind][: 2 if self.n_types == 1 else 3]))
        return found

    # --- single outputs ------------------------------------------------------------------------------------------

    def features(self, x: Any, y: Any) -> np.ndarray:
        """Return the joint features phi(x, y), (dim,)."""
        given = self._scores(x, "PictorialTree: x")
        states = self._states(y, given, "PictorialTree: y")
        kind, row, column = np.unravel_index(states, (self.n_types, *given.shape))
        phi = np.zeros(int(self.dim or 0))
        U, C, D = self.weight_parts(phi)
        parts, links = np.arange(self.n_parts), np.arange(len(self.edges))
        layer = kind if given.values.shape[1] > 1 else 0
        U[parts, kind] = given.values[parts, layer, row, column]
        p, q = self.edges.T
        if self.n_types > 1:
            C[links, kind[p], kind[q]] = 1.0
        places = np.column_stack([row, column])
        d = (places[q] - places[p] - self.anchors[links, kind[q]]) / self.unit
        D[links, kind[q]] = np.column_stack([d[:, 0], -(d[:, 0] ** 2), d[:, 1], -(d[:, 1] ** 2)])
        return phi

    def loss(self, y_true: Any, y: Any, scale: float | None = None) -> float:
        """Return ``1/V sum_p min(1, |l_p - l_{i,p}|^2 / scale)``; types do not count.

        The scale is part of the input. If it is not given, the method uses the common scale of the examples that the
        model is bound to. If they have no common scale, the loss is only known if all locations are correct: then it
        is 0.
        """
        truth, found = (self._places(one, f"PictorialTree: {name}") for one, name in ((y_true, "y_true"), (y, "y")))
        squared = ((truth[:, :2] - found[:, :2]) ** 2).sum(axis=1)
        known = self.scale if scale is None else scale
        if known is None and squared.any():
            raise InputError("PictorialTree: the loss needs the scale of the example: give loss(y_true, y, scale=...)")
        if known is not None and not Positive(1.0).accepts(known):
            raise InputError(f"PictorialTree: scale must be a finite number > 0, got {known!r}")
        return float(np.minimum(1.0, squared / known).mean()) if known is not None else 0.0

    def _loss_of(self, x: Any, y_true: Any, y: Any) -> float:
        return self.loss(y_true, y, self._scores(x, "PictorialTree: x").scale)


def read_anchors(anchors: Any, n_edges: int, n_types: int) -> np.ndarray:
    """Return the anchors as an (E, T, 2) array of finite numbers; zeros for None."""
    if anchors is None:
        return np.zeros((n_edges, n_types, 2))
    array = np.array(real(anchors, "PictorialTree", "anchors", OptionError))
    if n_edges == 0 and array.size == 0:
        array = array.reshape(0, n_types, 2)
    if array.shape != (n_edges, n_types, 2):
        raise OptionError(f"PictorialTree: anchors must have shape ({n_edges}, {n_types}, 2), got {array.shape}")
    if not np.all(np.abs(array) <= LARGEST):
        raise OptionError("PictorialTree: anchors must be finite")
    return array
