"""The support vectors and coefficients that training with an input kernel returns, and their predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.inputs.examples import indexable_examples
from bcfw.inputs.rows import matrix_of
from bcfw.models.shared.feature_rows import KernelInputs
from bcfw.models.shared.sum_product import LogLikelihood
from bcfw.options import Choice, Count, NonNegative, Positive
from bcfw.solvers.kernelized.input_kernels import INPUT_KERNELS, InputKernel, product
from bcfw.storage.checked_arrays import LARGEST, SavedArrays
from bcfw.storage.values import decode, encode

#: The valid values of the parameters of a saved kernel.
PARAMETERS = {
    "kind": Choice(*INPUT_KERNELS),
    "gamma": Positive(1.0),
    "degree": Count(3),
    "coef0": NonNegative(0.0),
    "bias": NonNegative(0.0),
}

#: Prefix of the names of saved arrays.
PREFIX = "kernel."


@dataclass(frozen=True)
class KernelWeights:
    """The weights ``U = sum_s f(x_s) beta_s'`` of inputs as support vectors s, and the other weights of the model.

    Attributes
    ----------
    model : the model, bound to the features (or precomputed kernel values) of its inputs
    kernel : InputKernel
    support : (M,) array
        The numbers of the training inputs that are support vectors. The inputs are the examples of ``Multiclass``, and
        the positions of all sequences, one after the other, of ``Chain``.
    inputs : (M, F) matrix
        The features of the support vectors; equal to ``support`` if the kernel is precomputed.
    coefficients : (M, K) array
        The coefficients beta.
    others : (q,) array
        The other weights (such as transitions), which follow the weights of the inputs in the model's layout.
    n_examples : int
        The number of training examples that have a support vector.
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
        """Return (N, K) scores ``f(x)'U`` of new examples, or of the positions of all new sequences in one array."""
        return self._scores(self.model.pack(indexable_examples(X)))

    def predict(self, X: Any) -> Any:
        """Return the best output of every input."""
        model, units, w = self.on_units(self.model.pack(indexable_examples(X)))
        return model.output(units, model.decoded(w, units, 0.0))

    def probabilities(self, X: Any, temperature: float = 1.0) -> Any:
        """Return the result of the model's method ``probabilities``, computed from the scores of new inputs."""
        model, units, w = self.on_units(self.model.pack(indexable_examples(X)))
        return model.packed_probabilities(w, units, temperature)

    def log_likelihood(self, X: Any, y: Any) -> LogLikelihood:
        """Return the log-likelihood of outputs y of new inputs, as a function of the temperature."""
        model, units, w = self.on_units(self.model.pack(indexable_examples(X), indexable_examples(y)))
        return LogLikelihood(model, w, units)

    def output_scores(self, X: Any, outputs: Any) -> np.ndarray:
        """Return (n,) scores ``<w, phi(x, y)>`` of one given output per input."""
        return self.log_likelihood(X, outputs).scores()

    def on_units(self, data: Any) -> tuple[Any, Any, np.ndarray]:
        """Return model and data whose inputs have unit vectors as features, and weights that give them their scores."""
        model, units = self.model.on_unit_rows(data)
        return model, units, np.append(self._scores(data).ravel(), self.others)

    def _scores(self, data: Any) -> np.ndarray:
        return product(self.kernel, matrix_of(data), self.inputs, self.coefficients)

    def saved(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """Return the header for a model file, and add the arrays to ``arrays``; raise if the kernel is a function."""
        parameters = {name: encode(value, f"kernel: {name}", arrays) for name, value in self.kernel._asdict().items()}
        parts = {"support": self.support, "coefficients": self.coefficients, "others": self.others}
        is_sparse = sp.issparse(self.inputs)
        if is_sparse:
            parts |= {name: getattr(self.inputs, name) for name in ("data", "indices", "indptr")}
        elif self.kernel.kind != "precomputed":
            parts["inputs"] = self.inputs
        arrays |= {PREFIX + name: part for name, part in parts.items()}
        return {"parameters": parameters, "sparse": is_sparse, "n_examples": self.n_examples}

    @classmethod
    def restored(cls, header: dict[str, Any], saved: SavedArrays, model: Any) -> KernelWeights:
        """Return the kernel weights of a bound model from what :meth:`saved` wrote, after checking every array."""
        if not isinstance(model, KernelInputs):
            raise saved.damaged("the header", "has a kernel for a model that takes none")
        given = decode(header["parameters"], saved)
        kernel = InputKernel(**{name: PARAMETERS[name].check("kernel", name, value) for name, value in given.items()})
        F, K = int(model.n_features or 0), int(model.n_labels)  # type: ignore[attr-defined]
        most = F - 1 if kernel.kind == "precomputed" else LARGEST
        support = saved.get(PREFIX + "support", np.int64, (None,), 0, most)
        inputs = support if kernel.kind == "precomputed" else _saved_inputs(header, saved, (len(support), F))
        return cls(
            model=model,
            kernel=kernel,
            support=support,
            inputs=inputs,
            coefficients=saved.get(PREFIX + "coefficients", float, (len(support), K)),
            others=saved.get(PREFIX + "others", float, (model.dim - F * K,)),  # type: ignore[attr-defined]
            n_examples=int(Count(0, least=0).check("kernel", "n_examples", header["n_examples"])),
        )


def _saved_inputs(header: dict[str, Any], saved: SavedArrays, shape: tuple[int, int]) -> Any:
    """Return the features of the support vectors, a dense or sparse matrix."""
    if not header["sparse"]:
        return saved.get(PREFIX + "inputs", float, shape)
    data = saved.get(PREFIX + "data", float, (None,))
    indices = saved.get(PREFIX + "indices", np.int64, (len(data),), 0, shape[1] - 1)
    indptr = saved.get(PREFIX + "indptr", np.int64, (shape[0] + 1,), 0, len(data))
    rows = sp.csr_array((data, indices, indptr), shape=shape)
    rows.check_format(full_check=True)
    return rows
