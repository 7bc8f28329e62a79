"""The generalised distance transform: the best quadratic score over all sources, for every target of a grid.

On a line of n places with scores ``f(s)`` (``-inf`` for a forbidden source), the transform is

    out(t) = max_s f(s) + b (s - t - r) - a (s - t - r)^2,      t = 0 .. n - 1,

with ``a >= 0``, any b, and a shift r, which need not be an integer. With ``u = t + r`` and ``h(s) = f(s) + b s`` it is
``max_s h(s) - a (s - u)^2 - b u``, the upper envelope of n parabolas of equal width. The parabolas of two sources
s < s' cross once, at

    u = (h(s) - h(s')) / (2 a (s' - s)) + (s + s') / 2,

and s' is better to the right of u. One sweep builds the envelope and another reads it, so that a line costs O(n). For
``a = 0`` there are no parabolas: all targets have the source of largest ``h``. On a grid the scores of the two
coordinates are added, and the coordinates are transformed one after the other (P. F. Felzenszwalb and D. P.
Huttenlocher, Distance transforms of sampled functions, Theory of Computing 8, 2012).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bcfw.compile.specialise import not_inlined


class Quadratic(NamedTuple):
    """The score ``linear d - square d^2`` of a displacement ``d = s - t - shift`` along one coordinate; square >= 0."""

    linear: float
    square: float
    shift: float


class Envelope(NamedTuple):
    """Scratch for transforms of lines of up to N places.

    Attributes
    ----------
    site, height : (N,) the sources on the envelope from left to right, and their h(s)
    start : (N,) the smallest u at which each of these sources is the best
    line, moved : (N,) a line before and after its transform
    """

    site: np.ndarray
    height: np.ndarray
    start: np.ndarray
    line: np.ndarray
    moved: np.ndarray


def make_envelope(size: int) -> Envelope:
    """Return an ``Envelope`` for lines of up to ``size`` places."""
    return Envelope(np.zeros(size, np.int64), np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size))


def quadratic_score(score, s, t):
    """Return ``b d - a d^2`` of the displacement ``d = s - t - r``."""
    d = s - t - score.shift
    return d * (score.linear - score.square * d)


def build_envelope(values, n, score, envelope):
    """Find the sources on the envelope of a line; return how many, 0 if all sources are forbidden."""
    site, height, start = envelope.site, envelope.height, envelope.start
    count = 0
    for s in range(n):
        if values[s] == -np.inf:
            continue
        h = values[s] + score.linear * s
        cross = -np.inf
        while count > 0:
            before = site[count - 1]
            if score.square > 0.0:
                cross = (height[count - 1] - h) / (2.0 * score.square * (s - before)) + 0.5 * (s + before)
            else:
                cross = np.inf if height[count - 1] >= h else -np.inf
            if cross > start[count - 1]:
                break
            count -= 1
        if count == 0:
            cross = -np.inf
        if cross < np.inf:
            site[count] = s
            height[count] = h
            start[count] = cross
            count += 1
    return count


def transform_line(values, n, score, envelope, out):
    """Write ``out(t) = max_s values(s) + b (s - t - r) - a (s - t - r)^2`` for the first n places, in O(n)."""
    count = build_envelope(values, n, score, envelope)
    k = 0
    for t in range(n):
        if count == 0:
            out[t] = -np.inf
            continue
        u = t + score.shift
        while k + 1 < count and envelope.start[k + 1] < u:
            k += 1
        d = envelope.site[k] - u
        out[t] = envelope.height[k] - score.linear * u - score.square * d * d


@not_inlined
def transform_grid(values, shape, down, across, envelope, half, out):
    """Transform a grid: ``out(t) = max_s values(s) + down(s_1, t_1) + across(s_2, t_2)``.

    Parameters
    ----------
    values, out : (H W,) or longer, row after row
    shape : (H, W)
    down, across : :class:`Quadratic` of the first and of the second coordinate
    envelope : :class:`Envelope` for lines of max(H, W)
    half : (H W,) or longer, scratch for the grid with transformed rows, column after column
    """
    H, W = shape
    line, moved = envelope.line, envelope.moved
    for r in range(H):
        for c in range(W):
            line[c] = values[r * W + c]
        transform_line(line, W, across, envelope, moved)
        for c in range(W):
            half[c * H + r] = moved[c]
    for c in range(W):
        for r in range(H):
            line[r] = half[c * H + r]
        transform_line(line, H, down, envelope, moved)
        for r in range(H):
            out[r * W + c] = moved[r]


@not_inlined
def best_source(values, shape, down, across, target, line):
    """Return the best source of one target (t_1, t_2), as the number ``r W + c``, and its value.

    The value of a source is ``values(s) + down(s_1, t_1) + across(s_2, t_2)``. The function compares all sources; among
    equals it takes the first. It returns -1 and ``-inf`` if all sources are forbidden. ``line`` (W,) is scratch.
    """
    H, W = shape
    best, found = -np.inf, -1
    for c in range(W):
        line[c] = quadratic_score(across, c, target[1])
    for r in range(H):
        score = quadratic_score(down, r, target[0])
        for c in range(W):
            value = values[r * W + c] + score + line[c]
            if value > best:
                best, found = value, r * W + c
    return found, best
