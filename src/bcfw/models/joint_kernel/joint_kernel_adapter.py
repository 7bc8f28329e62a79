"""The adapter and the routines of models with a joint kernel.

They are those of models in plain Python, with numbers of pairs as features: an oracle gets a score in the place of w,
and the features of an output are the unit vector of its pair (:mod:`bcfw.models.joint_kernel.pairs`).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from bcfw.inputs.examples import check_same_length
from bcfw.models.base.hooks import bound_copy
from bcfw.models.joint_kernel.pairs import Pairs, PairVectors
from bcfw.models.python.python_adapter import PythonAdapter, check_loss_of_truth
from bcfw.models.python.python_routines import BLACK_BOX_ROUTINES, BlackBoxData


def shown_weights(data, i, w):
    """Return the score function of the outputs of example i, which the user's oracle gets."""
    return data.vectors.pairs.score(i, w)


def output_features(data, i, y):
    """Return the unit vector of the pair of example i and output y."""
    return data.vectors.unit(i, y)


JOINT_ROUTINES = BLACK_BOX_ROUTINES.rebound(shown_weights=shown_weights, output_features=output_features)


class JointAdapter(PythonAdapter):
    """Adapter for a :class:`bcfw.JointKernelModel`.

    It differs from :class:`PythonAdapter` in two points: the pair (x_i, y) takes the place of the features of an
    output, and the coefficients of pairs take the place of w.
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

        :class:`bcfw.solvers.kernelized.joint_problem.JointProblem` adds pairs as training finds them.
        """
        return self._n_truths

    @property
    def offers(self) -> frozenset[str]:
        return super().offers | {"joint kernel"}

    @property
    def needs(self) -> frozenset[str]:
        return super().needs | {"joint kernel"}
