"""JointForm, the adapter for models with a joint kernel: block averages are linear combinations of pairs (x, y)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from bcfw.inputs.examples import check_same_length
from bcfw.models.hooks import bound_copy
from bcfw.models.kernels.black_box import BlackBoxData
from bcfw.models.pairs import Pairs, PairVectors
from bcfw.models.python_form import PythonForm, check_loss_of_truth


class JointForm(PythonForm):
    """Adapter for a :class:`bcfw.JointKernelModel`.

    It differs from :class:`PythonForm` in two points: the pair (x_i, y) takes the place of the features of an output,
    and the coefficients of pairs take the place of w.
    """

    @classmethod
    def open(cls, model: Any, X: Any, y: Any, sample_weight: np.ndarray | None) -> tuple[Self, BlackBoxData]:
        check_same_length(X, y, type(model).__name__)
        return cls.open_bound(bound_copy(model, X, y, sample_weight), X, y)

    @classmethod
    def open_bound(cls, model: Any, X: Any, y: Any) -> tuple[Self, BlackBoxData]:
        check_same_length(X, y, type(model).__name__)
        vectors = PairVectors(Pairs(model, X))
        truths = []
        for i in range(len(y)):
            check_loss_of_truth(model, y[i], i)
            truths.append(vectors.unit(i, y[i]))
        return cls(model, len(truths)), BlackBoxData(model, X, y, vectors, truths)

    def __init__(self, model: Any, n_truths: int) -> None:
        self._n_truths = n_truths
        super().__init__(model)

    def _count_weights(self) -> int:
        """Return the number of truths, each of which has a coefficient.

        :class:`bcfw.dual.joint.JointProblem` adds pairs as training finds them.
        """
        return self._n_truths

    @property
    def offers(self) -> frozenset[str]:
        return super().offers | {"joint kernel"}

    @property
    def needs(self) -> frozenset[str]:
        return super().needs | {"joint kernel"}
