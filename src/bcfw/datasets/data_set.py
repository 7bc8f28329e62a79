"""DataSet, the result of the loaders: scikit-learn's Bunch with a repr that shows shapes and not all numbers."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from bcfw.options import SHORT


class DataSet(Bunch):
    """A :class:`sklearn.utils.Bunch`, that is, a dictionary whose entries are also attributes.

    Its repr lists the names and shapes of the entries, because the numbers themselves would take megabytes.

    Examples
    --------
    >>> from bcfw.datasets import load_digit_words
    >>> load_digit_words(n_train=20, n_test=10)
    <DataSet: Handwritten dates: 20 training and 10 test words of 4, 6 or 8 digits.
      X_train: list of 20, the first: array (..., 65) of float64
      y_train: list of 20, the first: array (...,) of int64
      ...
      DESCR: text of ... lines>
    """

    def __repr__(self) -> str:
        title = next(iter(str(self.get("DESCR", "")).splitlines()), f"{len(self)} entries")
        return f"<{type(self).__name__}: {title}" + "".join(f"\n  {name}: {shape(self[name])}" for name in self) + ">"


def shape(value: Any) -> str:
    """Return a short line that describes a value: its type and shape."""
    if isinstance(value, np.ndarray) or sp.issparse(value):
        kind = "array" if isinstance(value, np.ndarray) else f"sparse {value.format} matrix"
        return f"{kind} {value.shape} of {value.dtype}"
    if isinstance(value, tuple):
        return f"({', '.join(map(shape, value))})" if len(value) <= 4 else f"tuple of {len(value)}"
    if isinstance(value, list) and len(value) and not isinstance(value[0], str | Number):
        return f"list of {len(value)}, the first: {shape(value[0])}"
    if isinstance(value, str) and "\n" in value:
        return f"text of {value.count(chr(10)) + 1} lines"
    return f"list of {len(value)}: {SHORT.repr(value)}" if isinstance(value, list) else SHORT.repr(value)


def feature_matrix(values: np.ndarray, constant: bool) -> np.ndarray:
    """Return a copy of ``values`` (n, F) as floats, with a column of ones appended if ``constant``."""
    n_rows, n_features = values.shape
    out = np.ones((n_rows, n_features + bool(constant)))
    out[:, :n_features] = values
    return out


def cut(flat: np.ndarray, offsets: np.ndarray, which: Iterable[int] | None = None) -> list[np.ndarray]:
    """Return the pieces ``flat[offsets[k]:offsets[k + 1]]`` as views, for all k or for the k in ``which``."""
    ends = offsets.tolist()
    if ends[0] != 0 or ends[-1] != len(flat) or np.any(np.diff(offsets) < 0):
        raise ValueError(f"offsets must rise from 0 to {len(flat)}, the number of rows, got {offsets!r:.100}")
    return [flat[ends[k] : ends[k + 1]] for k in (range(len(ends) - 1) if which is None else which)]
