"""A structure of a user's own whose joint features are known by a kernel between pairs (x, y) alone."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np

from bcfw.errors import ModelError
from bcfw.inputs.examples import check_same_length
from bcfw.kernels import KernelSet
from bcfw.models.form import Form
from bcfw.models.joint_form import JointForm
from bcfw.models.kernels.joint_kernel import JOINT_KERNELS
from bcfw.models.model import Model
from bcfw.models.pairs import Score, expansion

#: Truths that a random sum of features has.
FEW = 10


class JointKernelModel(Model):
    """Base class for a structure with a joint kernel ``k((x, y), (x', y')) = <phi(x, y), phi(x', y')>``.

    The features phi are never written down, and neither are the weights: ``w = sum_s beta_s phi(x_s, y_s)`` over some
    pairs of training inputs and outputs. Write three methods: ``joint_kernel``, ``loss``, and ``outputs``, the list of
    all outputs of an input. Where there are too many to list, write ``oracle(score, x, y_true=None)`` instead of
    ``outputs``: it is that of :class:`bcfw.Model` with a function ``score`` in the place of w.

    ``solver="auto"`` is :class:`bcfw.solvers.KernelBCFW` with ``kernel="joint"``, the one solver that needs no w.

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

    _kernels: ClassVar[KernelSet] = JOINT_KERNELS

    def joint_kernel(self, pairs: list[tuple[Any, Any]], others: list[tuple[Any, Any]]) -> Any:
        """(M, N) values of the kernel of every one of M pairs (x, y) with every one of N others."""
        raise ModelError(f"{type(self).__name__} needs a method joint_kernel(self, pairs, others)")

    def outputs(self, x: Any) -> Any:
        """All outputs of an input, at least one; not needed where ``oracle`` finds the best one by itself."""
        raise ModelError(
            f"{type(self).__name__} needs a method outputs(self, x), or oracle(self, score, x, y_true=None)"
        )

    def oracle(self, score: Score, x: Any, y_true: Any = None) -> Any:  # type: ignore[override]
        """``argmax_y loss(y_true, y) + score([y])[0]``; without y_true the plain argmax. Here every output is tried.

        Parameters
        ----------
        score : Score
            ``score(outputs)`` are the scores ``<w, phi(x, y)>`` of a list of outputs of x, an array. An oracle that
            knows how k is made may use the expansion ``w = sum_s beta_s phi(x_s, y_s)`` itself: ``score.support`` are
            its pairs, ``score.coefficients`` the numbers beta.
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
        """There are none."""
        raise ModelError(f"{type(self).__name__} has a joint kernel and no features; use joint_kernel(pairs, others)")

    def bind(self, X: Any, y: Any) -> Model:
        """Hook: a copy of the model with everything set that the data determine (here nothing)."""
        check_same_length(X, y, type(self).__name__)
        return copy.copy(self)

    def predict(self, w: Any, X: Any) -> Any:
        """Hook: plain decoding of every input; a list. ``w.score(x)`` is the score of the outputs of x."""
        return [self.oracle(w.score(x), x) for x in X]

    def _random_output(self, X: Any, y: Any, i: int, rng: np.random.Generator) -> Any:
        """The weights are a random sum of the features of a few truths."""
        some = rng.choice(len(y), min(FEW, len(y)), replace=False).tolist()
        score = expansion(self, X[i], [(X[j], y[j]) for j in some], rng.standard_normal(len(some)))
        return self.oracle(score, X[i])

    def _open(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> tuple[Form, Any]:
        return JointForm.open(self, X, y, sample_weight)

    def _open_bound(self, X: Any, y: Any) -> tuple[Form, Any]:
        return JointForm.open_bound(self, X, y)
