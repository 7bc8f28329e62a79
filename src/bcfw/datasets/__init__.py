"""Data sets for examples and experiments: a loader that needs no files, loaders and converters of public data.

:func:`load_digit_words` needs no file: it composes words from the digits that scikit-learn ships. The ``fetch_*``
functions read public research data that this package may not ship. They search the folder named by the environment
variable ``BCFW_DATA``, then the user's cache. If the data are missing, they raise :class:`DataNotFound`, whose message
names the public source and the command ``bcfw convert`` that converts the original files. (For :func:`fetch_hansards`
there is no converter, because its features need statistics of a large corpus; the message lists the arrays to write.)

The ``convert_*`` functions do in Python what ``bcfw convert`` does. They write into the user's cache
(:func:`cache_folder`) or into another folder; set ``BCFW_DATA`` to that folder.

Every loader returns a :class:`sklearn.utils.Bunch` with ``X_train``, ``y_train``, ``X_test``, ``y_test``,
``target_names`` and ``DESCR``; all but :func:`fetch_lsp` return a :class:`DataSet`, a Bunch with a short repr.
:func:`synthetic_poses` makes inputs and outputs from the joints that :func:`fetch_lsp` loads.
"""

from __future__ import annotations

from bcfw.datasets import camvid, conll2000, horses, lsp, ocr, usps
from bcfw.datasets.camvid import fetch_camvid
from bcfw.datasets.conll2000 import convert_conll2000, fetch_conll2000
from bcfw.datasets.convert.camvid_images import convert_camvid
from bcfw.datasets.convert.horses_images import convert_horses
from bcfw.datasets.convert.writing import Converter
from bcfw.datasets.data_set import DataSet
from bcfw.datasets.digit_words import load_digit_words
from bcfw.datasets.hansards import fetch_hansards
from bcfw.datasets.horses import fetch_horses
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

#: Name of a data set, as in ``bcfw convert NAME`` -> its converter.
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
