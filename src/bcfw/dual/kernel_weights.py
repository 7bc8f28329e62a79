"""What training by kernel values returns in place of weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bcfw.input_kernels import InputKernel, matrix_of, product
from bcfw.inputs.examples import by_position
from bcfw.models.probabilities import LogLikelihood


@dataclass(frozen=True)
class KernelWeights:
    """``U = sum_s f(x_s) beta_s'`` over support vectors s, and the weights that do not belong to inputs.

    Attributes
    ----------
    model : the model, bound to the features (or precomputed kernel values) of its inputs
    kernel : InputKernel
    support : (M,) array
        Which training inputs are support vectors: examples of ``Multiclass``, stacked positions of ``Chain``.
    inputs : (M, F) matrix
        Their rows; for a precomputed kernel ``support`` again.
    coefficients : (M, K) array
        beta.
    others : (q,) array
        Weights of the model behind those of the inputs, in its layout.
    n_examples : int
        Examples that the support vectors belong to.
    """

    model: Any
    kernel: InputKernel
    support: np.ndarray
    inputs: Any
    coefficients: np.ndarray
    others: np.ndarray
    n_examples: int

    def __repr__(self) -> str:
        return f"<KernelWeights: {len(self.support)} support vectors, kernel {self.kernel.kind!r}>"

    def scores(self, X: Any) -> np.ndarray:
        """(N, K) scores ``f(x)'U`` of new inputs: examples, or the positions of all sequences one after the other."""
        return self._scores(self.model.pack(by_position(X)))

    def predict(self, X: Any) -> Any:
        """The best output of every input."""
        model, units, w = self.on_units(self.model.pack(by_position(X)))
        return model.output(units, model.decoded(w, units, 0.0))

    def probabilities(self, X: Any, temperature: float = 1.0) -> Any:
        """What the model's own method ``probabilities`` returns, by the scores of new inputs."""
        model, units, w = self.on_units(self.model.pack(by_position(X)))
        return model.packed_probabilities(w, units, temperature)

    def log_likelihood(self, X: Any, y: Any) -> LogLikelihood:
        """The log-likelihood of outputs y of new inputs, as a function of the temperature."""
        model, units, w = self.on_units(self.model.pack(by_position(X), by_position(y)))
        return LogLikelihood(model, w, units)

    def output_scores(self, X: Any, outputs: Any) -> np.ndarray:
        """(n,) scores ``<w, phi(x, y)>`` of an output of every input."""
        return self.log_likelihood(X, outputs).scores()

    def on_units(self, data: Any) -> tuple[Any, Any, np.ndarray]:
        """The model and the record with a unit vector for every input, and the weights that give them their scores."""
        model, units = self.model.on_unit_rows(data)
        return model, units, np.append(self._scores(data).ravel(), self.others)

    def _scores(self, data: Any) -> np.ndarray:
        return product(self.kernel, matrix_of(data), self.inputs, self.coefficients)
