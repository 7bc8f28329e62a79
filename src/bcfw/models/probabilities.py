"""Probabilities of outputs: what models with a sum-product share, beside the maximum of their oracle.

For weights w and a temperature t, ``P(y | x) = exp(<w, phi(x, y)> / t) / Z``. An SVM is not trained to make these good:
they are what its scores become, and t says how sure they are.
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
    """Mixin of the models that offer "marginals"; each writes ``probabilities`` in the form of its outputs."""

    dim: Any
    kernels: KernelSet
    pack: Any
    make_work: Any
    part_offsets: Any
    _owner: Any

    def log_likelihood(self, w: np.ndarray, X: Any, y: Any, *, temperature: float = 1.0) -> np.ndarray:
        """(n,) ``log P(y_i | x_i) = <w, phi(x_i, y_i)> / temperature - log Z_i`` of whole outputs.

        Where a model knows places without label, they are no part of the output.
        """
        return LogLikelihood(self, w, self.pack(X, y)).values(1.0 / self._temperature(temperature))

    def _sum_product(self) -> KernelSet:
        """The kernels of marginals."""
        return self.kernels

    def _temperature(self, temperature: Any) -> float:
        return float(Positive(1.0).check(self._owner, "temperature", temperature))

    def _expectations(
        self, w: np.ndarray, data: Any, temperature: float = 1.0, loss_weight: float = 0.0
    ) -> Expectations:
        """Expected parts and ``log Z`` of all packed examples."""
        sums = make_expectations(self.part_offsets(data), keep=True)
        sharpness = 1.0 / self._temperature(temperature)
        weights = weight_vector(w, self.dim, self._owner)
        fields = tuple(data), tuple(self.make_work(data))
        self._sum_product().entry(expectations_pass)(*fields, weights, loss_weight, sharpness, tuple(sums))
        return sums


class LogLikelihood:
    """The log-likelihood of packed examples as a function of the sharpness, ``1 / temperature``.

    In the sharpness b it is concave: ``log P(y_i) = b s(y_i) - log Z_i(b)``, whose derivative is the score of the truth
    less the mean score, ``s(y_i) - sum_y P(y) s(y)``.
    """

    def __init__(self, model: Any, w: np.ndarray, data: Any) -> None:
        self._sums = make_expectations(model.part_offsets(data), keep=False)
        self._pass = model._sum_product().entry(expectations_pass)
        self._fields = tuple(data), tuple(model.make_work(data)), weight_vector(w, model.dim, model._owner), 0.0

    def _at(self, sharpness: float) -> Expectations:
        self._pass(*self._fields, sharpness, tuple(self._sums))
        return self._sums

    def values(self, sharpness: float) -> np.ndarray:
        """(n,) log-likelihoods."""
        sums = self._at(sharpness)
        return sharpness * sums.truth - sums.log_partition

    def scores(self) -> np.ndarray:
        """(n,) scores ``s(y_i)`` of the outputs themselves."""
        return self._at(1.0).truth.copy()

    def slopes(self, sharpness: float) -> np.ndarray:
        """(n,) derivatives of the log-likelihoods: how much the truth's score is above the mean."""
        sums = self._at(sharpness)
        return sums.truth - sums.mean


def make_expectations(offsets: np.ndarray, keep: bool) -> Expectations:
    """Room for the sums over all outputs of every block; only with ``keep`` for the parts of all of them."""
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
