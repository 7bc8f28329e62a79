"""TextSource: a format of text files and, for columns, the attributes of the words; it is saved in model files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bcfw.errors import InputError
from bcfw.inputs.spans import are_span_labels, is_span_label
from bcfw.text.attributes.sets import ATTRIBUTE_SETS, AttributeSet, choose_attributes
from bcfw.text.attributes.templates import Templates
from bcfw.text.formats import FORMATS
from bcfw.text.formats.format import Example, Format
from bcfw.text.formats.lines import open_lines
from bcfw.text.formats.tables import DELIMITERS, Table

#: The attribute that every single example has; its weights are the intercepts of the labels.
CONSTANT = "(constant)"


class TextSource:
    """A format of text files, and the conversion of their examples to named attributes.

    Words of columns get the attributes of an attribute set or of templates. Attributes of CRFsuite's files are used
    unchanged, numbered features are named by their numbers, and cells of tables by their columns.

    Parameters
    ----------
    format : Format
    attributes : AttributeSet, Templates or None
        Attributes of the words of columns; None until :meth:`choose` sets them, and for other formats.
    """

    def __init__(self, format: Format, attributes: AttributeSet | Templates | None = None) -> None:
        self.format = format
        self.attributes = attributes

    def examples(self, path: str, labelled: bool | None = None) -> Iterator[Example]:
        """Yield the examples of a file; "-" is standard input."""
        with open_lines(path) as lines:
            yield from self.format.examples(lines, lines.source, labelled)

    def choose(self, labels: Iterable[str], fast: bool = False) -> None:
        """Choose the attribute set of columns by the number of columns and the labels, unless attributes are given.

        ``fast`` asks for the smaller variant of the set if there is one.
        """
        if self.format.name != "conll" or self.attributes is not None:
            return
        chosen = choose_attributes(self.format.settings["columns"], labels)
        self.attributes = ATTRIBUTE_SETS.get(f"{chosen.name}-fast", chosen) if fast else chosen

    def has_spans(self, labels: Iterable[str]) -> bool:
        """Return whether examples are sequences and labels are span labels."""
        return self.format.sequences and are_span_labels(labels)

    def attributes_of(self, example: Example) -> list[Any]:
        """Return the attributes of every position of an example: names, or pairs (name, weight)."""
        name = self.format.name
        if name == "conll":
            assert self.attributes is not None
            try:
                return self.attributes(example.x)
            except InputError as error:
                raise InputError(f"line {example.line}: {error}") from error
        if name == "crfsuite":
            return example.x
        named = self.format.attributes if isinstance(self.format, Table) else numbered
        found = [named(one) for one in example.x]
        return found if self.format.sequences else [[*one, (CONSTANT, 1.0)] for one in found]

    def attributes_of_tokens(self, sentence: list[Any], where: str) -> list[list[str]]:
        """Return the attributes of every token of a sentence.

        A token is a tuple of its columns, or a string if it has one column only.
        """
        if self.attributes is None:
            raise InputError(f"{where} has tokens, but this model has learned from {self.format.name}; give attributes")
        tokens = [(token,) if isinstance(token, str) else token for token in sentence]
        for t, token in enumerate(tokens):
            if not isinstance(token, tuple | list) or not all(isinstance(column, str) for column in token):
                raise InputError(
                    f"{where}: position {t} is {token!r:.60}, but a token is a text or a tuple of its columns; for "
                    "attributes give tokens=False"
                )
        try:
            return self.attributes(tokens)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error

    def header(self) -> dict[str, Any]:
        """Return format, settings and attributes as JSON, which :meth:`from_header` reads."""
        found = {"format": self.format.name, "settings": self.format.settings}
        if isinstance(self.attributes, Templates):
            return found | {"template": self.attributes.text}
        return found | {"attributes": None if self.attributes is None else self.attributes.name}

    @classmethod
    def from_header(cls, header: Any, where: str) -> TextSource:
        """Return the source whose :meth:`header` a model file has; ``where`` names the file in errors."""
        try:
            format = FORMATS[header["format"]](**header["settings"])
            if not POSSIBLE[format.name](format.settings):
                raise ValueError(f"settings {format.settings}")
            if "template" in header:
                return cls(format, Templates(str(header["template"]), "template"))
            name = header["attributes"]
            return cls(format, ATTRIBUTE_SETS[name] if format.name == "conll" else None)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{where}: the model's format or attributes are not known here ({error!r:.200})"
            ) from error


def as_spans(truth: list[list[str]]) -> list[list[str]]:
    """Return true labels as span labels, for scores of spans.

    A label that is no span label, which training has not seen, becomes ``B-<label>``: a span that counts as not found.
    """
    return [[label if is_span_label(label) else f"B-{label}" for label in labels] for labels in truth]


def possible_table(settings: dict[str, Any]) -> bool:
    """Return whether the settings of a table, from a model file, are complete and agree with each other."""
    columns, texts = settings["columns"], settings["texts"]
    if not (isinstance(columns, list) and all(isinstance(name, str) for name in columns) and isinstance(texts, list)):
        return False
    places = [settings["label"]] + ([] if settings["sequence"] is None else [settings["sequence"]])
    known = all(type(place) is int and 0 <= place < len(columns) for place in places)
    flags = all(type(flag) is bool for flag in [*texts, settings["header"]])
    return known and flags and len(texts) == len(columns) and settings["delimiter"] in DELIMITERS


#: For each format, the check of its settings in a model file.
POSSIBLE: dict[str, Callable[[dict[str, Any]], bool]] = {
    "conll": lambda settings: type(settings["columns"]) is int and settings["columns"] >= 2,
    "crfsuite": lambda settings: True,
    "libsvm": lambda settings: type(settings["qid"]) is bool,
    "csv": possible_table,
}


def numbered(features: tuple[list[int], list[float]]) -> list[tuple[str, float]]:
    """Return features of the format "libsvm" as attributes that are named by their numbers."""
    return [(str(index), value) for index, value in zip(*features, strict=True)]
