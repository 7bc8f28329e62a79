"""displacement_types: types of parts for PictorialTree, from K-means of displacements along the edges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bcfw.errors import InputError, OptionError
from bcfw.inputs.node_graphs import read_pairs
from bcfw.inputs.numbers import real
from bcfw.models.shared.label_tree import check_forest
from bcfw.options import Count

#: Number of random starts of K-means; the best result is kept.
STARTS = 10


class DisplacementTypes(NamedTuple):
    """Result of :func:`displacement_types`.

    Attributes
    ----------
    anchors : (E, T, 2) mean displacement along each edge (p, q) for each type of its second part q
    types : (n, V) type of every part in every example
    """

    anchors: np.ndarray
    types: np.ndarray


def displacement_types(locations: Any, edges: Any, n_types: int, seed: int = 0) -> DisplacementTypes:
    """Return anchors and types for :class:`bcfw.models.PictorialTree`, from K-means of displacements.

    The type of part q says where q lies relative to the parts p of its edges (p, q). K-means clusters the displacements
    ``l_q - l_p`` of all examples into T types; if several edges end in q, their displacements form one vector. The
    cluster means are the anchors. A part that is the second part of no edge has type 0 in every example.

    Parameters
    ----------
    locations : (n, V, 2) array
        Locations of the parts in n examples.
    edges : (E, 2) array
        Pairs of parts that form a tree.
    n_types : int
        T, the number of types.
    seed : int
        Seed of the random starts of K-means.

    Returns
    -------
    DisplacementTypes
        A pair (anchors, types).

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> left_and_right = np.array([[[5, 5], [5, 2]], [[4, 7], [4, 4]], [[6, 3], [6, 9]]])
    >>> anchors, types = bcfw.models.displacement_types(left_and_right, [(0, 1)], 2)
    >>> sorted(anchors[0].tolist()), bool(types[0, 1] == types[1, 1] != types[2, 1])
    ([[0.0, -3.0], [0.0, 6.0]], True)
    """
    owner = "displacement_types"
    demand = f"{owner}: edges must be an (E, 2) array of pairs of parts"
    pairs = read_pairs(edges, OptionError, demand, "got {dtype} of shape {shape}").astype(np.int64)
    n_parts, T = len(pairs) + 1, int(Count(1).check(owner, "n_types", n_types))
    check_forest(pairs, n_parts, owner, "parts", "edges")
    places = real(locations, owner, "locations")
    if places.ndim != 3 or places.shape[1:] != (n_parts, 2) or len(places) == 0:
        raise InputError(f"{owner}: locations must have shape (n, {n_parts}, 2), got {places.shape}")
    for i, p, axis in np.argwhere(~np.isfinite(places))[:1].tolist():
        raise InputError(f"{owner}: example {i}: part {p} is at {places[i, p, axis]:g}; locations must be finite")
    moves = places[:, pairs[:, 1]] - places[:, pairs[:, 0]]
    anchors, types = np.zeros((len(pairs), T, 2)), np.zeros((len(places), n_parts), np.int64)
    for q in range(n_parts):
        own = np.flatnonzero(pairs[:, 1] == q)
        if len(own):
            rows = moves[:, own].reshape(len(places), -1)
            centres, types[:, q] = clustered(rows, T, seed, f"{owner}: part {q}")
            anchors[own] = centres.reshape(T, len(own), 2).swapaxes(0, 1)
    return DisplacementTypes(anchors, types)


def clustered(rows: np.ndarray, count: int, seed: int, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the cluster means of K-means with ``count`` clusters, and the cluster of every row."""
    from sklearn.cluster import KMeans

    different = len(np.unique(rows, axis=0))
    if different < count:
        raise InputError(f"{where} has only {different} different displacements, too few for n_types = {count}")
    found = KMeans(count, n_init=STARTS, random_state=seed).fit(rows)
    return found.cluster_centers_, found.labels_
