"""Attributes of positions, by name, as sparse features: a transformer, and what estimators do with it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bcfw.errors import InputError
from bcfw.inputs.examples import read_list
from bcfw.inputs.sequences import Sequences
from bcfw.model_file import pack_strings, unpack_strings
from bcfw.options import Count
from bcfw.saved_arrays import SavedArrays
from bcfw.saved_objects import register
from bcfw.saved_values import decode, encode
from bcfw.tagging.attributes import batches, is_attributes
from bcfw.tagging.rows import stacked_rows
from bcfw.tagging.vocabulary import (
    MOST_HASHED,
    Encoded,
    HashedColumns,
    Vocabulary,
    learn,
    warn_of_unknown,
)
from bcfw.tagging.vocabulary import (
    encode as encode_attributes,
)


class AttributeVectorizer(TransformerMixin, BaseEstimator):
    """Sequences whose positions have attributes by name, as :class:`bcfw.Sequences` of sparse rows.

    A position is a list of names, or a dict as CRFsuite's users write them: ``{"word": "the"}`` is the attribute
    "word:the", ``{"length": 3}`` is "length" with the value 3, ``{"title": True}`` is "title", ``{"suffix": ["e",
    "he"]}`` is "suffix:e" and "suffix:he", and ``{"next": {"word": "cat"}}`` is "next:word:cat". In lists, a pair
    (name, number) gives the value. Values of an attribute that a position has twice are added up. A tuple of texts is a
    list of names, too: ``("The", "DT")`` has the attributes "The" and "DT", whatever position it is. What else a token
    tells, such as its neighbours, is for you to add, or for a set of :mod:`bcfw.formats`.

    Parameters
    ----------
    min_count : int
        Attributes that occur less often in the training data are left out.
    n_hashed : int or None
        With a number, attributes share so many columns by a hash of their names, and no names are kept; all of them
        count then, also those that training has not seen. Not with ``min_count``.

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
        """Learn which attributes there are."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Sequences:
        """Learn which attributes there are; returns the sequences as sparse rows."""
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
        """The attributes as plain arrays: all that :class:`bcfw.tagging.decoder.ChainDecoder` needs."""
        check_is_fitted(self)
        found = encode_attributes(batches(attribute_sequences(X), "AttributeVectorizer"), self.vocabulary_.columns)
        warn_of_unknown(found, "AttributeVectorizer")
        return found

    def transform(self, X: Any) -> Sequences:
        """The sequences as sparse rows; attributes that training has not seen are left out.

        A :class:`bcfw.errors.InputWarning` names a sequence whose attributes are all left out.
        """
        return stacked_rows(self.encode(X), len(self.vocabulary_))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns."""
        check_is_fitted(self)
        return np.array(self.vocabulary_.names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


class Labels(list[Any]):
    """The labels of one sequence: a list that also has ``tolist``, as the arrays have that answer matrices."""

    def tolist(self) -> list[Any]:
        return list(self)


def attribute_sequences(X: Any) -> list[Any]:
    """X as a list with at least one sequence."""
    sequences = read_list(X, "X", "AttributeVectorizer")
    if not sequences:
        raise InputError("AttributeVectorizer: X is empty; give at least one sequence")
    return sequences


def has_attributes(X: Any) -> bool | None:
    """Whether the positions of X are given by attributes: the first one that has any, or numbers, tells.

    None where there is none: positions that are empty or texts, or an X that is no list.
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
