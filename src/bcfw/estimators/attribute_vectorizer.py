"""AttributeVectorizer: transforms named attributes of sequence positions into sparse features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bcfw.errors import InputError
from bcfw.inputs.examples import read_list
from bcfw.inputs.sequences import Sequences
from bcfw.options import Count
from bcfw.storage.checked_arrays import SavedArrays
from bcfw.storage.model_file import pack_strings, unpack_strings
from bcfw.storage.objects import register
from bcfw.storage.values import decode, encode
from bcfw.text.attributes.reading import batches, is_attributes
from bcfw.text.attributes.sparse_rows import stacked_rows
from bcfw.text.attributes.vocabulary import MOST_HASHED, Encoded, HashedColumns, Vocabulary, learn, warn_of_unknown
from bcfw.text.attributes.vocabulary import encode as encode_attributes


class AttributeVectorizer(TransformerMixin, BaseEstimator):
    """Transformer of sequences with named attributes into :class:`bcfw.Sequences` of sparse rows.

    A position is a list of names, or a dict as in CRFsuite: ``{"word": "the"}`` is the attribute
    "word:the", ``{"length": 3}`` is "length" with the value 3, ``{"title": True}`` is "title", ``{"suffix": ["e",
    "he"]}`` is "suffix:e" and "suffix:he", and ``{"next": {"word": "cat"}}`` is "next:word:cat". In lists, a pair
    (name, number) gives an attribute its value. If a position has an attribute twice, the two values are added. A tuple
    of strings is read as a list of names, too: ``("The", "DT")`` has the attributes "The" and "DT", and the index in
    the tuple does not matter. The vectorizer adds no attributes by itself: write attributes of neighbouring tokens and
    the like yourself, or use an attribute set of :mod:`bcfw.formats`.

    Parameters
    ----------
    min_count : int
        Attributes that occur less than ``min_count`` times in the training data are left out.
    n_hashed : int or None
        Number of columns that all attributes share by a hash of their names; None gives each attribute a column. With a
        hash, no names are kept, and attributes that training has not seen count, too. Cannot be combined with
        ``min_count``.

    Attributes
    ----------
    vocabulary_ : Vocabulary or HashedColumns
        The columns: ``vocabulary_.names``, ``vocabulary_.columns([name, ...])``.

    Examples
    --------
    >>> import bcfw
    >>> X = [[{"word": "the", "title": True}, {"word": "cat"}]]
    >>> vectorizer = bcfw.AttributeVectorizer().fit(X)
    >>> vectorizer.get_feature_names_out().tolist()
    ['word:the', 'title', 'word:cat']
    >>> vectorizer.transform([[["word:cat", "never seen"]]]).rows.toarray()
    array([[0., 0., 1.]])
    """

    def __init__(self, min_count: int = 1, n_hashed: int | None = None) -> None:
        self.min_count = min_count
        self.n_hashed = n_hashed

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the attributes that occur in X."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Sequences:
        """Learn the attributes that occur in X and return the sequences as sparse rows."""
        Count(1).check("AttributeVectorizer", "min_count", self.min_count)
        if self.n_hashed is not None:
            Count(1, most=MOST_HASHED).check("AttributeVectorizer", "n_hashed", self.n_hashed)
            if self.min_count > 1:
                raise InputError("AttributeVectorizer: min_count does not go with n_hashed; leave one of them out")
        given = batches(attribute_sequences(X), "AttributeVectorizer")
        vocabulary, found = learn(given, int(self.min_count), self.n_hashed)
        if not len(vocabulary):
            raise InputError("AttributeVectorizer: X has no attributes; give some, or a smaller min_count")
        self.vocabulary_ = vocabulary
        return stacked_rows(found, len(vocabulary))

    def encode(self, X: Any) -> Encoded:
        """Return the attributes as plain arrays, the input of :class:`bcfw.text.decoder.ChainDecoder`."""
        check_is_fitted(self)
        found = encode_attributes(batches(attribute_sequences(X), "AttributeVectorizer"), self.vocabulary_.columns)
        warn_of_unknown(found, "AttributeVectorizer")
        return found

    def transform(self, X: Any) -> Sequences:
        """Return the sequences as sparse rows; attributes that training has not seen are left out.

        If all attributes of a sequence are left out, a :class:`bcfw.errors.InputWarning` names the sequence.
        """
        return stacked_rows(self.encode(X), len(self.vocabulary_))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns."""
        check_is_fitted(self)
        return np.array(self.vocabulary_.names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


class Labels(list[Any]):
    """The predicted labels of one sequence: a list with a method ``tolist``, which predicted arrays have, too."""

    def tolist(self) -> list[Any]:
        return list(self)


def attribute_sequences(X: Any) -> list[Any]:
    """Return X as a list; raise if it has no sequence."""
    sequences = read_list(X, "X", "AttributeVectorizer")
    if not sequences:
        raise InputError("AttributeVectorizer: X is empty; give at least one sequence")
    return sequences


def has_attributes(X: Any) -> bool | None:
    """Return whether the positions of X have named attributes (True) or numbers (False).

    The first position that is neither empty nor a string decides. None if X has no position of this kind or is no list.
    """
    if isinstance(X, Sequences):
        return False
    if isinstance(X, list | tuple):
        for sequence in X:
            for position in sequence if isinstance(sequence, list | tuple) else [sequence]:
                if not isinstance(position, str) and not (isinstance(position, list | tuple) and not position):
                    return is_attributes(position)
    return None


def vectorizer_header(vectorizer: AttributeVectorizer, name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """A vectorizer as JSON; the names of attributes that it has learned are put into ``arrays``.

    These are "options", and "columns": None before it is fitted, else their number if they are hashed, or the name of
    the array with their names.
    """
    if type(vectorizer) is not AttributeVectorizer:
        raise InputError(f"{name} is a vectorizer of your own, {type(vectorizer).__name__}, which cannot be saved")
    options = {option: encode(value, option, arrays) for option, value in vectorizer.get_params().items()}
    vocabulary = vars(vectorizer).get("vocabulary_")
    if vocabulary is None:
        return {"options": options, "columns": None}
    if isinstance(vocabulary, HashedColumns):
        return {"options": options, "columns": len(vocabulary)}
    columns = f"{name}.names"
    arrays |= pack_strings(columns, vocabulary.names)
    return {"options": options, "columns": columns}


def saved_vectorizer(header: dict[str, Any], given: Any, saved: SavedArrays) -> AttributeVectorizer:
    """The vectorizer that :func:`vectorizer_header` was given."""
    vectorizer, columns = AttributeVectorizer(**decode(header["options"], saved)), header["columns"]
    if isinstance(columns, str):
        names = unpack_strings(saved, columns)
        vectorizer.vocabulary_ = Vocabulary(names)
        if len(vectorizer.vocabulary_) != len(names):
            raise saved.damaged(columns, "has a name twice")
    elif columns is not None:
        vectorizer.vocabulary_ = HashedColumns(Count(1, most=MOST_HASHED).check("vectorizer", "columns", columns))
    return vectorizer


register("$vectorizer", AttributeVectorizer, vectorizer_header, saved_vectorizer)
