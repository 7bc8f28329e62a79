"""Format "crfsuite": attributes separated by tabs, one line per token, as in the files of CRFsuite."""

from __future__ import annotations

import re
from collections.abc import Callable

from bcfw.errors import InputError
from bcfw.text.formats.format import Format, Position, finite

#: An escaped colon or backslash, a colon, or other characters.
PIECES = re.compile(r"\\([:\\])|(:)|([^:\\]+|\\)")


class Crfsuite(Format):
    r"""Format "crfsuite": a label and attributes, separated by tabs; empty lines between sequences.

    An attribute is a text, or ``text:weight``; a colon that belongs to the text is written ``\:``, a backslash ``\\``.
    An entry of ``Example.x`` is the list of a token's attributes: a list of texts if all weights are 1, otherwise a
    list of pairs (text, weight). A line that begins with a tab has no label. Predictions replace the labels.

    Examples
    --------
    >>> from bcfw.text.formats.crfsuite import Crfsuite
    >>> crfsuite = Crfsuite()
    >>> (example,) = crfsuite.examples(["B-NP\tw=the\tlength:3", "I-NP\tw=12\\:30"], "demo")
    >>> example.x
    [[('w=the', 1.0), ('length', 3.0)], ['w=12:30']]
    >>> crfsuite.text(example, ["O", "B-NP"])
    'O\tw=the\tlength:3\nB-NP\tw=12\\:30\n'
    """

    name = "crfsuite"
    empty_line_ends = True

    def _reader(self) -> Callable[[str], Position | None]:
        return _read

    def _answered(self, line: str, label: str) -> str:
        tab = line.find("\t")
        return escaped(label) + (line[tab:] if tab >= 0 else "")

    def _looks(self) -> str:
        return "a line is a label and attributes, separated by tabs"


def escaped(text: str) -> str:
    r"""Return a label or an attribute with the escapes that it has in a file.

    Examples
    --------
    >>> from bcfw.text.formats.crfsuite import escaped
    >>> print(escaped("12:30"))
    12\:30
    """
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _read(line: str) -> Position:
    attributes = line.split("\t")
    label = attributes.pop(0)
    if not attributes and " " in label:
        raise InputError("no tab, but blanks; separate the label and the attributes by tabs")
    if label.startswith("@weight:"):
        raise InputError("the weight of a sequence; weights of sequences are not read from files, remove the line")
    if "\t\t" in line or line.endswith("\t"):
        attributes = [attribute for attribute in attributes if attribute]
    if "\\" in label:
        label = "".join(map("".join, PIECES.findall(label)))
    if ":" in line or "\\" in line:
        return Position(None, label or None, _weighted(attributes))
    return Position(None, label or None, attributes)


def _weighted(attributes: list[str]) -> list[str] | list[tuple[str, float]]:
    """Return attributes without escapes: as texts if all weights are 1, otherwise as pairs (text, weight)."""
    pairs = [
        _pair(attribute) if ":" in attribute or "\\" in attribute else (attribute, 1.0) for attribute in attributes
    ]
    return [text for text, _ in pairs] if all(weight == 1 for _, weight in pairs) else pairs


def _pair(attribute: str) -> tuple[str, float]:
    text = ""
    for piece in PIECES.finditer(attribute):
        if piece.group(2):
            weight = attribute[piece.end() :]
            if not text:
                raise InputError(f"the attribute {attribute!r:.60} has no text before its weight")
            what = f"the weight of {attribute!r:.60} (write \\: for a colon that belongs to the text)"
            return text, finite(weight, what)
        text += piece.group(1) or piece.group(3)
    return text, 1.0
