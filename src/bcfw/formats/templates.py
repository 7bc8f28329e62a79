"""Template files in the syntax of CRF++: a user's own attributes of words in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bcfw.errors import InputError
from bcfw.formats.attribute_sets import check_columns

#: A cell: row relative to the token, and column.
CELL = re.compile(r"%x\[(-?\d{1,3}),(\d{1,3})\]")


class Templates:
    """Function of a sentence, as :class:`bcfw.formats.AttributeSet`, from the text of a template file.

    A line such as ``U05:%x[-1,0]/%x[0,0]`` gives one attribute per position: each ``%x[row,column]`` is replaced by
    the cell in that column (from 0) of the token so many rows away. Before the sentence, cells are ``_B-1``, ``_B-2``,
    ..., after it ``_B+1``, .... The line ``B`` asks for transitions between labels, which chains always have. Empty
    lines and lines that begin with ``#`` are skipped.

    Parameters
    ----------
    text : str
        All lines of the file.
    source : str
        How messages call it.

    Attributes
    ----------
    text : str
        As given: it makes the same templates again.
    name : str
        "template".
    n_columns : int
        How many columns, without the label's, the templates look at.
    lam : float
        Regularisation to begin with.
    encoding : str
        Scheme of labels, where they are of spans.

    Raises
    ------
    InputError
        At a line that is no template, with its number; also for ``B`` with cells: scores of transitions do not depend
        on the sentence.

    Examples
    --------
    >>> from bcfw.formats import Templates
    >>> templates = Templates("# words\\nU00:%x[0,0]\\nU01:%x[-1,1]/%x[0,1]\\nB")
    >>> templates([("He", "PRP"), ("ran", "VBD")])
    [['U00:He', 'U01:_B-1/PRP'], ['U00:ran', 'U01:PRP/VBD']]
    """

    name = "template"
    lam = 0.003
    encoding = "IOBES"

    def __init__(self, text: str, source: str = "template") -> None:
        self.text = text
        self.source = source
        self._patterns: list[tuple[str, list[tuple[int, int]]]] = []
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                self._read(line.strip())
            except InputError as error:
                raise InputError(f"{source}, line {number}: {error}") from error
        if not self._patterns:
            raise InputError(f"{source} has no templates; write lines such as U00:%x[0,0]")
        cells = [cell for _, cells in self._patterns for cell in cells]
        self.n_columns = 1 + max((column for _, column in cells), default=0)
        self._reach = max((abs(row) for row, _ in cells), default=0)

    def __call__(self, sentence: Sequence[Sequence[str]]) -> list[list[str]]:
        """The attributes of each position of a sentence, given by the tuples of its tokens' columns."""
        check_columns(sentence, self.n_columns, self.source)
        n = len(sentence)
        before = [f"_B-{row}" for row in range(self._reach, 0, -1)]
        after = [f"_B+{row}" for row in range(1, self._reach + 1)]
        columns = [[*before, *(token[column] for token in sentence), *after] for column in range(self.n_columns)]
        kinds: list[Iterable[str]] = []
        for pattern, cells in self._patterns:
            shifted = [columns[column][self._reach + row : self._reach + row + n] for row, column in cells]
            kinds.append([pattern % row for row in zip(*shifted, strict=True)] if cells else [pattern % ()] * n)
        return [list(row) for row in zip(*kinds, strict=True)]

    def _read(self, line: str) -> None:
        """Take one line: its text with %s in the place of cells, and the cells."""
        if not line or line.startswith("#"):
            return
        cells = [(int(row), int(column)) for row, column in CELL.findall(line)]
        pieces = CELL.split(line)[::3]  # between them come the two numbers of a cell
        if line[0] not in "UB":
            raise InputError(f"{line!r} begins neither with U nor with B nor with #")
        if any("%x" in piece for piece in pieces):
            raise InputError(f"{line!r} has a cell that is not of the form %x[row,column]")
        if line[0] == "B":
            if cells:
                raise InputError(f"{line!r}: transitions do not depend on the sentence; write B, and U for the cells")
            return
        template = "%s".join(piece.replace("%", "%%") for piece in pieces), cells
        if template in self._patterns:
            raise InputError(f"{line!r} stands there twice; give each template once")
        self._patterns.append(template)
