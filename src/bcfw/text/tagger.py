"""Tagger: a trained model that labels text, without imports that are slow to load."""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from bcfw.errors import InputError
from bcfw.inputs.spans import ENCODINGS, LETTERS, in_scheme, is_span_label, penalties
from bcfw.options import Flag
from bcfw.storage import model_file
from bcfw.storage.files import PathLike
from bcfw.storage.load import reads
from bcfw.storage.model_file import ModelFile
from bcfw.text.attributes.reading import listed, read
from bcfw.text.attributes.vocabulary import (
    MOST_HASHED,
    Encoded,
    FastVocabulary,
    HashedColumns,
    Vocabulary,
    encode,
    warn_of_unknown,
)
from bcfw.text.decoder import ChainDecoder
from bcfw.text.formats.format import Example
from bcfw.text.source import TextSource

#: The kind of model files that contain a tagger.
KIND = "tagger"

#: The models of taggers: for sequences, and for single examples.
MODELS = ("chain", "multiclass")


#: Characters that no label in a text file has: control characters and surrogates.
NO_TEXT = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")

#: For at most this number of positions, interpreted code takes less time than loading the compiler.
FEW_POSITIONS = 200


class CompiledLookup:
    """A vocabulary in compiled code that is used when it pays: loading the compiler takes half a second."""

    def __init__(self, vocabulary: Vocabulary | HashedColumns) -> None:
        self._given = vocabulary
        self._positions = 0

    def pays(self, positions: int) -> bool:
        """Count ``positions`` more and return whether compiled code pays: not for the first few of a new process."""
        self._positions += positions
        return "numba" in sys.modules or self._positions > FEW_POSITIONS

    @functools.cached_property
    def vocabulary(self) -> FastVocabulary | HashedColumns:
        return FastVocabulary(self._given) if isinstance(self._given, Vocabulary) else self._given


@dataclass(frozen=True, eq=False, repr=False)
class Tagger:
    """A trained model that labels sequences, or single examples, whose positions have named attributes.

    Attributes
    ----------
    model : "chain" or "multiclass"
    source : TextSource
        Conversion of text files to attributes.
    labels : list of str
        The K labels that the weights are for.
    encoding, scheme : str or None
        For span labels: the scheme of ``labels``, and the scheme of predictions.
    vocabulary : Vocabulary or HashedColumns
        Columns of the attributes.
    places, values : (nnz,) arrays
        Indices and values of the nonzero entries of w.
    certificate : dict
        Status, certified gap and other facts about the training.
    """

    model: str
    source: TextSource
    labels: list[str]
    encoding: str | None
    scheme: str | None
    vocabulary: Vocabulary | HashedColumns
    places: np.ndarray
    values: np.ndarray
    certificate: dict[str, Any] = field(default_factory=dict)
    _decoder: ChainDecoder = field(init=False)
    _compiled: CompiledLookup = field(init=False)

    def __post_init__(self) -> None:
        K, F = len(self.labels), len(self.vocabulary)
        unary = int(np.searchsorted(self.places, F * K))
        rest = np.zeros((2 + K) * K)  # all zero for single examples
        rest[self.places[unary:] - F * K] = self.values[unary:]
        first, last, transitions = np.split(rest, [K, 2 * K])
        steps: tuple[Any, ...] = first, last, transitions.reshape(K, K)
        if self.encoding is not None:
            steps = tuple(one + more for one, more in zip(steps, penalties(self.labels, self.encoding), strict=True))
        decoder = ChainDecoder.of_entries(self.places[:unary], self.values[:unary], F, steps)
        object.__setattr__(self, "_decoder", decoder)
        object.__setattr__(self, "_compiled", CompiledLookup(self.vocabulary))

    def tag(self, sequences: Iterable[Any], tokens: bool | None = None) -> list[list[str]]:
        """Return the predicted labels of every position of sequences.

        A position is a token or has named attributes. If the model was trained on columns, a tuple of strings is a
        token's columns without the label, a string is a token with one column, and lists, sets and dicts are
        attributes. If the model was trained on another format, all positions are attributes, tuples too.

        Parameters
        ----------
        sequences : list of sequences
        tokens : bool or None
            True: all positions are tokens, even lists, for example from ``line.split()``. False: all positions have
            attributes, even tuples. None decides as described above, for every sequence.

        Warns
        -----
        InputWarning
            If a sequence has attributes, but none that training has seen.
        """
        if tokens is not None:
            Flag(False).check("Tagger", "tokens", tokens)
        examples = listed(sequences, "Tagger: the input", "one list of positions for each sequence")
        given = [self._attributes(sequence, f"Tagger: example {i}", tokens) for i, sequence in enumerate(examples)]
        found, compiled = self._encoded(given)
        warn_of_unknown(found, "Tagger")
        return self.tag_encoded(found, compiled)

    def _attributes(self, sequence: Any, where: str, tokens: bool | None) -> list[Any]:
        """Return the attributes of every position of a sequence that :meth:`tag` was given."""
        if not isinstance(sequence, list | tuple):
            sequence = listed(sequence, where)
        if tokens is None and self.source.attributes is not None:
            are = {isinstance(position, str | tuple) for position in sequence}
            if len(are) > 1:
                raise InputError(
                    f"{where} has tokens (tuples or texts) and attributes; give one kind, or the option tokens"
                )
            tokens = True in are
        return self.source.attributes_of_tokens(sequence, where) if tokens and sequence else sequence

    def _encoded(self, given: list[Any]) -> tuple[Encoded, bool]:
        """Return attributes as rows, and whether compiled code has looked them up."""
        read_in = read(given, 0, "Tagger")
        compiled = self._compiled.pays(len(read_in.counts))
        vocabulary = self._compiled.vocabulary if compiled else self.vocabulary
        return encode([read_in], vocabulary.columns), compiled

    def tag_encoded(self, given: Encoded, compiled: bool = True) -> list[list[str]]:
        """Return the predicted labels of every position, for attributes whose columns have been looked up."""
        codes, labels = self._decoder.decode(given, compiled), self.labels
        if self.scheme is not None and self.scheme != self.encoding:
            labels, codes = in_scheme(labels, codes, given.offsets, self.scheme)
        names = [labels[code] for code in codes.tolist()]
        return [names[a:b] for a, b in pairwise(given.offsets.tolist())]

    def tag_examples(self, examples: list[Example]) -> list[list[str]]:
        """Return the predicted labels of every position, for examples of a text file."""
        return self.tag_encoded(*self._encoded([self.source.attributes_of(example) for example in examples]))

    def truth(self, example: Example) -> list[str]:
        """Return the true labels of a labelled example."""
        return example.labels or []

    @property
    def dim(self) -> int:
        """The number of weights."""
        return dimension(self.model, len(self.vocabulary), len(self.labels))

    def pruned(self) -> Tagger:
        """Return a tagger without the attributes whose weights are all zero; its predictions do not change."""
        if isinstance(self.vocabulary, HashedColumns):
            return self
        K, F = len(self.labels), len(self.vocabulary)
        unary = self.places < F * K
        used, columns = np.unique(self.places[unary] // K, return_inverse=True)
        places = self.places - (F - len(used)) * K
        places[unary] = columns * K + self.places[unary] % K
        names = self.vocabulary.names_of(used.tolist())
        return dataclasses.replace(self, vocabulary=Vocabulary(names), places=places)

    def save(self, path: PathLike) -> None:
        """Write a model file (see :mod:`bcfw.storage.model_file`)."""
        hashed = isinstance(self.vocabulary, HashedColumns)
        header = {
            "model": self.model,
            "source": self.source.header(),
            "labels": self.labels,
            "encoding": self.encoding,
            "scheme": self.scheme,
            "hashed": len(self.vocabulary) if hashed else None,
            "certificate": self.certificate,
        }
        w = np.zeros(self.dim)
        w[self.places] = self.values
        names = {} if hashed else model_file.pack_strings("names", self.vocabulary.names)
        model_file.write(path, KIND, header, {**model_file.pack_weights("w", w), **names})

    @classmethod
    def load(cls, path: PathLike) -> Tagger:
        """Read a model file that ``bcfw train`` or :meth:`save` has written."""
        found = model_file.read(path)
        if found.kind != KIND:
            raise InputError(
                f"{path} holds another kind of model ({found.kind}), not one that labels text; give one that bcfw "
                "train has written, or read it by bcfw.load"
            )
        return cls.from_file(found)

    @classmethod
    def from_file(cls, found: model_file.ModelFile) -> Tagger:
        """Return the tagger that a model file of kind ``KIND`` contains."""
        header, where = found.header, found.arrays.source
        labels = checked_labels(header, where)
        places, values, dim = model_file.sparse_weights(found.arrays, "w")
        vocabulary = read_vocabulary(header, found.arrays, where)
        K, F = len(labels), len(vocabulary)
        if dimension(header["model"], F, K) != dim:
            raise InputError(f"{where}: {dim} weights do not fit {F} attributes and {K} labels; train the model anew")
        source = TextSource.from_header(header.get("source"), where)
        certificate = header.get("certificate")
        return cls(
            header["model"],
            source,
            labels,
            header.get("encoding"),
            header.get("scheme"),
            vocabulary,
            places,
            values,
            certificate if isinstance(certificate, dict) else {},
        )


@reads(KIND)
def read_tagger(file: ModelFile, model: Any) -> Tagger:
    """The tagger that a model file holds; it has no model of a user's own."""
    return Tagger.from_file(file)


def dimension(model: str, n_features: int, n_labels: int) -> int:
    """Return the number of weights of a model: for features and, in a chain, for ends and transitions."""
    return n_features * n_labels + (2 * n_labels + n_labels**2 if model == "chain" else 0)


def checked_labels(header: dict[str, Any], where: str) -> list[str]:
    """Return the labels in a model file's header; raise unless model, labels, encoding and scheme are possible."""
    labels, encoding, scheme = header.get("labels"), header.get("encoding"), header.get("scheme")
    texts = isinstance(labels, list) and all(isinstance(one, str) and not NO_TEXT.search(one) for one in labels)
    possible = header.get("model") in MODELS and texts and len(set(labels)) == len(labels) > 0  # type: ignore[arg-type]
    if encoding is not None or scheme is not None:
        known = isinstance(encoding, str) and isinstance(scheme, str) and encoding in ENCODINGS and scheme in LETTERS
        possible = possible and known and all(map(is_span_label, labels or ()))
    if not possible:
        raise InputError(f"{where}: the model's labels cannot be right; train it anew")
    return list(labels or ())


def read_vocabulary(header: dict[str, Any], arrays: Any, where: str) -> Vocabulary | HashedColumns:
    """Return the columns of the attributes in a model file."""
    hashed = header.get("hashed")
    if hashed is not None:
        if not isinstance(hashed, int) or isinstance(hashed, bool) or not 1 <= hashed <= MOST_HASHED:
            raise InputError(f"{where}: {hashed!r:.40} is no number of hashed columns; train the model anew")
        return HashedColumns(hashed)
    names = model_file.unpack_strings(arrays, "names")
    vocabulary = Vocabulary(names)
    if len(vocabulary) != len(names):
        raise InputError(f"{where}: some of the model's attributes are there twice; train it anew")
    return vocabulary
