"""What a tagger takes for tokens and what for attributes, and its warning where it knows none of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bcfw.errors import InputError, InputWarning, OptionError
from bcfw.formats import ATTRIBUTE_SETS, FORMATS
from bcfw.text.attributes.vocabulary import HashedColumns, Vocabulary
from bcfw.text.source import TextSource
from bcfw.text.tagger import Tagger

SENTENCE = ["The", "quick", "fox"]
LABELS = ["ADJ", "DET", "NOUN"]


def tagger(source, known, vocabulary=Vocabulary):
    """One that answers DET, ADJ, NOUN for the three names ``known``, and ADJ where it knows none."""
    vocabulary = vocabulary(known)
    places = [3 * vocabulary.columns([name])[0] + label for name, label in zip(known, (1, 0, 2), strict=True)]
    order = np.argsort(places)
    return Tagger("chain", source, LABELS, None, None, vocabulary, np.array(places)[order], np.ones(3))


def words(columns=2, attributes="tagging"):
    source = TextSource(FORMATS["conll"](columns=columns), ATTRIBUTE_SETS[attributes])
    return tagger(source, [f"w[0]={word}" for word in SENTENCE])


def attributes_of(sentence):
    return words().source.attributes([(word,) for word in sentence])


ANSWER = [["DET", "ADJ", "NOUN"]]


@pytest.mark.parametrize(
    "sentence",
    [SENTENCE, tuple(SENTENCE), np.array(SENTENCE), [(word,) for word in SENTENCE], attributes_of(SENTENCE)],
    ids=["texts", "tuple", "array", "columns", "attributes"],
)
def test_tokens_are_tokens(sentence):
    assert words().tag([sentence]) == ANSWER
    assert words().tag([iter(sentence)]) == ANSWER


def test_several_columns():
    two = words(3, "chunking")
    tagged = [(word, "X") for word in SENTENCE]
    assert two.tag([tagged, [(*token, "label") for token in tagged]]) == 2 * ANSWER
    with pytest.raises(
        InputError, match=r"Tagger: example 1: .* looks at 2 columns before the label, but a token has 1"
    ):
        two.tag([tagged, SENTENCE])
    assert two.tag([[["The", "X"], ["quick", "X"], ["fox", "X"]]], tokens=True) == ANSWER


def test_the_option_decides():
    assert words().tag([[("w[0]=The",), ("w[0]=quick",), ("w[0]=fox",)]], tokens=False) == ANSWER
    assert words().tag([[[word] for word in SENTENCE]], tokens=True) == ANSWER
    with pytest.raises(OptionError, match="Tagger: tokens must be True or False"):
        words().tag([SENTENCE], tokens="yes")
    with pytest.raises(
        InputError, match=r"Tagger: example 0: position 1 is {'w': 1}, but a token is a text or a tuple"
    ):
        words().tag([["The", {"w": 1}]], tokens=True)
    with pytest.raises(InputError, match=r"position 0 is \(\('w\[0\]=The', 1.0\),\), but a token .* tokens=False"):
        words().tag([[(("w[0]=The", 1.0),)]])
    with pytest.raises(InputError, match=r"Tagger: example 1 has tokens .* and attributes; give one kind"):
        words().tag([SENTENCE, ["The", ["w[0]=quick"]]])
    with pytest.raises(InputError, match="Tagger: example 0 is a str; give a list"):
        words().tag(["The quick fox"])
    with pytest.raises(InputError, match="example 0 is an empty sequence"):
        words().tag([[]])


def test_other_formats_have_attributes_only():
    source = TextSource(FORMATS["crfsuite"]())
    given = tagger(source, SENTENCE)
    assert given.tag([[(word,) for word in SENTENCE]]) == given.tag([[[word] for word in SENTENCE]]) == ANSWER
    with pytest.raises(InputError, match="example 0: position 0 is 'The', a str; give a dict"):
        given.tag([SENTENCE])
    with pytest.raises(InputError, match="example 0 has tokens, but this model has learned from crfsuite; give attrib"):
        given.tag([SENTENCE], tokens=True)


def test_a_warning_where_nothing_is_known():
    known, unknown = attributes_of(SENTENCE), [["The"], ["quick"]]
    with pytest.warns(InputWarning, match=r"Tagger: no attribute of example 1 \(and of 1 others\) is known") as told:
        words().tag([known, unknown, unknown])
    assert len(told) == 1
    assert told[0].filename == __file__
    with pytest.warns(InputWarning, match="Tagger: no attribute of example 0 is known from training"):
        words().tag([unknown])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        words().tag([known, [[], []], [*unknown, ["w[0]=fox"]]])
        hashed = tagger(words().source, SENTENCE, lambda names: HashedColumns(64))
        hashed.tag([unknown])
