"""Format "conll": columns, one line per token, as in the files of the CoNLL shared tasks and of CRF++."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from bcfw.errors import InputError
from bcfw.text.formats.format import Format, Position

#: Beginning of a line that separates documents.
DOCUMENT = "-DOCSTART-"

BLANKS = re.compile("[ \t]+")


class Columns(Format):
    """Format "conll": columns separated by blanks or tabs, the label last, empty lines between sentences.

    An entry of ``Example.x`` is the tuple of a token's fields without its label. All lines have equally many columns;
    files without labels have one column less. Lines that begin with "-DOCSTART-" end a sentence and belong to no
    sentence. Predictions are appended as a further column, after the label if there is one, as the program conlleval
    reads them.

    Parameters
    ----------
    columns : int, optional
        Number of columns, including the label.

    Examples
    --------
    >>> from bcfw.text.formats.conll import Columns
    >>> conll = Columns()
    >>> first, second = conll.examples(["He PRP B-NP", "ran VBD B-VP", "", "Why WRB O"], "demo")
    >>> first.x, first.labels, conll.settings
    ([('He', 'PRP'), ('ran', 'VBD')], ['B-NP', 'B-VP'], {'columns': 3})
    >>> print(conll.text(second, ["B-ADVP"]), end="")
    Why WRB O B-ADVP
    """

    name = "conll"
    defaults: ClassVar = {"columns": None}
    empty_line_ends = True

    def _reader(self) -> Callable[[str], Position | None]:
        document = width = 0

        def read(line: str) -> Position | None:
            nonlocal document, width
            if line.startswith(DOCUMENT):
                document += 1
                return None
            # Without arguments, split() also splits at blanks of other scripts, which may be parts of words.
            fields = line.split() if line.isascii() else BLANKS.split(line.strip(" \t"))
            if len(fields) != width:
                width = self._width(len(fields), width)
            label = fields.pop() if width == self.settings["columns"] else None
            return Position(document, label, tuple(fields))

        return read

    def _width(self, found: int, width: int) -> int:
        """Return the number of columns of this file, taken from its first line; raise if a line has another number."""
        if width:
            raise InputError(f"{_columns(found)}, but {width} in the lines before; every line needs the same")
        if self.settings["columns"] is None:
            if found < 2:
                raise InputError(f"one column; {self._looks()}")
            self.settings["columns"] = found
        full = self.settings["columns"]
        if found not in (full - 1, full):
            raise InputError(
                f"{_columns(found)}, but {full} are expected, the last with the label; give {full}, "
                f"or {full - 1} without labels"
            )
        return found

    def _answered(self, line: str, label: str) -> str:
        return line.rstrip(" \t") + ("\t" if "\t" in line else " ") + label

    def _passed_on(self, line: str) -> str:
        return self._answered(line, "O")

    def _looks(self) -> str:
        return "a line is a word, further columns if there are any, and the label"


def _columns(number: int) -> str:
    return f"{number} column{'s' * (number != 1)}"
