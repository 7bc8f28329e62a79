"""Lines of files and pipes: as they come, whatever their ends and their compression, and errors with line numbers."""

from __future__ import annotations

import gzip
import io
import os
import random
import sys
import zlib

import pytest

from bcfw.errors import InputError
from bcfw.formats import Lines, open_lines
from bcfw.text.formats import lines as lines_module

TEXT = "first\nsecond\twörd\n\nlast"


class Trickle(io.BytesIO):
    """A file that gives one to three bytes at a time, as a slow pipe does."""

    def read1(self, size=-1):
        return super().read(1 + self.tell() % 3)


class StandardInput:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


def read(content, longest=lines_module.LONGEST, kind=io.BytesIO):
    return list(Lines(kind(content), "file", longest))


def read_until_error(content, **options):
    """The lines that come before the error, and its message."""
    lines = Lines(options.pop("kind", io.BytesIO)(content), "file", **options)
    found = []
    with pytest.raises(InputError) as caught:
        found.extend(lines)  # keeps what came before
    return found, str(caught.value)


@pytest.mark.parametrize("kind", [io.BytesIO, Trickle])
@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        TEXT.encode() + b"\n",
        b"\xef\xbb\xbf" + TEXT.encode(),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r\n").encode() + b"\r",
        gzip.compress(TEXT.encode()),
        gzip.compress(b"first\nsec") + gzip.compress("ond\twörd\n\nlast\n".encode()),
        gzip.compress(b"\xef\xbb\xbf" + TEXT.encode()) + b"\0\0\0",
    ],
    ids=["plain", "closed", "mark", "crlf", "cr-at-the-end", "gzip", "two-members", "padded-gzip"],
)
def test_the_same_lines_in_all_forms(content, kind):
    assert read(content, kind=kind) == ["first", "second\twörd", "", "last"]


@pytest.mark.parametrize("kind", [io.BytesIO, Trickle])
def test_nothing_is_no_line(kind):
    assert read(b"", kind=kind) == []
    assert read(b"\xef\xbb\xbf", kind=kind) == []
    assert read(b"\n\n", kind=kind) == ["", ""]


def test_other_separators_of_unicode_are_text():
    """Only newlines end lines: words may contain what str.splitlines would cut."""
    line = "a\u2028b\u0085c\u00a0d"
    assert read((line + "\n").encode()) == [line]


@pytest.mark.parametrize("size", [1, 7, 64, lines_module.PIECE])
def test_long_files_come_out_whole_whatever_the_pieces(size, monkeypatch):
    monkeypatch.setattr(lines_module, "PIECE", size)
    rng = random.Random(0)
    expected = ["".join(rng.choices("abä \t漢", k=rng.randrange(30))) for _ in range(300)]
    content = "\n".join([*expected, ""]).encode()
    assert read(content) == expected
    assert read(gzip.compress(content)) == expected


@pytest.mark.parametrize("kind", [io.BytesIO, Trickle])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"good\nfine\nb\xe4d\nmore\n", "file, line 3: byte 2 (0xe4) is not UTF-8; convert"),
        (b"good\nfine\na\0b\nb\xe4d\n", "file, line 3: a control character (0x00) at byte 2"),
        (b"good\nfine\nold\rmac\n", "file, line 3: a control character (0x0d) at byte 4"),
        (b"good\r\nfine\r\nab\x0c\r\n", "file, line 3: a control character (0x0c) at byte 3"),
        (b"good\nfine\n" + b"x" * 51 + b"\n", "file, line 3: more than 50 bytes in one line"),
        (b"good\nfine\n" + b"x" * 51, "file, line 3: more than 50 bytes in one line"),
        (b"good\nfine\n" + "é".encode()[:1], "file, line 3: byte 1 (0xc3) is not UTF-8"),
    ],
)
def test_faults_have_line_numbers_after_the_lines_before(content, message, kind):
    found, error = read_until_error(content, longest=50, kind=kind)
    assert found == ["good", "fine"]
    assert error.startswith(message)


def test_a_line_may_be_as_long_as_allowed():
    assert read(b"a\n" + b"x" * 50 + b"\nb\n", longest=50) == ["a", "x" * 50, "b"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1"])
def test_other_encodings_are_refused(encoding):
    _, error = read_until_error("wörter\nmehr\n".encode(encoding))
    assert error.startswith("file, line 1: ")


def test_compressed_data_that_end_too_soon_or_are_damaged():
    lines = [f"line {number} {number**3}" for number in range(5000)]
    whole = gzip.compress("\n".join([*lines, ""]).encode())
    found, error = read_until_error(whole[: len(whole) // 2])
    assert found == lines[: len(found)]
    assert error == f"file, line {len(found) + 1}: the gzip data end too soon; get the file again"
    damaged = bytearray(whole)
    damaged[-6] ^= 1  # in the checksum
    found, error = read_until_error(bytes(damaged))
    assert found == lines[: len(found)]
    assert "damaged gzip data" in error
    assert "line 1: damaged gzip data" in read_until_error(b"\x1fno gzip file\n")[1]
    assert "line 5001: damaged gzip data" in read_until_error(whole + b"rubbish")[1]


def test_small_compressed_files_that_grow_without_end_take_little_memory():
    """A line of a gigabyte is refused as soon as it is too long."""
    bomb = gzip.compress(b"x" * (1 << 24))
    assert len(bomb) < 20_000
    found, error = read_until_error(b"".join([bomb] * 60), longest=1 << 20)
    assert found == []
    assert "line 1: more than" in error


def test_paths_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="is a folder; give the path of a file"):
        open_lines(tmp_path)
    with pytest.raises(InputError, match=r"cannot read .*none: No such file"):
        open_lines(str(tmp_path / "none"))
    with pytest.raises(InputError, match="cannot read"):
        open_lines("a\0b")


def test_files_and_standard_input(tmp_path, monkeypatch):
    path = tmp_path / "some.txt"
    path.write_bytes(TEXT.encode())
    with open_lines(path) as lines:
        assert next(lines) == "first"
        assert len(list(lines)) == 3
        assert lines.source == str(path)
    with pytest.raises(ValueError, match="closed"):
        next(iter(lines._file))
    monkeypatch.setattr(sys, "stdin", StandardInput(gzip.compress(TEXT.encode())))
    with open_lines("-") as lines:
        assert len(list(lines)) == 4
        assert lines.source == "standard input"
    assert not sys.stdin.buffer.closed


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    with open(reading, "rb") as source, open(writing, "wb", buffering=0) as sink:
        yield source, sink


def test_lines_of_a_pipe_are_there_before_it_goes_on(pipe):
    source, sink = pipe
    lines = Lines(source, "pipe")
    assert not lines.waiting
    sink.write(b"a\nb\nc")
    assert next(lines) == "a"
    assert lines.waiting
    assert next(lines) == "b"
    assert not lines.waiting
    sink.write(b"d\n")
    assert next(lines) == "cd"
    assert not lines.waiting
    sink.write(b"end")
    sink.close()
    assert list(lines) == ["end"]
    assert not lines.waiting


def test_compressed_lines_of_a_pipe_come_as_they_are_flushed(pipe):
    source, sink = pipe
    lines = Lines(source, "pipe")
    packed = zlib.compressobj(wbits=31)
    sink.write(packed.compress(b"a\nb\nc") + packed.flush(zlib.Z_SYNC_FLUSH))
    assert [next(lines), next(lines)] == ["a", "b"]
    assert not lines.waiting
    sink.write(packed.compress(b"d\n") + packed.flush())
    sink.close()
    assert list(lines) == ["cd"]
