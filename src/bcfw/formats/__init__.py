"""Text files of examples: readers, predictions in the input's format, and attributes for the words of sentences."""

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

#: The formats by their names.
FORMATS: dict[str, type[Format]] = {format.name: format for format in (Columns, Crfsuite, Libsvm, Table)}
