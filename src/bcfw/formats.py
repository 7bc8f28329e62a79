"""Text files of examples: readers, predictions in the input's format, and attributes for the words of sentences.

This is the public name of what :mod:`bcfw.text.formats` and :mod:`bcfw.text.attributes` define.
"""

from __future__ import annotations

from bcfw.text.attributes.sets import ATTRIBUTE_SETS, AttributeSet, choose_attributes
from bcfw.text.attributes.templates import Templates
from bcfw.text.formats import FORMATS
from bcfw.text.formats.conll import Columns
from bcfw.text.formats.crfsuite import Crfsuite
from bcfw.text.formats.format import Example, Format
from bcfw.text.formats.libsvm import Libsvm
from bcfw.text.formats.lines import Lines, open_lines
from bcfw.text.formats.tables import Table

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
