"""Text files by the command line: train, predict, evaluate, info, path; errors, exit codes, pipes, kills."""

from __future__ import annotations

import itertools
import os
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

import bcfw
from bcfw.commands import main
from bcfw.formats import FORMATS
from bcfw.text.tagger import Tagger
from text_files import random_text

WORDS = {"DT": ["the", "a", "this"], "NN": ["cat", "dog", "bird", "tree"], "VB": ["sees", "likes", "has"]}


def sentence(rng: random.Random) -> list[tuple[str, str, str]]:
    """The cat sees the dog: words, tags and chunks."""
    rows = []
    for position in range(rng.randint(1, 3)):
        if position:
            rows.append((rng.choice(WORDS["VB"]), "VB", "B-VP"))
        if rng.random() < 0.7:
            rows.append((rng.choice(WORDS["DT"]), "DT", "B-NP"))
            rows.append((rng.choice(WORDS["NN"]), "NN", "I-NP"))
        else:
            rows.append((rng.choice(WORDS["NN"]), "NN", "B-NP"))
        if rng.random() < 0.3:
            rows.append((".", ".", "O"))
    return rows


def text_of(name: str, seed: int, n: int = 60, sequences: bool = True) -> str:
    """The same kind of sentences in any format."""
    rng = random.Random(seed)
    lines = []
    for i in range(n):
        for word, tag, chunk in sentence(rng):
            number = 1 + [".", *itertools.chain(*WORDS.values())].index(word)
            label = 1 + ["B-NP", "I-NP", "B-VP", "O"].index(chunk)
            lines.append(
                {
                    "conll": f"{word} {tag} {chunk}",
                    "crfsuite": f"{chunk}\tw={word}\tt={tag}\tlength:{len(word)}",
                    "libsvm": f"{label} {f'qid:{i} ' if sequences else ''}{number}:1 {20 + number}:0.5",
                    "csv": f"{i},{word},{len(word)},{chunk}",
                }[name]
            )
        lines += [""] * (name in ("conll", "crfsuite"))
    head = ["sentence,word,length,label"] if name == "csv" else []
    return "\n".join([*head, *lines, ""])


def run(*words, code=0, **options):
    done = CliRunner().invoke(main, list(map(str, words)), catch_exceptions=False, **options)
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def files(tmp_path):
    """A function that writes training and test data of a format."""

    def write(name, **options):
        paths = tmp_path / f"train.{name}", tmp_path / f"test.{name}"
        for seed, path in enumerate(paths):
            path.write_text(text_of(name, seed, **options))
        return [*paths, tmp_path / "out.model"]

    return write


CASES = [
    ("conll", []),
    ("crfsuite", []),
    ("libsvm", []),
    ("csv", ["--sequence", "sentence"]),
    ("csv", ["--label", "3"]),
]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_from_files_to_scores(files, name, options):
    train, test, model = files(name)
    run("train", train, "--format", name, "--model", model, "--quiet", "--tol", 0.05, *options)
    report = run("evaluate", model, test).output
    assert float(re.search(r"^accuracy (\S+)$", report, re.M).group(1)) > 80.0
    spans = name in ("conll", "crfsuite") or "--sequence" in options
    assert bool(re.search(r"^F1 \d+\.\d\d$", report, re.M)) is spans
    predicted = run("predict", model, test).output
    format = FORMATS[name](**Tagger.load(model).source.format.settings) if name != "conll" else FORMATS[name]()
    if name == "csv":
        assert predicted.splitlines()[0].endswith(",predicted")
        truth = [line.split(",")[3] for line in test.read_text().splitlines()[1:]]
        found = [line.split(",")[-1] for line in predicted.splitlines()[1:]]
    else:
        given = list(FORMATS[name]().examples(test.read_text().splitlines(), "test"))
        answered = list(format.examples(predicted.splitlines(), "predicted"))
        assert len(answered) == len(given)
        truth, found = ([label for one in part for label in one.labels] for part in (given, answered))
        if name == "conll":
            assert [x[:2] for one in answered for x in one.x] == [x for one in given for x in one.x]
        else:
            assert [one.x for one in answered] == [one.x for one in given]
    accuracy = 100 * np.mean([a == b for a, b in zip(truth, found, strict=True)])
    assert f"accuracy {accuracy:.2f}" in report
    about = run("info", model).output
    for word in (name, "certified", "status converged", "lam", "attributes"):
        assert word in about


def test_the_model_remembers_format_attributes_and_templates(files, tmp_path):
    train, test, model = files("conll")
    template = tmp_path / "template"
    template.write_text("U00:%x[0,0]\nU01:%x[-1,1]/%x[0,1]\nB\n")
    run("train", train, "--template", template, "--model", model, "-q")
    template.unlink()
    assert "F1" in run("evaluate", model, test).output
    tagger = bcfw.load(model)
    assert tagger.source.attributes.name == "template"
    assert any(name.startswith("U01:") for name in tagger.vocabulary.names)
    run("train", train, "--attributes", "chunking-base", "--model", model, "-q")
    assert Tagger.load(model).source.attributes.name == "chunking-base"


def test_pruning_changes_no_answer(files):
    train, test, model = files("conll")
    run("train", train, "--model", model, "-q", "--lam", "0.05", "--min-count", 2)
    tagger = Tagger.load(model)
    assert len(tagger.vocabulary) < tagger.certificate["attributes"]
    examples = list(tagger.source.examples(str(test)))
    again = tagger.pruned()
    assert len(again.vocabulary) == len(tagger.vocabulary)
    assert again.tag_examples(examples) == tagger.tag_examples(examples)


def test_hashed_attributes_class_weights_and_other_options(files):
    train, test, model = files("conll")
    run("train", train, "--model", model, "-q", "--hash", 4096, "--C", 10, "--class-weight", "O=0.3",
        "--class-weight", "NP=2", "--encoding", "BIO", "--solver", "bcfw", "--normalize", "--jobs", 2)  # fmt: skip
    tagger = Tagger.load(model)
    assert (len(tagger.vocabulary), tagger.encoding) == (4096, "BIO")
    assert tagger.certificate["lam"] == pytest.approx(1 / 600)
    assert "F1" in run("evaluate", model, test).output


@pytest.mark.parametrize("name", ["conll", "csv"])
def test_validation_chooses_lam_on_another_file(files, name):
    train, test, model = files(name)
    done = run("train", train, "-f", name, "--model", model, "--validate", test)
    tagger = Tagger.load(model)
    assert "is the best" in done.stderr
    report = run("evaluate", model, test).output
    score = re.findall(r"^(?:F1|accuracy) (\S+)$", report, re.M)[-1 if name == "conll" else 0]
    assert float(score) == pytest.approx(100 * tagger.certificate["validation"], abs=0.006)


def test_a_path_is_a_table(files):
    train, test, _ = files("csv")
    lines = run("path", train, "--validate", test, "-q").output.splitlines()
    assert lines[0].split("\t") == ["lam", "gap", "norm", "score"]
    rows = np.array([line.split("\t") for line in lines[1:]], float)
    assert len(rows) > 2
    assert np.all(np.diff(rows[:, 0]) < 0)
    assert np.all(rows[:, 3] <= 100)


def test_standard_input_and_unlabelled_files(files):
    train, test, model = files("conll")
    run("train", "-", "--model", model, "-q", input=train.read_text())
    labelled = run("predict", model, input=test.read_text()).output
    plain = "\n".join(line.rpartition(" ")[0] for line in test.read_text().splitlines()) + "\n"
    unlabelled = run("predict", model, "-", input=plain).output
    assert [line.split()[-1:] for line in labelled.splitlines()] == [
        line.split()[-1:] for line in unlabelled.splitlines()
    ]
    with_file = run("predict", model, test, "--out", test.with_suffix(".out"))
    assert with_file.output == ""
    assert test.with_suffix(".out").read_text() == labelled


def test_labels_that_training_has_not_seen_count_as_wrong(files):
    train, test, model = files("conll")
    run("train", train, "--model", model, "-q")
    before = run("evaluate", model, test).output
    test.write_text(test.read_text() + "oh UH B-INTJ\n\n")
    after = run("evaluate", model, test).output
    share = [float(re.search(r"^accuracy (\S+)$", text, re.M).group(1)) for text in (before, after)]
    assert share[1] < share[0]
    assert re.search(r"^B-INTJ +0.00 +0.00 +0.00 +1$", after, re.M)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lam", "-1"], "--lam must be a finite number > 0"),
        (["--lam", "1", "--C", "1"], "leave one of them out"),
        (["--tol", "nan"], "--tol must be"),
        (["--solver", "bcwf"], "did you mean 'bcfw'"),
        (["--label", "x"], "--label is for the format csv"),
        (["--format", "libsvm", "--fast"], "--fast is for words in columns"),
        (["--attributes", "ner", "--fast"], "both choose attributes"),
        (["--template", "nowhere"], "cannot read nowhere"),
        (["--class-weight", "NP"], "--class-weight must be LABEL=NUMBER"),
        (["--class-weight", "XX=2"], "there is no label 'XX'"),
        (["--hash", "100", "--min-count", "2"], "--min-count does not go with --hash"),
        (["--min-count", "1000"], "no attributes"),
        (["--resume"], "--resume needs --checkpoint"),
        (["--checkpoint", "c.npz", "--validate", "x"], "leave out --validate"),
        (["--jobs", "0"], "n_jobs must be"),
        (["--attributes", "unknown"], "'unknown' is not one of"),
    ],
)
def test_wrong_options_are_named(files, words, message):
    train, _, model = files("conll")
    done = run("train", train, "--model", model, *words, code=2)
    assert message in " ".join(done.stderr.split())
    assert not model.exists()
    assert "Traceback" not in done.output


def test_wrong_files_are_named(files, tmp_path):
    train, test, model = files("conll")
    run("train", train, "--model", model, "-q")
    for words in (
        ["train", tmp_path / "none", "--model", model],
        ["train", train, "--model", tmp_path / "no" / "folder"],
        ["predict", tmp_path / "none", test],
        ["predict", train, test],
        ["predict", model, tmp_path],
        ["info", train],
        ["evaluate", model, tmp_path / "none"],
    ):
        done = run(*words, code=2)
        assert done.stderr.startswith("bcfw: ")
        assert len(done.stderr.splitlines()) == 1
    train.write_text("a b O\nb c O\n")
    assert "training needs at least 2 labels" in run("train", train, "--model", model, code=2).stderr
    bcfw.ChainSVM().fit([[["a"], ["b"]]], [["x", "y"]]).save(model)
    assert "line 1: no tab, but blanks" in run("predict", model, test, code=2).stderr
    assert "ChainSVM" in run("info", model).output


def test_a_limit_ends_training_with_a_warning_and_a_model(files):
    train, _, model = files("conll")
    done = run("train", train, "--model", model, "-q", "--passes", 1, "--tol", 1e-9)
    assert "not converged (max_passes)" in done.stderr
    assert "status max_passes" in run("info", model).output


DAMAGES = [
    lambda text, rng: text[: rng.randrange(len(text) // 2)].rstrip() + rng.choice([b"\n\xff", b"\n\x00", b" \xc3\n"]),
    lambda text, rng: text.replace(b"\n", b"\n" + rng.randbytes(20) + b"\x01\n", 1),
    lambda text, rng: text.decode().encode("utf-16"),
    lambda text, rng: b"\x1f\x8b" + rng.randbytes(100),
    lambda text, rng: rng.randbytes(300),
]
IN_LINES = {
    "conll": ["one", "a b c d", "x"],
    "crfsuite": ["B\ta:nan", "B\ta:x", "B\t:3", "no tabs but blanks"],
    "libsvm": ["1 qid:1 3:nan", "1 qid:1 0:1", "x qid:1 1:1", "1 qid:1 3:1 2:1", "1 1:1", "1 qid:1 3"],
    "csv": ["1,2", "1,a,nan,x", "1,a,inf,x", '1,"a,2,x', "1,a,,x", "1,a,b,x,y"],
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_hundred_malformed_files_give_a_line_number_and_no_traceback(tmp_path, name):
    rng = random.Random(5)
    path, model = tmp_path / "data", tmp_path / "model"
    for number in range(100):
        text = random_text(name, rng).encode()
        if number % 2:
            lines = text.split(b"\n")
            lines.insert(rng.randrange(2, len(lines)), rng.choice(IN_LINES[name]).encode())
            text = b"\n".join(lines)
        else:
            text = rng.choice(DAMAGES)(text, rng)
        path.write_bytes(text)
        done = run("train", path, "--format", name, "--model", model, "-q", code=2)
        assert re.search(r"^bcfw: .*, line \d+: ", done.stderr), (number, done.stderr)
        assert len(done.stderr.splitlines()) == 1
        assert not model.exists()


def test_a_hundred_damaged_models_give_one_line(files):
    train, test, model = files("conll")
    run("train", train, "--model", model, "-q")
    whole = model.read_bytes()
    rng = random.Random(0)
    for number in range(100):
        damaged = bytearray(whole)
        if number % 3 == 0:
            damaged = damaged[: rng.randrange(len(damaged))]
        elif number % 3 == 1:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        else:
            start = rng.randrange(len(damaged))
            damaged[start : start + 40] = rng.randbytes(40)
        model.write_bytes(damaged)
        done = run("predict", model, test, code=2)
        assert done.stderr.startswith("bcfw: ")
        assert str(model) in done.stderr


def test_predictions_have_a_line_for_every_line_of_the_input(files):
    train, _, model = files("conll")
    run("train", train, "--model", model, "-q")
    given = "\n-DOCSTART- -X-\n\nthe DT\n-DOCSTART- -X-\ncat NN\n\n\n\nthe DT\n"
    answer = "\n-DOCSTART- -X- O\n\nthe DT B-NP\n-DOCSTART- -X- O\ncat NN B-NP\n\n\n\nthe DT B-NP\n"
    assert run("predict", model, input=given).output == answer
    assert run("predict", model, input=given + "\n\n").output == answer + "\n\n"


def bcfw_process(*words, **options):
    return subprocess.Popen([sys.executable, "-m", "bcfw", *map(str, words)], text=True, **options)


def test_prediction_loads_no_scikit_learn_and_answers_a_pipe_at_once(files):
    train, _, model = files("conll")
    run("train", train, "--model", model, "-q")
    code = (
        "import sys; from bcfw.commands import main\n"
        "try: main(['predict', sys.argv[1]])\n"
        "except SystemExit: pass\n"
        "print(*{name.split('.')[0] for name in sys.modules} & {'sklearn', 'scipy', 'numba', 'rich'}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(model)], input="the DT\ncat NN\n\n", text=True,
                          capture_output=True, check=True, timeout=120)  # fmt: skip
    assert done.stdout == "the DT B-NP\ncat NN I-NP\n\n"
    assert done.stderr.split() == []
    process = bcfw_process("predict", model, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for _ in range(3):
        process.stdin.write("the DT\ncat NN\n\n")
        process.stdin.flush()
        assert [process.stdout.readline() for _ in range(3)] == ["the DT B-NP\n", "cat NN I-NP\n", "\n"]
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    process.stdout.close()


def test_interpreted_and_compiled_answers_are_the_same(files):
    train, test, model = files("conll")
    run("train", train, "--model", model, "-q")
    tagger = Tagger.load(model)
    examples = list(tagger.source.examples(str(test)))[:5]
    from bcfw.text.attributes.reading import read
    from bcfw.text.attributes.vocabulary import encode

    given = encode([read([tagger.source.attributes_of(one) for one in examples], 0, "test")], tagger.vocabulary.columns)
    assert tagger.tag_encoded(given, compiled=False) == tagger.tag_encoded(given) == tagger.tag_examples(examples)


def certificate_of(model):
    found = Tagger.load(model)
    numbers = {key: value for key, value in found.certificate.items() if key != "seconds"}
    return numbers, found.places.tobytes(), found.values.tobytes()


def test_a_killed_run_resumes_to_the_same_model(files, tmp_path):
    train, _, model = files("conll", n=400)
    words = ["train", train, "--model", model, "-q", "--lam", 1e-5, "--tol", 1e-7, "--solver", "bcfw",
             "--passes", 60, "--every", 5]  # fmt: skip
    run(*words, "--checkpoint", tmp_path / "whole.npz")
    whole = certificate_of(model)
    model.unlink()
    checkpoint, rng = tmp_path / "killed.npz", random.Random(0)
    for _ in range(3):
        process = bcfw_process(*words, "--checkpoint", checkpoint, "--resume", stderr=subprocess.DEVNULL)
        before = os.path.getmtime(checkpoint) if checkpoint.exists() else 0.0
        while process.poll() is None and (os.path.getmtime(checkpoint) if checkpoint.exists() else 0.0) == before:
            time.sleep(0.005)
        time.sleep(0.02 * rng.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert checkpoint.exists()
    run(*words, "--checkpoint", checkpoint, "--resume")
    assert certificate_of(model) == whole


def test_a_run_without_a_dual_point_goes_on_from_its_checkpoint(files, tmp_path):
    """Its gap is unknown, in the saved history, too."""
    train, _, model = files("conll", n=40)
    words = ["train", train, "--model", model, "-q", "--solver", "subgradient", "--passes", 7, "--every", 2]
    run(*words, "--checkpoint", tmp_path / "run.npz")
    whole = certificate_of(model)
    run(*words, "--checkpoint", tmp_path / "run.npz", "--resume")
    assert repr(certificate_of(model)) == repr(whole)


def test_ctrl_c_saves_what_was_reached(files):
    train, _, model = files("conll", n=400)
    words = ["train", train, "--model", model, "--lam", 1e-6, "--tol", 1e-12, "--solver", "bcfw", "--passes", 1e6]
    with bcfw_process(*words, stderr=subprocess.PIPE) as process:
        while not process.stderr.readline().startswith("pass "):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.stderr.read()
    assert process.returncode == 130
    assert Tagger.load(model).certificate["status"] == "interrupted"


def test_unseen_labels_of_no_spans_are_spans_that_are_not_found(files):
    train, test, model = files("conll")
    test.write_text(test.read_text() + "oh UH WEIRD\n\n")
    run("train", train, "--model", model, "-q", "--validate", test)
    report = run("evaluate", model, test).output
    assert re.search(r"^WEIRD +0.00 +0.00 +0.00 +1$", report, re.M)
    assert re.search(r"^F1 \d\d\.\d\d$", report, re.M)
    test.write_text("oh UH O\n\n")
    assert re.search(r"^F1 \d+\.\d\d$", run("evaluate", model, test).output, re.M)


def test_files_are_not_written_over(files, tmp_path):
    train, test, model = files("conll")
    before = train.read_bytes()
    for words in (["--model", train], ["--model", model, "--checkpoint", model], ["--model", test, "--validate", test]):
        assert "are the same file" in run("train", train, *words, code=2).stderr
    assert train.read_bytes() == before
    run("train", train, "--model", model, "-q")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "is a device or a pipe" in run("predict", model, test, "--out", pipe, code=2).stderr
    assert "is a device or a pipe" in run("train", train, "--model", pipe, code=2).stderr
    assert run("predict", model, test, "--out", "-").output == run("predict", model, test).output


def test_class_weights_are_those_of_the_label_itself():
    from bcfw.formats import Libsvm
    from bcfw.text.source import TextSource
    from bcfw.text.training import Corpus, TaggingProblem, TrainingOptions, batches, learn

    vocabulary, rows = learn(batches([[["a"]], [["b"]]], "test"))
    corpus = Corpus(TextSource(Libsvm(qid=False)), vocabulary, rows, ["103", "3"], np.array([0, 1]))
    assert TaggingProblem(corpus, TrainingOptions(class_weight={"3": 5.0})).model.cost.tolist() == [
        [0.0, 1.0],
        [5.0, 0.0],
    ]


@pytest.mark.parametrize("solver", ["kernel-bcfw", "exponentiated-gradient"])
def test_solvers_that_cannot_do_it_are_refused(files, tmp_path, solver):
    train, _, model = files("conll")
    done = run("train", train, "--model", model, "--solver", solver, "--checkpoint", tmp_path / "c.npz", code=2)
    assert "forms no weights" in done.stderr or "cannot go on from a saved state" in done.stderr


def test_a_checkpoint_that_cannot_be_written_costs_nothing(files, tmp_path, monkeypatch):
    from bcfw.errors import InputError
    from bcfw.storage import checkpoints

    def full(*args):
        raise InputError("the disk is full")

    monkeypatch.setattr(checkpoints, "write", full)
    train, _, model = files("conll")
    done = run("train", train, "--model", model, "-q", "--checkpoint", tmp_path / "c.npz", "--every", 1, "--tol", 1e-4)
    assert "was not written: the disk is full" in done.stderr
    assert model.exists()


def test_other_data_are_not_resumed(files, tmp_path):
    train, _, model = files("conll")
    words = ["train", train, "--model", model, "-q", "--checkpoint", tmp_path / "c.npz", "--every", 1, "--tol", 1e-4]
    run(*words)
    assert "other options or data" in run(*words, "--resume", "--normalize", code=2).stderr
    train.write_text(train.read_text().replace("B-VP", "O", 1))
    assert "other options or data" in run(*words, "--resume", code=2).stderr


WRONG_HEADERS = [
    {"encoding": []},
    {"encoding": "BILOU"},
    {"scheme": "XYZ"},
    {"labels": ["B-NP", "B-NP"]},
    {"labels": "B-NP"},
    {"model": "tree"},
    {"hashed": 2**31 - 1},
    {"source": {"format": "conll", "settings": {"columns": "x"}, "attributes": "chunking"}},
    {"source": {"format": "conll", "settings": {"columns": 3}, "attributes": None}},
    {"source": {"format": "conll", "settings": {"columns": 3}, "template": 7}},
    {"source": {"format": "csv", "settings": {"columns": ["a"], "label": 7}, "attributes": None}},
    {"source": {"format": "libsvm", "settings": {"qid": 3}, "attributes": None}},
    {"source": {"format": "pickle", "settings": {}, "attributes": None}},
    {"source": None},
]


@pytest.mark.parametrize("wrong", WRONG_HEADERS, ids=str)
def test_made_up_headers_give_one_line(files, wrong):
    from bcfw.storage import model_file

    train, test, model = files("conll")
    run("train", train, "--model", model, "-q")
    found = model_file.read(model)
    arrays = {name: found.arrays[name] for name in found.arrays.snapshot}
    header = {**found.header, **wrong}
    model_file.write(model, found.kind, header, arrays)
    done = run("predict", model, test, code=2)
    assert len(done.stderr.splitlines()) == 1
