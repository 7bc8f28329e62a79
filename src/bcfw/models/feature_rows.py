"""Models with features in rows: how large these are, and the same examples in other units."""

from __future__ import annotations

from typing import Any

import numpy as np


class FeatureRows:
    """For a model whose record has CSR rows (``indptr``, ``indices``, ``values``), ``n_features`` and ``n_labels``.

    Its weights begin with U (F, K), one row per feature. A subclass writes :meth:`with_values`.
    """

    dim: Any

    def with_values(self, data: Any, values: np.ndarray) -> Any:
        """The record with other values of the features, and all that it derives from them."""
        raise NotImplementedError

    def feature_sizes(self, data: Any) -> np.ndarray:
        """(dim,) root mean square of each weight's feature where it is not zero; one for weights without a feature."""
        sums, counts = (np.bincount(data.indices, by, data.n_features) for by in (data.values**2, None))
        sizes = np.sqrt(np.divide(sums, counts, out=np.zeros(data.n_features), where=counts > 0))
        sizes[sizes == 0.0] = 1.0
        return np.append(np.repeat(sizes, data.n_labels), np.ones(self.dim - data.n_features * data.n_labels))

    def mean_sqnorm(self, data: Any) -> float:
        """Sum of the squares of an example's features, on average."""
        return float(np.vdot(data.values, data.values)) / (len(data.y_off) - 1)

    def rescaled(self, data: Any, units: np.ndarray) -> Any:
        """The record with every feature divided by the (dim,) unit of its weights."""
        of_features = units[: data.n_features * data.n_labels : data.n_labels]
        return self.with_values(data, data.values / of_features[data.indices])
