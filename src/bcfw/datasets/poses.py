"""synthetic_poses: artificial score maps for real poses, similar to the output of a detector of joints."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from bcfw.datasets.lsp import JOINT_NAMES, SKELETON
from bcfw.errors import InputError
from bcfw.inputs.numbers import real
from bcfw.options import Count

#: The joints whose squared distance is the scale of the loss: left shoulder and right hip.
TRUNK = (9, 2)

#: The edge that gets no midpoint, from neck to head.
NECK_TO_HEAD = 0

#: For each joint, the joint on the other side of the body; neck and head are their own counterparts.
MIRRORED = (5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6, 12, 13)

#: Peaks of a score map: ranges of their uniformly distributed heights, and their standard deviation in cells.
TRUE_HEIGHT, MIRRORED_HEIGHT, OTHER_HEIGHT = (0.6, 1.4), (0.0, 1.1), (0.3, 1.2)
WIDTH = 1.5

#: Number of peaks at random places of each map; standard deviation of a true peak's location error, in cells; standard
#: deviation of the noise.
N_OTHERS, SHIFT, NOISE = 4, 0.5, 0.15


def synthetic_poses(joints: Any, cells: int = 40, midpoints: bool = False, seed: int = 0) -> Bunch:
    """Return data for :class:`bcfw.models.PictorialTree` from real joints and artificial score maps.

    Each person is cut out with a margin and put on a grid of ``cells`` x ``cells``. The score map of a joint is a sum
    of round peaks and noise: one peak is near the joint, one is near the joint on the other side of the body (detectors
    confuse left and right), and some are at random places. The peak near the joint is not always the highest peak.

    Parameters
    ----------
    joints : (n, 14, 2) array
        Locations (x, y) in any unit; the joints are in the order of :func:`fetch_lsp`.
    cells : int
        Number of rows and columns of the grids.
    midpoints : bool
        Add the midpoints between neighbouring joints as parts, except between neck and head: 26 parts, as in gaps-2016.
    seed : int
        Seed of all random numbers.

    Returns
    -------
    sklearn.utils.Bunch
        X : list of n pairs (scores, scale)
            The (V, cells, cells) score maps, and the squared distance from left shoulder to right hip in cells.
        y : (n, V, 2) int array
            Rows and columns of the parts.
        edges : (V - 1, 2) int array
            Pairs of parts that form a tree.

    Examples
    --------
    >>> import numpy as np
    >>> from bcfw.datasets import synthetic_poses
    >>> poses = synthetic_poses(np.random.default_rng(0).random((2, 14, 2)), midpoints=True)
    >>> poses.X[0][0].shape, poses.y.shape, poses.edges.shape
    ((26, 40, 40), (2, 26, 2), (25, 2))
    """
    cells = int(Count(40, least=2).check("synthetic_poses", "cells", cells))
    places = real(joints, "synthetic_poses", "joints")
    if places.shape[1:] != (len(JOINT_NAMES), 2) or not np.isfinite(places).all():
        raise InputError(f"synthetic_poses: joints must be finite, of shape (n, 14, 2), got shape {places.shape}")
    rng = np.random.default_rng(seed)
    on_grid, edges, mirrored = placed(places[:, :, ::-1], cells, rng), np.array(SKELETON), np.array(MIRRORED)
    if midpoints:
        on_grid, edges, mirrored = with_midpoints(on_grid, edges, mirrored)
    y = np.floor(on_grid).astype(np.int64)
    scales = np.maximum(((y[:, TRUNK[0]] - y[:, TRUNK[1]]) ** 2).sum(axis=1), 1)
    X = [(score_maps(one, mirrored, cells, rng), float(scale)) for one, scale in zip(on_grid, scales, strict=True)]
    return Bunch(X=X, y=y, edges=edges)


def placed(places: np.ndarray, cells: int, rng: np.random.Generator) -> np.ndarray:
    """Return (n, 14, 2) rows and columns, with fractions; each person fills about two thirds of a grid."""
    low, high = places.min(axis=1), places.max(axis=1)
    side = np.maximum((high - low).max(axis=1) * rng.uniform(1.3, 1.7, size=len(places)), np.finfo(float).tiny)
    room = side[:, None] - (high - low)
    origin = low - room * rng.uniform(0.25, 0.75, size=room.shape)
    return np.clip((places - origin[:, None]) / side[:, None, None] * cells, 0.0, cells - 1e-6)


def with_midpoints(
    places: np.ndarray, edges: np.ndarray, mirrored: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return places, edges and mirrored parts with midpoints: every edge but neck to head is split into two edges."""
    cut = np.delete(edges, NECK_TO_HEAD, axis=0)
    number = {frozenset(edge): len(mirrored) + k for k, edge in enumerate(cut.tolist())}
    halfway = (places[:, cut[:, 0]] + places[:, cut[:, 1]]) / 2.0
    halves = [
        pair
        for (p, q), middle in zip(cut.tolist(), number.values(), strict=True)
        for pair in ((p, middle), (middle, q))
    ]
    other_side = [number[frozenset(mirrored[edge].tolist())] for edge in cut]
    return (
        np.concatenate([places, halfway], axis=1),
        np.array([edges[NECK_TO_HEAD].tolist(), *halves]),
        np.concatenate([mirrored, other_side]),
    )


def score_maps(places: np.ndarray, mirrored: np.ndarray, cells: int, rng: np.random.Generator) -> np.ndarray:
    """Return the (V, cells, cells) score maps of one person: peaks, and noise that is correlated between neighbours."""
    from scipy.ndimage import gaussian_filter

    V = len(places)
    others = rng.uniform(0.0, cells, size=(V, N_OTHERS, 2))
    centres = np.concatenate([places[:, None], places[mirrored][:, None], others], axis=1)
    centres[:, :2] += SHIFT * rng.standard_normal((V, 2, 2))
    ranges = np.array([TRUE_HEIGHT, MIRRORED_HEIGHT, *[OTHER_HEIGHT] * N_OTHERS])
    heights = rng.uniform(ranges[:, 0], ranges[:, 1], size=(V, len(ranges)))
    heights[mirrored == np.arange(V), 1] = 0.0  # neck and head have no counterpart
    middle = np.arange(cells) + 0.5
    falls = np.exp(-0.5 * ((middle - centres[..., None]) / WIDTH) ** 2)
    maps = np.einsum("vb,vbr,vbc->vrc", heights, falls[:, :, 0], falls[:, :, 1])
    noise = gaussian_filter(rng.standard_normal((V, cells, cells)), sigma=(0, 1, 1))
    return maps + NOISE / noise.std() * noise
