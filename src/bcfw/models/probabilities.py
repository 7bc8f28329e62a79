"""Probabilities of outputs and log-likelihoods, for the models that have a sum-product algorithm.

For weights w and a temperature t, ``P(y | x) = exp(<w, phi(x, y)> / t) / Z``. An SVM is not trained to make these
probabilities accurate. They are only a function of its scores; a smaller t makes them more peaked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.inputs.numbers import weight_vector
from bcfw.kernels import KernelSet
from bcfw.options import Positive
from bcfw.passes.marginals import expectations_pass
from bcfw.records import Expectations


class SumProduct:
    """Mixin for the models that offer "marginals"; each model has its own method ``probabilities``."""

    dim: Any
    kernels: KernelSet
    pack: Any
    make_work: Any
    part_offsets: Any
    _owner: Any

    def log_likelihood(self, w: np.ndarray, X: Any, y: Any, *, temperature: float = 1.0) -> np.ndarray:
        """Return the (n,) log-likelihoods ``log P(y_i | x_i) = <w, phi(x_i, y_i)> / temperature - log Z_i``.

        Each is the log-probability of a whole output; unlabelled places do not count as part of the output.
        """
        return LogLikelihood(self, w, self.pack(X, y)).values(1.0 / self._temperature(temperature))

    def _sum_product(self) -> KernelSet:
        """Return the routines of marginals."""
        return self.kernels

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
        self._sum_product().entry(expectations_pass)(*fields, weights, loss_weight, sharpness, tuple(sums))
        return sums


class LogLikelihood:
    """The log-likelihood of packed examples as a function of the sharpness b = ``1 / temperature``.

    The log-likelihood ``log P(y_i) = b s(y_i) - log Z_i(b)`` is concave in b. Its derivative is the score of the truth
    minus the mean score, ``s(y_i) - sum_y P(y) s(y)``.
    """

    def __init__(self, model: Any, w: np.ndarray, data: Any) -> None:
        self._sums = make_expectations(model.part_offsets(data), keep=False)
        self._pass = model._sum_product().entry(expectations_pass)
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
