"""Attributes of words in sentences: built-in sets for chunking, part-of-speech tags and named entities."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from sys import intern
from typing import Any, NamedTuple

from bcfw.errors import InputError, OptionError, nearest

#: The columns of a token that fields read.
WORD, TAG = 0, 1

#: The attribute that every position has, and those of the first and the last one.
CONSTANT, BEGIN, END = "bias", "__BOS__", "__EOS__"

#: The value of a field outside the sentence.
OUTSIDE = "__OUT__"

#: For how many words attributes are kept: more than most texts have.
KEPT = 1 << 15

RUNS = re.compile(r"(.)\1+", flags=re.DOTALL)

#: "B-NP" and the like: what the labels of spans look like, other than "O".
SPAN_LABEL = re.compile("[BIES]-.+", flags=re.DOTALL)


class Field(NamedTuple):
    """What a template looks at: a column, and the value for a cell of that column.

    An optional field has the value None for some cells: it is absent. A flag is there or absent, without a value.
    """

    column: int
    of: Callable[[str], str | None]
    optional: bool = False
    flag: bool = False


class Kept(dict[str, Any]):
    """Values of a function that are computed once; all are forgotten when there are too many."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, cell: str) -> Any:
        if len(self) >= KEPT:
            self.clear()
        value = self[cell] = self._function(cell)
        return value


def shape(word: str) -> str:
    """Letters and digits by their kind: X, x and d.

    Examples
    --------
    >>> from bcfw.formats.attribute_sets import shape
    >>> shape("McIntyre's"), shape("-12.5")
    ("XxXxxxxx'x", '-dd.d')
    """
    return "".join(
        "X" if letter.isupper() else "x" if letter.islower() else "d" if letter.isdigit() else letter for letter in word
    )


def short_shape(word: str) -> str:
    """The shape with runs of one kind collapsed.

    Examples
    --------
    >>> from bcfw.formats.attribute_sets import short_shape
    >>> short_shape("McIntyre's"), short_shape("-12.5")
    ("XxXx'x", '-d.d')
    """
    return RUNS.sub(r"\1", shape(word))


def _prefix(length: int) -> Field:
    return Field(WORD, lambda word: word[:length].lower() if len(word) >= length else None, optional=True)


def _suffix(length: int) -> Field:
    return Field(WORD, lambda word: word[-length:].lower() if len(word) >= length else None, optional=True)


def _flag(holds: Callable[[str], bool]) -> Field:
    return Field(WORD, lambda word: "" if holds(word) else None, optional=True, flag=True)


FIELDS = {
    "w": Field(WORD, str),
    "l": Field(WORD, str.lower),
    "pos": Field(TAG, str),
    **{f"p{length}": _prefix(length) for length in range(1, 5)},
    **{f"s{length}": _suffix(length) for length in range(1, 5)},
    "shape": Field(WORD, lambda word: shape(word[:12])),
    "cs": Field(WORD, Kept(short_shape).__getitem__),
    "title": _flag(str.istitle),
    "upper": _flag(str.isupper),
    "digit": _flag(lambda word: any(map(str.isdigit, word))),
    "hyphen": _flag(lambda word: "-" in word),
}


class Template(NamedTuple):
    """One kind of attribute: fields at places relative to the token, written as "w[-1]|w[0]"."""

    text: str
    parts: list[tuple[str, int]]

    @classmethod
    def read(cls, text: str) -> Template:
        found = [re.fullmatch(r"(\w+)\[(-?\d+)\]", part) for part in text.split("|")]
        parts = [(match[1], int(match[2])) for match in found if match]
        if len(parts) < len(found):
            raise OptionError(f"the template {text!r} is not of the form field[place] or field[place]|field[place]")
        for name, _ in parts:
            if name not in FIELDS:
                raise OptionError(f"the template {text!r} has an unknown field {name!r}; {nearest(name, FIELDS)}")
            if len(parts) > 1 and FIELDS[name].optional:
                raise OptionError(
                    f"the template {text!r} combines {name!r}, which some words do not have; let it be alone"
                )
        return cls(text, parts)


class AttributeSet:
    """Function of a sentence, the tuples of its tokens' columns, that gives the attributes of each position.

    Attributes are strings such as ``w[-1]|w[0]=of|the``, the names of fields with their places and then the values.
    Outside the sentence the value is ``__OUT__``, and every position has the attribute ``bias``. Sets without padding
    have neither: a template that looks outside gives nothing, and the first and the last position have ``__BOS__`` and
    ``__EOS__``.

    Parameters
    ----------
    name : str
        A key of :data:`ATTRIBUTE_SETS`.
    templates : iterable of str
        Such as "w[0]" or "w[-1]|w[0]", of the fields in ``FIELDS``; those that are optional stand alone.
    lam : float
        Regularisation that suits the set.
    encoding : str or None
        Scheme of labels that suits it, "BIO" or "IOBES"; None for labels that are no spans.
    padding : bool
        Whether there are values outside the sentence.

    Attributes
    ----------
    n_columns : int
        How many columns, without the label's, the set looks at.

    Examples
    --------
    >>> from bcfw.formats import AttributeSet
    >>> pairs = AttributeSet("pairs", ["w[0]", "hyphen[0]", "w[0]|pos[1]"], lam=0.01, encoding="BIO")
    >>> pairs([("well-known", "JJ"), ("facts", "NNS")])
    [['bias', 'w[0]=well-known', 'hyphen[0]', 'w[0]|pos[1]=well-known|NNS'],
     ['bias', 'w[0]=facts', 'w[0]|pos[1]=facts|__OUT__']]
    """

    def __init__(
        self, name: str, templates: Iterable[str], *, lam: float, encoding: str | None, padding: bool = True
    ) -> None:
        self.name = name
        self.lam = lam
        self.encoding = encoding
        self.padding = padding
        self.templates = [Template.read(text) for text in templates]
        parts = [part for template in self.templates for part in template.parts]
        if not parts:
            raise OptionError(f"the attribute set {name!r} has no templates; give one or more")
        self.n_columns = 1 + max(FIELDS[field].column for field, _ in parts)
        self._reach = max(abs(place) for _, place in parts)
        self._combined = [template for template in self.templates if len(template.parts) > 1]
        self._of_cells = self._groups_by_cell()

    def __call__(self, sentence: Sequence[Sequence[str]]) -> list[list[str]]:
        """The attributes of each position.

        Parameters
        ----------
        sentence : list of tuples of str
            The columns of each token, without labels. Columns that the set does not look at may follow.
        """
        check_columns(sentence, self.n_columns, f"the attribute set {self.name!r}")
        n = len(sentence)
        margin = [""] * self._reach  # cells outside; those inside are never empty
        cells = [margin + [token[column] for token in sentence] + margin for column in range(self.n_columns)]
        groups: list[Iterable[Iterable[str]]] = [
            map(attributes, cells[column][self._reach + place : self._reach + place + n])
            for (column, place), attributes in self._of_cells.items()
        ]
        if self._combined:
            groups.append(zip(*self._combinations(cells, n), strict=True))
        if self.padding:
            return [[CONSTANT, *chain.from_iterable(row)] for row in zip(*groups, strict=True)]
        rows = [[name for name in chain.from_iterable(row) if name] for row in zip(*groups, strict=True)]
        rows[0].append(BEGIN)
        rows[-1].append(END)
        return rows

    def __getstate__(self) -> dict[str, Any]:
        names = ("name", "lam", "encoding", "padding")
        return {
            "templates": [template.text for template in self.templates],
            **{name: getattr(self, name) for name in names},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def _groups_by_cell(self) -> dict[tuple[int, int], Callable[[str], tuple[str, ...]]]:
        """For each column and place, the function that gives the attributes that depend on that cell alone."""
        groups: dict[tuple[int, int], list[tuple[str, Field]]] = {}
        for text, parts in self.templates:
            if len(parts) == 1:
                name, place = parts[0]
                groups.setdefault((FIELDS[name].column, place), []).append((text, FIELDS[name]))
        return {cell: self._attributes_of_cell(fields) for cell, fields in groups.items()}

    def _attributes_of_cell(self, fields: list[tuple[str, Field]]) -> Callable[[str], tuple[str, ...]]:
        outside = tuple(f"{text}={OUTSIDE}" for text, field in fields if not field.flag) if self.padding else ()

        def attributes(cell: str) -> tuple[str, ...]:
            if not cell:
                return outside
            values = [(text, field, field.of(cell)) for text, field in fields]
            names = [text if field.flag else f"{text}={value}" for text, field, value in values if value is not None]
            return tuple(map(intern, names))  # words share most of theirs

        return Kept(attributes).__getitem__

    def _combinations(self, cells: list[list[str]], n: int) -> list[list[str]]:
        """For each template of several parts, the attribute of each position; "" for one that looks outside in vain."""
        fields = {name for template in self._combined for name, _ in template.parts}
        values = {name: self._values(FIELDS[name], cells) for name in fields}
        out = []
        for text, parts in self._combined:
            starts = [self._reach + place for _, place in parts]
            columns = [values[name][start : start + n] for (name, _), start in zip(parts, starts, strict=True)]
            out.append([f"{text}={row}" for row in map("|".join, zip(*columns, strict=True))])
            if not self.padding:
                out[-1] = [name if all(row) else "" for name, *row in zip(out[-1], *columns, strict=True)]
        return out

    def _values(self, field: Field, cells: list[list[str]]) -> list[Any]:
        margin = [OUTSIDE if self.padding else ""] * self._reach
        inside = cells[field.column][self._reach : len(cells[0]) - self._reach]
        return [*margin, *map(field.of, inside), *margin]


def check_columns(sentence: Sequence[Sequence[str]], n_columns: int, what: str) -> None:
    """Raise unless a sentence has a token, and all its tokens as many columns as are looked at."""
    fewest = min(map(len, sentence), default=0)
    if fewest < n_columns:
        raise InputError(
            f"{what} looks at {n_columns} column{'s' * (n_columns > 1)} before the label, but a token has {fewest}; "
            "give more columns, or choose other attributes"
        )


def bio_like(labels: Iterable[str]) -> bool:
    """Whether labels are those of spans: O, B-..., I-... (and E-..., S-...), not all of them O.

    Examples
    --------
    >>> from bcfw.formats import bio_like
    >>> bio_like(["O", "B-NP", "I-NP"]), bio_like(["NN", "O"]), bio_like(["O"])
    (True, False, False)
    """
    distinct = set(labels) - {"O"}
    return bool(distinct) and all(map(SPAN_LABEL.fullmatch, distinct))


def choose_attributes(n_columns: int, labels: Iterable[str]) -> AttributeSet:
    """The built-in set that suits a file of columns.

    Parameters
    ----------
    n_columns : int
        Number of its columns with the label.
    labels : iterable of str
        Those of the training data, each at least once.

    Returns
    -------
    AttributeSet
        For labels of spans "chunking" where there are three columns (the second has part-of-speech tags), else
        "ner"; for other labels "tagging".

    Examples
    --------
    >>> from bcfw.formats import choose_attributes
    >>> choose_attributes(3, ["B-NP", "I-NP", "O"]).name, choose_attributes(2, ["NN", "VB"]).name
    ('chunking', 'tagging')
    """
    if not bio_like(labels):
        return ATTRIBUTE_SETS["tagging"]
    return ATTRIBUTE_SETS["chunking" if n_columns == 3 else "ner"]


def _at(places: Iterable[int], *names: str) -> list[str]:
    """Each field at each place: "w[-1]", "w[0]", ...."""
    return [f"{name}[{place}]" for place in places for name in names]


def _runs(name: str, length: int, first: int, last: int) -> list[str]:
    """All runs of so many neighbouring places from the first to the last: "w[-1]|w[0]", "w[0]|w[1]", ...."""
    starts = range(first, last - length + 2)
    return ["|".join(_at(range(start, start + length), name)) for start in starts]


AFFIXES = [f"{kind}{length}" for kind in "ps" for length in range(1, 5)]
LOOKS = ["cs", "title", "upper", "digit", "hyphen"]

BASE = [
    *_runs("w", 1, -2, 2),
    *_runs("w", 2, -1, 1),
    *_runs("pos", 1, -2, 2),
    *_runs("pos", 2, -2, 2),
    *_runs("pos", 3, -2, 2),
]
WORDS_AND_TAGS = ["w[0]|pos[-1]", "w[0]|pos[0]", "w[0]|pos[1]", "w[-1]|pos[0]", "w[1]|pos[0]"]
FAST = [*BASE, *_at([0], *AFFIXES, *LOOKS), *WORDS_AND_TAGS]
NER = [
    *_runs("l", 1, -2, 2),
    "w[0]",
    *_at((-1, 0, 1), *AFFIXES, "shape"),
    *_at(range(-2, 3), *LOOKS),
    *_runs("l", 2, -1, 1),
    *_runs("cs", 2, -1, 1),
    *_runs("cs", 3, -1, 1),
]

#: The built-in sets by their names; lam and encoding are those that did best on held-out sentences.
ATTRIBUTE_SETS = {
    one.name: one
    for one in (
        AttributeSet("chunking", [*FAST, "pos[-3]", "pos[3]", *_at((-1, 1), *AFFIXES)], lam=0.003, encoding="IOBES"),
        AttributeSet("chunking-fast", FAST, lam=0.002, encoding="BIO"),
        AttributeSet("chunking-base", BASE, lam=0.001, encoding="BIO", padding=False),
        AttributeSet(
            "tagging",
            ["w[0]", *_runs("l", 1, -2, 2), *_runs("l", 2, -1, 1), *_at([0], *AFFIXES, *LOOKS)],
            lam=0.001,
            encoding=None,
        ),
        AttributeSet("ner", NER, lam=0.003, encoding="IOBES"),
    )
}
