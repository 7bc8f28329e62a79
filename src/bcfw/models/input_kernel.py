"""Models whose inputs may be known by an input kernel alone (see :mod:`bcfw.models.kernels.input_kernel`)."""

from __future__ import annotations

import collections
import copy
import functools
from typing import Any

import numpy as np

from bcfw.kernels import KernelSet
from bcfw.models.feature_rows import FeatureRows
from bcfw.models.kernels.input_kernel import (
    ROW_FIELDS,
    add_scores,
    apply_by_rows,
    reserve_with_rows,
    score_of,
    score_pair_of,
)


class KernelInputs(FeatureRows):
    """For a model with features in rows, of which only inner products matter: it offers "input kernel".

    A subclass writes :meth:`with_products`.
    """

    n_features: int | None

    def with_products(self, data: Any, products: Any) -> Any:
        """The record with inner products of the rows of one example taken from the kernel."""
        raise NotImplementedError

    def on_unit_rows(self, data: Any, products: Any = None) -> tuple[Any, Any]:
        """A copy of this bound model, and the record, with the unit vector e_p as row p of N.

        Training needs the kernel values of an example's rows with each other, too; prediction does not.
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


@functools.cache
def record_with_rows(record: Any) -> Any:
    """The class of a model's data with the fields that kernel rows need."""
    return collections.namedtuple(f"{record.__name__}WithRows", (*record._fields, *ROW_FIELDS))


@functools.cache
def kernels_on_coefficients(kernels: KernelSet) -> KernelSet:
    """A model's kernels for data with rows; they read scores, and change coefficients alone."""
    return kernels.rebound(
        Data=record_with_rows(kernels.bindings["Data"]),
        add_rows=add_scores,
        column_product=score_of,
        column_pair_product=score_pair_of,
    )


@functools.cache
def kernels_by_rows(kernels: KernelSet) -> KernelSet:
    """A model's kernels for data with rows, whose steps change coefficients and scores."""
    own = kernels.bindings
    return kernels_on_coefficients(kernels).rebound(
        apply=apply_by_rows, reserve=reserve_with_rows, apply_parts=own["apply"], reserve_parts=own["reserve"]
    )
