"""Probabilities of outputs by sum-product: the compiled routines that models share, and the mixin of their classes.

For weights w and a temperature t, ``P(y | x) = exp(<w, phi(x, y)> / t) / Z``. An SVM is not trained to make these good:
they are what its scores become, and t says how sure they are.

A model that joins ``MARGINAL_ROUTINES`` to ``PART_VECTOR_ROUTINES`` writes :func:`part_marginals`; where its theta does
not hold the scores of all parts, also ``part_scores`` of the contract (:mod:`bcfw.passes.contract`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.compile import RoutineSet
from bcfw.inputs.numbers import weight_vector
from bcfw.options import Positive
from bcfw.passes.inference import Expectations, expectations_pass


def part_marginals(data: Any, i: int, work: Any, out: np.ndarray) -> float:
    """Write the expected parts under the scores in ``work.theta``, return ``log Z`` (written by the model)."""
    return 0.0


def part_scores(data, i, w, work, out):
    """Copy theta_i to ``out``."""
    for part in range(out.shape[0]):
        out[part] = work.theta[part]


def expected_parts(data, i, u, work, out):
    """Write the marginals of the scores u to ``out`` and return ``log Z``; theta is overwritten by u."""
    for part in range(u.shape[0]):
        work.theta[part] = u[part]
    return part_marginals(data, i, work, out)


def add_expected(data, i, s, parts, work):
    """Add ``s parts`` to d."""
    for part in range(parts.shape[0]):
        work.d[part] += s * parts[part]


def softmax(x, out):
    """Write ``exp(x) / sum exp(x)`` to ``out``, over as many entries of x as ``out`` has; return ``log sum exp(x)``."""
    largest = x[0]
    for k in range(1, out.shape[0]):
        largest = max(largest, x[k])
    total = 0.0
    for k in range(out.shape[0]):
        out[k] = np.exp(x[k] - largest)
    for k in range(out.shape[0]):  # apart: where a loop also stores, the order of its sum depends on the addresses
        total += out[k]
    for k in range(out.shape[0]):
        out[k] /= total
    return largest + np.log(total)


def log_sum_of_two(a, b):
    """Return ``log(exp(a) + exp(b))``."""
    larger = max(a, b)
    return larger + np.log1p(np.exp(min(a, b) - larger))


#: To be added to ``PART_VECTOR_ROUTINES``: marginals; the model writes the routine that is None here.
MARGINAL_ROUTINES = {
    "part_marginals": None,
    "part_scores": part_scores,
    "expected_parts": expected_parts,
    "add_expected": add_expected,
}


class SumProduct:
    """Mixin for the models that offer "marginals"; each model has its own method ``probabilities``."""

    dim: Any
    routines: RoutineSet
    pack: Any
    make_work: Any
    part_offsets: Any
    _owner: Any

    def log_likelihood(self, w: np.ndarray, X: Any, y: Any, *, temperature: float = 1.0) -> np.ndarray:
        """Return the (n,) log-likelihoods ``log P(y_i | x_i) = <w, phi(x_i, y_i)> / temperature - log Z_i``.

        Each is the log-probability of a whole output; unlabelled places do not count as part of the output.
        """
        return LogLikelihood(self, w, self.pack(X, y)).values(1.0 / self._temperature(temperature))

    def _sum_product(self) -> RoutineSet:
        """Return the routines of marginals."""
        return self.routines

    def _temperature(self, temperature: Any) -> float:
        return float(Positive(1.0).check(self._owner, "temperature", temperature))

    def _expectations(
        self, w: np.ndarray, data: Any, temperature: float = 1.0, loss_weight: float = 0.0
    ) -> Expectations:
        """Return the expected parts and ``log Z`` of all packed examples."""
        sums = make_expectations(self.part_offsets(data), keep=True)
        sharpness = 1.0 / self._temperature(temperature)
        weights = weight_vector(w, self.dim, self._owner)
        fields = tuple(data), tuple(self.make_work(data))
        self._sum_product().compiled_pass(expectations_pass)(*fields, weights, loss_weight, sharpness, tuple(sums))
        return sums


class LogLikelihood:
    """The log-likelihood of packed examples as a function of the sharpness b = ``1 / temperature``.

    The log-likelihood ``log P(y_i) = b s(y_i) - log Z_i(b)`` is concave in b. Its derivative is the score of the truth
    minus the mean score, ``s(y_i) - sum_y P(y) s(y)``.
    """

    def __init__(self, model: Any, w: np.ndarray, data: Any) -> None:
        self._sums = make_expectations(model.part_offsets(data), keep=False)
        self._pass = model._sum_product().compiled_pass(expectations_pass)
        self._fields = tuple(data), tuple(model.make_work(data)), weight_vector(w, model.dim, model._owner), 0.0

    def _at(self, sharpness: float) -> Expectations:
        self._pass(*self._fields, sharpness, tuple(self._sums))
        return self._sums

    def values(self, sharpness: float) -> np.ndarray:
        """Return the (n,) log-likelihoods."""
        sums = self._at(sharpness)
        return sharpness * sums.truth - sums.log_partition

    def scores(self) -> np.ndarray:
        """Return the (n,) scores ``s(y_i)`` of the truths."""
        return self._at(1.0).truth.copy()

    def slopes(self, sharpness: float) -> np.ndarray:
        """Return the (n,) derivatives of the log-likelihoods: the score of the truth minus the mean score."""
        sums = self._at(sharpness)
        return sums.truth - sums.mean


def make_expectations(offsets: np.ndarray, keep: bool) -> Expectations:
    """Return arrays for the sums over all outputs of every block.

    With ``keep`` the expected parts of all blocks are stored; without it, the blocks share the space of one block.
    """
    n, most = len(offsets) - 1, int(np.max(np.diff(offsets)))
    return Expectations(
        offsets=offsets,
        first=offsets[:-1].copy() if keep else np.zeros_like(offsets[:-1]),
        parts=np.zeros(int(offsets[-1]) if keep else most),
        truth=np.zeros(n),
        log_partition=np.zeros(n),
        mean=np.zeros(n),
        theta=np.zeros(most),
        scaled=np.zeros(most),
    )
