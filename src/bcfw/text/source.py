"""How the text of a file becomes attributes: its format and, for columns, which attributes its words have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from bcfw.errors import InputError
from bcfw.formats import (
    ATTRIBUTE_SETS,
    FORMATS,
    AttributeSet,
    Example,
    Format,
    Table,
    Templates,
    choose_attributes,
    open_lines,
)
from bcfw.inputs.spans import are_span_labels

#: The attribute that every single example has: its weights are the biases of the labels.
CONSTANT = "(constant)"


class TextSource:
    """A format of text files, and what turns their examples into attributes by name.

    Words of columns get the attributes of a set or of templates, CRFsuite's attributes stay as they are, numbered
    features are named by their numbers, and cells of tables by their columns.

    Parameters
    ----------
    format : Format
    attributes : AttributeSet, Templates or None
        For columns; None until :meth:`choose` has looked at the labels.
    """

    def __init__(self, format: Format, attributes: AttributeSet | Templates | None = None) -> None:
        self.format = format
        self.attributes = attributes

    def examples(self, path: str, labelled: bool | None = None) -> Iterator[Example]:
        """The examples of a file; "-" is standard input."""
        with open_lines(path) as lines:
            yield from self.format.examples(lines, lines.source, labelled)

    def choose(self, labels: Iterable[str], fast: bool = False) -> None:
        """Choose the attributes of columns by their number and the labels, unless they are given."""
        if self.format.name != "conll" or self.attributes is not None:
            return
        chosen = choose_attributes(self.format.settings["columns"], labels)
        self.attributes = ATTRIBUTE_SETS.get(f"{chosen.name}-fast", chosen) if fast else chosen

    def has_spans(self, labels: Iterable[str]) -> bool:
        """Whether labels are those of spans in sequences."""
        return self.format.sequences and are_span_labels(labels)

    def attributes_of(self, example: Example) -> list[Any]:
        """The attributes of every position: names, or pairs of a name and a weight."""
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

    def header(self) -> dict[str, Any]:
        """Everything as JSON has it; :meth:`from_header` is the opposite."""
        found = {"format": self.format.name, "settings": self.format.settings}
        if isinstance(self.attributes, Templates):
            return found | {"template": self.attributes.text}
        return found | {"attributes": None if self.attributes is None else self.attributes.name}

    @classmethod
    def from_header(cls, header: Any, where: str) -> TextSource:
        """The source that a model file remembers; ``where`` names the file."""
        try:
            format = FORMATS[header["format"]](**header["settings"])
            if "template" in header:
                return cls(format, Templates(header["template"], "template"))
            name = header["attributes"]
            return cls(format, None if name is None else ATTRIBUTE_SETS[name])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{where}: the model's format or attributes are not known here ({error!r})") from error


def numbered(features: tuple[list[int], list[float]]) -> list[tuple[str, float]]:
    """Features of the format "libsvm" as attributes that are named by their numbers."""
    return [(str(index), value) for index, value in zip(*features, strict=True)]
