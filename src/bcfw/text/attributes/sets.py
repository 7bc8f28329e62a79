"""Attributes of words in sentences: built-in sets for chunking, part-of-speech tags and named entities."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from sys import intern
from typing import Any, NamedTuple

from bcfw.errors import InputError, OptionError, nearest

#: Indices of the columns of a token that fields read.
WORD, TAG = 0, 1

#: The attribute that every position has, and the attributes of the first and of the last position.
CONSTANT, BEGIN, END = "bias", "__BOS__", "__EOS__"

#: The value of a field outside the sentence.
OUTSIDE = "__OUT__"

#: Largest number of words whose attributes are cached; most texts have fewer different words.
KEPT = 1 << 15

RUNS = re.compile(r"(.)\1+", flags=re.DOTALL)


class Field(NamedTuple):
    """Field of a template: a column, and the function ``of`` from a cell of this column to the field's value.

    The value of an optional field is None for some cells, which then do not have the field. A flag is an optional field
    whose value is not written into the attribute.
    """

    column: int
    of: Callable[[str], str | None]
    optional: bool = False
    flag: bool = False


class Memo(dict[str, Any]):
    """Cache of a function's values; it is emptied when it is full."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, cell: str) -> Any:
        if len(self) >= KEPT:
            self.clear()
        value = self[cell] = self._function(cell)
        return value


def shape(word: str) -> str:
    """Return the word with upper-case letters replaced by X, lower-case letters by x and digits by d.

    Examples
    --------
    >>> from bcfw.text.attributes.sets import shape
    >>> shape("McIntyre's"), shape("-12.5")
    ("XxXxxxxx'x", '-dd.d')
    """
    return "".join(
        "X" if letter.isupper() else "x" if letter.islower() else "d" if letter.isdigit() else letter for letter in word
    )


def short_shape(word: str) -> str:
    """Return the shape of a word with repeated characters collapsed to one.

    Examples
    --------
    >>> from bcfw.text.attributes.sets import short_shape
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
    "cs": Field(WORD, Memo(short_shape).__getitem__),
    "title": _flag(str.istitle),
    "upper": _flag(str.isupper),
    "digit": _flag(lambda word: any(map(str.isdigit, word))),
    "hyphen": _flag(lambda word: "-" in word),
}


class Template(NamedTuple):
    """Template of an attribute: fields at places relative to the token, written as "w[-1]|w[0]"."""

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
    """Function from a sentence, a list of tuples with the columns of its tokens, to the attributes of each position.

    Attributes are strings, for example ``w[-1]|w[0]=of|the``: the names of fields with their places, then the values.
    With padding, values outside the sentence are ``__OUT__``, and every position has the attribute ``bias``. Without
    padding, a template that looks outside the sentence gives no attribute, positions have no ``bias``, and the first
    and the last position have ``__BOS__`` and ``__EOS__``.

    Parameters
    ----------
    name : str
        Name of the set; built-in sets are stored by name in :data:`ATTRIBUTE_SETS`.
    templates : iterable of str
        Templates of the fields in ``FIELDS``, for example "w[0]" or "w[-1]|w[0]". An optional field cannot be combined
        with others.
    lam : float
        Regularisation that suits the set.
    encoding : str or None
        Scheme of labels that suits the set, "BIO" or "IOBES"; None for labels that are not span labels.
    padding : bool
        Whether values outside the sentence are ``__OUT__``.

    Attributes
    ----------
    n_columns : int
        Number of columns that the set reads, without the label's column.

    Examples
    --------
    >>> from bcfw.text.attributes.sets import AttributeSet
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
        """Return the attributes of each position.

        Parameters
        ----------
        sentence : list of tuples of str
            The columns of each token, without labels. Further columns are ignored.
        """
        check_columns(sentence, self.n_columns, f"the attribute set {self.name!r}")
        n = len(sentence)
        margin = [""] * self._reach  # "" marks cells outside the sentence; cells inside are never empty
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
        """Return, for each column and place, the function from this cell to the attributes that depend on it alone."""
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
            return tuple(map(intern, names))  # most attributes occur for many words

        return Memo(attributes).__getitem__

    def _combinations(self, cells: list[list[str]], n: int) -> list[list[str]]:
        """Return, for each template of several parts, the attributes of the positions.

        Without padding, the attribute is "" at positions where the template looks outside the sentence.
        """
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
    """Raise unless a sentence has tokens and each token has at least ``n_columns`` columns."""
    fewest = min(map(len, sentence), default=0)
    if fewest < n_columns:
        raise InputError(
            f"{what} looks at {n_columns} column{'s' * (n_columns > 1)} before the label, but a token has {fewest}; "
            "give more columns, or choose other attributes"
        )


def choose_attributes(n_columns: int, labels: Iterable[str]) -> AttributeSet:
    """Return the built-in attribute set that suits a file of columns.

    Parameters
    ----------
    n_columns : int
        Number of columns of the file, including the label.
    labels : iterable of str
        All labels that occur in the training data.

    Returns
    -------
    AttributeSet
        For span labels, "chunking" if there are three columns (the second has part-of-speech tags), otherwise "ner";
        for other labels, "tagging".

    Examples
    --------
    >>> from bcfw.text.attributes.sets import choose_attributes
    >>> choose_attributes(3, ["B-NP", "I-NP", "O"]).name, choose_attributes(2, ["NN", "VB"]).name
    ('chunking', 'tagging')
    """
    from bcfw.inputs.spans import are_span_labels  # imported here because it loads numpy, which readers do not need

    if not are_span_labels(set(labels)):
        return ATTRIBUTE_SETS["tagging"]
    return ATTRIBUTE_SETS["chunking" if n_columns == 3 else "ner"]


def _at(places: Iterable[int], *names: str) -> list[str]:
    """Return the templates of each field at each place: "w[-1]", "w[0]", ...."""
    return [f"{name}[{place}]" for place in places for name in names]


def _runs(name: str, length: int, first: int, last: int) -> list[str]:
    """Return the templates of a field at ``length`` neighbouring places: "w[-1]|w[0]", "w[0]|w[1]", ....

    All places are between ``first`` and ``last``, both included.
    """
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

#: The built-in sets by name; their lam and encoding had the best results on held-out sentences.
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
