"""What all formats of text files share: examples out of lines, and lines with predictions out of examples."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from bcfw.errors import InputError, OptionError, nearest
from bcfw.formats.lines import Lines


class Example(NamedTuple):
    """One sequence of a text file, or one single example: a sequence with one position.

    Attributes
    ----------
    line : int
        Number of the line of its first position, from 1.
    lines : list of str
        All lines of the file since the example before, without line ends: those of the positions, the lines before and
        between them (the header of a table, comments, "-DOCSTART-", empty lines), and the empty line that ends it.
    labels : list of str, or None
        One per position; None where the file has no labels.
    x : list
        What the positions have, one entry each; of which kind, the format says.
    places : list of int
        Which of ``lines`` is the line of each position.
    """

    line: int
    lines: list[str]
    labels: list[str] | None
    x: list[Any]
    places: list[int]


class Position(NamedTuple):
    """One line, read: the key of its sequence (positions with equal keys follow each other), its label and inputs."""

    key: Any
    label: str | None
    x: Any


#: The key of a position that is an example on its own.
ALONE = object()


class Format(ABC):
    """A family of text files.

    An instance remembers what the first file that it reads, the training data, fixes: numbers of columns, say. Further
    files are checked against that.

    Parameters
    ----------
    **settings
        Those of an earlier instance, or some of them, to choose them instead of finding them out; which there are,
        ``defaults`` says.

    Attributes
    ----------
    name : str
        The word for the format, a key of :data:`bcfw.formats.FORMATS`.
    settings : dict
        What is known of the files, as JSON can store it; None is what the first file will fix.
    sequences : bool
        Whether examples are sequences. Without sequences each has one position. Known once the first file has begun.
    """

    name: ClassVar[str]
    #: All settings, with their values before the first file.
    defaults: ClassVar[dict[str, Any]] = {}
    #: Whether examples end at empty lines.
    empty_line_ends: ClassVar[bool] = False

    def __init__(self, **settings: Any) -> None:
        for option in settings:
            if option not in self.defaults:
                raise OptionError(f"the format {self.name} has no setting {option!r}; {nearest(option, self.defaults)}")
        self.settings: dict[str, Any] = {**self.defaults, **settings}

    @property
    def sequences(self) -> bool:
        return True

    def examples(self, lines: Iterable[str], source: str, labelled: bool | None = None) -> Iterator[Example]:
        """Examples one after the other, each as soon as its last line has been read.

        Parameters
        ----------
        lines : iterable of str
            Without line ends, such as :func:`bcfw.formats.open_lines` gives. No line is asked for before it is needed.
        source : str
            How messages call the file.
        labelled : bool or None
            True: every position needs a label. Else files with and without labels are taken.

        Yields
        ------
        Example

        Raises
        ------
        InputError
            At a line that is not of this format; the message has its number.
        """
        return (piece for piece in self.pieces(lines, source, labelled) if piece.x)

    def pieces(self, lines: Iterable[str], source: str, labelled: bool | None = None) -> Iterator[Example]:
        """The examples, as :meth:`examples` gives them, and at last the lines after the last one.

        Those come as an example without positions. So the pieces have every line of the file once, in order, and
        :meth:`text` of all pieces has as many lines as the file.
        """
        read = self._reader()
        example: Example | None = None
        key: Any = None
        kept: list[str] = []  # the lines since the example before
        number = found = 0
        for number, line in enumerate(lines, start=1):
            if not line or line.isspace():
                kept.append(line)
                if example is not None:
                    yield example
                    example, kept = None, []
                continue
            try:
                position = read(line)
            except InputError as error:
                raise InputError(f"{source}, line {number}: {error}") from error
            if position is None:
                kept.append(line)
                continue
            if example is not None and position.key != key:
                yield example
                example, kept = None, []
            if example is None:
                key = position.key
                example = Example(number, kept, None if position.label is None else [], [], [])
                found += 1
            example.places.append(len(kept))
            kept.append(line)
            example.x.append(position.x)
            if example.labels is not None and position.label is not None:
                example.labels.append(position.label)
            elif labelled or example.labels is not position.label:  # else both are None
                raise InputError(f"{source}, line {number}: {_about_label(position)}")
            if key is ALONE:
                yield example
                example, kept = None, []
        if not found:
            raise InputError(f"{source}, line {number + 1}: the end, and no examples before it; {self._looks()}")
        if kept:
            yield example or Example(number, kept, None, [], [])

    def ready(self, lines: Lines) -> bool:
        """Whether the next example is already in memory, as far as one can know without reading it.

        Where it is not, asking for it may have to wait for a pipe: write the predictions that there are before that.
        """
        return lines.paragraph_waiting if self.empty_line_ends else lines.waiting

    def text(self, example: Example, predicted: list[str]) -> str:
        """All lines of an example with predicted labels, in the format that it was read from, with line ends.

        Parameters
        ----------
        example : Example
        predicted : list of str
            One label per position.
        """
        if len(predicted) != len(example.x):
            raise InputError(f"{len(predicted)} predictions for the {len(example.x)} positions of line {example.line}")
        answers = dict(zip(example.places, predicted, strict=True))
        lines = list(example.lines)
        for place, line in enumerate(lines):
            if place in answers:
                lines[place] = self._answered(line, answers[place])
            elif line.strip():
                lines[place] = self._passed_on(line)
        return "".join(f"{line}\n" for line in lines)

    @abstractmethod
    def _reader(self) -> Callable[[str], Position | None]:
        """Function that reads the lines of one file; None for a line that belongs to no position.

        Its errors say nothing of file and line number.
        """

    @abstractmethod
    def _answered(self, line: str, label: str) -> str:
        """The line of a position, with the label that is predicted for it."""

    @abstractmethod
    def _looks(self) -> str:
        """One sentence for the message of an empty file: what a line looks like."""

    def _passed_on(self, line: str) -> str:
        """A line that belongs to no position and is not empty, as it stands among predictions."""
        return line


def finite(text: str, what: str) -> float:
    """The number that ``text`` stands for, or an error that begins with ``what``."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise InputError(f"{what} is {text!r:.60}, which is no finite number")
    return value


def _about_label(position: Position) -> str:
    if position.label is None:
        return "no label; every position needs one, or none of the file for predictions only"
    return "a label, but the positions before it in the sequence have none; give all of them or none"
