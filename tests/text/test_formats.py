"""The four formats: what is read from small files, what is written back, settings, and errors with line numbers."""

from __future__ import annotations

import io
import json
import random

import pytest

from bcfw.errors import InputError, OptionError
from bcfw.formats import FORMATS, Columns, Crfsuite, Example, Libsvm, Lines, Table
from text_files import random_text


def read(format, text, labelled=None):
    return list(format.examples(text.split("\n"), "file", labelled))


def again(format):
    """A format made from settings that went through JSON, as in a model file."""
    return type(format)(**json.loads(json.dumps(format.settings)))


def test_names_and_settings():
    assert list(FORMATS) == ["conll", "crfsuite", "libsvm", "csv"]
    for name, kind in FORMATS.items():
        assert kind.name == name
        assert kind().settings == kind.defaults
        with pytest.raises(OptionError, match=f"the format {name} has no setting 'colums'"):
            kind(colums=3)


# --- columns -----------------------------------------------------------------------------------------------------


def test_columns():
    conll = Columns()
    first, second = read(conll, "He PRP B-NP\nran\tVBD B-VP\n\n \t \nWhy  WRB \tO ", labelled=True)
    lines = ["He PRP B-NP", "ran\tVBD B-VP", ""]
    assert first == Example(1, lines, ["B-NP", "B-VP"], [("He", "PRP"), ("ran", "VBD")], [0, 1])
    assert second == Example(5, [" \t ", "Why  WRB \tO "], ["O"], [("Why", "WRB")], [1])
    assert conll.settings == {"columns": 3}
    assert conll.sequences
    assert conll.text(first, ["O", "I-NP"]) == "He PRP B-NP O\nran\tVBD B-VP\tI-NP\n\n"
    assert conll.text(second, ["X"]) == " \t \nWhy  WRB \tO\tX\n"


def test_columns_without_labels():
    conll = again(Columns(columns=3))
    (example,) = read(conll, "He PRP\nran VBD")
    assert example.labels is None
    assert example.x == [("He", "PRP"), ("ran", "VBD")]
    assert conll.text(example, ["B-NP", "B-VP"]) == "He PRP B-NP\nran VBD B-VP\n"
    with pytest.raises(InputError, match="file, line 1: no label"):
        read(conll, "He PRP", labelled=True)


def test_blanks_of_other_scripts_are_parts_of_words():
    (example,) = read(Columns(), "New\u00a0York\u3000City NNP  B-LOC")
    assert example.x == [("New\u00a0York\u3000City", "NNP")]


def test_document_lines_are_no_tokens_but_come_out_again():
    conll = Columns()
    text = "-DOCSTART- -X- O\n\na A B\nb B C\n-DOCSTART-\t-X-\tO\nc C D"
    first, second = read(conll, text)
    assert [example.x for example in (first, second)] == [[("a", "A"), ("b", "B")], [("c", "C")]]
    assert (first.line, second.line) == (3, 6)
    assert conll.text(first, ["P", "Q"]) == "-DOCSTART- -X- O O\n\na A B P\nb B C Q\n-DOCSTART-\t-X-\tO\tO\n"
    assert conll.text(second, ["R"]) == "c C D R\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c\nd e", "file, line 2: 2 columns, but 3 in the lines before"),
        ("a b c\n\nd e f g", "file, line 3: 4 columns, but 3 in the lines before"),
        ("a", "file, line 1: one column; a line is a word"),
        ("\n\n", "file, line 4: the end, and no examples before it"),
        ("-DOCSTART- O", "file, line 2: the end, and no examples before it"),
    ],
)
def test_wrong_columns(text, message):
    with pytest.raises(InputError, match=message):
        read(Columns(), text)


def test_columns_of_further_files_are_those_of_training():
    conll = Columns()
    read(conll, "a b c")
    read(conll, "a b")
    for text in ("a b c d", "a"):
        with pytest.raises(InputError, match=r"line 1: . columns?, but 3 are expected"):
            read(conll, text)


# --- CRFsuite ----------------------------------------------------------------------------------------------------


def test_crfsuite():
    crfsuite = Crfsuite()
    text = "B-NP\tw=the\tpos=DT\nI-NP\tw=12\\:30\tlength:5\tx\\\\y:1\nO\n\n:\tcolon\\:\t\ttab\t"
    first, second = read(crfsuite, text, labelled=True)
    assert first.labels == ["B-NP", "I-NP", "O"]
    assert first.x == [["w=the", "pos=DT"], [("w=12:30", 1.0), ("length", 5.0), ("x\\y", 1.0)], []]
    assert second.x == [["colon:", "tab"]]
    assert second.labels == [":"]
    assert crfsuite.text(first, ["X", ":", "a\\b"]) == (
        "X\tw=the\tpos=DT\n\\:\tw=12\\:30\tlength:5\tx\\\\y:1\na\\\\b\n\n"
    )


def test_crfsuite_without_labels():
    crfsuite = Crfsuite()
    (example,) = read(crfsuite, "\ta\tb\n\tc")
    assert (example.labels, example.x) == (None, [["a", "b"], ["c"]])
    assert crfsuite.text(example, ["X", "Y"]) == "X\ta\tb\nY\tc\n"
    with pytest.raises(InputError, match="file, line 1: no label"):
        read(crfsuite, "\ta\tb\n\tc", labelled=True)
    with pytest.raises(InputError, match="file, line 2: no label"):
        read(crfsuite, "X\ta\tb\n\tc")
    with pytest.raises(InputError, match="file, line 2: a label, but the positions before it"):
        read(crfsuite, "\ta\tb\nX\tc")


def test_labels_with_escapes_come_back():
    crfsuite = Crfsuite()
    (example,) = read(crfsuite, "x\ta")
    for label in (":", "\\", "\\:", "a:b\\", "\\n", "plain"):
        (found,) = read(crfsuite, crfsuite.text(example, [label]))
        assert found.labels == [label]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("X\ta:nan", "the weight of 'a:nan' .* is 'nan', which is no finite number"),
        ("X\ta:1e999", "no finite number"),
        ("X\thttp://x", "write .* for a colon that belongs to the text"),
        ("X\ta:b:1", "no finite number"),
        ("X\ta:", "no finite number"),
        ("X\t:1", "no text before its weight"),
        ("X w=a w=b", "no tab, but blanks"),
        ("@weight:2", "the weight of a sequence"),
    ],
)
def test_wrong_attributes(line, message):
    with pytest.raises(InputError, match=f"file, line 3: .*{message}"):
        read(Crfsuite(), f"X\ta\n\n{line}\nX\tb")


# --- LIBSVM ------------------------------------------------------------------------------------------------------


def test_libsvm():
    libsvm = Libsvm()
    lines = ["# made by hand", "+1 1:0.5 7:-2e1 # first", "", " -1 ", "1,3 2147483647:.5"]
    first, second, third = read(libsvm, "\n".join(lines), labelled=True)
    assert first == Example(2, lines[:2], ["+1"], [([1, 7], [0.5, -20.0])], [1])
    assert (second.labels, second.x) == (["-1"], [([], [])])
    assert (third.labels, third.x) == (["1,3"], [([2**31 - 1], [0.5])])
    assert libsvm.settings == {"qid": False}
    assert not libsvm.sequences
    assert libsvm.text(first, ["-1"]) == "# made by hand\n-1 1:0.5 7:-2e1 # first\n"
    assert libsvm.text(second, ["+1"]) == "\n+1 \n"


def test_libsvm_sequences():
    libsvm = Libsvm()
    first, second, third = read(libsvm, "1 qid:1 1:1\n2 qid:1 2:1\n3 qid:2 1:5\n\n3 qid:2 1:6")
    assert first.labels == ["1", "2"]
    assert first.x == [([1], [1.0]), ([2], [1.0])]
    assert (second.labels, third.labels) == (["3"], ["3"])
    assert libsvm.sequences
    assert libsvm.text(first, ["8", "9"]) == "8 qid:1 1:1\n9 qid:1 2:1\n"
    with pytest.raises(InputError, match="line 1: no qid, but"):
        read(again(libsvm), "1 1:1")
    with pytest.raises(InputError, match="line 2: a qid, but"):
        read(Libsvm(), "1 1:1\n1 qid:1 1:1")


def test_libsvm_without_labels():
    libsvm = Libsvm(qid=False)
    first, second = read(libsvm, "1:2 3:4\n 2:1")
    assert (first.labels, first.x) == (None, [([1, 3], [2.0, 4.0])])
    assert libsvm.text(second, ["7"]) == "7 2:1\n"
    with pytest.raises(InputError, match="file, line 1: no label"):
        read(libsvm, "1:2 3:4", labelled=True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 1:nan", "the value of '1:nan' is 'nan', which is no finite number"),
        ("1 1:inf", "no finite number"),
        ("1 1:", "no finite number"),
        ("1 1:1_0", "no finite number"),
        ("1 1_0:1", "the index of '1_0:1' is '1_0', which is no whole number"),
        ("1 1:2:3", "no finite number"),
        ("1 0:1", "the index of '0:1' is not one of 1, 2"),
        ("1 -3:1", "not one of 1, 2"),
        ("1 2147483648:1", "not one of 1, 2"),
        ("1 3:1 3:2", "index 3 comes after 3; indices increase"),
        ("1 3:1 2:2", "index 2 comes after 3"),
        ("1 3:1 4", "'4' is no feature"),
        ("1 a:1", "no whole number"),
        ("nan 1:1", "the label is 'nan', which is no finite number"),
        ("1,x 1:1", "a part of the label '1,x' is 'x', which is no finite number"),
        ("cat 1:1", "the label is 'cat', which is no finite number"),
        ("1 qid:x 1:1", "the qid is 'x', which is no whole number"),
    ],
)
def test_wrong_features(line, message):
    with pytest.raises(InputError, match=f"file, line 2: .*{message}"):
        read(Libsvm(), f"1 1:1\n{line}")


# --- tables ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_tables_with_a_header(delimiter):
    table = Table()
    rows = [row.replace(",", delimiter) for row in ("width,Class,colour", "3,yes,red", '-1e1,no,"a""b"')]
    first, second = read(table, "\n".join(rows), labelled=True)
    assert first == Example(2, rows[:2], ["yes"], [[3.0, "colour=red"]], [1])
    assert (second.labels, second.x) == (["no"], [[-10.0, 'colour=a"b']])
    assert table.settings["columns"] == ["width", "Class", "colour"]
    assert not table.sequences
    assert table.text(first, ["no"]) == "".join(
        f"{row}\n".replace(",", delimiter) for row in ("width,Class,colour,predicted", "3,yes,red,no")
    )
    assert table.text(second, [f"n{delimiter}o"]) == f'{rows[2]}{delimiter}"n{delimiter}o"\n'


def test_tables_without_a_header():
    table = Table()
    first, second = read(table, "3,red,1\n4,blue,0")
    assert (first.labels, first.x) == (["1"], [[3.0, "2=red"]])
    assert table.text(second, ["1"]) == "4,blue,0,1\n"
    (example,) = read(again(table), "5,red")
    assert (example.labels, example.x) == (None, [[5.0, "2=red"]])


@pytest.mark.parametrize(
    ("label", "header", "place"),
    [(None, "a,b,c", 2), (None, "a,Target,c", 1), ("a", "a,b,label", 0), (1, "a,b,c", 1), (-3, "a,b,c", 0)],
)
def test_label_columns(label, header, place):
    table = Table(label=label)
    (example,) = read(table, header + "\nA,B,C")
    assert example.labels == ["ABC"[place]]
    assert table.settings["label"] == place


def test_tables_without_labels():
    table = Table()
    read(table, "a,label,b\n1,x,2")
    for text in ("a,b\n3,4", "a,label,b\n3,,4"):
        (example,) = read(again(table), text)
        assert (example.labels, example.x) == (None, [[3.0, 4.0]])
        with pytest.raises(InputError, match="line 2: no label"):
            read(again(table), text, labelled=True)
    (example,) = read(again(table), "a,b\n3,4")
    assert table.text(example, ["x"]) == "a,b,predicted\n3,4,x\n"


def test_tables_of_sequences():
    table = Table(sequence="doc")
    first, second, third = read(table, "doc,n,label\n1,1,a\n1,2,b\n2,3,a\n\n2,4,a")
    assert (first.labels, first.x) == (["a", "b"], [[1.0], [2.0]])
    assert (second.labels, third.labels) == (["a"], ["a"])
    assert table.attributes(first.x[1]) == [("n", 2.0)]
    assert table.sequences
    assert again(table).sequences
    assert table.text(first, ["x", "y"]) == "doc,n,label,predicted\n1,1,a,x\n1,2,b,y\n"


def test_wrong_columns_of_tables():
    with pytest.raises(OptionError, match="label: there is no column 'lable'; did you mean 'label'"):
        read(Table(label="lable"), "a,label\n1,2")
    with pytest.raises(OptionError, match="sequence: there is no column 2; there are 2"):
        read(Table(sequence=2), "a,label\n1,2")
    with pytest.raises(OptionError, match="the same column, 'label'"):
        read(Table(sequence=1), "a,label\n1,2")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a,b,label\n1,2", 2, "2 cells, but 3 columns"),
        ("a,b,label\n1,2,3\n1,2,3,4", 3, "4 cells, but 3 columns"),
        ("a,b,label\n1,2,x\n1,nan,x", 3, "column 'b' holds numbers, and is 'nan', which is no finite number"),
        ("a,b,label\n1,inf,x", 2, "no finite number"),
        ("a,b,label\n1,2,x\n1,two,x", 3, "column 'b' holds numbers, and is 'two'"),
        ("a,b,label\n1,,x", 2, "nothing in column 'b'"),
        ('a,b,label\n1,"2,x', 2, "unexpected end of data"),
        ('a,b,label\n1,"2"3,x', 2, "expected after"),
        ("1,5;2;x", 1, "'1,5' has a decimal comma"),
        ("a;b;label\n1;-2,5;x", 2, "'-2,5' has a decimal comma"),
        ("a,a,label\n1,2,x", 1, "come twice in the header"),
        ("a,,label\n1,2,x", 1, "names of columns are missing"),
        ("label\nx", 1, "one column"),
        ("a,label", 2, "no examples"),
    ],
)
def test_wrong_tables(text, line, message):
    with pytest.raises(InputError, match=f"file, line {line}: .*{message}"):
        read(Table(), text)


def test_further_tables_have_the_header_of_training():
    table = Table()
    read(table, "a,b,label\n1,2,x")
    with pytest.raises(
        InputError, match="line 1: the header is b, a, label, but that of the training data a, b, label"
    ):
        read(again(table), "b,a,label\n1,2,x")


# --- all formats -------------------------------------------------------------------------------------------------

STREAMS = {
    "conll": (Columns, ["a A", "b B", "", "c C", "", "d D"], [3, 5, 7]),
    "crfsuite": (Crfsuite, ["A\ta", "B\tb", "", "C\tc", "", "D\td"], [3, 5, 7]),
    "libsvm": (Libsvm, ["1 1:1", "2 1:1", "", "3 1:1"], [1, 2, 4]),
    "libsvm sequences": (Libsvm, ["1 qid:1 1:1", "2 qid:1 1:1", "", "3 qid:2 1:1", "4 qid:3 1:1"], [3, 5, 6]),
    "csv": (Table, ["a,label", "1,x", "2,y"], [2, 3]),
}


@pytest.mark.parametrize(("kind", "lines", "expected"), STREAMS.values(), ids=STREAMS)
def test_examples_come_as_soon_as_they_are_complete(kind, lines, expected):
    """How many lines had been asked for when each example came; one more is the end of the file."""
    asked = 0

    def watched():
        nonlocal asked
        for asked, line in enumerate(lines, start=1):  # noqa: B007
            yield line
        asked += 1

    assert [asked for _ in kind().examples(watched(), "file")] == expected


def test_readiness_is_that_of_whole_examples():
    """Not that of lines: those that are in memory may be the beginning of a sentence whose end is still to come."""

    class Pieces(io.BytesIO):
        """The first two sentences, two empty lines and one token more; then the rest."""

        def read1(self, size=-1):
            return super().read1(21 if self.tell() == 0 else size)

    for kind, separator in ((Columns, " "), (Crfsuite, "\t")):
        text = "a A\nb B\n\nc C\n\n\nd D\ne E\n\n".replace(" ", separator)
        lines = Lines(Pieces(text.encode()), "pipe")
        format = kind()
        ready = [(format.ready(lines), lines.waiting) for _ in format.examples(lines, "pipe")]
        assert ready == [(True, True), (False, True), (False, False)]
    lines = Lines(io.BytesIO(b"1 1:1\n2 1:1\n"), "pipe")
    assert [Libsvm().ready(lines) for _ in Libsvm().examples(lines, "pipe")] == [True, False]


def test_as_many_predictions_as_positions():
    (example,) = read(Columns(), "a A\nb B")
    with pytest.raises(InputError, match="1 predictions for the 2 positions of line 1"):
        Columns().text(example, ["A"])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", FORMATS)
def test_text_to_examples_to_text(name, seed):
    """Predictions equal to the labels change nothing, but for the column that is added where there are columns."""
    text = random_text(name, random.Random(seed))
    format = FORMATS[name]()
    examples = list(format.examples(text.split("\n")[:-1], "file", labelled=True))
    written = "".join(format.text(example, example.labels) for example in examples)
    if name == "conll":
        assert written == "".join(f"{line} {line.split()[-1]}\n" if line else "\n" for line in text.split("\n")[:-1])
    elif name == "csv":
        head, *rows = text.split("\n")[:-1]
        assert written == "\n".join([head + ",predicted", *(f"{row},{row[-1]}" for row in rows), ""])
    else:
        assert written == text
        again_read = list(FORMATS[name]().examples(written.split("\n")[:-1], "file"))
        assert again_read == examples
    assert [[example.lines[place] for place in example.places] for example in examples] == [
        text.split("\n")[example.line - 1 : example.line - 1 + len(example.x)] for example in examples
    ]


#: Files whose lines between positions are many, and what each line becomes where every position is labelled "X".
LINES_KEPT = {
    "conll": (
        ["", "a b N", "", "", "\t", "b c N", "-DOCSTART- -X- O", "c d N", "", "-DOCSTART- -X- O", ""],
        ["", "a b N X", "", "", "\t", "b c N X", "-DOCSTART- -X- O O", "c d N X", "", "-DOCSTART- -X- O O", ""],
    ),
    "crfsuite": (["", "", "A\tb", "", "", "A\tc", "", ""], ["", "", "X\tb", "", "", "X\tc", "", ""]),
    "libsvm": (
        ["# a", "1 qid:1 1:1", "# b", "2 qid:1 2:1", "", "", "1 qid:2", "", "# c"],
        ["# a", "X qid:1 1:1", "# b", "X qid:1 2:1", "", "", "X qid:2", "", "# c"],
    ),
    "csv": (["", "n,label", "", "1,a", "2,b", "", ""], ["", "n,label,predicted", "", "1,a,X", "2,b,X", "", ""]),
}


@pytest.mark.parametrize("name", FORMATS)
def test_pieces_have_every_line_of_a_file_once(name):
    lines, expected = LINES_KEPT[name]
    format = FORMATS[name]()
    pieces = list(format.pieces(lines, "file"))
    assert [line for piece in pieces for line in piece.lines] == lines
    assert "".join(format.text(piece, ["X"] * len(piece.x)) for piece in pieces).split("\n") == [*expected, ""]
    assert [piece for piece in pieces if piece.x] == list(FORMATS[name]().examples(lines, "file"))
    assert pieces[-1].labels is None
    assert pieces[-1].x == []
