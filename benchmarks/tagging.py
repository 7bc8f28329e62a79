"""Chunking and tagging of CoNLL-2000 by the commands, beside python-crfsuite.

    python benchmarks/tagging.py [commands] [train] [tag] [start]

Needs python-crfsuite and the data (``BCFW_DATA``). Seconds are CPU seconds; what is compared runs in turn in one run.

- ``commands``: from the two text files to scores: ``bcfw train`` with defaults, with ``--fast``, and for part-of-speech
  tags from words; test score, CPU seconds and peak memory of the whole command, size of the model file relative to that
  of the dense weights.
- ``train``: from attributes in memory (those of ``--fast``) to a fitted model, code compiled: bcfw, and the averaged
  perceptron of python-crfsuite (append and 20 iterations), with test F1; and dicts instead of strings, read alone.
- ``tag``: tokens per second from attribute strings, in memory and as a filter in a pipe (a file in CRFsuite's format).
- ``start``: CPU seconds of ``bcfw predict`` for one sentence.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bcfw.datasets.conll2000 import SOURCE
from bcfw.formats import ATTRIBUTE_SETS, Columns, Example
from bcfw.metrics import span_f1
from bcfw.text.formats.crfsuite import escaped
from bcfw.text.source import TextSource
from bcfw.text.tagger import Tagger

#: How often the test sentences are repeated in the file that goes through a pipe.
TIMES = 10

FILTER = """
import sys, pycrfsuite
tagger = pycrfsuite.Tagger()
tagger.open(sys.argv[1])
rows, lines = [], []
for line in sys.stdin:
    line = line.rstrip("\\n")
    if line:
        lines.append(line)
        rows.append(line.split("\\t")[1:])
    else:
        for given, label in zip(lines, tagger.tag(rows)):
            sys.stdout.write(label + given[given.index("\\t"):] + "\\n")
        sys.stdout.write("\\n")
        rows, lines = [], []
"""


def read(path: Path) -> list[Example]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(Columns().examples((line.rstrip("\n") for line in file), path.name))


def children(command: list[str], **options: object) -> tuple[float, str]:
    """CPU seconds of a command, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def peak(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak memory in GB of a command, which runs in a process that starts nothing else."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    out = subprocess.run([sys.executable, "-c", code, *command], check=True, stdout=subprocess.PIPE, text=True).stdout
    seconds, kilobytes = out.split()[-2:]
    return float(seconds), float(kilobytes) / 1e6


def bcfw(*words: object) -> list[str]:
    return [sys.executable, "-m", "bcfw", *map(str, words)]


def commands(folder: Path, train: Path, test: Path) -> None:
    """Two commands each."""
    for name, path in (("train", train), ("test", test)):
        with (folder / f"words-{name}.txt").open("w", encoding="utf-8") as file:
            for example in read(path):
                file.writelines(f"{word} {tag}\n" for word, tag in example.x)
                file.write("\n")
    words = folder / "words-train.txt", folder / "words-test.txt"
    for title, files, more in (
        ("chunking", (train, test), []),
        ("chunking --fast", (train, test), ["--fast"]),
        ("tagging", words, []),
    ):
        model = folder / "model"
        seconds, gigabytes = peak(bcfw("train", files[0], "--model", model, "--quiet", *more))
        _, report = children(bcfw("evaluate", model, files[1]))
        score = [line for line in report.splitlines() if line.startswith(("accuracy", "F1"))][-1]
        tagger = Tagger.load(model)
        dense = 8 * len(tagger.labels) * tagger.certificate["attributes"]
        print(
            f"{title}: {score}, {seconds:.1f} s, {gigabytes:.2f} GB, model {model.stat().st_size / 1e6:.1f} MB, "
            f"{model.stat().st_size / dense:.3f} of the dense weights",
            flush=True,
        )


def training(folder: Path, train: list[Example], test: list[Example]) -> None:
    """From attributes in memory to a fitted model."""
    import pycrfsuite

    from bcfw.text.training import Corpus, TaggingProblem, TrainingOptions, batches, coded_labels, encode, learn

    fast = ATTRIBUTE_SETS["chunking-fast"]
    X, X_test = ([fast(example.x) for example in part] for part in (train, test))
    truth = [example.labels for example in test]
    source = TextSource(Columns(columns=3), fast)

    def fit(X: list, examples: list[Example]) -> tuple[TaggingProblem, object]:
        vocabulary, rows = learn(batches(X, "train"))
        task = TaggingProblem(Corpus(source, vocabulary, rows, *coded_labels(examples)), TrainingOptions())
        return task, task.train()

    fit(X[:20], train[:20])  # compiles
    start = time.process_time()
    task, result = fit(X, train)
    ours = time.process_time() - start
    rows = encode(batches(X_test, "test"), task.corpus.vocabulary.columns)
    f1 = span_f1(truth, task.tagger(result.w).tag_encoded(rows))
    print(f"bcfw, --fast: {ours:.1f} s, F1 {100 * f1:.2f}; {result.summary()}", flush=True)
    start = time.process_time()
    trainer = pycrfsuite.Trainer(algorithm="ap", params={"max_iterations": 20}, verbose=False)
    for x, example in zip(X, train, strict=True):
        trainer.append(x, example.labels)
    appended = time.process_time() - start
    trainer.train(str(folder / "ap"))
    theirs = time.process_time() - start
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / "ap"))
    f1 = span_f1(truth, [tagger.tag(x) for x in X_test])
    print(f"python-crfsuite, averaged perceptron: {theirs:.1f} s (append {appended:.1f}), F1 {100 * f1:.2f}")
    start = time.process_time()
    learn(batches(X, "train"))
    print(f"the vocabulary and rows of bcfw alone: {time.process_time() - start:.1f} s; ratio {ours / theirs:.2f}")
    dicts = [[as_dict(names) for names in x] for x in X]
    start = time.process_time()
    learn(batches(dicts, "train"))
    ours = time.process_time() - start
    start = time.process_time()
    trainer = pycrfsuite.Trainer(verbose=False)
    for x, example in zip(dicts, train, strict=True):
        trainer.append(x, example.labels)
    theirs = time.process_time() - start
    print(f"dicts: vocabulary and rows {ours:.1f} s, append {theirs:.1f} s; ratio {ours / theirs:.2f}")


def as_dict(names: list[str]) -> dict[str, object]:
    """Attributes as users of CRFsuite write them: ``{"w[0]": "the", "title[0]": True}``."""
    return {name: value if sign else True for name, sign, value in (one.partition("=") for one in names)}


def tagging(folder: Path, train: list[Example], test: list[Example]) -> None:
    """Tokens per second."""
    import pycrfsuite

    fast = ATTRIBUTE_SETS["chunking-fast"]
    for name, part in (("train", train), ("test", test)):
        with (folder / f"{name}.crfsuite").open("w", encoding="utf-8") as file:
            for example in part:
                for label, names in zip(example.labels or (), fast(example.x), strict=True):
                    file.write("\t".join([label, *map(escaped, names)]) + "\n")
                file.write("\n")
    once = (folder / "test.crfsuite").read_text("utf-8")
    (folder / "long.crfsuite").write_text(once * TIMES, "utf-8")
    model, ap = folder / "tagger", folder / "ap"
    subprocess.run(bcfw("train", folder / "train.crfsuite", "--model", model, "--quiet"), check=True)
    trainer = pycrfsuite.Trainer(algorithm="ap", params={"max_iterations": 20}, verbose=False)
    for example in train:
        trainer.append(fast(example.x), example.labels)
    trainer.train(str(ap))
    theirs, ours = pycrfsuite.Tagger(), Tagger.load(model)
    theirs.open(str(ap))
    n = sum(len(example.x) for example in test)
    for _ in range(3):
        X = [fast(example.x) for example in test]
        ours.tag(X[:100])
        start = time.process_time()
        for i in range(0, len(X), 200):
            ours.tag(X[i : i + 200])
        one = time.process_time() - start
        start = time.process_time()
        for x in X:
            theirs.tag(x)
        other = time.process_time() - start
        print(f"in memory: bcfw {n / one:.0f} tokens/s, python-crfsuite {n / other:.0f}; ratio {other / one:.2f}")
    filters = {"bcfw": bcfw("predict", model), "python-crfsuite": [sys.executable, "-c", FILTER, str(ap)]}
    for _ in range(3):
        seconds = {name: [through_pipe(words, folder / f"{length}.crfsuite") for length in ("test", "long")]
                   for name, words in filters.items()}  # fmt: skip
        whole = {name: TIMES * n / long for name, (_, long) in seconds.items()}
        later = {name: (TIMES - 1) * n / (long - short) for name, (short, long) in seconds.items()}
        for title, rates in ((f"in a pipe, {TIMES * n} tokens", whole), ("in a pipe, without the start", later)):
            ours_rate, their_rate = rates.values()
            print(
                f"{title}: bcfw {ours_rate:.0f} tokens/s, python-crfsuite {their_rate:.0f}; "
                f"ratio {ours_rate / their_rate:.2f}",
                flush=True,
            )


def through_pipe(words: list[str], data: Path) -> float:
    """CPU seconds of a filter that reads a file and writes to a pipe."""
    with data.open("rb") as file:
        return children(words, stdin=file)[0]


def starting(folder: Path, train: Path) -> None:
    """CPU seconds of a process that labels one sentence."""
    model = folder / "model"
    if not model.exists():
        subprocess.run(bcfw("train", train, "--model", model, "--quiet"), check=True)
    seconds = [children(bcfw("predict", model), input="He PRP\nran VBD\n\n")[0] for _ in range(5)]
    print(f"first sentence, model of {model.stat().st_size / 1e6:.1f} MB: {min(seconds):.2f} to {max(seconds):.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", default=["commands", "train", "tag", "start"])
    chosen = parser.parse_args().what
    train, test = SOURCE.locate()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "commands" in chosen:
            commands(folder, train, test)
        if {"train", "tag"} & set(chosen):
            examples = read(train), read(test)
        if "train" in chosen:
            training(folder, *examples)
        if "tag" in chosen:
            tagging(folder, *examples)
        if "start" in chosen:
            (folder / "model").unlink(missing_ok=True)
            starting(folder, train)


if __name__ == "__main__":
    main()
