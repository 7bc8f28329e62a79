"""Routines of pictorial trees: max-sum over a tree of parts on a grid, by distance transforms; blocks in feature space.

Here a *part* is a part of the pictured object, a node of the tree. Its *state* is its type t and its location (r, c);
in a labeling the state is the number ``(t H + r) W + c``. The weights are
``[U (V, T), C (E, T, T) (none if T = 1), D (E, T, 4)]``, see :class:`bcfw.models.PictorialTree`.

The oracle goes from the leaves to the root. ``total`` holds, for every state of a part, the score of the state plus the
best scores of all parts below it. Each part sends a message to its parent: for every state of the parent, the best
score that the part's subtree can add. The displacement score of an edge (p, q) depends on the type of q. If q sends the
message, the scores of each type of q are transformed first, and then each type of p takes the best of them; if p sends
the message, each type of q takes the best of the types of p first, and then the result is transformed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.algorithms.distance_transform import Envelope, Quadratic, best_source, quadratic_score, transform_grid
from bcfw.compile.specialise import not_inlined
from bcfw.models.shared.feature_space import fill, labeling_value
from bcfw.models.shared.labelings import slot_offset


class PictorialData(NamedTuple):
    """The packed examples of a pictorial tree.

    Attributes
    ----------
    y : (n V,) true states, example after example
    y_off : (n + 1,) 0, V, ..., n V
    scores : scores of all states, flat; ``-inf`` for forbidden states
    score_off : (n + 1,) where the scores of each example begin
    type_step : (n,) distance in ``scores`` from one type to the next: H W, or 0 if all types share their scores
    shape : (n, 2) H and W
    scale : (n,) squared distance at which the loss of a part is 1
    edges : (E, 2) pairs of parts
    anchors : (E, T, 2) rows and columns of the ideal displacement of each edge, for each type of its second part
    order, above, link : (V,) each; see :class:`bcfw.models.shared.label_tree.Forest`
    unit : divisor of displacements
    n_types : T
    """

    y: np.ndarray
    y_off: np.ndarray
    scores: np.ndarray
    score_off: np.ndarray
    type_step: np.ndarray
    shape: np.ndarray
    scale: np.ndarray
    edges: np.ndarray
    anchors: np.ndarray
    order: np.ndarray
    above: np.ndarray
    link: np.ndarray
    unit: float
    n_types: int


class PictorialWork(NamedTuple):
    """Scratch; S is the largest number of locations, N the longest side of a grid.

    Attributes
    ----------
    y, z, d, loss_weight : see :class:`bcfw.models.shared.feature_space.FeatureWork`
    total : (V T, S) scores of states, including the best scores of the parts below
    transformed : (T, S) transformed scores
    joined, half : (S,) best score over all types, and scratch of transforms
    place : (V, 3) rows, columns and types of a labeling
    truth_score : (1,) ``<w, phi(x_i, y_i)>`` of the current block
    site, height, start, line, moved : (N,) see :class:`bcfw.algorithms.distance_transform.Envelope`
    """

    y: np.ndarray
    z: np.ndarray
    d: np.ndarray
    loss_weight: np.ndarray
    total: np.ndarray
    transformed: np.ndarray
    joined: np.ndarray
    half: np.ndarray
    place: np.ndarray
    truth_score: np.ndarray
    site: np.ndarray
    height: np.ndarray
    start: np.ndarray
    line: np.ndarray
    moved: np.ndarray


# --- scores of single states -------------------------------------------------------------------------------------


def part_loss(data, i, p, r, c):
    """Return ``min(1, |l - l_p|^2 / scale)``, the loss of part p at ``l = (r, c)`` with the true location l_p."""
    H, W = data.shape[i, 0], data.shape[i, 1]
    place = data.y[data.y_off[i] + p] % (H * W)
    down = r - place // W
    across = c - place % W
    return min(1.0, (down * down + across * across) / data.scale[i])


def score_place(data, i, p, t):
    """Return where the scores of type t of part p begin in ``data.scores``."""
    S = data.shape[i, 0] * data.shape[i, 1]
    step = data.type_step[i]
    return data.score_off[i] + p * (S if step == 0 else step * data.n_types) + t * step


def pair_place(data, e, first, second):
    """Return the index in w of ``C[e, first, second]``, the weight of two types at edge e; -1 if there is one type."""
    T = data.n_types
    return -1 if T == 1 else data.order.shape[0] * T + (e * T + first) * T + second


def pair_score(data, w, e, first, second):
    """Return ``C[e, first, second]``; 0 if there is one type."""
    place = pair_place(data, e, first, second)
    return 0.0 if place < 0 else w[place]


def displacement_place(data, e, t):
    """Return the index in w of ``D[e, t, 0]``."""
    T = data.n_types
    pairs = 0 if T == 1 else data.edges.shape[0] * T * T
    return data.order.shape[0] * T + pairs + 4 * (e * T + t)


def spring(data, w, e, t, sign):
    """Return the scores of displacements along rows and columns, as quadratics.

    With sign 1 the message goes from the second part of edge e to the first, with sign -1 from the first to the second.
    """
    place = displacement_place(data, e, t)
    rows, columns = sign * data.anchors[e, t, 0], sign * data.anchors[e, t, 1]
    linear = sign / data.unit
    square = 1.0 / (data.unit * data.unit)
    return (
        Quadratic(linear * w[place], square * w[place + 1], rows),
        Quadratic(linear * w[place + 2], square * w[place + 3], columns),
    )


# --- the oracle --------------------------------------------------------------------------------------------------


@not_inlined
def score_states(data, i, w, work):
    """Write the weighted scores plus losses of all states of all parts to ``work.total``."""
    H, W = data.shape[i, 0], data.shape[i, 1]
    T = data.n_types
    V = data.order.shape[0]
    for k in range(V * T):
        p = k // T
        begin = score_place(data, i, p, k % T)
        total = work.total[k]
        for r in range(H):
            for c in range(W):
                value = data.scores[begin + r * W + c]
                if value != -np.inf:
                    value = w[k] * value + work.loss_weight[0] / V * part_loss(data, i, p, r, c)
                total[r * W + c] = value


def join_types(rows, w, place, step, S, out):
    """Write ``out(s) = max_t rows[t](s) + w[place + t step]``; without the weights if ``place < 0``."""
    for s in range(S):
        out[s] = -np.inf
    for t in range(rows.shape[0]):
        pair = 0.0 if place < 0 else w[place + t * step]
        row = rows[t]
        for s in range(S):
            value = row[s] + pair
            out[s] = value if value > out[s] else out[s]


def add_scores(values, S, out):
    """Add the first S values to ``out``."""
    for s in range(S):
        out[s] += values[s]


@not_inlined
def send(data, i, w, p, work):
    """Send the message of part p: add to each state of its parent the best score that the subtree of p can add."""
    T = data.n_types
    H, W = data.shape[i, 0], data.shape[i, 1]
    e = data.link[p]
    from_second = data.edges[e, 1] == p
    envelope = Envelope(work.site, work.height, work.start, work.line, work.moved)
    if from_second:
        for t in range(T):
            down, across = spring(data, w, e, t, 1.0)
            transform_grid(work.total[p * T + t], (H, W), down, across, envelope, work.half, work.transformed[t])
    for t in range(T):
        if from_second:
            join_types(work.transformed, w, pair_place(data, e, t, 0), 1, H * W, work.joined)
            add_scores(work.joined, H * W, work.total[data.above[p] * T + t])
        else:
            join_types(work.total[p * T : (p + 1) * T], w, pair_place(data, e, 0, t), T, H * W, work.joined)
            down, across = spring(data, w, e, t, -1.0)
            transform_grid(work.joined, (H, W), down, across, envelope, work.half, work.transformed[0])
            add_scores(work.transformed[0], H * W, work.total[data.above[p] * T + t])


@not_inlined
def take_best(data, i, w, p, work):
    """Return the best state of part p, given its parent's state; among equals, the state of the smallest number."""
    T = data.n_types
    H, W = data.shape[i, 0], data.shape[i, 1]
    e = data.link[p]
    above = 0 if e < 0 else work.y[data.above[p]]
    kept, place = above // (H * W), above % (H * W)
    best, found = -np.inf, 0
    for t in range(T):
        pair, down, across = 0.0, Quadratic(0.0, 0.0, 0.0), Quadratic(0.0, 0.0, 0.0)
        if e >= 0 and data.edges[e, 1] == p:
            pair = pair_score(data, w, e, kept, t)
            down, across = spring(data, w, e, t, 1.0)
        elif e >= 0:
            pair = pair_score(data, w, e, t, kept)
            down, across = spring(data, w, e, kept, -1.0)
        source, value = best_source(work.total[p * T + t], (H, W), down, across, (place // W, place % W), work.line)
        if value + pair > best:
            best, found = value + pair, t * H * W + source
    return found


def argmax(data, i, w, work):
    """Find the best labeling by max-sum: messages go from the leaves to the root, then states from root to leaves."""
    V = data.order.shape[0]
    score_states(data, i, w, work)
    for j in range(V - 1):
        send(data, i, w, data.order[V - 1 - j], work)
    for j in range(V):
        p = data.order[j]
        work.y[p] = take_best(data, i, w, p, work)
    fill(data, i, work)
    return labeling_value(data, i, w, work)


# --- features and losses of labelings, for the routines in feature space -----------------------------------------


def labeling_loss(data, i, y):
    """Return ``L_i(y)``, the mean loss of the parts."""
    S, W = data.shape[i, 0] * data.shape[i, 1], data.shape[i, 1]
    total = 0.0
    for p in range(y.shape[0]):
        place = y[p] % S
        total += part_loss(data, i, p, place // W, place % W)
    return total / y.shape[0]


def add_features(data, i, y, s, out):
    """Add ``s phi(x_i, y)`` to ``out``."""
    T = data.n_types
    S, W = data.shape[i, 0] * data.shape[i, 1], data.shape[i, 1]
    for p in range(y.shape[0]):
        t = y[p] // S
        out[p * T + t] += s * data.scores[score_place(data, i, p, t) + y[p] % S]
    for e in range(data.edges.shape[0]):
        first, second = y[data.edges[e, 0]], y[data.edges[e, 1]]
        t = second // S
        place = pair_place(data, e, first // S, t)
        if place >= 0:
            out[place] += s
        place = displacement_place(data, e, t)
        down = ((second % S) // W - (first % S) // W - data.anchors[e, t, 0]) / data.unit
        across = (second % W - first % W - data.anchors[e, t, 1]) / data.unit
        out[place] += s * down
        out[place + 1] -= s * down * down
        out[place + 2] += s * across
        out[place + 3] -= s * across * across


# --- values of stored labelings, computed without their features -------------------------------------------------


def read_places(data, i, y, work):
    """Write the rows, columns and types of a labeling's states to ``work.place``."""
    S, W = data.shape[i, 0] * data.shape[i, 1], data.shape[i, 1]
    for p in range(y.shape[0]):
        t = y[p] // S
        r = (y[p] - t * S) // W
        work.place[p, 0] = r
        work.place[p, 1] = y[p] - t * S - r * W
        work.place[p, 2] = t


@not_inlined
def places_score(data, i, w, work):
    """Return ``<w, phi(x_i, y)>`` of the labeling that :func:`read_places` has read."""
    T = data.n_types
    W = data.shape[i, 1]
    place = work.place
    total = 0.0
    for p in range(place.shape[0]):
        t = place[p, 2]
        total += w[p * T + t] * data.scores[score_place(data, i, p, t) + place[p, 0] * W + place[p, 1]]
    for e in range(data.edges.shape[0]):
        p, q = data.edges[e, 0], data.edges[e, 1]
        t = place[q, 2]
        total += pair_score(data, w, e, place[p, 2], t)
        down, across = spring(data, w, e, t, 1.0)
        total += quadratic_score(down, place[q, 0], place[p, 0]) + quadratic_score(across, place[q, 1], place[p, 1])
    return total


def score_truth(data, i, w, work):
    read_places(data, i, data.y[data.y_off[i] : data.y_off[i + 1]], work)
    work.truth_score[0] = places_score(data, i, w, work)


def scores(data, i, w, loss_weight, work):
    """Compute the score of the truth, once for all stored labelings; theta itself is (w, 1)."""
    work.loss_weight[0] = loss_weight
    score_truth(data, i, w, work)


def start_parts(data, i, w, work):
    work.loss_weight[0] = 1.0
    score_truth(data, i, w, work)


def slot_value(data, i, slot, labelings, by_parts, w, work):
    """Return the value of a stored labeling minus the value of the truth."""
    begin = slot_offset(data, i, slot, labelings)
    read_places(data, i, labelings[begin : begin + data.y_off[i + 1] - data.y_off[i]], work)
    loss = 0.0
    for p in range(work.place.shape[0]):
        loss += part_loss(data, i, p, work.place[p, 0], work.place[p, 1])
    score = places_score(data, i, w, work)
    return work.loss_weight[0] * loss / work.place.shape[0] + score - work.truth_score[0]
