"""Model files that Python has saved, by the commands: the answers are those of Python, or one sentence says why not."""

from __future__ import annotations

import re

import numpy as np
import pytest
from click.testing import CliRunner

import bcfw
from bcfw.commands import main
from bcfw.formats import ATTRIBUTE_SETS
from small_data import Pick

SENTENCES = [[("The", "DT"), ("cat", "NN"), ("sleeps", "VB")], [("Dogs", "NN"), ("sleep", "VB")]] * 3
CHUNKS = [["B-NP", "I-NP", "O"], ["B-NP", "O"]] * 3
DICTS = [[{"w:": word, "tag": tag, "length": len(word) / 4} for word, tag in one] for one in SENTENCES]
POINTS = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.0, 0.25, 1.0], [1.0, 0.5, 0.0]])
CHAINS = [POINTS[:2], POINTS[2:]]
CODES = [1, -2, 3, 1]


def run(*words, code=0, **options):
    done = CliRunner().invoke(main, list(map(str, words)), catch_exceptions=False, **options)
    assert done.exit_code == code, done.output
    return done.output


def accuracy(output):
    return float(re.search(r"^accuracy (\S+)$", output, re.M).group(1))


@pytest.fixture
def saved(tmp_path):
    """A function that fits an estimator and saves it."""

    def save(estimator, X, y):
        estimator.fit(X, y).save(tmp_path / "mine.bcfw")
        return tmp_path / "mine.bcfw"

    return save


def test_attributes_by_name(saved, tmp_path):
    """A file of CRFsuite has the attributes of dicts; with columns, an option says how they become attributes."""
    svm = bcfw.ChainSVM(tol=0.01, encoding="IOBES", normalize=False)
    model = saved(svm, DICTS, CHUNKS)
    lines = []
    for sentence, labels in zip(SENTENCES, CHUNKS, strict=True):
        for (word, tag), label in zip(sentence, labels, strict=True):
            lines.append(f"{label}\tw\\:\\:{word}\ttag\\:{tag}\tlength:{len(word) / 4}")
        lines.append("")
    data = tmp_path / "data.txt"
    data.write_text("\n".join([*lines, ""]))
    predicted = iter(np.concatenate(svm.predict(DICTS)).tolist())
    expected = [next(predicted) + line[line.index("\t") :] if line else "" for line in lines]
    assert run("predict", model, data).splitlines() == expected
    report = run("evaluate", model, data)
    assert accuracy(report) == pytest.approx(100 * svm.score(DICTS, CHUNKS), abs=0.006)
    assert re.search(r"^F1 \d", report, re.M)
    assert "say by --attributes or --template" in run("predict", model, data, "-f", "conll", code=2)
    about = run("info", model, "--top", 2)
    first, label, weight = svm.top_features(1)[0]
    assert re.search(rf"^ +{re.escape(f'{weight:+.4f}')} +{label} +{re.escape(first)}$", about, re.M)
    for text in (
        "estimator (written by bcfw",
        "ChainSVM(encoding='IOBES'",
        "learned as IOBES",
        "certified",
        "attributes,",
    ):
        assert text in about
    assert "$" not in about


def test_attributes_of_columns(saved, tmp_path):
    attributes = ATTRIBUTE_SETS["chunking-base"]
    model = saved(bcfw.ChainSVM(tol=0.01), [attributes(one) for one in SENTENCES], CHUNKS)
    words = ["-f", "conll", "-a", "chunking-base"]
    given = "The DT\ncat NN\n\n\n"
    assert run("predict", model, *words, input=given) == "The DT B-NP\ncat NN I-NP\n\n\n"
    assert accuracy(run("evaluate", model, *words, input="The DT B-NP\ncat NN I-NP\n")) == 100.0
    assert "1 column, but 3 are expected" in run("predict", model, *words, input="The\ncat\n", code=2)


LIBSVM = "+1 1:1 3:0.5 # first\n-2 2:1\n\n3.0 2:0.25 3:1\n1 1:1 2:.5\n"
TABLES = {
    "all": "a,b,c,label\n1,0,.5,1\n0,1,0,-2\n0,.25,1,3\n1,.5,0,1\n",
    "label first": "label,a,b,c\n1,1,0,.5\n-2,0,1,0\n3,0,.25,1\n1,1,.5,0\n",
    "no header": "1,0,.5,1\n0,1,0,-2\n0,.25,1,3\n1,.5,0,1\n",
    "no label": "a;b;c\n1;0;.5\n0;1;0\n0;.25;1\n1;.5;0\n",
    "nothing but numbers": "1,0,.5\n0,1,0\n0,.25,1\n1,.5,0\n",
}


def test_single_examples_with_features_by_number(saved):
    model = saved(bcfw.MulticlassSVM(), POINTS, CODES)
    expected = run("predict", model, "-f", "libsvm", input=LIBSVM).splitlines()
    assert expected == ["1 1:1 3:0.5 # first", "-2 2:1", "", "3 2:0.25 3:1", "1 1:1 2:.5"]
    assert accuracy(run("evaluate", model, "-f", "libsvm", input=LIBSVM)) == 100.0
    for name, table in TABLES.items():
        lines = run("predict", model, "-f", "csv", input=table).splitlines()
        assert [re.split("[,;]", line)[-1] for line in lines][-4:] == ["1", "-2", "3", "1"]
        assert len(lines) == len(table.splitlines())
        if "no" not in name:
            assert accuracy(run("evaluate", model, "-f", "csv", input=table)) == 100.0
    assert "no label" in run("evaluate", model, "-f", "csv", input=TABLES["no label"], code=2)
    about = run("info", model)
    assert "3 features, 12 weights" in about
    assert re.search(r"^ +\+\d.\d+ +\S+ +feature \d$", about, re.M)


def test_sequences_with_features_by_number(saved):
    model = saved(bcfw.ChainSVM(), CHAINS, [CODES[:2], CODES[2:]])
    given = "1 qid:1 1:1 3:0.5\n-2 qid:1 2:1\n3 qid:2 2:0.25 3:1\n1 qid:2 1:1 2:.5\n"
    assert run("predict", model, "-f", "libsvm", input=given) == given
    table = "doc,a,b,c\n1,1,0,.5\n1,0,1,0\n2,0,.25,1\n2,1,.5,0\n"
    lines = run("predict", model, "-f", "csv", "--sequence", "doc", input=table).splitlines()
    assert [line.split(",")[-1] for line in lines] == ["predicted", "1", "-2", "3", "1"]


def test_results(tmp_path):
    """Their labels are the numbers that they were trained with."""
    bcfw.train(bcfw.models.Multiclass(), POINTS, [0, 1, 2, 0], lam=0.01).save(tmp_path / "x")
    assert run("predict", tmp_path / "x", "-f", "libsvm", input="1:1 3:.5\n2:1\n") == "0 1:1 3:.5\n1 2:1\n"
    assert "model: multiclass (n_labels 3" in run("info", tmp_path / "x")


@pytest.mark.parametrize(
    ("words", "given", "message"),
    [
        ([], "1 1:1", "has 3 features by number; give data of --format libsvm or csv"),
        (["-f", "crfsuite"], "1 1:1", "has 3 features by number"),
        (["-f", "libsvm"], "1 1:1 4:2", "line 1: the feature 4, but the model has the features 1 to 3"),
        (["-f", "libsvm"], "1 qid:1 1:1", "sequences, but the model labels single examples; leave out qid"),
        (["-f", "csv"], "1,2,3,4,5\n", "4 columns besides the label, but the model has 3 features"),
        (["-f", "csv"], "a,b,c,label\n1,x,3,1\n", "column 'b' holds numbers"),
        (["-f", "csv", "--label", "kind"], "a,b,c,label\n1,2,3,1\n", "there is no column 'kind'"),
        (["-f", "libsvm", "--attributes", "ner"], "1 1:1", "--attributes is for words in columns"),
    ],
)
def test_data_that_do_not_fit(saved, words, given, message):
    model = saved(bcfw.MulticlassSVM(tol=0.5), POINTS, CODES)
    output = run("predict", model, *words, input=given, code=2)
    assert message in output
    assert len(output.splitlines()) == 1


def test_names_of_columns_are_compared(saved):
    class Frame:
        columns = ("a", "b", "c")
        values, shape = POINTS, POINTS.shape

        def __array__(self, dtype=None, copy=None):
            return POINTS

    svm = bcfw.ChainSVM()
    model = saved(svm, [Frame()], [CODES])
    words = ["predict", model, "-f", "csv", "--sequence", "doc"]
    table = "doc,a,b,c\n1,1,0,.5\n"
    assert run(*words, input=table).splitlines()[-1].endswith(",1")
    output = run(*words, input=table.replace("a,b", "b,a"), code=2)
    assert "the column 'b' stands where the model has the feature 'a'" in output
    assert re.search(r" 1  a$", run("info", model), re.M)


def test_labels_that_no_text_file_has(saved):
    model = saved(bcfw.MulticlassSVM(tol=0.5), POINTS, [("a", 1), ("b", 2), ("a", 1), ("b", 2)])
    assert "the label ('a', 1) has no form in text files" in run("predict", model, "-f", "libsvm", input="", code=2)
    assert "2 labels: ('a', 1) ('b', 2)" in run("info", model)
    model = saved(bcfw.MulticlassSVM(tol=0.5), POINTS, ["New York", "x", "y", "z"])
    assert "labels with blanks" in run("predict", model, "-f", "libsvm", input="1 1:1", code=2)
    assert run("predict", model, "-f", "csv", input="1,0,.5,x\n").startswith("1,0,.5,x,")


def test_kinds_without_text_files(saved, tmp_path):
    model = saved(bcfw.MultilabelSVM(tol=0.5), POINTS, np.eye(4, 2, dtype=int))
    for command in ("predict", "evaluate"):
        assert "holds a MultilabelSVM, whose examples have no form in text files" in run(command, model, code=2)
    assert "MultilabelSVM(tol=0.5)" in run("info", model)
    bcfw.train(Pick("dense"), POINTS, [0, 1, 2, 0], lam=0.1, tol=0.5).save(tmp_path / "own")
    assert "model=Pick(...)" in run("predict", tmp_path / "own", code=2)
    about = run("info", tmp_path / "own")
    assert "model: Pick, of your own" in about
    assert "9 weights" in about


def test_files_of_train_know_their_format(tmp_path):
    (tmp_path / "train").write_text("a b X\nb b Y\n\nb a Y\n")
    run("train", tmp_path / "train", "-m", tmp_path / "x", "-q")
    for words in (["-f", "conll"], ["--label", "2"]):
        assert "knows its format; leave the option out" in run("predict", tmp_path / "x", *words, input="a b", code=2)
