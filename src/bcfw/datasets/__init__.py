"""Data sets to learn from and to measure on: one that is always there, others that are found on disk.

:func:`load_digit_words` needs no file: it writes words from the digits that scikit-learn ships. The ``fetch_*``
functions read public research data whose licences forbid shipping them, from the folder named by the environment
variable ``BCFW_DATA`` or from the user's cache; where they find none, :class:`DataNotFound` names the public source
and the command of :mod:`bcfw.datasets.convert` that turns the original files into the ones read here (for
:func:`fetch_hansards`, whose features need statistics of a large corpus, the arrays to write).

Every loader returns a :class:`sklearn.utils.Bunch` with ``X_train``, ``y_train``, ``X_test``, ``y_test``,
``target_names`` and ``DESCR``.
"""

from __future__ import annotations

import importlib
from typing import Any

from bcfw.datasets.conll2000 import fetch_conll2000
from bcfw.datasets.digit_words import load_digit_words
from bcfw.datasets.hansards import fetch_hansards
from bcfw.datasets.horses import fetch_horses
from bcfw.datasets.locate import DataNotFound, cache_folder
from bcfw.datasets.ocr import fetch_ocr
from bcfw.datasets.usps import fetch_usps

__all__ = [
    "DataNotFound",
    "cache_folder",
    "convert",
    "fetch_conll2000",
    "fetch_hansards",
    "fetch_horses",
    "fetch_ocr",
    "fetch_usps",
    "load_digit_words",
]


def __getattr__(name: str) -> Any:
    # Not imported above: ``python -m bcfw.datasets.convert`` would then run a second copy of a loaded module.
    if name == "convert":
        return importlib.import_module("bcfw.datasets.convert")
    raise AttributeError(f"module 'bcfw.datasets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
