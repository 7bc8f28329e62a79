"""KernelInputs: base of the models that can be trained with an input kernel k(x, x') in place of features.

:mod:`bcfw.models.kernels.input_kernel` explains the compiled routines of this training.
"""

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


@functools.cache
def record_with_rows(record: Any) -> Any:
    """Return the class of a model's data extended by the fields that kernel rows need (``ROW_FIELDS``)."""
    return collections.namedtuple(f"{record.__name__}WithRows", (*record._fields, *ROW_FIELDS))


@functools.cache
def kernels_on_coefficients(kernels: KernelSet) -> KernelSet:
    """Return a model's routines for data with kernel rows; they read scores, and steps change only coefficients."""
    return kernels.rebound(
        Data=record_with_rows(kernels.bindings["Data"]),
        add_rows=add_scores,
        column_product=score_of,
        column_pair_product=score_pair_of,
    )


@functools.cache
def kernels_by_rows(kernels: KernelSet) -> KernelSet:
    """Return a model's routines for data with kernel rows; steps change the coefficients and the scores."""
    own = kernels.bindings
    return kernels_on_coefficients(kernels).rebound(
        apply=apply_by_rows, reserve=reserve_with_rows, apply_parts=own["apply"], reserve_parts=own["reserve"]
    )
