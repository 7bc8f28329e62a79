"""JointKernelModel: base class for a user's model with a kernel between pairs (x, y) and no feature vectors."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np

from bcfw.compile import RoutineSet
from bcfw.errors import ModelError
from bcfw.inputs.examples import check_same_length
from bcfw.models.base.adapter import ModelAdapter
from bcfw.models.base.model import Model
from bcfw.models.joint_kernel.joint_kernel_adapter import JOINT_ROUTINES, JointAdapter
from bcfw.models.joint_kernel.pairs import Score, expansion

#: Number of truths in a random combination of features.
FEW = 10


class JointKernelModel(Model):
    """Base class for a model with a joint kernel ``k((x, y), (x', y')) = <phi(x, y), phi(x', y')>``.

    Neither the features phi nor the weights are stored: ``w = sum_s beta_s phi(x_s, y_s)`` is a sum over some pairs of
    training inputs and outputs. Write three methods: ``joint_kernel``, ``loss``, and ``outputs``, the list of all
    outputs of an input. If an input has too many outputs to list, write ``oracle(score, x, y_true=None)`` instead of
    ``outputs``. This oracle works as in :class:`bcfw.Model`, but its first argument is a function ``score``, not w.

    ``solver="auto"`` is :class:`bcfw.solvers.KernelBCFW` with ``kernel="joint"``, the only solver that needs no w.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> class Strings(bcfw.JointKernelModel):
    ...     def joint_kernel(self, pairs, others):
    ...         return [[(y == v) * np.exp(-abs(len(x) - len(u))) for u, v in others] for x, y in pairs]
    ...     def loss(self, y_true, y):
    ...         return float(y != y_true)
    ...     def outputs(self, x):
    ...         return ["short", "long"]
    >>> X, y = ["a", "ab", "abcdef", "abcdefgh"], ["short", "short", "long", "long"]
    >>> result = bcfw.train(Strings(), X, y)
    >>> result.predict(["b", "hgfedcba"]), result.w, result.kernel_weights.n_examples
    (['short', 'long'], None, 4)
    """

    _routines: ClassVar[RoutineSet] = JOINT_ROUTINES

    def joint_kernel(self, pairs: list[tuple[Any, Any]], others: list[tuple[Any, Any]]) -> Any:
        """Return the (M, N) kernel values of every pair (x, y) of ``pairs`` with every pair of ``others``."""
        raise ModelError(f"{type(self).__name__} needs a method joint_kernel(self, pairs, others)")

    def outputs(self, x: Any) -> Any:
        """Return the list of all outputs of an input, at least one; not needed if the class defines ``oracle``."""
        raise ModelError(
            f"{type(self).__name__} needs a method outputs(self, x), or oracle(self, score, x, y_true=None)"
        )

    def oracle(self, score: Score, x: Any, y_true: Any = None) -> Any:  # type: ignore[override]
        """Return ``argmax_y loss(y_true, y) + score([y])[0]``; without y_true the loss is left out.

        The default implementation tries every output.

        Parameters
        ----------
        score : Score
            ``score(outputs)`` is the array of the scores ``<w, phi(x, y)>`` of a list of outputs of x. An oracle that
            exploits the structure of k may use the expansion ``w = sum_s beta_s phi(x_s, y_s)`` itself:
            ``score.support`` has its pairs, ``score.coefficients`` the numbers beta.
        x, y_true : input, and its truth or None
        """
        outputs = list(self.outputs(x))
        values = score(outputs)
        if y_true is not None:
            losses = np.array([self.loss(y_true, y) for y in outputs], dtype=np.float64)
            rescaled = type(self).slack_rescaling
            values = losses * (1.0 + values - score([y_true])[0]) if rescaled else losses + values
        return outputs[int(np.argmax(values))]

    def features(self, x: Any, y: Any) -> Any:
        """Raise a :class:`ModelError`: a model with a joint kernel has no feature vectors."""
        raise ModelError(f"{type(self).__name__} has a joint kernel and no features; use joint_kernel(pairs, others)")

    def bind(self, X: Any, y: Any) -> Model:
        """Hook: return a copy of the model with all attributes set that depend on the data (here none)."""
        check_same_length(X, y, type(self).__name__)
        return copy.copy(self)

    def predict(self, w: Any, X: Any) -> Any:
        """Hook: return the list of predicted outputs. ``w.score(x)`` is the score function for outputs of x."""
        return [self.oracle(w.score(x), x) for x in X]

    def _random_output(self, X: Any, y: Any, i: int, rng: np.random.Generator) -> Any:
        """Return the oracle's output for random weights: a random combination of the features of a few truths."""
        some = rng.choice(len(y), min(FEW, len(y)), replace=False).tolist()
        score = expansion(self, X[i], [(X[j], y[j]) for j in some], rng.standard_normal(len(some)))
        return self.oracle(score, X[i])

    def _open(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> tuple[ModelAdapter, Any]:
        return JointAdapter.open(self, X, y, sample_weight)

    def _open_bound(self, X: Any, y: Any) -> tuple[ModelAdapter, Any]:
        return JointAdapter.open_bound(self, X, y)
