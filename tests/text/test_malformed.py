"""A hundred damaged files per format: an error at the first bad line, by plain checks of one line after the other."""

from __future__ import annotations

import gzip
import io
import math
import random
import re

import pytest

from bcfw.errors import InputError
from bcfw.formats import FORMATS, Lines
from text_files import random_text

N_FILES = 25


# --- what is well-formed, in plain words -------------------------------------------------------------------------


def is_text(line):
    """Whether the bytes of a line are UTF-8 without control characters."""
    line = line.removesuffix(b"\r")
    if any((byte < 32 and byte != 9) or byte == 127 for byte in line):
        return False
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_finite(text):
    number = re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", text)
    return number is not None and math.isfinite(float(text))


class ConllChecker:
    width = None

    def accepts(self, line):
        if line.startswith("-DOCSTART-"):
            return True
        width = len([field for field in re.split("[ \t]", line) if field])
        self.width = self.width or width
        return width == self.width >= 2


class CrfsuiteChecker:
    def accepts(self, line):
        label, tab, rest = line.partition("\t")
        return bool(label) and (bool(tab) or " " not in label) and all(map(self.attribute, rest.split("\t")))

    def attribute(self, text):
        """A name with escapes, perhaps a weight; or nothing."""
        found = re.fullmatch(r"((?:\\[:\\]|[^:])*?)(?:(?<!\\):(.*))?", text.replace("\\\\", "/"))
        name, weight = found.groups()
        return weight is None or (name != "" and is_finite(weight))


class LibsvmChecker:
    def accepts(self, line):
        tokens = line.split("#")[0].split()
        if not tokens:
            return True
        label, *tokens = tokens
        if not all(map(is_finite, label.split(","))) or not re.fullmatch(r"qid:[+-]?\d+", tokens[0] if tokens else ""):
            return False
        pairs = [token.split(":") for token in tokens[1:]]
        if not all(len(pair) == 2 and re.fullmatch(r"\+?\d+", pair[0]) and is_finite(pair[1]) for pair in pairs):
            return False
        indices = [int(index) for index, _ in pairs]
        return indices == sorted(set(indices)) and all(1 <= index < 2**31 for index in indices)


class CsvChecker:
    """For files whose header and first row, of three cells and a label, are whole: others are not made here."""

    number = 0

    def accepts(self, line):
        self.number += 1
        cells = [cell.strip() for cell in line.split(",")]
        if '"' in line or len(cells) != 4 or "" in cells:
            return False
        return self.number == 1 or (is_finite(cells[0]) and is_finite(cells[2]))


CHECKERS = {"conll": ConllChecker, "crfsuite": CrfsuiteChecker, "libsvm": LibsvmChecker, "csv": CsvChecker}


def first_bad_line(name, content):
    """Number of the first line that is not well-formed, or None."""
    checker = CHECKERS[name]()
    lines = content.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not is_text(line):
            return number
        text = line.removesuffix(b"\r").decode()
        if text.strip() and not checker.accepts(text):
            return number
    return None


# --- damages -----------------------------------------------------------------------------------------------------


def truncated(content, rng, safe):
    return content[: rng.randrange(safe, len(content))]


def with_noise(content, rng, safe):
    """Random bytes in the place of some others."""
    place = rng.randrange(safe, len(content))
    size = rng.randrange(1, 40)
    return content[:place] + rng.randbytes(size) + content[place + size :]


def with_other_columns(content, rng, safe):
    """A separator removed, added or replaced, or something written behind a line."""
    places = [match.start() for match in re.finditer(rb"[ \t,:]", content) if match.start() >= safe]
    place = rng.choice(places)
    new = rng.choice([b"", b"  ", b"\t", b",", b"::", b" x ", b",1,", b"\t:", b'"', b"\\"])
    return content[:place] + new + content[place + 1 :]


def with_other_numbers(content, rng, safe):
    """NaN, infinity and the like in the place of a number or, where there are none, of a word."""
    places = [match.span() for match in re.finditer(rb"[^ \t\n,:]+", content) if match.start() >= safe]
    start, end = rng.choice(places)
    new = rng.choice(
        [b"nan", b"NaN", b"inf", b"-Infinity", b"1e999", b"", b"0", b"-1", b"1_0", b"0x1F", b"1,5", b"--1"]
    )
    return content[:start] + new + content[end:]


def in_other_encoding(content, rng, safe):
    """The second half in another encoding, or all of it."""
    place = rng.choice([0, content.index(b"\n", len(content) // 2) + 1])
    encoding = rng.choice(["utf-16", "utf-16-be", "cp1252", "shift-jis", "utf-32", "utf-7"])
    return content[:place] + content[place:].decode().encode(encoding, errors="replace")


DAMAGES = [truncated, with_noise, with_other_columns, with_other_numbers, in_other_encoding]


def read(name, content):
    return list(FORMATS[name]().examples(Lines(io.BytesIO(content), "file"), "file", labelled=True))


def error_of(name, content):
    """The message where a file is refused, None where it has examples."""
    try:
        assert read(name, content)
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_have_errors_with_line_numbers(name, damage):
    refused = 0
    for seed in range(N_FILES):
        rng = random.Random(f"{name} {damage.__name__} {seed}")
        content = random_text(name, rng).encode()
        safe = content.index(b"\n", content.index(b"\n") + 1) + 1  # the two first lines stay: they fix what is right
        content = damage(content, rng, safe)
        expected = first_bad_line(name, content)
        if expected is None:
            assert read(name, content), (seed, content)
        else:
            refused += 1
            with pytest.raises(InputError, match=rf"^file, line {expected}: \S"):
                read(name, content)
    assert refused >= (3 if (name, damage) != ("conll", with_other_numbers) else 1)  # words may look as they like


@pytest.mark.parametrize("name", FORMATS)
def test_files_of_other_kinds(name):
    """Nothing but noise, nothing at all, and the files of other formats: an error with a line number, or examples."""
    rng = random.Random(name)
    others = [random_text(other, rng).encode() for other in FORMATS if other != name]
    noise = [rng.randbytes(rng.randrange(1, 400)) for _ in range(50)]
    printable = ["".join(rng.choices(' \t\n,;:"\\#1.ae-', k=200)).encode() for _ in range(50)]
    compressed = [gzip.compress(text)[: rng.randrange(2, 60)] for text in others]
    contents = [b"", b"\n", b" \n\t\n", *others, *noise, *printable, *compressed]
    refused = [error for content in contents if (error := error_of(name, content)) is not None]
    assert len(refused) > len(noise) // 2
    assert [error for error in refused if not re.match(r"file, line \d+: \S", error)] == []
