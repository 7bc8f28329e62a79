"""Superpixels of images by the SLIC algorithm, and their features: words, colours, places and common boundaries.

SLIC is k-means in colour and position, where each centre only competes for pixels in its neighbourhood (R. Achanta and
others, SLIC superpixels compared to state-of-the-art superpixel methods, PAMI 2012).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage

#: Approximate number of superpixels, weight of positions relative to colours, number of k-means iterations.
N_SUPERPIXELS, COMPACTNESS, ROUNDS = 180, 20.0, 10

#: Rows and columns of the patches from which texture words are made.
PATCH = 5

#: Matrix from linear R, G, B to CIE X, Y, Z, one row for each of X, Y, Z; and X, Y, Z of daylight white (D65).
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)


class Pieces(NamedTuple):
    """Features of the superpixels of one image.

    Attributes
    ----------
    geom : (V, 9) centre (x, y) as shares of width and height; mean and standard deviation of L*, a*, b* divided by 100;
        area as a share of the image
    edges : (E, 2) pairs of superpixels with a common boundary
    edge_feat : (E, 3) length of the boundary in pixels, distance of the mean colours, mean colour difference across the
        boundary
    """

    geom: np.ndarray
    edges: np.ndarray
    edge_feat: np.ndarray


def to_lab(rgb: np.ndarray) -> np.ndarray:
    """Return the (H, W, 3) CIE L*a*b* colours of an sRGB image with values 0 .. 255."""
    share = rgb / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    xyz = linear @ TO_XYZ.T / WHITE
    root = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    x, y, z = np.moveaxis(root, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def to_rgb(lab: np.ndarray) -> np.ndarray:
    """Return (..., 3) sRGB values 0 .. 255 of CIE L*a*b* colours, the inverse of :func:`to_lab`."""
    y = (lab[..., 0] + 16) / 116
    root = np.stack([y + lab[..., 1] / 500, y, y - lab[..., 2] / 200], axis=-1)
    xyz = WHITE * np.where(root > 6 / 29, root**3, 3 * (6 / 29) ** 2 * (root - 4 / 29))
    linear = np.clip(xyz @ np.linalg.inv(TO_XYZ).T, 0.0, 1.0)
    return 255 * np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def slic(lab: np.ndarray) -> np.ndarray:
    """Return the (H, W) superpixel of each pixel, numbered from 0; pieces cut off from a superpixel go to others."""
    height, width = lab.shape[:2]
    step = np.sqrt(height * width / N_SUPERPIXELS)
    rows, columns = (np.arange(step / 2, size, step) for size in (height, width))
    place = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    points = np.concatenate([lab, COMPACTNESS / step * np.moveaxis(np.indices((height, width)), 0, -1)], axis=-1)
    centres = points[place[:, 0].astype(int), place[:, 1].astype(int)]
    for _ in range(ROUNDS):
        nearest = assign(points, centres, COMPACTNESS / step, int(np.ceil(step)))
        count = np.maximum(np.bincount(nearest.ravel(), minlength=len(centres)), 1)
        sums = [np.bincount(nearest.ravel(), one.ravel(), minlength=len(centres)) for one in np.moveaxis(points, -1, 0)]
        centres = np.stack(sums, axis=1) / count[:, None]
    return connected(nearest)


def assign(points: np.ndarray, centres: np.ndarray, scale: float, reach: int) -> np.ndarray:
    """Return the (H, W) nearest centre of each pixel among the centres at most ``reach`` rows and columns away."""
    best, nearest = np.full(points.shape[:2], np.inf), np.zeros(points.shape[:2], dtype=np.int64)
    for k, centre in enumerate(centres):
        row, column = (centre[3:] / scale).astype(int)
        window = slice(max(row - reach, 0), row + reach + 1), slice(max(column - reach, 0), column + reach + 1)
        distance = ((points[window] - centre) ** 2).sum(axis=-1)
        nearer = distance < best[window]
        best[window][nearer] = distance[nearer]
        nearest[window][nearer] = k
    return nearest


def connected(labels: np.ndarray) -> np.ndarray:
    """Return the superpixels without the pieces that are cut off from them, numbered from 0.

    Each superpixel keeps its largest connected part; all other pixels go to the superpixel of the nearest kept pixel.
    """
    keep = np.zeros(labels.shape, dtype=bool)
    for k, box in enumerate(ndimage.find_objects(labels + 1)):
        if box is not None:
            parts, _ = ndimage.label(labels[box] == k)
            keep[box] |= parts == 1 + np.argmax(np.bincount(parts.ravel())[1:])
    rows, columns = ndimage.distance_transform_edt(~keep, return_distances=False, return_indices=True)
    return np.unique(labels[rows, columns], return_inverse=True)[1].reshape(labels.shape)


def describe(superpixel: np.ndarray, lab: np.ndarray) -> Pieces:
    """Return the places, colours and common boundaries of the superpixels."""
    height, width = superpixel.shape
    flat, n = superpixel.ravel(), int(superpixel.max()) + 1
    count = np.bincount(flat, minlength=n)

    def mean(values: Any) -> np.ndarray:
        return np.bincount(flat, values.ravel(), minlength=n) / count

    rows, columns = np.indices(superpixel.shape)
    colour = np.stack([mean(one) for one in np.moveaxis(lab, -1, 0)], axis=1)
    squares = np.stack([mean(one**2) for one in np.moveaxis(lab, -1, 0)], axis=1)
    spread = np.sqrt(np.maximum(squares - colour**2, 0.0))
    place = [mean(columns) / width, mean(rows) / height]
    geom = np.column_stack([*place, colour / 100, spread / 100, count / (height * width)])
    edges, length, step = boundaries(superpixel, lab)
    distance = np.linalg.norm(colour[edges[:, 0]] - colour[edges[:, 1]], axis=1)
    return Pieces(geom, edges, np.column_stack([length, distance, step]))


def boundaries(superpixel: np.ndarray, lab: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the (E, 2) pairs of adjacent superpixels, with boundary lengths and mean colour differences.

    The length of a boundary is its number of adjacent pixel pairs; the colour difference is their mean.
    """
    pairs, steps = [], []
    for here, there in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        across = superpixel[here] != superpixel[there]
        pairs.append(np.sort(np.stack([superpixel[here][across], superpixel[there][across]], axis=1), axis=1))
        steps.append(np.linalg.norm(lab[here][across] - lab[there][across], axis=1))
    edges, which = np.unique(np.concatenate(pairs), axis=0, return_inverse=True)
    length = np.bincount(which.ravel(), minlength=len(edges))
    return edges, length, np.bincount(which.ravel(), np.concatenate(steps), minlength=len(edges)) / length


def patches(lab: np.ndarray) -> np.ndarray:
    """Return the (H W, 25) lightness in the patch around each pixel, minus the mean of the patch."""
    padded = np.pad(lab[..., 0], PATCH // 2, mode="reflect")
    around = np.lib.stride_tricks.sliding_window_view(padded, (PATCH, PATCH)).reshape(-1, PATCH * PATCH)
    return around - around.mean(axis=1, keepdims=True)


def word_counts(superpixel: np.ndarray, words: np.ndarray, n_words: int, total: int) -> np.ndarray:
    """Return (V, n_words) counts of each word among a superpixel's pixels, scaled to add up to about ``total``."""
    n = int(superpixel.max()) + 1
    counts = np.bincount(superpixel.ravel() * n_words + words, minlength=n * n_words).reshape(n, n_words)
    return np.rint(total * counts / counts.sum(axis=1, keepdims=True)).astype(np.uint8)
