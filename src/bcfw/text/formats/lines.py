"""Lines of a text file or of standard input, read as they arrive: UTF-8 text, plain or compressed by gzip, checked."""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from operator import length_hint
from types import TracebackType
from typing import IO

from bcfw.errors import InputError
from bcfw.storage.files import PathLike

#: Largest number of bytes that are read, or decompressed, at a time.
PIECE = 1 << 18

#: Largest number of bytes of one line.
LONGEST = 1 << 24

#: Name of standard input in messages.
STANDARD_INPUT = "standard input"

#: The first byte of every gzip file. It is a control character, so no text begins with it.
GZIP = b"\x1f"

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: Control characters other than tabs and line ends, which no text has. A carriage return is allowed before a newline.
CONTROLS = bytes({*range(32), 127} - set(b"\t\n\r"))
CONTROL = re.compile(rb"[%s]|\r(?!\n)" % re.escape(CONTROLS))


class Lines:
    r"""Iterator over the lines of a binary file, without line ends ("\n" or "\r\n"); also a context manager.

    Bytes are read as they arrive, so that each line of a pipe is available before the pipe writes the next line.

    Parameters
    ----------
    file : binary file with ``read1``
    source : str
        Name of the file in messages.
    longest : int
        Largest number of bytes of one line.

    Attributes
    ----------
    source : str
        Name of the file in messages.
    waiting : bool
        Whether the next line is already in memory. If not, the next line may take long to arrive, so that a program in
        a pipe should write its output before it reads on.
    paragraph_waiting : bool
        Whether an empty line after a line that is not empty, the end of a sentence, is among the lines in memory.

    Raises
    ------
    InputError
        While lines are read: at a line that is not UTF-8, has control characters or is too long, and if compressed
        data are damaged or incomplete. All lines before this line are returned first.
    """

    def __init__(self, file: IO[bytes], source: str, longest: int = LONGEST) -> None:
        self.source = source
        self.longest = longest
        self._file = file
        self._number = 0
        self._ahead: Iterator[str] = iter([])  # lines in memory that have not been returned yet
        self._left_at_end = 0  # how many of these lines come after the last end of a paragraph
        self._lines = self._read()

    @property
    def waiting(self) -> bool:
        return length_hint(self._ahead) > 0

    @property
    def paragraph_waiting(self) -> bool:
        return length_hint(self._ahead) > self._left_at_end

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def __next__(self) -> str:
        return next(self._lines)

    def __enter__(self) -> Lines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.source != STANDARD_INPUT:
            self._file.close()

    def _read(self) -> Iterator[str]:
        for block in self._blocks():
            good = block[: block.rfind(b"\n", 0, self._end_of_text(block)) + 1]
            lines = good.decode("utf-8").replace("\r\n", "\n").split("\n")
            lines.pop()  # the empty string after the last line end
            self._left_at_end = len(lines) - 1 - _last_end(lines)
            self._ahead = iter(lines)  # an iterator of a list has a length hint, the number of lines that are left
            yield from self._ahead
            self._number += len(lines)
            if len(good) < len(block):
                raise self._error(self._fault(block[len(good) :].partition(b"\n")[0]))

    def _end_of_text(self, block: bytes) -> int:
        """Return the index of the block's first byte that no text has, or of its first line that is too long.

        Return the length of the block if it has neither.
        """
        end = len(block)
        if end > self.longest:
            too_long = re.search(rb"[^\n]{%d}" % (self.longest + 1), block)
            end = too_long.start() if too_long else end
        # The search is slow, so it is made only in blocks that have a wrong character.
        if len(block.translate(None, CONTROLS)) < len(block) or block.count(b"\r") > block.count(b"\r\n"):
            control = CONTROL.search(block, 0, end)
            end = control.start() if control else end
        try:
            block[:end].decode("utf-8")
        except UnicodeDecodeError as error:
            return error.start
        return end

    def _fault(self, line: bytes) -> str:
        """Return a description, for error messages, of a line that is not text."""
        control = CONTROL.search(line.removesuffix(b"\r"))
        if len(line) > self.longest:
            return f"more than {self.longest} bytes in one line; this is no text file of examples"
        if control:
            place = f"(0x{control.group()[0]:02x}) at byte {control.start() + 1}"
            return f"a control character {place}; this is no text file, or not one in UTF-8"
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            place = f"byte {error.start + 1} (0x{line[error.start]:02x})"
            return f"{place} is not UTF-8; convert the file to UTF-8, for example by iconv"
        raise AssertionError("a line without fault")

    def _blocks(self) -> Iterator[bytes]:
        """Yield blocks of complete lines, as many as have arrived; a line end is added to the last line if missing."""
        begun: list[bytes] = []
        size = 0
        for piece in _without_mark(self._pieces()):
            head, end, tail = piece.rpartition(b"\n")
            if end:
                yield b"".join((*begun, head, end))
                begun, size = [], 0
            begun.append(tail)
            size += len(tail)
            if size > self.longest:
                raise self._error(self._fault(b"".join(begun)))
        if size:
            yield b"".join((*begun, b"\n"))

    def _pieces(self) -> Iterator[bytes]:
        """Yield the bytes of the file as they arrive, decompressed if the file is compressed."""
        raw = self._raw()
        first = next(raw, b"")
        yield from self._decompressed(first, raw) if first.startswith(GZIP) else _chain(first, raw)

    def _raw(self) -> Iterator[bytes]:
        while True:
            try:
                piece = self._file.read1(PIECE)  # type: ignore[attr-defined]
            except OSError as error:
                raise InputError(f"cannot read {self.source}: {error.strerror or error}") from error
            if not piece:
                return
            yield piece

    def _decompressed(self, first: bytes, raw: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the decompressed members of a gzip file one after the other, in pieces of bounded size."""
        member = zlib.decompressobj(wbits=31)
        try:
            for piece in _chain(first, raw):
                while piece := piece.lstrip(b"\0") if member.eof else piece:  # there may be zeros between members
                    if member.eof:
                        member = zlib.decompressobj(wbits=31)
                    yield member.decompress(piece, PIECE)
                    piece = member.unconsumed_tail or member.unused_data
        except zlib.error as error:
            raise self._error(f"damaged gzip data ({error}); get the file again") from error
        if not member.eof:
            raise self._error("the gzip data end too soon; get the file again")

    def _error(self, fault: str) -> InputError:
        return InputError(f"{self.source}, line {self._number + 1}: {fault}")


def open_lines(path: PathLike, longest: int = LONGEST) -> Lines:
    """Open a text file and return its lines.

    Parameters
    ----------
    path : path
        The file; "-" is standard input. Files that are compressed by gzip are recognised by their first byte.
    longest : int
        Largest number of bytes of one line.

    Returns
    -------
    Lines
        An iterator over lines without line ends, and a context manager.

    Raises
    ------
    InputError
        If the file cannot be opened.

    Examples
    --------
    >>> from bcfw.text.formats.lines import open_lines
    >>> with open_lines("sentences.txt") as lines:  # doctest: +SKIP
    ...     print(sum(1 for line in lines))
    """
    if path == "-":
        return Lines(sys.stdin.buffer, STANDARD_INPUT, longest)
    try:
        return Lines(open(path, "rb"), str(path), longest)
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder; give the path of a file") from error
    except (OSError, ValueError) as error:  # open() raises a ValueError if the name has a null character
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot read {path}: {reason}; give the path of a file, or - for standard input") from error


def _last_end(lines: list[str]) -> int:
    """Return the index of the last empty line after a line that is not empty; -1 if there is none."""
    return next((k for k in range(len(lines) - 1, 0, -1) if lines[k - 1] and not lines[k]), -1)


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def _without_mark(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces without the byte order mark that some programs write at the beginning of UTF-8 files."""
    begin = b""
    pieces = iter(pieces)
    for piece in pieces:
        begin += piece
        if len(begin) >= len(BYTE_ORDER_MARK) or not BYTE_ORDER_MARK.startswith(begin):
            break
    yield begin.removeprefix(BYTE_ORDER_MARK)
    yield from pieces
