"""Attributes of words: exact strings, plain loops over every token, and the numbers of distinct ones on CoNLL-2000."""

from __future__ import annotations

import pickle
import random

import pytest

from bcfw.datasets import conll2000, fetch_conll2000
from bcfw.errors import InputError, OptionError
from bcfw.formats import ATTRIBUTE_SETS, AttributeSet, Columns, Templates, choose_attributes, open_lines
from bcfw.inputs.spans import are_span_labels
from bcfw.text.attributes import sets

SENTENCE = [("Mr.", "NNP"), ("O'Neil-7", "NNP"), ("ran", "VBD")]

#: Which attributes the sets have, in the words of their definition: fields and their places, or pairs and triples.
AFFIXES = [f"{kind}{length}" for kind in "ps" for length in (1, 2, 3, 4)]
LOOKS = ["cs", "title", "upper", "digit", "hyphen"]
BASE = [
    *([("w", k)] for k in (-2, -1, 0, 1, 2)),
    *([("w", k), ("w", k + 1)] for k in (-1, 0)),
    *([("pos", k)] for k in (-2, -1, 0, 1, 2)),
    *([("pos", k), ("pos", k + 1)] for k in (-2, -1, 0, 1)),
    *([("pos", k), ("pos", k + 1), ("pos", k + 2)] for k in (-2, -1, 0)),
]
PAIRS = [[("w", 0), ("pos", k)] for k in (-1, 0, 1)] + [[("w", k), ("pos", 0)] for k in (-1, 1)]
WORD = [[(name, 0)] for name in (*AFFIXES, *LOOKS)]
EXPECTED = {
    "chunking": [
        *BASE,
        *WORD,
        *PAIRS,
        *([(name, k)] for name in AFFIXES for k in (-1, 1)),
        [("pos", -3)],
        [("pos", 3)],
    ],
    "chunking-fast": [*BASE, *WORD, *PAIRS],
    "chunking-base": BASE,
    "tagging": [
        [("w", 0)],
        *([("l", k)] for k in (-2, -1, 0, 1, 2)),
        *([("l", k), ("l", k + 1)] for k in (-1, 0)),
        *WORD,
    ],
    "ner": [
        [("w", 0)],
        *([("l", k)] for k in (-2, -1, 0, 1, 2)),
        *([(name, k)] for name in [*AFFIXES, "shape"] for k in (-1, 0, 1)),
        *([(name, k)] for name in LOOKS for k in (-2, -1, 0, 1, 2)),
        *([(name, k), (name, k + 1)] for name in ("l", "cs") for k in (-1, 0)),
        [("cs", -1), ("cs", 0), ("cs", 1)],
    ],
}


def naive_value(name, token):
    """The value of a field for one token; None if it has none, True for a flag that holds."""
    word, tag = token
    lower = word.lower()
    kinds = ["X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word]
    if name[0] in "ps" and name[1:].isdigit():
        length = int(name[1:])
        cut = lower[:length] if name[0] == "p" else lower[len(lower) - length :]
        return cut if len(word) >= length else None
    return {
        "w": word,
        "l": lower,
        "pos": tag,
        "shape": "".join(kinds[:12]),
        "cs": "".join(c for k, c in enumerate(kinds) if k == 0 or c != kinds[k - 1]),
        "title": word.istitle() or None,
        "upper": word.isupper() or None,
        "digit": any(c.isdigit() for c in word) or None,
        "hyphen": "-" in word or None,
    }[name]


def naive_attributes(name, sentence, t):
    """The attributes of one token, one after the other."""
    padding = name != "chunking-base"
    found = ["bias"] if padding else ["__BOS__"] * (t == 0) + ["__EOS__"] * (t == len(sentence) - 1)
    for parts in EXPECTED[name]:
        values = []
        for field, place in parts:
            inside = 0 <= t + place < len(sentence)
            outside = "__OUT__" if padding and field not in LOOKS[1:] else None
            values.append(naive_value(field, sentence[t + place]) if inside else outside)
        text = "|".join(f"{field}[{place}]" for field, place in parts)
        if values == [True]:
            found.append(text)
        elif None not in values:
            found.append(f"{text}={'|'.join(values)}")
    return found


def random_sentence(rng):
    words = ["".join(rng.choices("aBc1-'Äß漢ı", k=rng.randint(1, 15))) for _ in range(rng.randint(1, 9))]
    return [(word, rng.choice(["NN", "VB", "."])) for word in words]


@pytest.mark.parametrize("name", EXPECTED)
def test_sets_are_plain_loops_over_tokens(name):
    rng = random.Random(0)
    for sentence in [SENTENCE, *(random_sentence(rng) for _ in range(200))]:
        found = ATTRIBUTE_SETS[name](sentence)
        assert [sorted(row) for row in found] == [
            sorted(naive_attributes(name, sentence, t)) for t in range(len(sentence))
        ]


def test_exact_strings():
    assert set(ATTRIBUTE_SETS) == set(EXPECTED)
    assert ATTRIBUTE_SETS["tagging"](SENTENCE[:2])[1] == [
        "bias",
        *["w[0]=O'Neil-7", "l[0]=o'neil-7"],
        *["p1[0]=o", "p2[0]=o'", "p3[0]=o'n", "p4[0]=o'ne", "s1[0]=7", "s2[0]=-7", "s3[0]=l-7", "s4[0]=il-7"],
        *["cs[0]=X'Xx-d", "title[0]", "digit[0]", "hyphen[0]"],
        *["l[-2]=__OUT__", "l[-1]=mr.", "l[1]=__OUT__", "l[2]=__OUT__"],
        *["l[-1]|l[0]=mr.|o'neil-7", "l[0]|l[1]=o'neil-7|__OUT__"],
    ]
    assert ATTRIBUTE_SETS["chunking-base"](SENTENCE[:1]) == [["w[0]=Mr.", "pos[0]=NNP", "__BOS__", "__EOS__"]]


@pytest.mark.parametrize(
    ("templates", "message"),
    [
        ([], "'mine' has no templates"),
        (["w"], "'w' is not of the form"),
        (["w[0]|"], "not of the form"),
        (["pso[0]"], "unknown field 'pso'; did you mean 'pos'"),
        (["w[0]|title[0]"], "combines 'title', which some words do not have"),
        (["s2[0]|w[0]"], "combines 's2'"),
    ],
)
def test_wrong_sets(templates, message):
    with pytest.raises(OptionError, match=message):
        AttributeSet("mine", templates, lam=1.0, encoding=None)


def test_settings_of_sets():
    known = {one.name: (one.n_columns, one.lam, one.encoding) for one in ATTRIBUTE_SETS.values()}
    assert known == {
        "chunking": (2, 0.003, "IOBES"),
        "chunking-fast": (2, 0.002, "BIO"),
        "chunking-base": (2, 0.001, "BIO"),
        "tagging": (1, 0.001, None),
        "ner": (1, 0.003, "IOBES"),
    }


def test_sets_can_be_pickled():
    for one in ATTRIBUTE_SETS.values():
        assert pickle.loads(pickle.dumps(one))(SENTENCE) == one(SENTENCE)


def test_forgotten_words_change_nothing(monkeypatch):
    monkeypatch.setattr(sets, "KEPT", 3)
    rng = random.Random(1)
    for name in EXPECTED:
        fresh = pickle.loads(pickle.dumps(ATTRIBUTE_SETS[name]))
        for sentence in (random_sentence(rng) for _ in range(20)):
            assert fresh(sentence) == ATTRIBUTE_SETS[name](sentence)
            assert all(len(kept.__self__) <= 3 for kept in fresh._of_cells.values())


def test_too_few_columns():
    with pytest.raises(InputError, match="'chunking' looks at 2 columns before the label, but a token has 1"):
        ATTRIBUTE_SETS["chunking"]([("a", "A"), ("b",)])
    with pytest.raises(InputError, match="the file tmpl looks at 3 columns"):
        Templates("U:%x[0,2]", "the file tmpl")([("a", "A")])


def test_more_columns_are_not_looked_at():
    longer = [(*token, "more") for token in SENTENCE]
    for one in ATTRIBUTE_SETS.values():
        assert one(longer) == one(SENTENCE)


@pytest.mark.parametrize(
    ("n_columns", "labels", "name"),
    [
        (2, ["B-PER", "O"], "ner"),
        (2, ["NN", "O"], "tagging"),
        (3, ["S-NP", "E-NP", "B-NP", "O"], "chunking"),
        (3, ["NN", "B-NP"], "tagging"),
        (4, ["I-PER", "O"], "ner"),
        (5, ["O"], "tagging"),
    ],
)
def test_choice_by_columns_and_labels(n_columns, labels, name):
    assert choose_attributes(n_columns, labels) is ATTRIBUTE_SETS[name]
    assert are_span_labels(labels) is (name != "tagging")


# --- templates ---------------------------------------------------------------------------------------------------

TEMPLATES = """\
# Words
U00:%x[-2,0]
U01:%x[0,0]
U02:%x[0,0]/%x[1,0]|%x[-1,1]!

  U
U:%x[-1,0]
U:%x[1,0]
B
B01
"""


def test_templates_after_crf_plus_plus(tmp_path):
    templates = Templates(TEMPLATES, "tmpl")
    assert templates(SENTENCE) == [
        ["U00:_B-2", "U01:Mr.", "U02:Mr./O'Neil-7|_B-1!", "U", "U:_B-1", "U:O'Neil-7"],
        ["U00:_B-1", "U01:O'Neil-7", "U02:O'Neil-7/ran|NNP!", "U", "U:Mr.", "U:ran"],
        ["U00:Mr.", "U01:ran", "U02:ran/_B+1|NNP!", "U", "U:O'Neil-7", "U:_B+1"],
    ]
    assert templates.n_columns == 2
    path = tmp_path / "tmpl"
    path.write_text(TEMPLATES)
    assert Templates.from_file(path)(SENTENCE) == templates(SENTENCE)
    again = pickle.loads(pickle.dumps(templates))
    assert again.text == TEMPLATES
    assert Templates(again.text)(SENTENCE) == templates(SENTENCE)


def test_signs_of_formats_are_text():
    assert Templates("U1:100{}%x[0,0]\\n%x[0,0]")([("%s{0}",)]) == [["U1:100{}%s{0}\\n%s{0}"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("U0:%x[0,0]\nW:%x[0,0]", "tmpl, line 2: .* begins neither with U nor with B"),
        ("U0:%x[0]", "tmpl, line 1: .* a cell that is not of the form"),
        ("U0:%x[0,-1]", "tmpl, line 1: .* a cell that is not of the form"),
        ("U0:%y[0,0]", "tmpl, line 1: .* a cell that is not of the form"),
        ("U0:%x[9999,0]", "tmpl, line 1: .* a cell that is not of the form"),
        ("\nB0:%x[0,0]", "tmpl, line 2: .* transitions do not depend on the sentence"),
        ("U0:%x[0,0]\nU1:%x[0,0]\nU0:%x[0,0]", "tmpl, line 3: .* stands there twice"),
        ("# nothing\nB", "tmpl has no templates"),
    ],
)
def test_wrong_templates(text, message):
    with pytest.raises(InputError, match=message):
        Templates(text, "tmpl")


# --- real data ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sentences(real_data):
    path, _ = real_data(conll2000.SOURCE)
    with open_lines(path) as lines:
        return [example.x for example in Columns().examples(lines, "train", labelled=True)]


@pytest.mark.parametrize(
    ("name", "number"),
    [("chunking", 603_851), ("chunking-fast", 566_153), ("chunking-base", 335_674), ("tagging", 328_183)],
)
def test_numbers_of_attributes_on_conll2000(name, number, sentences):
    """As many as when the sets were chosen."""
    attributes = ATTRIBUTE_SETS[name]
    distinct = set()
    for sentence in sentences:
        distinct.update(*attributes([token[: attributes.n_columns] for token in sentence]))
    assert len(distinct) == number


def test_base_is_the_set_of_the_data_set(sentences, real_data):
    real_data(conll2000.SOURCE)
    data = fetch_conll2000()
    for sentence, x in zip(sentences[:300], data.X_train, strict=False):
        names = [sorted(data.feature_names[column] for column in row.indices) for row in x]
        assert [sorted(row) for row in ATTRIBUTE_SETS["chunking-base"](sentence)] == names


def test_a_set_of_ones_own():
    assert AttributeSet("mine", ["cs[0]|cs[1]"], lam=1.0, encoding=None)(SENTENCE) == [
        ["bias", "cs[0]|cs[1]=Xx.|X'Xx-d"],
        ["bias", "cs[0]|cs[1]=X'Xx-d|x"],
        ["bias", "cs[0]|cs[1]=x|__OUT__"],
    ]
