"""Formats of text files: readers of examples, and writers of predictions in the format of the input.

What the words of a sentence become is not here (:mod:`bcfw.text.attributes`). ``bcfw.formats`` is the public name.
"""

from __future__ import annotations

from bcfw.text.formats.conll import Columns
from bcfw.text.formats.crfsuite import Crfsuite
from bcfw.text.formats.format import Format
from bcfw.text.formats.libsvm import Libsvm
from bcfw.text.formats.tables import Table

#: The formats by their names.
FORMATS: dict[str, type[Format]] = {format.name: format for format in (Columns, Crfsuite, Libsvm, Table)}
