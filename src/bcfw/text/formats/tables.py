"""Format "csv": tables of separated values, one row per example or position."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from typing import Any, ClassVar

from bcfw.errors import InputError, OptionError, nearest
from bcfw.text.formats.format import ALONE, Format, Position, finite

#: Characters that may separate cells. The first of these that occurs in the first line is taken.
DELIMITERS = ("\t", ";", ",")

#: Names by which the label's column is found, in upper or lower case.
LABELS = ("label", "class", "target")

DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")

QUOTED = re.compile('"[^"]*"')


class Table(Format):
    """Format "csv": rows of cells separated by commas, semicolons or tabs, with or without a header.

    The first line is a header if none of its cells is a number. Without a header, columns are called "1", "2", ....
    An entry of ``Example.x`` is the list of a row's cells without label and sequence: a number is a float, a text is
    the string "column=text". The first row decides which columns have texts. Files without labels have one column less,
    or empty cells in the label's column. A cell may be in double quotes, but must be on one line. Predictions are
    appended as a further column, "predicted".

    Parameters
    ----------
    delimiter : str, optional
        The character that separates cells.
    header : bool, optional
        Whether the first line has the names of the columns.
    label : str or int, optional
        Name or position, from 0, of the label's column; -1 is the last column. The default is the first column that is
        called "label", "class" or "target", or else the last column.
    sequence : str or int, optional
        Name or position of the column that identifies the sequence of each row. Consecutive rows with equal values in
        this column are a sequence; without this column, every row is an example.
    columns : list of str, optional
        Names of all columns.
    texts : list of bool, optional
        For each column, whether it has texts.

    Examples
    --------
    >>> from bcfw.text.formats.tables import Table
    >>> table = Table()
    >>> rows = ["width,colour,class", '3,red,"a, b"', "4.5,blue,c"]
    >>> first, second = table.examples(rows, "demo")
    >>> first.x, first.labels, second.x
    ([[3.0, 'colour=red']], ['a, b'], [[4.5, 'colour=blue']])
    >>> print(table.text(first, ["c"]), end="")
    width,colour,class,predicted
    3,red,"a, b",c
    """

    name = "csv"
    defaults: ClassVar = dict.fromkeys(("delimiter", "header", "label", "sequence", "columns", "texts"))

    @property
    def sequences(self) -> bool:
        return self.settings["sequence"] is not None

    def attributes(self, cells: list[float | str]) -> list[tuple[str, float]]:
        """Return an entry of ``Example.x`` as pairs (attribute, weight).

        A number becomes the weight of the attribute with the column's name; texts are attributes with weight 1.

        Examples
        --------
        >>> from bcfw.text.formats.tables import Table
        >>> table = Table()
        >>> (row,) = table.examples(["width,colour,class", "3,red,a"], "demo")
        >>> table.attributes(row.x[0])
        [('width', 3.0), ('colour=red', 1.0)]
        """
        others = (self.settings["label"], self.settings["sequence"])
        names = [name for place, name in enumerate(self.settings["columns"]) if place not in others]
        return [(cell, 1.0) if isinstance(cell, str) else (name, cell) for name, cell in zip(names, cells, strict=True)]

    def _reader(self) -> Callable[[str], Position | None]:
        begun = False
        without_label = False

        def read(line: str) -> Position | None:
            nonlocal begun, without_label
            cells = self._cells(line)
            if not begun:
                begun = True
                without_label = self._begin(cells)
                if self.settings["header"]:
                    return None
            if without_label:
                cells.insert(self.settings["label"], "")
            return self._position(cells, without_label)

        return read

    def _cells(self, line: str) -> list[str]:
        if self.settings["delimiter"] is None:
            unquoted = QUOTED.sub("", line)
            self.settings["delimiter"] = next((one for one in DELIMITERS if one in unquoted), ",")
        delimiter = self.settings["delimiter"]
        if '"' not in line:
            return [cell.strip() for cell in line.split(delimiter)]
        try:
            (cells,) = csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=True)
        except csv.Error as error:
            raise InputError(
                f"{error} ({line[:40]!r}); quotes end on their line, two of them are one inside"
            ) from error
        return [cell.strip() for cell in cells]

    def _begin(self, cells: list[str]) -> bool:
        """Read the first line of a file and return whether the label's column is missing.

        Settings that are still None are determined; the others are checked.
        """
        settings = self.settings
        if settings["columns"] is None:
            self._fix(cells)
        names, label = settings["columns"], settings["label"]
        without = names[:label] + names[label + 1 :]
        if settings["header"]:
            if cells not in (names, without):
                raise InputError(
                    f"the header is {_short(cells)}, but that of the training data {_short(names)}; give "
                    "these columns, with or without the label's"
                )
            return cells != names
        return len(cells) == len(without)

    def _fix(self, cells: list[str]) -> None:
        """Determine header, columns, label and sequence from the first line."""
        settings = self.settings
        if settings["header"] is None:
            settings["header"] = not any(map(_is_number, cells))
        names = cells if settings["header"] else [str(place + 1) for place in range(len(cells))]
        if len(names) < 2:
            raise InputError(f"one column; {self._looks()}")
        if "" in names or len(set(names)) < len(names):
            raise InputError(f"names of columns are missing or come twice in the header {_short(cells)}")
        label = settings["label"]
        if label is None:
            label = next((place for place, name in enumerate(names) if name.lower() in LABELS), -1)
        settings["label"] = _place(label, names, "label")
        if settings["sequence"] is not None:
            settings["sequence"] = _place(settings["sequence"], names, "sequence")
        if settings["sequence"] == settings["label"]:
            raise OptionError(f"label and sequence are the same column, {names[settings['label']]!r}")
        settings["columns"] = names

    def _position(self, cells: list[str], without_label: bool) -> Position:
        settings = self.settings
        names = settings["columns"]
        if len(cells) != len(names):
            found, expected = len(cells) - without_label, len(names) - without_label
            raise InputError(f"{found} cells, but {expected} columns; every row needs a cell for each column")
        others = (settings["label"], settings["sequence"])
        if settings["texts"] is None:
            settings["texts"] = [place in others or not _is_number(cell) for place, cell in enumerate(cells)]
        key = cells[settings["sequence"]] if self.sequences else ALONE
        x = [
            _value(cell, name, text)
            for place, (cell, name, text) in enumerate(zip(cells, names, settings["texts"], strict=True))
            if place not in others
        ]
        return Position(key, cells[settings["label"]] or None, x)

    def _answered(self, line: str, label: str) -> str:
        delimiter = self.settings["delimiter"]
        if delimiter in label or '"' in label:
            label = '"' + label.replace('"', '""') + '"'
        return line + delimiter + label

    def _passed_on(self, line: str) -> str:
        return self._answered(line, "predicted")

    def _looks(self) -> str:
        return "a line has cells separated by commas, semicolons or tabs, one of them the label"


def _value(cell: str, name: str, text: bool) -> float | str:
    if not cell:
        raise InputError(f"nothing in column {name!r:.60}; fill it in")
    return f"{name}={cell}" if text else finite(cell, f"column {name!r:.60} holds numbers, and")


def _is_number(cell: str) -> bool:
    if DECIMAL_COMMA.fullmatch(cell):
        raise InputError(f"the cell {cell!r:.60} has a decimal comma; write numbers with a point")
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _place(column: str | int, names: list[str], what: str) -> int:
    """Return the position, from 0, of a column given by name or position."""
    if isinstance(column, str):
        if column not in names:
            raise OptionError(f"{what}: there is no column {column!r:.60}; {nearest(column, names)}")
        return names.index(column)
    if not -len(names) <= column < len(names):
        raise OptionError(f"{what}: there is no column {column}; there are {len(names)}, numbered from 0")
    return column % len(names)


def _short(cells: list[Any]) -> str:
    return ", ".join(map(str, cells))[:60]
