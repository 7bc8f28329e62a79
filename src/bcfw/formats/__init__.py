"""Formats of text files with examples: reading, writing with predictions, and attribute sets for words in sentences.

Training and tagging with these files are in :mod:`bcfw.text`.
"""

from __future__ import annotations

from bcfw.formats.attribute_sets import ATTRIBUTE_SETS, AttributeSet, choose_attributes
from bcfw.formats.columns import Columns
from bcfw.formats.crfsuite import Crfsuite
from bcfw.formats.format import Example, Format
from bcfw.formats.libsvm import Libsvm
from bcfw.formats.lines import Lines, open_lines
from bcfw.formats.tables import Table
from bcfw.formats.templates import Templates

__all__ = [
    "ATTRIBUTE_SETS",
    "FORMATS",
    "AttributeSet",
    "Columns",
    "Crfsuite",
    "Example",
    "Format",
    "Libsvm",
    "Lines",
    "Table",
    "Templates",
    "choose_attributes",
    "open_lines",
]

#: The formats by name.
FORMATS: dict[str, type[Format]] = {format.name: format for format in (Columns, Crfsuite, Libsvm, Table)}
