"""Tiny data, unusual forms of arrays, and a small model of a user's, for tests of several folders."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import bcfw

X2, Y2 = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 0.0]]), [0, 1, 1, 0]

CHAINS = [np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 1.0]]), np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 1.0]])]

LABELS = [[0, 1], [1], [0, 1, 0]]

WORDS = np.array(["ant", "bee", "cow"])


def with_value(X, i, j, value):
    X = np.array(X, float)
    X[i, j] = value
    return X


def replaced(sequence, i, value):
    return [*sequence[:i], value, *sequence[i + 1 :]]


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def strided(array):
    """A view that is contiguous along no axis."""
    wide = np.zeros(tuple(2 * size for size in array.shape), array.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def lists(labels):
    return [list(one) for one in labels]


class Pick(bcfw.Model):
    """A user's own multiclass model with K = 3, in plain Python; the mistakes are switched on one by one."""

    def __init__(self, mistake=None):
        self.mistake = mistake

    def features(self, x, y):
        out = np.zeros((3, len(x)))
        out[y] = x
        return sp.csr_array(out.reshape(1, -1)) if self.mistake == "sparse" else out.ravel()

    def loss(self, y_true, y):
        if self.mistake == "truth":
            return 1.0
        return (-1.0 if self.mistake == "negative" else 1.0) * float(y != y_true)

    def oracle(self, w, x, y_true=None):
        if self.mistake == "crash":
            raise KeyError("no such part")
        scores = w.reshape(3, len(x)) @ x
        if y_true is not None and self.mistake != "plain":
            scores = scores + (np.arange(3) != y_true)
        return int(np.argmin(scores) if self.mistake == "smallest" else np.argmax(scores))
