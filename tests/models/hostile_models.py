"""Compiled models and data whose indices lead outside arrays: a script, since without a check they end the process.

Prints one JSON object: for every case the class of the error, its message and its example.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import numba
import numpy as np

import bcfw

F, K, N = 4, 5, 600


class Packed(NamedTuple):
    x: np.ndarray
    x_off: np.ndarray
    n_grades: int
    y: np.ndarray
    y_off: np.ndarray


class Grades(bcfw.CompiledModel):
    """One of K grades with weights of its own and F common ones; checks nothing that it is given."""

    Data = Packed

    def __init__(self, dim: int = F + K) -> None:
        self.dim = dim

    def pack(self, X, y=None):
        labels = np.zeros(len(X), np.int64) if y is None else np.asarray(y, np.int64).ravel()
        rows = np.arange(len(X) + 1) * len(X[0])
        return Packed(np.concatenate(X), rows, K, labels, np.arange(len(X) + 1))

    @staticmethod
    def decode(data, i, w, loss_weight, y):
        slope, begin = 0.0, data.x_off[i]
        for f in range(data.x_off[i + 1] - begin):
            slope += w[f] * data.x[begin + f]
        best = -np.inf
        for grade in range(data.n_grades):
            value = grade * slope + w[w.shape[0] - data.n_grades + grade] + loss_weight * abs(grade - data.y[i])
            if value > best:
                best = value
                y[0] = grade

    @staticmethod
    def labeling_loss(data, i, y):
        return float(abs(y[0] - data.y[i]))

    @staticmethod
    def add_features(data, i, y, s, out):
        begin = data.x_off[i]
        for f in range(data.x_off[i + 1] - begin):
            out[f] += s * y[0] * data.x[begin + f]
        out[F + y[0]] += s

    def loss(self, y_true, y):
        return float(abs(y_true - y[0]))


class Decorated(Grades):
    """Routines that were compiled without a check of indices before."""

    decode = staticmethod(numba.njit(Grades.decode))
    add_features = staticmethod(numba.njit(Grades.add_features))


class WrongRows(Grades):
    """Offsets of the rows that begin beyond their end."""

    def pack(self, X, y=None):
        data = super().pack(X, y)
        data.x_off[6:] += 10**6
        return data


def examples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, F)), rng.integers(K, size=N)


def with_label(label: int, kind: type[Grades] = Grades) -> None:
    X, y = examples()
    y[7] = label
    bcfw.train(kind(), X, y, tol=0.1)


def predict_other_width() -> None:
    X, y = examples()
    result = bcfw.train(Grades(), X, y, tol=0.1)
    result.predict(np.ones((3, 40)))


def cases() -> dict:
    X, y = examples()
    return {
        "label 2000": lambda: with_label(2000),
        "label 15": lambda: with_label(15),
        "label -2000": lambda: with_label(-2000),
        "label beyond 32 bits": lambda: with_label(2**40),
        "decorated routines": lambda: with_label(2000, Decorated),
        "dim too small": lambda: bcfw.train(Grades(F + K - 3), X, y),
        "offsets": lambda: bcfw.train(WrongRows(), X, y),
        "predict": predict_other_width,
        "oracle": lambda: Grades().oracle(np.zeros(F + K), np.ones(40)),
        "features": lambda: Grades().features(np.ones(F), 2000),
        "check_model": lambda: bcfw.check_model(Grades(), X, np.r_[y[:-1], 2000]),
    }


def outcome(case) -> dict:
    try:
        case()
    except Exception as error:
        return {"kind": type(error).__name__, "message": str(error), "example": getattr(error, "example", None)}
    return {"kind": None, "message": "no error", "example": None}


if __name__ == "__main__":
    print(json.dumps({name: outcome(case) for name, case in cases().items()}))
