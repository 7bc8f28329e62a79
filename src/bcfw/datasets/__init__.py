"""Data sets to learn from and to measure on: one that is always there, others that are found on disk.

:func:`load_digit_words` needs no file: it writes words from the digits that scikit-learn ships. The ``fetch_*``
functions read public research data whose licences forbid shipping them, from the folder named by the environment
variable ``BCFW_DATA`` or from the user's cache. Where they find none, :class:`DataNotFound` names the public source
and the command ``bcfw convert`` that turns the original files into the ones read here (for :func:`fetch_hansards`,
whose features need statistics of a large corpus, the arrays to write).

The ``convert_*`` functions are those commands from Python. They write into the user's cache (:func:`cache_folder`), or
into another folder, which ``BCFW_DATA`` should then name.

Every loader returns a :class:`DataSet`, a :class:`sklearn.utils.Bunch`, with ``X_train``, ``y_train``, ``X_test``,
``y_test``, ``target_names`` and ``DESCR``.
"""

from __future__ import annotations

from bcfw.datasets import camvid, conll2000, horses, lsp, ocr, usps
from bcfw.datasets.camvid import fetch_camvid
from bcfw.datasets.camvid_images import convert_camvid
from bcfw.datasets.conll2000 import convert_conll2000, fetch_conll2000
from bcfw.datasets.converted import Converter
from bcfw.datasets.data_set import DataSet
from bcfw.datasets.digit_words import load_digit_words
from bcfw.datasets.hansards import fetch_hansards
from bcfw.datasets.horses import fetch_horses
from bcfw.datasets.horses_images import convert_horses
from bcfw.datasets.locate import DataNotFound, cache_folder
from bcfw.datasets.lsp import convert_lsp, fetch_lsp
from bcfw.datasets.ocr import convert_ocr, fetch_ocr
from bcfw.datasets.poses import synthetic_poses
from bcfw.datasets.usps import convert_usps, fetch_usps

__all__ = [
    "CONVERTERS",
    "DataNotFound",
    "DataSet",
    "cache_folder",
    "convert_camvid",
    "convert_conll2000",
    "convert_horses",
    "convert_lsp",
    "convert_ocr",
    "convert_usps",
    "fetch_camvid",
    "fetch_conll2000",
    "fetch_hansards",
    "fetch_horses",
    "fetch_lsp",
    "fetch_ocr",
    "fetch_usps",
    "load_digit_words",
    "synthetic_poses",
]

#: The name of a data set, as in ``bcfw convert NAME``: its converter and the original files that it takes.
CONVERTERS: dict[str, Converter] = {
    source.name: Converter(source.title, convert, source.originals)
    for source, convert in (
        (ocr.SOURCE, convert_ocr),
        (usps.SOURCE, convert_usps),
        (conll2000.SOURCE, convert_conll2000),
        (horses.SOURCE, convert_horses),
        (camvid.SOURCE, convert_camvid),
        (lsp.SOURCE, convert_lsp),
    )
}


def __dir__() -> list[str]:
    return sorted(__all__)
