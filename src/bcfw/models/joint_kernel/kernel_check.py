"""Checks of a user's joint kernel and of its oracle, which takes a score function and not weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bcfw.errors import BcfwError, ModelError
from bcfw.models.check.failures import described
from bcfw.models.check.findings import TOLERANCE
from bcfw.models.check.outputs import same_output
from bcfw.models.check.tried_example import TriedExample, distinct
from bcfw.models.joint_kernel.pairs import Pair, Score, expansion, kernel_values


class TriedJointExample(TriedExample):
    """Checks of one example of a model with a joint kernel; the weights are linear combinations of pairs' features."""

    def __init__(self, model: Any, pairs: list[Pair], coefficients: list[np.ndarray], x: Any, y_true: Any) -> None:
        self.model, self.x, self.y_true = model, x, y_true
        self.remarks = {}
        self.weights = [expansion(model, x, pairs, beta) for beta in coefficients]

    def score(self, w: Score, y: Any) -> float:
        return float(w([y])[0])

    def size(self, w: Score, y: Any) -> float:
        values = kernel_values(self.model, [(self.x, y)], w.support)
        return float((np.abs(values) @ np.abs(w.coefficients))[0])

    def times(self, factor: float, w: Score) -> Score:
        return expansion(self.model, self.x, w.support, factor * w.coefficients)

    def can_return(self, y: Any, answer: Any, w: Score, y_true: Any = None) -> bool:
        """Return whether the oracle returns ``y`` after a multiple of the features of (x, y) is added to w."""
        pairs = [*w.support, (self.x, y)]
        sums = (np.append(w.coefficients, t) for t in (1.0, 10.0, 1e3, 1e5))
        favouring = (expansion(self.model, self.x, pairs, beta) for beta in sums)
        return any(same_output(self.model.oracle(score, self.x, y_true), y) for score in favouring)


def try_kernel(
    model: Any, X: Any, y: Any, chosen: np.ndarray, rng: np.random.Generator, n_weights: int
) -> Callable[[Any, Any], TriedExample]:
    """Check the kernel on pairs of the chosen examples; return a function (x, y_true) that checks one example.

    The pairs are the truths and the outputs that the oracle returns for random scores.
    """
    pairs: list[Pair] = []
    for i in map(int, chosen):
        try:
            found = [model._random_output(X, y, i, rng) for _ in range(2)]
        except BcfwError:
            raise
        except Exception as error:
            raise ModelError(f"{type(model).__name__}:\n  example {i}: {described(error)}") from error
        pairs += [(X[i], output) for output in distinct([y[i], *found])]
    gram = checked_gram(model, pairs)
    scale = 1.0 / max(1e-12, float(np.sqrt(np.mean(np.diagonal(gram)))))
    sizes = [0.0, *(scale * 10.0**k for k in np.linspace(-1, 2, n_weights))]
    coefficients = [size * rng.standard_normal(len(pairs)) for size in sizes]
    return lambda x, y_true: TriedJointExample(model, pairs, coefficients, x, y_true)


def checked_gram(model: Any, pairs: list[Pair]) -> np.ndarray:
    """Return the matrix of kernel values among the pairs. Raise unless the values can be inner products."""
    name = type(model).__name__
    gram = kernel_values(model, pairs, pairs)
    alone = kernel_values(model, pairs[:1], pairs[:1])[0, 0]
    slack = TOLERANCE * float(np.max(np.abs(gram)))
    p, q = np.unravel_index(int(np.argmax(np.abs(gram - gram.T))), gram.shape)
    if abs(gram[p, q] - gram[q, p]) > slack:
        raise ModelError(
            f"{name}: joint_kernel is not symmetric: {gram[p, q]:.6g} for a pair and another, {gram[q, p]:.6g} for the "
            "two in the other order"
        )
    if abs(alone - gram[0, 0]) > slack:
        raise ModelError(
            f"{name}: joint_kernel gives a pair with itself the value {gram[0, 0]:.6g} among others and {alone:.6g} "
            "alone; entry [m, n] may depend on pairs[m] and others[n] only"
        )
    smallest = float(np.linalg.eigvalsh(gram)[0])
    if smallest < -slack * len(pairs):
        raise ModelError(
            f"{name}: joint_kernel is not positive semidefinite, as inner products are: the matrix of its values among "
            f"{len(pairs)} pairs has the eigenvalue {smallest:.3g}"
        )
    return gram
