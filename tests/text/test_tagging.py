"""Attributes by name: forms of positions, vocabularies, and decoding with sparse weights."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from bcfw.errors import InputError
from bcfw.models import Chain
from bcfw.text.attributes.reading import AT_ONCE, batches, is_attributes, read
from bcfw.text.attributes.vocabulary import UNKNOWN, HashedColumns, Vocabulary, encode
from bcfw.text.decoder import ChainDecoder


def pairs_of(sequences):
    found = read(sequences, 0, "Test")
    weights = np.ones(len(found.names)) if found.weights is None else found.weights
    return list(zip(found.names, weights.tolist(), strict=True)), found.counts.tolist(), found.lengths.tolist()


def test_dicts_as_crfsuite_reads_them():
    position = {
        "word": "the",
        "length": 3,
        "share": np.float32(0.5),
        "title": True,
        "digit": np.bool_(False),
        "suffix": ["e", "he"],
        "shapes": {"b", "a"},
        "next": {"word": "cat", "n": 2, "more": {"x": "y"}},
        7: "seven",
    }
    pairs, counts, lengths = pairs_of([[position, {}]])
    assert pairs == [
        ("word:the", 1.0),
        ("length", 3.0),
        ("share", 0.5),
        ("title", 1.0),
        ("suffix:e", 1.0),
        ("suffix:he", 1.0),
        ("shapes:a", 1.0),
        ("shapes:b", 1.0),
        ("next:word:cat", 1.0),
        ("next:n", 2.0),
        ("next:more:x:y", 1.0),
        ("7:seven", 1.0),
    ]
    assert counts == [12, 0]
    assert lengths == [2]


def test_lists_pairs_and_mixtures():
    sequences = [[["a", "b"], ("c",)], [{"a": 2.0}, {"x", "y"}, [("b", 3), "c"]], [["a"]]]
    pairs, counts, lengths = pairs_of(sequences)
    assert pairs == [
        *((name, 1.0) for name in "abc"),
        ("a", 2.0),
        ("x", 1.0),
        ("y", 1.0),
        ("b", 3.0),
        ("c", 1.0),
        ("a", 1.0),
    ]
    assert (counts, lengths) == ([2, 1, 1, 2, 2, 1], [2, 3, 1])
    assert read([[["a"]]], 0, "Test").weights is None


def test_python_crfsuite_reads_dicts_in_the_same_way():
    """The same attributes, in the order that its own class gives them."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    position = {"word": "the", "n": 3, "title": True, "suffix": ["e", "he"], "next": {"word": "cat", "n": 2}}
    theirs = pycrfsuite.ItemSequence([position]).items()[0]
    assert dict(pairs_of([[position]])[0]) == theirs


@pytest.mark.parametrize(
    ("sequences", "message"),
    [
        ([[["a"]], [["a"], [3]]], "example 1: position 1 has the attribute 3; give a text, or a pair"),
        ([[{"a": None}]], "example 0: position 0: the value of 'a' is None, a NoneType; give a text"),
        ([[{"a": [1, 2]}]], r"example 0: position 0: the list under 'a' must hold texts"),
        ([[["a"], "word"]], "example 0: position 1 is 'word', a str; give a dict, or a list"),
        ([[["a"]], []], "example 1 is an empty sequence"),
        ([[{"b": 1}, {"a": float("nan")}]], "example 0: position 1: the weight of 'a' is nan"),
        ([[["a"]], "text"], "example 1 is a str; give a list"),
    ],
)
def test_wrong_attributes_are_named(sequences, message):
    with pytest.raises(InputError, match=message):
        read(sequences, 0, "Test")


def test_examples_are_counted_across_batches():
    sequences = [[["a"]]] * AT_ONCE + [[[3]]]
    with pytest.raises(InputError, match=f"example {AT_ONCE}: position 0"):
        list(batches(sequences, "Test"))


def test_what_counts_as_attributes():
    assert all(map(is_attributes, [{"a": 1}, {"a"}, ["a"], [("a", 2.0)]]))
    assert not any(map(is_attributes, [[1.0, 2.0], np.ones(3), 3, []]))


def test_a_vocabulary_learns_in_order_and_survives_pickling():
    words = Vocabulary()
    assert words.learn(["b", "a", "b"]).tolist() == [0, 1, 0]
    again = pickle.loads(pickle.dumps(words))
    assert again.names == ["b", "a"]
    assert again.columns(["a", "z", "b"]).tolist() == [1, UNKNOWN, 0]
    assert again.learn(["z"]).tolist() == [2]
    assert len(words) == 2


def test_hashed_columns_are_the_same_everywhere():
    hashed = HashedColumns(1000)
    assert hashed.columns(["word:the", "ü", "\ud800"]).tolist() == hashed.learn(["word:the", "ü", "\ud800"]).tolist()
    assert hashed.columns(["the"]).tolist() == [78]  # CRC-32 is 1011183078
    assert np.all(hashed.columns([f"name {j}" for j in range(500)]) < 1000)


def test_sparse_decoding_is_the_model_s_own():
    rng = np.random.default_rng(0)
    F, K = 12, 4
    names = [f"f{j}" for j in range(F)]
    lengths = [1, 5, 3, 9]
    rows = [(rng.random((T, F)) < 0.4) * rng.standard_normal((T, F)).round(2) for T in lengths]
    model = Chain(K).bind(rows, [np.zeros(T, int) for T in lengths])
    w = rng.standard_normal(model.dim) * (rng.random(model.dim) < 0.6)
    U, first, last, trans = np.split(w, np.cumsum([F * K, K, K]))
    places = np.flatnonzero(U)
    decoder = ChainDecoder.of_entries(places, U[places], F, (first, last, trans.reshape(K, K)))
    attributes = [
        [[(names[j], row[j]) for j in np.flatnonzero(row)] + ["never seen"] for row in matrix] for matrix in rows
    ]
    given = encode(batches(attributes, "Test"), Vocabulary(names).columns)
    assert decoder.decode(given).tolist() == np.concatenate(model.predict(w, rows)).tolist()
