"""Template files in the syntax of CRF++, by which users define their own attributes of words in sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bcfw.errors import InputError
from bcfw.storage.files import PathLike
from bcfw.text.attributes.sets import check_columns
from bcfw.text.formats.lines import open_lines

#: A cell in a template: its row relative to the token, and its column.
CELL = re.compile(r"%x\[(-?\d{1,3}),(\d{1,3})\]")


class Templates:
    r"""Function from a sentence to attributes, like :class:`bcfw.formats.AttributeSet`, defined by a template file.

    A line such as ``U05:%x[-1,0]/%x[0,0]`` gives one attribute per position: each ``%x[row,column]`` is replaced by
    a cell, whose column is counted from 0 and whose row is relative to the token. Cells before the sentence are
    ``_B-1``, ``_B-2``, ..., cells after the sentence ``_B+1``, .... The line ``B`` asks for transitions between labels,
    which chains always have. Empty lines and lines that begin with ``#`` are skipped.

    Parameters
    ----------
    text : str
        All lines of the file.
    source : str
        Name of the file in messages.

    Attributes
    ----------
    text : str
        The text of the file, from which the templates can be made again.
    name : str
        "template".
    n_columns : int
        Number of columns that the templates read, without the label's column.
    lam : float
        Default regularisation.
    encoding : str
        Scheme in which span labels are learned.

    Raises
    ------
    InputError
        At a line that is not a template; the message has its number. A line ``B`` with cells is also an error, because
        scores of transitions do not depend on the sentence.

    Examples
    --------
    >>> from bcfw.text.attributes.templates import Templates
    >>> templates = Templates("# words\nU00:%x[0,0]\nU01:%x[-1,1]/%x[0,1]\nB")
    >>> templates([("He", "PRP"), ("ran", "VBD")])
    [['U00:He', 'U01:_B-1/PRP'], ['U00:ran', 'U01:PRP/VBD']]
    """

    name = "template"
    lam = 0.003
    encoding = "IOBES"

    def __init__(self, text: str, source: str = "template") -> None:
        self.text = text
        self.source = source
        self._templates: list[tuple[str, list[tuple[int, int, str]]]] = []
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                self._read(line.strip())
            except InputError as error:
                raise InputError(f"{source}, line {number}: {error}") from error
        if not self._templates:
            raise InputError(f"{source} has no templates; write lines such as U00:%x[0,0]")
        cells = [cell for _, cells in self._templates for cell in cells]
        self.n_columns = 1 + max((column for _, column, _ in cells), default=0)
        self._reach = max((abs(row) for row, _, _ in cells), default=0)

    @classmethod
    def from_file(cls, path: PathLike) -> Templates:
        """Return the templates of a text file."""
        with open_lines(path) as lines:
            return cls("\n".join(lines), lines.source)

    def __call__(self, sentence: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return the attributes of each position of a sentence, a list of tuples with the columns of its tokens."""
        check_columns(sentence, self.n_columns, self.source)
        n = len(sentence)
        before = [f"_B-{row}" for row in range(self._reach, 0, -1)]
        after = [f"_B+{row}" for row in range(1, self._reach + 1)]
        columns = [[*before, *(token[column] for token in sentence), *after] for column in range(self.n_columns)]
        kinds = []
        for first, cells in self._templates:
            pieces: list[list[str]] = [[first] * n]
            for row, column, literal in cells:
                pieces += columns[column][self._reach + row : self._reach + row + n], [literal] * n
            kinds.append(map("".join, zip(*pieces, strict=True)))
        return [list(row) for row in zip(*kinds, strict=True)]

    def _read(self, line: str) -> None:
        """Append the template of one line: the text before the first cell, and each cell with the text after it."""
        if not line or line.startswith("#"):
            return
        first, *rest = CELL.split(line)
        cells = [
            (int(row), int(column), literal)
            for row, column, literal in zip(rest[::3], rest[1::3], rest[2::3], strict=True)
        ]
        if line[0] not in "UB":
            raise InputError(f"{line!r:.60} begins neither with U nor with B nor with #")
        if "%" in CELL.sub("", line):
            raise InputError(f"{line!r:.60} has a cell that is not of the form %x[row,column]")
        if line[0] == "B":
            if cells:
                raise InputError(f"{line!r:.60}: transitions do not depend on the sentence; write B, U for the cells")
            return
        if (first, cells) in self._templates:
            raise InputError(f"{line!r:.60} stands there twice; give each template once")
        self._templates.append((first, cells))
