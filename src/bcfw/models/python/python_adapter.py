"""PythonAdapter, the adapter for models written in plain Python: block averages are feature vectors."""

from __future__ import annotations

import copy
import math
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from bcfw.errors import InputError, ModelError, OracleError
from bcfw.inputs.examples import check_same_length
from bcfw.models.base.adapter import UserAdapter
from bcfw.models.base.hooks import bound_copy, checked_dim, is_overridden
from bcfw.models.check.failures import described, place
from bcfw.models.python.feature_vectors import DenseVectors, SparseVectors
from bcfw.models.python.python_routines import (
    ROUNDING,
    BlackBoxData,
    BlackBoxWork,
    loss_between,
    make_work,
    not_finite,
    read_features,
)


class PythonAdapter(UserAdapter):
    """Adapter for a model whose Python methods are called for one example at a time.

    The parts are the features: ``z(y) = phi(x_i, y)`` and ``B_i = I``.
    """

    @classmethod
    def open(cls, model: Any, X: Any, y: Any, sample_weight: np.ndarray | None) -> tuple[Self, BlackBoxData]:
        """Bind the model and compute the features of every truth; return the adapter and the data."""
        check_same_length(X, y, type(model).__name__)
        overridden = is_overridden(model, "bind")
        bound = bound_copy(model, X, y, sample_weight) if overridden else copy.copy(model)
        first = first_features(bound, X, y)
        if bound.dim is None:
            bound.dim = feature_count(first)
        checked_dim(bound)
        return cls(bound), read_truths(bound, X, y, first)

    @classmethod
    def open_bound(cls, model: Any, X: Any, y: Any) -> tuple[Self, BlackBoxData]:
        """Compute the features of every truth for a bound model; return the adapter and the data."""
        check_same_length(X, y, type(model).__name__)
        return cls(model), read_truths(model, X, y, first_features(model, X, y))

    def make_work(self, data: BlackBoxData) -> BlackBoxWork:
        return make_work()

    def make_labelings(self, data: BlackBoxData, slots: int = 1) -> list[list[Any]]:
        """Return a list of ``slots`` labelings per block, all the truth; a labeling is a pair (features, loss)."""
        return [[(truth, 0.0)] * slots for truth in data.truths]

    def initial_mu(self, data: BlackBoxData) -> tuple[Any, ...]:
        """Return the initial averages: the features of the truths, and losses of zero."""
        return list(data.truths), np.zeros(len(data.truths))

    def export_mu(self, data: BlackBoxData, mu: tuple[Any, ...]) -> list[np.ndarray]:
        averages, losses = mu
        return [losses, *data.vectors.stack(averages)]

    def import_mu(self, data: BlackBoxData, arrays: list[np.ndarray]) -> tuple[Any, ...]:
        losses, *averages = arrays
        n = len(data.truths)
        if len(losses) != n or not data.vectors.can_unstack(averages, n):
            raise InputError(f"{self.name}: mu_0, losses, and mu_1 ..., features, are not those of {n} examples")
        return data.vectors.unstack(averages), np.array(losses)

    def data_arrays(self, data: BlackBoxData) -> list[np.ndarray]:
        return data.vectors.stack(data.truths)  # type: ignore[no-any-return]


def first_features(model: Any, X: Any, y: Any) -> Any:
    """Return the features of the first truth, as the model returns them."""
    try:
        return model.features(X[0], y[0])
    except Exception as error:
        raise OracleError(f"example 0: features(x, y) failed: {described(error)}", 0) from error


def feature_count(features: Any) -> int:
    """Return the number of weights, which is the size of the features of one output."""
    return int(np.prod(np.shape(features)))


def read_truths(model: Any, X: Any, y: Any, first: Any) -> BlackBoxData:
    """Return the data with the features of every truth; ``first`` has the features of example 0.

    Vectors are stored sparse if ``first`` is sparse, else dense.
    """
    dim = checked_dim(model)
    vectors = SparseVectors(dim) if sp.issparse(first) else DenseVectors(dim)
    zero = np.zeros(dim)
    truths = []
    for i in range(len(y)):
        truth = read_features(model, vectors, X[i], y[i], i, given=first if i == 0 else None)
        check_loss_of_truth(model, y[i], i)
        if not math.isfinite(sum(vectors.products(truth, zero))):
            raise not_finite(i)
        truths.append(truth)
    return BlackBoxData(model, X, y, vectors, truths)


def check_loss_of_truth(model: Any, y: Any, i: int) -> None:
    """Raise unless the loss of the truth y is zero."""
    try:
        loss = loss_between(model, y, y)
    except Exception as error:
        raise OracleError(f"example {i}: {type(error).__name__} in loss(y, y): {error}{place(error)}", i) from error
    if not abs(loss) <= ROUNDING:
        raise ModelError(f"example {i}: loss(y, y) = {loss} on the truth; it must be 0")


def content_hash(*parts: Any) -> str:
    """Return a hash of the content of the parts; a part that cannot be pickled enters only by the name of its type."""
    import joblib

    def one(part: Any) -> str:
        try:
            return str(joblib.hash(part))
        except Exception:
            return type(part).__qualname__

    return " ".join(map(one, parts))
