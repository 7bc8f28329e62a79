"""FeatureRows: feature sizes, rescaling and hashing for models whose packed inputs are rows of features."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bcfw.inputs.rows import columns_of, numbers_of, pieces, row_sqnorms

#: Fields of a record that hold its rows (see :class:`bcfw.inputs.rows.Rows`) or that are computed from the rows.
OF_ROWS = ("indptr", "index_at", "indices", "values", "gram", "sqnorms")


class Entries(NamedTuple):
    """The entries of some rows: ``rows`` and ``inside`` are the slices of these rows and of their entries.

    ``column`` and ``value`` have the column and the float64 value of each entry.
    """

    rows: slice
    inside: slice
    column: np.ndarray
    value: np.ndarray


def entries(data: Any) -> Iterator[Entries]:
    """Yield all entries of a record's rows, some rows at a time."""
    for rows, inside in pieces(data.indptr):
        yield Entries(rows, inside, columns_of(data, rows), data.values[inside].astype(np.float64, copy=False))


class FeatureRows:
    """Mixin for a model whose record has the fields of :class:`bcfw.inputs.rows.Rows` and ``n_labels``.

    The weights of the model begin with U (F, K), one row per feature. A subclass defines :meth:`with_values`.
    """

    dim: Any

    def with_values(self, data: Any, values: np.ndarray) -> Any:
        """Return the record with new feature values; fields that depend on the values are computed again."""
        raise NotImplementedError

    def feature_sizes(self, data: Any) -> np.ndarray:
        """Return (dim,) sizes: for each weight, the root mean square of the nonzero values of its feature.

        Weights without a feature, or whose feature is always zero, have size one.
        """
        sums, counts = np.zeros(data.n_features), np.zeros(data.n_features)
        for some in entries(data):
            sums += np.bincount(some.column, some.value**2, data.n_features)
            counts += np.bincount(some.column, some.value != 0.0, data.n_features)
        sizes = np.sqrt(np.divide(sums, counts, out=np.zeros(data.n_features), where=counts > 0))
        sizes[sizes == 0.0] = 1.0
        return np.append(np.repeat(sizes, data.n_labels), np.ones(self.dim - data.n_features * data.n_labels))

    def mean_sqnorm(self, data: Any) -> float:
        """Return the mean over the examples of the sum of squared features."""
        return float(row_sqnorms(data.indptr, data.values).sum()) / (len(data.y_off) - 1)

    def rescaled(self, data: Any, units: np.ndarray) -> Any:
        """Return the record with every feature divided by the (dim,) unit of its weights, as float64."""
        of_features = units[: data.n_features * data.n_labels : data.n_labels]
        quotients = np.empty(len(data.values))
        for some in entries(data):
            quotients[some.inside] = some.value / of_features[some.column]
        return self.with_values(data, quotients)

    def data_arrays(self, data: Any) -> list[np.ndarray]:
        """Return arrays that identify the packed data; they do not depend on dtype and storage of the features."""
        columns, values, lengths = hashlib.sha256(), hashlib.sha256(), np.diff(data.indptr)
        for some in entries(data):
            given = some.value != 0.0
            lengths[some.rows] -= np.bincount(
                numbers_of(data.indptr, some.rows)[~given], minlength=len(lengths[some.rows])
            )
            columns.update(some.column[given].data)
            values.update(some.value[given].data)
        digests = [np.frombuffer(digest.digest(), np.uint8) for digest in (columns, values)]
        others = [np.asarray(field) for name, field in data._asdict().items() if name not in OF_ROWS]
        return [*others, lengths, *digests]
