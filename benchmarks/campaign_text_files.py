"""Damaged and odd text files of all formats through all commands: answers line by line, or one clear message.

    nice python benchmarks/campaign_text_files.py [--count 2000] [--log FILE]

Well-formed files of every format, and template files, get a damage each: bytes flipped, lines cut or left out, columns
too many or too few, other encodings, byte order marks, line ends of Windows, NUL, long lines, empty lines, comments,
numbers that are none, gzip whole and cut, files of another format. Each file is predicted and evaluated by a model that
fits the undamaged format, and given to one of train, path and info, all in one process. Checked are:

- commands end with exit code 0, or 2 and one line on standard error; never with a traceback;
- predictions have one line for every line of the input, with what was in it, and empty lines where the input has them;
- they are the answers of the Python API, example by example; the accuracy of evaluate is the share of right labels;
- train leaves a model that can be read, or none; what means nothing (line ends, marks, empty lines) changes nothing.
"""

from __future__ import annotations

import functools
import gzip
import random
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import bcfw
import campaign
from bcfw.formats import Crfsuite, Libsvm, open_lines
from bcfw.text.tagger import Tagger
from campaign import Outcome
from campaign_model_files import fault_of_command, run
from worker import isolated

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "commands")]

from test_text_commands import text_of  # noqa: E402

from text_files import random_text  # noqa: E402

#: Most addresses of the worker.
MEMORY = 12 * 10**9

FOLDER = Path(tempfile.gettempdir())

TEMPLATE = "# words\nU00:%x[0,0]\nU01:%x[-1,1]/%x[0,1]\nU02:%x[-2,0]\n\nB\n"

#: Kinds of files: the format, options of train, whether libsvm has sequences.
KINDS: dict[str, tuple[str, list[str], bool]] = {
    "conll": ("conll", [], True),
    "conll with templates": ("conll", ["--template", "TEMPLATE"], True),
    "crfsuite": ("crfsuite", [], True),
    "libsvm sequences": ("libsvm", [], True),
    "libsvm": ("libsvm", [], False),
    "csv sequences": ("csv", ["--sequence", "sentence"], True),
    "csv": ("csv", ["--label", "3"], True),
    "crfsuite by a model of Python": ("crfsuite", [], True),
    "libsvm by a model of Python": ("libsvm", [], False),
} | {f"conll for {name}": ("conll", ["--attributes", name], True) for name in bcfw.formats.ATTRIBUTE_SETS}


class Good(NamedTuple):
    """A model for a kind of files: its path, and options that predict and evaluate need."""

    model: Path
    words: list[str]


@functools.cache
def good(kind: str) -> Good:
    name, options, sequences = KINDS[kind]
    data, model = FOLDER / "good.data", FOLDER / f"{kind}.bcfw"
    text = text_of(name, 0, n=30, sequences=sequences)
    if "Python" in kind:
        examples = list((Crfsuite if name == "crfsuite" else Libsvm)().examples(text.split("\n"), "good"))
        if name == "crfsuite":
            svm: Any = bcfw.ChainSVM(tol=0.1).fit([one.x for one in examples], [one.labels for one in examples])
        else:
            svm = bcfw.MulticlassSVM(tol=0.1).fit(dense(examples), [int(one.labels[0]) for one in examples])
        svm.save(model)
        return Good(model, ["-f", name])
    data.write_text(text)
    (FOLDER / "TEMPLATE").write_text(TEMPLATE)
    done = run("train", str(data), "-f", name, "-m", str(model), "-q", *placed(options))
    assert done.exit_code == 0, done.output
    return Good(model, [])


def dense(examples: list[Any]) -> list[list[float]]:
    return [[dict(zip(*one.x[0], strict=True)).get(j, 0.0) for j in range(1, 41)] for one in examples]


def placed(options: list[str]) -> list[str]:
    return [str(FOLDER / option) if option == "TEMPLATE" else option for option in options]


# --- damages ---------------------------------------------------------------------------------------------------------


def lines_of(content: bytes) -> list[bytes]:
    return content.split(b"\n")


def with_lines(content: bytes, rng: random.Random, *some: bytes) -> bytes:
    """The file with some lines put in at random places."""
    lines = lines_of(content)
    for line in some:
        lines.insert(rng.randrange(len(lines)), line)
    return b"\n".join(lines)


def flipped(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def line_cut(content: bytes, rng: random.Random) -> bytes:
    lines = lines_of(content)
    k = rng.randrange(len(lines))
    lines[k] = lines[k][: rng.randrange(len(lines[k]) + 1)]
    return b"\n".join(lines)


def lines_moved(content: bytes, rng: random.Random) -> bytes:
    lines = lines_of(content)
    rng.shuffle(lines)
    return b"\n".join(lines)


def separators(content: bytes, rng: random.Random) -> bytes:
    """A separator left out, doubled or replaced."""
    places = [match.start() for match in re.finditer(rb"[ \t,:]", content)]
    place = rng.choice(places)
    new = rng.choice([b"", b"  ", b"\t", b",", b"::", b" x ", b",1,", b"\t:", b'"', b"\\", b";", b"\xc2\xa0"])
    return content[:place] + new + content[place + 1 :]


def numbers(content: bytes, rng: random.Random) -> bytes:
    places = [match.span() for match in re.finditer(rb"[^ \t\n,:]+", content)]
    start, end = rng.choice(places)
    new = [b"nan", b"inf", b"-Infinity", b"1e999", b"", b"0", b"-1", b"1_0", b"0x1F", b"--1", b"1e-400", b"9" * 400]
    return content[:start] + rng.choice([*new, b"2147483648", b"+1", b"1,5", "１".encode()]) + content[end:]


def odd_characters(content: bytes, rng: random.Random) -> bytes:
    odd = [
        "\u2028",
        "\u0085",
        "\u200b",
        "\ufeff",
        "e\u0301",
        "\U0001f600",
        "\u202e",
        "\xa0",
        "\u3000",
        "\ud7ff",
        "\x7f",
    ]
    place = rng.choice([0, rng.randrange(len(content)), len(content)])
    return content[:place] + rng.choice(odd).encode() + content[place:]


def encoded(content: bytes, rng: random.Random) -> bytes:
    name = rng.choice(["utf-16", "utf-16-be", "utf-32", "cp1252", "shift-jis", "utf-7"])
    return content.decode().replace("cat", "Käse").encode(name, errors="replace")


def unlabelled(content: bytes, rng: random.Random) -> bytes:
    """The last column of every line left out."""
    return re.sub(rb"[ \t,][^ \t,\n]*\n", b"\n", content)


DAMAGES: dict[str, Any] = {
    "flipped": flipped,
    "line cut": line_cut,
    "cut": lambda content, rng: content[: rng.randrange(len(content))],
    "begun late": lambda content, rng: content[rng.randrange(len(content)) :],
    "lines moved": lines_moved,
    "separators": separators,
    "numbers": numbers,
    "odd characters": odd_characters,
    "other encoding": encoded,
    "unlabelled": unlabelled,
    "NUL": lambda content, rng: with_lines(content, rng, b"a\0b c"),
    "control": lambda content, rng: with_lines(content, rng, bytes([rng.randrange(32)]) + b" b c"),
    "carriage return": lambda content, rng: with_lines(content, rng, b"a\rb c"),
    "long line": lambda content, rng: with_lines(content, rng, b"x" * rng.choice([10**4, 10**6])),
    "too long line": lambda content, rng: with_lines(content, rng, b"x" * 17_000_000) if rng.random() < 0.05 else b"",
    "many columns": lambda content, rng: with_lines(content, rng, b" ".join([b"a"] * 3000)),
    "other line": lambda content, rng: with_lines(
        content, rng, *rng.sample([b"x", b"#", b"# c", b"@weight:2", b"1", b'"'], 2)
    ),
    "empty": lambda content, rng: rng.choice([b"", b"\n", b" ", b"\n\n\n", b"\xef\xbb\xbf", b"\xef", b"\r\n", b"\t\n"]),
    "noise": lambda content, rng: rng.randbytes(rng.randrange(1, 400)),
    "gzip cut": lambda content, rng: gzip.compress(content)[: rng.randrange(2, 60)],
    "gzip flipped": lambda content, rng: flipped(gzip.compress(content), rng),
    "other format": lambda content, rng: random_text(rng.choice(["conll", "crfsuite", "libsvm", "csv"]), rng).encode(),
}

#: What changes nothing about the examples.
HARMLESS: dict[str, Any] = {
    "whole": lambda content, rng: content,
    "mark": lambda content, rng: b"\xef\xbb\xbf" + content,
    "lines of Windows": lambda content, rng: content.replace(b"\n", b"\r\n"),
    "no last line end": lambda content, rng: content.rstrip(b"\n"),
    "more empty lines": lambda content, rng: b"\n" * rng.randrange(3) + content + b"\n \n\t\n" * rng.randrange(3),
    "gzip": lambda content, rng: gzip.compress(content),
    "gzip in pieces": lambda content, rng: gzip.compress(content[:50]) + gzip.compress(content[50:]),
}


# --- what becomes of a file -------------------------------------------------------------------------------------------


def input_lines(content: bytes) -> list[str]:
    """The lines that a command reads."""
    if content.startswith(b"\x1f"):
        content = gzip.decompress(content)
    text = content.removeprefix(b"\xef\xbb\xbf").decode().replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def fault_of_lines(kind: str, given: list[str], answered: list[str]) -> list[str]:
    """Whether every line of the input is answered by one line."""
    if len(given) != len(answered):
        return [f"{len(answered)} lines for {len(given)}"]
    name = KINDS[kind][0]
    for line, answer in zip(given, answered, strict=True):
        if not line.strip():
            kept = line == answer
        elif name in ("conll", "csv"):
            kept = answer.startswith(line.rstrip(" \t") if name == "conll" else line) and len(answer) > len(
                line.rstrip()
            )
        elif name == "crfsuite":
            kept = answer.partition("\t")[1:] == line.partition("\t")[1:]
        else:
            kept = all(token in answer.split() for token in line.split()[1:])
        if not kept:
            return [f"{line!r:.80} answered by {answer!r:.80}"]
    return []


def answers_of_python(kind: str, path: Path) -> tuple[str, float | None]:
    """The text of predictions, example by example, and the accuracy, None without labels."""
    model, truth, found, text = good(kind).model, [], [], ""
    if "Python" in kind:
        svm = bcfw.load(model)
        format: Any = Crfsuite() if "crfsuite" in kind else Libsvm()
        tag: Any = lambda one: svm.predict([one.x])[0] if "crfsuite" in kind else map(str, svm.predict(dense([one])))  # noqa: E731
    else:
        tagger = Tagger.load(model)
        format, tag = tagger.source.format, lambda one: tagger.tag_examples([one])[0]
    with open_lines(path) as lines:
        for piece in format.pieces(lines, "file"):
            labels = list(tag(piece)) if piece.x else []
            truth += piece.labels or [None] * len(labels)
            found += labels
            text += format.text(piece, labels)
    if None in truth:
        return text, None
    equal: Any = same_number if kind == "libsvm by a model of Python" else str.__eq__
    return text, 100 * sum(map(equal, truth, found)) / len(found)


def same_number(label: str, predicted: str) -> bool:
    """Whether a label of a file is the predicted number, which may be written in several ways: 1, +1, 1.0."""
    try:
        return float(label) == float(predicted)
    except ValueError:  # several parts, as in 1,5
        return False


def fault_of_answers(kind: str, path: Path, predicted: Any, evaluated: Any) -> list[str]:
    """Whether predict and evaluate say what Python says."""
    text, accuracy = answers_of_python(kind, path)
    wrong = ["answers other than those of Python"] * (predicted.stdout != text)
    if (evaluated.exit_code == 0) != (accuracy is not None):
        return [*wrong, f"evaluate ended with {evaluated.exit_code}, predict with 0"]
    if accuracy is not None and f"accuracy {accuracy:.2f}\n" not in evaluated.output:
        wrong.append(f"accuracy is {accuracy:.2f}")
    return wrong


def one_problem(number: int, seed: int) -> Outcome:
    rng = random.Random(f"{seed} {number}")
    kind = list(KINDS)[number % len(KINDS)]
    name, options, sequences = KINDS[kind]
    if rng.random() < 0.03:
        return one_template(rng)
    harmless = rng.random() < 0.2
    row = f"{'harmless' if harmless else 'damaged'}: {kind}"
    campaign.trying(row)
    way = rng.choice(list(HARMLESS if harmless else DAMAGES))
    whole = text_of(name, rng.randrange(10**6), n=rng.randrange(2, 8), sequences=sequences).encode()
    content = (HARMLESS if harmless else DAMAGES)[way](whole, rng)
    model, words = good(kind)
    path, data = FOLDER / "tried.data", FOLDER / "whole.data"
    path.write_bytes(content)
    by_pipe = rng.random() < 0.3
    predicted = run("predict", str(model), "-" if by_pipe else str(path), *words, input=content if by_pipe else None)
    evaluated = run("evaluate", str(model), str(path), *words)
    wrong = fault_of_command("predict", predicted) + fault_of_command("evaluate", evaluated)
    if predicted.exit_code == 0 and not wrong:
        wrong += fault_of_lines(kind, input_lines(content), predicted.stdout.removesuffix("\n").split("\n"))
        wrong += fault_of_answers(kind, path, predicted, evaluated)
    if harmless and predicted.exit_code != 0:
        wrong.append("a good file was refused")
    data.write_bytes(whole)
    wrong += more_commands(rng, name, placed(options), path, data)
    status = "answered" if predicted.exit_code == 0 else "refused"
    return Outcome(row, status, wrong, f"{kind}: {way}")


def more_commands(rng: random.Random, name: str, options: list[str], path: Path, whole: Path) -> list[str]:
    """One of train, path and info with the file; what is wrong with how it ended."""
    out = FOLDER / "tried.model"
    out.unlink(missing_ok=True)
    limits = ["-q", "--passes", "5", "--tol", "0.5", "--seed", str(rng.randrange(3))]
    what = rng.choice(["train", "train", "validate", "path", "info", "none"])
    if what == "none":
        return []
    if what == "info":
        done = run("info", str(path))
        return fault_of_command("info", done) + ["info of a text file"] * (done.exit_code == 0)
    if what == "path":
        return fault_of_command("path", run("path", str(path), "-f", name, *limits, *options))
    given = [str(whole), "--validate", str(path)] if what == "validate" else [str(path)]
    done = run("train", *given, "-f", name, "-m", str(out), *limits, *options)
    wrong = fault_of_command(what, done)
    if (done.exit_code == 0) != out.exists():
        wrong.append(f"{what} ended with {done.exit_code}, and there is {'a' if out.exists() else 'no'} model")
    if done.exit_code == 0 and what == "train" and not wrong:
        again = run("predict", str(out), str(path))
        wrong += fault_of_command("predict by it", again)
        if again.exit_code == 0:
            wrong += fault_of_lines(name, input_lines(path.read_bytes()), again.stdout.removesuffix("\n").split("\n"))
        else:
            wrong.append("its own training data are refused")
    return wrong


def one_template(rng: random.Random) -> Outcome:
    """A damaged template file."""
    damages = {**HARMLESS, **DAMAGES}
    way = rng.choice([way for way in damages if way != "other format"])
    template, data = FOLDER / "tried.template", FOLDER / "whole.data"
    template.write_bytes(damages[way](TEMPLATE.encode(), rng))
    data.write_text(text_of("conll", rng.randrange(10**6), n=4))
    words = [str(data), "-f", "conll", "-m", str(FOLDER / "tried.model"), "-q", "--tol", "0.5"]
    done = run("train", *words, "--template", str(template))
    wrong = fault_of_command("train", done)
    if way in HARMLESS and done.exit_code != 0:
        wrong.append("a good template was refused")
    return Outcome("templates", "answered" if done.exit_code == 0 else "refused", wrong, f"template: {way}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = Path(folder)
        sys.exit(campaign.main(__doc__, isolated(one_problem, MEMORY)))
