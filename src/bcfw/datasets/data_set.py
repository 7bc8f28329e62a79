"""DataSet, the result of the loaders: scikit-learn's Bunch with a repr that shows shapes and not all numbers."""

from __future__ import annotations

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
