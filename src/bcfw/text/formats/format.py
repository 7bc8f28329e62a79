"""Format: base class of the formats of text files, which reads examples from lines and writes them with predictions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from bcfw.errors import InputError, OptionError, nearest
from bcfw.text.formats.lines import Lines


class Example(NamedTuple):
    """One sequence of a text file, or one single example: a sequence with one position.

    Attributes
    ----------
    line : int
        Number of the line of the first position, from 1.
    lines : list of str
        All lines of the file since the previous example, without line ends: the lines of the positions, the lines
        before and between them (the header of a table, comments, "-DOCSTART-", empty lines), and the empty line that
        ends the example.
    labels : list of str, or None
        One label per position; None if the positions have no labels.
    x : list
        Inputs, one entry per position; the type of the entries depends on the format.
    places : list of int
        Index in ``lines`` of the line of each position.
    """

    line: int
    lines: list[str]
    labels: list[str] | None
    x: list[Any]
    places: list[int]


class Position(NamedTuple):
    """Content of one line: the key of its sequence, its label and its inputs.

    Consecutive positions with equal keys belong to one sequence.
    """

    key: Any
    label: str | None
    x: Any


#: The key of a position that is a single example.
ALONE = object()


class Format(ABC):
    """Base class of the formats of text files.

    An instance stores settings, for example the number of columns. The first file that it reads, the training data,
    determines all settings that are not given. Later files are checked against the settings.

    Parameters
    ----------
    **settings
        Values of settings, for example all settings of an earlier instance. The names of a format's settings are the
        keys of ``defaults``.

    Attributes
    ----------
    name : str
        The name of the format, a key of :data:`bcfw.formats.FORMATS`.
    settings : dict
        The settings, which JSON can store; None stands for a setting that the first file will determine.
    sequences : bool
        Whether examples are sequences; otherwise each example has one position. It is known after the first line of the
        first file has been read.
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
        """Return an iterator over the examples; each is yielded as soon as its last line has been read.

        Parameters
        ----------
        lines : iterable of str
            Lines without line ends, for example from :func:`bcfw.formats.open_lines`. No line is requested before it is
            needed.
        source : str
            Name of the file in messages.
        labelled : bool or None
            True: every position needs a label. Otherwise files with and without labels are accepted.

        Yields
        ------
        Example

        Raises
        ------
        InputError
            At a line that does not have this format; the message has the line's number.
        """
        return (piece for piece in self.pieces(lines, source, labelled) if piece.x)

    def pieces(self, lines: Iterable[str], source: str, labelled: bool | None = None) -> Iterator[Example]:
        """Yield the examples of :meth:`examples`, and finally the lines after the last example.

        The lines after the last example are yielded as an example without positions. So the pieces contain every line
        of the file once, in order, and :meth:`text` of all pieces has as many lines as the file.
        """
        read = self._reader()
        example: Example | None = None
        key: Any = None
        kept: list[str] = []  # the lines since the previous example
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
            elif labelled or example.labels is not position.label:  # no error if both are None
                raise InputError(f"{source}, line {number}: {_about_label(position)}")
            if key is ALONE:
                yield example
                example, kept = None, []
        if not found:
            raise InputError(f"{source}, line {number + 1}: the end, and no examples before it; {self._looks()}")
        if kept:
            yield example or Example(number, kept, None, [], [])

    def ready(self, lines: Lines) -> bool:
        """Return whether the next example seems to be in memory already; this is not certain before it is read.

        If the next example is not in memory, reading it may have to wait for a pipe. A program should write its
        predictions before it reads.
        """
        return lines.paragraph_waiting if self.empty_line_ends else lines.waiting

    def text(self, example: Example, predicted: list[str]) -> str:
        """Return all lines of an example with predicted labels, in the format of the file, with line ends.

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
        """Return a function that reads the lines of one file one by one.

        The function returns the position of a line, or None for a line that belongs to no position. Its errors do not
        name the file and the line; the caller adds them.
        """

    @abstractmethod
    def _answered(self, line: str, label: str) -> str:
        """Return the line of a position with its predicted label."""

    @abstractmethod
    def _looks(self) -> str:
        """Return a description of a line of this format, for error messages."""

    def _passed_on(self, line: str) -> str:
        """Return the form, in the output with predictions, of a line that is not empty and belongs to no position."""
        return line


def finite(text: str, what: str) -> float:
    """Return the finite number that ``text`` stands for; raise an error that begins with ``what`` if it is none."""
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
