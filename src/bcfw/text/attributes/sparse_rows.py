"""Conversion of encoded attributes to the sparse rows that training takes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from bcfw.inputs.sequences import Sequences
from bcfw.text.attributes.vocabulary import UNKNOWN, Encoded


def stacked_rows(found: Encoded, n_columns: int) -> Sequences:
    """Return the positions as sparse rows with sorted columns.

    Unknown attributes are left out; the weights of repeated attributes are added.
    """
    columns, values, indptr = found.columns, found.values, found.indptr
    if not len(values):
        values = np.ones(len(columns))
    known = columns != UNKNOWN
    if not known.all():
        columns, values = columns[known], values[known]
        indptr = np.concatenate([[0], np.cumsum(known)])[indptr]
    rows = sp.csr_array((values, columns, indptr), shape=(len(indptr) - 1, n_columns))
    rows.sum_duplicates()
    return Sequences(rows, found.offsets)
