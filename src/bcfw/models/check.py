"""``bcfw.check_model``: find the mistakes people make in a model of their own before training does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import ModelError

#: Relative rounding allowed between values that should be equal or ordered.
TOLERANCE = 1e-8


def check_model(model: Any, X: Any, y: Any, n_examples: int = 10, n_weights: int = 5, seed: int = 0) -> list[str]:
    """Check a model's methods against each other on a few examples.

    For random weights w, the output of ``oracle(w, x, y_true)`` must have the largest
    ``loss(y_true, y) + <w, features(x, y)>`` among all labelings that can be had: the truth, outputs for other
    weights, and integer labelings with one entry changed. Losses must be >= 0 and zero on the truth, features finite
    and of one size.

    Parameters
    ----------
    model : bcfw.Model
    X, y : training data
    n_examples, n_weights : int
        How many examples, and weight vectors for each, to try.
    seed : int

    Returns
    -------
    list of str
        Remarks that are no errors: examples whose truth is not among the oracle's outputs.

    Raises
    ------
    ModelError
        Listing every mistake found, with the example it was found on.
    """
    bound = model.bind(X, y)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(y))[:n_examples])
    mistakes: list[str] = []
    remarks: list[str] = []
    for i in chosen:
        try:
            example = _Example(bound, X[int(i)], y[int(i)], rng, n_weights)
            mistakes += [f"example {i}: {text}" for text in example.mistakes()]
            remarks += [f"example {i}: {text}" for text in example.remarks]
        except Exception as error:
            mistakes.append(f"example {i}: {type(error).__name__}: {error}")
    if mistakes:
        raise ModelError(f"{type(model).__name__}:\n  " + "\n  ".join(mistakes))
    return remarks


class _Example:
    """One example under test: candidate labelings, and what is wrong."""

    def __init__(self, model: Any, x: Any, y_true: Any, rng: np.random.Generator, n_weights: int) -> None:
        self.model, self.x, self.y_true = model, x, y_true
        self.remarks: list[str] = []
        size = self.features(y_true)
        scale = 1.0 / max(1e-12, float(np.linalg.norm(size)))
        self.weights = [
            np.zeros(model.dim),
            *(scale * 10.0**k * rng.standard_normal(model.dim) for k in np.linspace(-1, 2, n_weights)),
        ]

    def features(self, y: Any) -> np.ndarray:
        given = self.model.features(self.x, y)
        vector = given.toarray().ravel() if sp.issparse(given) else np.asarray(given, dtype=float).ravel()
        if vector.shape != (self.model.dim,):
            raise ModelError(f"features(x, y) has {vector.size} numbers, but dim = {self.model.dim}")
        if not np.all(np.isfinite(vector)):
            raise ModelError("features(x, y) holds a NaN or an infinity")
        return vector

    def mistakes(self) -> Iterator[str]:
        zero = float(self.model.loss(self.y_true, self.y_true))
        if zero != 0.0:
            yield f"loss(y, y) = {zero:.6g} on the truth; it must be 0"
        augmented = [self.model.oracle(w, self.x, self.y_true) for w in self.weights]
        plain = [self.model.oracle(w, self.x) for w in self.weights]
        outputs = _distinct([*augmented, *plain])
        negative = [y for y in outputs if not 0.0 <= float(self.model.loss(self.y_true, y)) < np.inf]
        if negative:
            yield (
                f"loss(y_true, y) = {float(self.model.loss(self.y_true, negative[0])):.6g} for y = {negative[0]!r}; "
                "it must be finite and >= 0"
            )
        candidates = _distinct([*outputs, *(z for y in outputs[:4] for z in _neighbours(y, outputs))])
        losses = np.array([float(self.model.loss(self.y_true, y)) for y in candidates])
        phis = np.array([self.features(y) for y in candidates])
        yield from self.not_maximal(augmented, candidates, losses, phis, "oracle(w, x, y_true)")
        yield from self.not_maximal(plain, candidates, 0.0 * losses, phis, "oracle(w, x)")

    def not_maximal(
        self, answers: list[Any], candidates: list[Any], losses: np.ndarray, phis: np.ndarray, call: str
    ) -> Iterator[str]:
        """The first weights for which an answer is beaten by a candidate; beaten by the truth is only a remark."""
        truth = self.features(self.y_true)
        for w, answer in zip(self.weights, answers, strict=True):
            values = losses + phis @ w
            reached = values[_position(answer, candidates)]
            slack = TOLERANCE * (1.0 + abs(reached) + float(np.max(np.abs(phis) @ np.abs(w))))
            best = int(np.argmax(values))
            if values[best] > reached + slack:
                yield (
                    f"{call} is not maximal: it returned {answer!r} with value {reached:.6g}, "
                    f"but {candidates[best]!r} has {values[best]:.6g}"
                )
                return
            if truth @ w > reached + slack:
                self.remarks.append(
                    f"the truth beats {call} ({truth @ w:.6g} > {reached:.6g}): it is not among the oracle's outputs; "
                    "training counts it as one"
                )
                return


def _same(a: Any, b: Any) -> bool:
    """Equality of two outputs of any type."""
    try:
        return bool(np.array_equal(np.asarray(a), np.asarray(b)))
    except ValueError:
        return bool(a == b)


def _position(y: Any, labelings: list[Any]) -> int:
    return next(j for j, other in enumerate(labelings) if _same(y, other))


def _distinct(labelings: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for y in labelings:
        if not any(_same(y, other) for other in kept):
            kept.append(y)
    return kept


def _neighbours(y: Any, outputs: list[Any]) -> Iterator[Any]:
    """Integer labelings that differ from ``y`` in one entry, with values seen in the outputs."""
    array = np.asarray(y)
    if array.dtype.kind not in "iu" or array.ndim != 1 or array.size > 50:
        return
    seen = np.unique(np.concatenate([np.asarray(other).ravel() for other in outputs]))
    for position in range(array.size):
        for value in seen[:10]:
            other = array.copy()
            other[position] = value
            yield other
