"""Features in rows with a matrix of weights (F, K) in front: compiled routines, sizes of features, unit rows.

The routines need the fields ``indptr``, ``index_at``, ``indices``, ``values`` (as :class:`bcfw.inputs.rows.Rows` has
them) and ``n_labels`` (K) of the model's data. Values may be float32; products with weights, and all sums, are float64.
:class:`FeatureRows` and :class:`KernelInputs` are mixins of the models.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bcfw.inputs.rows import columns_of, numbers_of, pieces, row_sqnorms


def add_rows(data, token, w, out):
    """Add ``U'x_token`` to ``out``, four features at a time."""
    K = out.shape[0]
    indices = data.indices[data.index_at[token] :]
    values = data.values[data.indptr[token] : data.indptr[token + 1]]
    fours = values.shape[0] // 4
    for quarter in range(fours):
        j = 4 * quarter
        a, b, c, e = values[j], values[j + 1], values[j + 2], values[j + 3]
        fa, fb, fc, fe = indices[j], indices[j + 1], indices[j + 2], indices[j + 3]
        ua, ub = w[fa * K : fa * K + K], w[fb * K : fb * K + K]
        uc, ue = w[fc * K : fc * K + K], w[fe * K : fe * K + K]
        for k in range(K):
            out[k] += (a * ua[k] + b * ub[k]) + (c * uc[k] + e * ue[k])
    for j in range(4 * fours, values.shape[0]):
        a = values[j]
        fa = indices[j]
        ua = w[fa * K : fa * K + K]
        for k in range(K):
            out[k] += a * ua[k]


def column_product(data, row, k, w):
    """Return ``x_row'U[:, k]``."""
    K = data.n_labels
    column = w[k:]
    indices = data.indices[data.index_at[row] :]
    values = data.values[data.indptr[row] : data.indptr[row + 1]]
    total = 0.0
    for j in range(values.shape[0]):
        total += values[j] * column[indices[j] * K]
    return total


def column_pair_product(data, row, k, l, w):
    """Return ``x_row'U[:, k]`` and ``x_row'U[:, l]``."""
    K = data.n_labels
    first, second = w[k:], w[l:]
    indices = data.indices[data.index_at[row] :]
    values = data.values[data.indptr[row] : data.indptr[row + 1]]
    a = 0.0
    b = 0.0
    for j in range(values.shape[0]):
        start = indices[j] * K
        a += values[j] * first[start]
        b += values[j] * second[start]
    return a, b


def add_row_outer(data, row, s, count, work, few, w):
    """Add ``s x_row d'`` to U; up to ``few`` moved labels are added one by one, more as whole rows, which vectorises.

    ``work.d`` has one entry per label; the first ``count`` entries of ``work.moved`` are the labels with ``d != 0``.
    """
    K = data.n_labels
    if count == 0:
        return
    indices = data.indices[data.index_at[row] :]
    values = data.values[data.indptr[row] : data.indptr[row + 1]]
    for j in range(values.shape[0]):
        f = indices[j]
        weights = w[f * K : f * K + K]
        c = s * values[j]
        if count <= few:
            for m in range(count):
                weights[work.moved[m]] += c * work.d[work.moved[m]]
        else:
            for k in range(K):
                weights[k] += c * work.d[k]


def list_row_outer(data, row, labels, count, out):
    """Write the coordinates of U at the features of ``row`` and the first ``count`` of ``labels`` to ``out``.

    Returns their number, or -1 if they do not fit.
    """
    K = data.n_labels
    size = data.indptr[row + 1] - data.indptr[row]
    if size * count > out.shape[0]:
        return -1
    indices = data.indices[data.index_at[row] :]
    listed = 0
    for j in range(size):
        for m in range(count):
            out[listed] = indices[j] * K + labels[m]
            listed += 1
    return listed


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


class KernelInputs(FeatureRows):
    """Mixin for a model with features in rows that needs only inner products of the rows: it offers "input kernel".

    A subclass defines :meth:`with_products`.
    """

    n_features: int | None

    def with_products(self, data: Any, products: Any) -> Any:
        """Return the record with the inner products among the rows of each example taken from the kernel."""
        raise NotImplementedError

    def on_unit_rows(self, data: Any, products: Any = None) -> tuple[Any, Any]:
        """Return a copy of this bound model and of the record in which row p of N has the unit vector e_p as features.

        For training, ``products`` gives the kernel values among the rows of each example; prediction does not need
        them.
        """
        N = len(data.indptr) - 1
        model = copy.copy(self)
        model.n_features, model.dim = N, self.dim + (N - data.n_features) * data.n_labels
        each = np.arange(N + 1)
        units = data._replace(
            indptr=each,
            index_at=each[:-1],
            indices=np.arange(N, dtype=np.uint32),
            values=np.ones(N),
            n_features=N,
        )
        return model, units if products is None else model.with_products(units, products)
