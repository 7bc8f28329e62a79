"""Thousands of malformed calls, and what each gets: a clear error, an answer, or a raw error of another library.

    nice python benchmarks/campaign_bad_input.py [--count 4000] [--log FILE]

Every argument of ``train``, the estimators, the data sets and the command is damaged in turn, in an order that the seed
shuffles; labels that are missing are given as lists, arrays and, where these are installed, series of pandas and
polars. Problems beyond these calls have a random model, damaged data and two strange options of ``train`` at once. An
error is *refused* if it is one of the package's, or comes from scikit-learn's own checks of estimators (a ValueError or
TypeError); *raw*, and a failure, if it comes out of numpy, scipy, numba or Python. What is accepted is counted: some of
it is harmless, such as bools as numbers.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import importlib
import os
import random
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from click.testing import CliRunner

import bcfw
import campaign
from bcfw import datasets
from bcfw.commands import main as command
from bcfw.errors import BcfwError
from bcfw.models import BinaryGraph, Chain, Matching, Multiclass, Multilabel, Tree
from bcfw.text.attributes.vocabulary import Vocabulary
from bcfw.text.source import TextSource
from bcfw.text.tagger import Tagger
from campaign import Outcome
from worker import isolated

Call = Callable[[], Any]

#: What is put in the place of an argument.
STRANGE: dict[str, Any] = {
    "None": None,
    "text": "abc",
    "number": 3.5,
    "negative": -1,
    "zero": 0,
    "huge": 10**30,
    "nan": float("nan"),
    "inf": float("inf"),
    "complex": 1 + 2j,
    "bool": True,
    "date": datetime.datetime(2020, 1, 1),
    "numpy date": np.datetime64("2020-01-01"),
    "dict": {"a": 1},
    "set": {1, 2},
    "function": len,
    "class": dict,
    "empty list": [],
    "empty array": np.zeros((0, 0)),
    "0-d array": np.array(1.0),
    "object": object(),
    "bytes": b"abc",
    "generator": (x for x in "ab"),
    "sparse": sp.csr_array(np.eye(2)),
    "1-D sparse": sp.coo_array(np.ones(3)),
}

X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 0.5]])
LABELS = [0, 1, 2, 1]
CHAINS = [np.eye(3)[[0, 1, 2]], np.eye(3)[[1]], np.eye(3)[[2, 2]]]
GRAPH = (np.eye(3), np.array([[0, 1], [1, 2]]), np.ones((2, 1)))
LINKS = np.ones((2, 2, 3)) + np.arange(3)

PROBLEMS: dict[str, tuple[Any, Any, Any]] = {
    "Multiclass": (Multiclass(), X, LABELS),
    "Multilabel": (Multilabel(), X, np.array([[0, 1], [1, 0], [1, 1], [0, 0]])),
    "Chain": (Chain(), CHAINS, [[0, 1, 0], [1], [0, 0]]),
    "BinaryGraph": (BinaryGraph(), [GRAPH, GRAPH], [[0, 1, 1], [1, 1, 0]]),
    "Tree": (Tree(), [GRAPH, GRAPH], [[0, 1, 1], [1, 1, 0]]),
    "Matching": (Matching(), [LINKS, LINKS], [np.eye(2, dtype=int), 1 - np.eye(2, dtype=int)]),
}

ESTIMATORS: dict[str, Any] = {
    "Multiclass": bcfw.MulticlassSVM,
    "Multilabel": bcfw.MultilabelSVM,
    "Chain": bcfw.ChainSVM,
    "BinaryGraph": bcfw.GraphSVM,
    "Tree": bcfw.TreeSVM,
    "Matching": bcfw.MatchingSVM,
}


#: How series of texts become categories.
CATEGORIES: dict[str, Callable[[Any, Any], Any]] = {
    "pandas": lambda pandas, series: series.astype("category"),
    "polars": lambda polars, series: series.cast(polars.Categorical),
}


def damaged(values: Any) -> Iterator[tuple[str, Any]]:
    """Data with one mistake each."""
    yield from STRANGE.items()
    rows = list(values)
    for name, strange in STRANGE.items():
        yield f"one is {name}", [rows[0], strange, *rows[2:]]
    yield "one missing", rows[:-1]
    yield "one more", [*rows, rows[0]]
    for place, array in enumerated_arrays(rows):
        for name, other in damaged_array(array).items():
            yield f"{place} {name}", put(rows, place, other)


def enumerated_arrays(rows: list[Any]) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays of the second example."""
    parts = rows[1] if isinstance(rows[1], tuple) else (rows[1],)
    for k, part in enumerate(parts):
        yield str(k), np.asarray(part)


def put(rows: list[Any], place: str, other: Any) -> list[Any]:
    if not isinstance(rows[1], tuple):
        return [rows[0], other, *rows[2:]]
    parts = list(rows[1])
    parts[int(place)] = other
    return [rows[0], tuple(parts), *rows[2:]]


def damaged_array(array: np.ndarray) -> dict[str, Any]:
    """One array with other types, shapes and values."""
    found: dict[str, Any] = {
        "complex": array.astype(complex),
        "dates": np.full(array.shape, np.datetime64("2020-01-01")),
        "durations": np.full(array.shape, np.timedelta64(1, "D")),
        "text": array.astype(str),
        "objects": np.full(array.shape, object(), dtype=object),
        "missing": np.full(array.shape, None, dtype=object),
        "half missing": with_first(array.astype(object), None),
        "nan": with_first(array.astype(float), np.nan),
        "inf": with_first(array.astype(float), np.inf),
        "1e300": with_first(array.astype(float), 1e300),
        "huge integer": with_first(array.astype(object), 10**400),
        "negative": with_first(array.astype(float), -7),
        "fraction": with_first(array.astype(float), 0.25),
        "2**63": with_first(array.astype(np.uint64), np.uint64(2**63)),
        "one more axis": array[None],
        "other shape": array.reshape(*array.shape[::-1], 1),
        "empty": np.atleast_1d(array)[:0],
        "longer": np.concatenate([np.atleast_1d(array), np.atleast_1d(array)]),
        "structured": np.zeros(array.shape, dtype=[("a", float), ("b", int)]),
        "masked": masked(array),
        "masked rows": [masked(row) for row in np.atleast_2d(array)],
        "mask of nothing": np.ma.array(array, mask=np.zeros(array.shape, bool)),
    }
    if array.ndim == 2:
        found |= {"ragged": [list(array[0]), [1.0]], "narrower": array[:, 1:], "1-D sparse": sp.coo_array(array[0])}
        found |= {"complex sparse": sp.csr_array(array.astype(complex))}
    return found


def masked(array: np.ndarray) -> Any:
    """An array whose first entry is hidden."""
    hidden = np.ma.array(array, mask=np.zeros(array.shape, bool))
    hidden.mask.reshape(-1)[:1] = True
    return hidden


def missing_labels() -> Iterator[tuple[str, Any]]:
    """Labels of the four points, one of which is missing, in every form that can say so."""
    marks = {"None": None, "NaN": float("nan"), "NaT": np.datetime64("NaT"), "masked": np.ma.masked}
    for library in ("pandas", "polars"):
        with contextlib.suppress(ImportError):
            found = importlib.import_module(library)
            marks |= {name: getattr(found, name) for name in ("NA", "NaT") if hasattr(found, name)}
            for values in (["a", None, "b", "a"], [0, None, 1, 0], [True, None, False, True]):
                yield f"{library} series of {values}", found.Series(values)
            yield f"{library} categories", CATEGORIES[library](found, found.Series(["a", None, "b", "a"]))
    for name, mark in marks.items():
        yield f"list with {name}", ["a", mark, "b", "a"]
        yield f"numbers with {name}", [0, mark, 1, 0]
        yield f"array with {name}", np.array(["a", mark, "b", "a"], dtype=object)
    yield "array of NaN", np.array([0.0, np.nan, 1.0, 0.0])
    yield "array of NaT", np.array(["2020-01-01", "NaT", "2020-01-02", "2020-01-01"], "M8[D]")


def missing_label_calls() -> Iterator[tuple[str, Call]]:
    graph = (X, np.array([[0, 1], [1, 2], [2, 3]]), np.ones((3, 1)))
    whole = ["a", "b", "b", "a"]
    fitted, chain = bcfw.MulticlassSVM().fit(X, whole), bcfw.ChainSVM().fit([X], [whole])
    for what, bad in missing_labels():
        yield f"MulticlassSVM y: {what}", lambda b=bad: bcfw.MulticlassSVM(max_passes=5).fit(X, b)
        yield f"MultilabelSVM y: {what}", lambda b=bad: bcfw.MultilabelSVM(max_passes=5).fit(X, b)
        yield f"ChainSVM y: {what}", lambda b=bad: bcfw.ChainSVM(max_passes=5).fit([X, X], [whole, b])
        yield f"ChainSVM stacked y: {what}", lambda b=bad: bcfw.ChainSVM().fit([X], bcfw.Sequences(b, [0, 4]))
        yield f"TreeSVM y (None: no label): {what}", lambda b=bad: bcfw.TreeSVM(max_passes=5).fit([graph], [b])
        yield f"MulticlassSVM score: {what}", lambda b=bad: fitted.score(X, b)
        yield f"ChainSVM score: {what}", lambda b=bad: chain.score([X], [b])
        yield f"flat_accuracy: {what}", lambda b=bad: bcfw.metrics.flat_accuracy([b], [whole])
        yield f"train y: {what}", lambda b=bad: quick(Multiclass(), X, b)


def tagger_calls() -> Iterator[tuple[str, Call]]:
    source = TextSource(bcfw.formats.FORMATS["conll"](columns=2), bcfw.formats.ATTRIBUTE_SETS["tagging"])
    words = Vocabulary(["w[0]=the", "w[0]=cat"])
    tagger = Tagger("chain", source, ["A", "B"], None, None, words, np.array([0, 3]), np.ones(2))
    for what, bad in STRANGE.items():
        for tokens in (None, True, False):
            yield f"tag {what}, tokens={tokens}", lambda b=bad, t=tokens: tagger.tag(b, tokens=t)
            yield f"tag [{what}], tokens={tokens}", lambda b=bad, t=tokens: tagger.tag([b], tokens=t)
            yield f"tag [[{what}]], tokens={tokens}", lambda b=bad, t=tokens: tagger.tag([[b, "the"]], tokens=t)
            yield f"tag [[({what},)]], tokens={tokens}", lambda b=bad, t=tokens: tagger.tag([[(b,)]], tokens=t)
        yield f"tag, tokens: {what}", lambda b=bad: tagger.tag([["the", "cat"]], tokens=b)


def path_calls() -> Iterator[tuple[str, Call]]:
    svm = bcfw.MulticlassSVM().fit(X, LABELS)
    for what, bad in (
        STRANGE | {"list of texts": ["model"], "NUL": "a\0b", "folder": "/tmp", "no folder": "/nowhere/m"}
    ).items():
        yield f"save path: {what}", lambda b=bad: svm.save(b)
        yield f"Result.save path: {what}", lambda b=bad: svm.result_.save(b)
        yield f"load path: {what}", lambda b=bad: bcfw.load(b)
        yield f"Legs path: {what}", lambda b=bad: quick(Multiclass(), X, LABELS, checkpoint=bcfw.Legs(b))


def with_first(array: np.ndarray, value: Any) -> np.ndarray:
    out = np.array(array)
    out.reshape(-1)[:1] = value
    return out


def training_calls() -> Iterator[tuple[str, Call]]:
    for name, (model, inputs, outputs) in PROBLEMS.items():
        for what, bad in damaged(inputs):
            yield f"train({name}) X: {what}", lambda m=model, a=bad, b=outputs: quick(m, a, b)
        for what, bad in damaged(outputs):
            yield f"train({name}) y: {what}", lambda m=model, a=inputs, b=bad: quick(m, a, b)
        fitted = quick(model, inputs, outputs)
        for what, bad in damaged(inputs):
            yield f"Result.predict({name}): {what}", lambda r=fitted, a=bad: r.predict(a)
    for option, more in train_options().items():
        for what, bad in (STRANGE | more).items():
            yield f"train {option}: {what}", lambda o=option, b=bad: quick(Multiclass(), X, LABELS, **{o: b})


def train_options() -> dict[str, dict[str, Any]]:
    """Options of ``train`` with strange values of their own, besides those that every option gets."""
    n, d = len(X), 6
    return {
        "lam": {},
        "tol": {},
        "max_passes": {},
        "max_seconds": {},
        "solver": {},
        "seed": {},
        "callbacks": {"one is a number": [len, 3], "nested": [[print]], "text": ["print"]},
        "warm_start": {"no file": "/nowhere/at.npz", "folder": "/tmp"},
        "checkpoint": {"folder": "/tmp", "no folder": "/nowhere/at.npz", "NUL": "a\0b", "negative": ("/tmp/c.npz", -1)},
        "n_jobs": {"ten million": 10**7},  # minutes and gigabytes, if it is accepted
        "verbose": {"three": 3},
        "sample_weight": {f"array {k}": v for k, v in damaged_array(np.ones(n)).items()},
        "bounds": {f"array {k}": (v, None) for k, v in damaged_array(np.ones(d)).items()}
        | {f"pair of {k}": (v, v) for k, v in STRANGE.items()},
    }


def model_calls() -> Iterator[tuple[str, Call]]:
    for kind in (Multiclass, Chain):
        inputs, outputs = PROBLEMS[kind.__name__][1:]
        for what, bad in (STRANGE | damaged_array(1.0 - np.eye(3))).items():
            yield f"{kind.__name__} cost: {what}", lambda k=kind, b=bad, i=inputs, o=outputs: quick(k(3, cost=b), i, o)
        for what, bad in STRANGE.items():
            yield f"{kind.__name__} n_labels: {what}", lambda k=kind, b=bad: k(n_labels=b)
    for what, bad in STRANGE.items():
        yield f"Multilabel tree: {what}", lambda b=bad: quick(Multilabel(tree=b), X, PROBLEMS["Multilabel"][2])
        yield f"Multilabel normalize: {what}", lambda b=bad: Multilabel(normalize=b)
        yield f"Chain end_bias: {what}", lambda b=bad: Chain(end_bias=b)
        yield f"Matching cost_miss: {what}", lambda b=bad: Matching(cost_miss=b)
        yield f"train model: {what}", lambda b=bad: quick(b, X, LABELS)


def estimator_calls() -> Iterator[tuple[str, Call]]:
    for name, (_, inputs, outputs) in PROBLEMS.items():
        kind = ESTIMATORS[name]
        for what, bad in damaged(inputs):
            yield f"{kind.__name__} X: {what}", lambda k=kind, a=bad, b=outputs: k(max_passes=5).fit(a, b)
        for what, bad in damaged(outputs):
            yield f"{kind.__name__} y: {what}", lambda k=kind, a=inputs, b=bad: k(max_passes=5).fit(a, b)
        fitted = kind(max_passes=5).fit(inputs, outputs)
        for what, bad in damaged(inputs):
            yield f"{kind.__name__} predict: {what}", lambda f=fitted, a=bad: f.predict(a)
        for what, bad in damaged(outputs):
            yield f"{kind.__name__} score y: {what}", lambda f=fitted, a=inputs, b=bad: f.score(a, b)
        for option in set(kind().get_params()) - {"solver", "warm_start", "callbacks", "verbose"}:
            for what, bad in STRANGE.items():
                if option == "kernel" and callable(bad):
                    continue  # a user's own function: its errors are the user's
                yield (
                    f"{kind.__name__} {option}: {what}",
                    lambda k=kind, o=option, b=bad, i=inputs, y=outputs: k(**{"max_passes": 5, o: b}).fit(i, y),
                )


def data_set_calls() -> Iterator[tuple[str, Call]]:
    for what, bad in STRANGE.items():
        for option in ("n_train", "n_test", "noise", "seed", "constant"):
            few = {"n_train": 3, "n_test": 3, option: bad}
            yield f"load_digit_words {option}: {what}", lambda f=few: datasets.load_digit_words(**f)
        yield f"fetch_ocr: {what}", lambda b=bad: datasets.fetch_ocr(b)
        for name, converter in datasets.CONVERTERS.items():
            paths = dict.fromkeys(converter.originals, bad)
            yield f"convert {name}: {what}", lambda c=converter, p=paths: c.convert(**p, out="/tmp/nothing")
    yield "fetch_ocr: list", lambda: datasets.fetch_ocr(["large"])


def command_calls() -> Iterator[tuple[str, Call]]:
    lines = ["demo --seed -1", "demo --seed x", "demo --out /proc/no", "demo --out /dev/null/x", "demo --speed", "dem"]
    lines += [
        "convert",
        "convert ocr",
        "convert ocr /nowhere",
        "convert ocr /tmp",
        "convert ocr /etc/passwd",
        "cache x",
    ]
    for line in lines:
        yield f"bcfw {line}", lambda words=line: run_command(words.split())


def run_command(words: list[str]) -> None:
    answer = CliRunner().invoke(command, words)
    if answer.exception is not None and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    if answer.exit_code:
        raise BcfwError(answer.output)


def quick(model: Any, inputs: Any, outputs: Any, **options: Any) -> Any:
    return bcfw.train(model, inputs, outputs, **{"max_passes": 3, **options})


def classify(call: Call) -> tuple[str, str]:
    """What a call gets, and the message or the place of the error."""
    try:
        call()
    except BcfwError as error:
        return "refused", str(error)
    except FileNotFoundError as error:  # Python's own word for a file that is not there
        return "refused", str(error)
    except (ValueError, TypeError) as error:
        frames = traceback.extract_tb(error.__traceback__)
        checked = f"sklearn{os.sep}utils" in frames[-1].filename
        missing = "missing" in str(error) and "argument" in str(error)
        return ("refused" if checked or missing else "raw"), f"{type(error).__name__}: {error} [{place(frames)}]"
    except Exception as error:
        return "raw", f"{type(error).__name__}: {error} [{place(traceback.extract_tb(error.__traceback__))}]"
    return "accepted", ""


def place(frames: Any) -> str:
    ours = [frame for frame in frames if f"{os.sep}bcfw{os.sep}" in frame.filename]
    return f"{os.path.basename(ours[-1].filename)}:{ours[-1].lineno}" if ours else "?"


GROUPS = (
    training_calls,
    model_calls,
    estimator_calls,
    missing_label_calls,
    tagger_calls,
    path_calls,
    data_set_calls,
    command_calls,
)


@functools.cache
def all_calls() -> list[tuple[str, str, Call]]:
    """The group, the name and the call, of each."""
    return [(group.__name__.removesuffix("_calls"), *one) for group in GROUPS for one in group()]


def mixed_call(rng: random.Random) -> tuple[str, str, Call]:
    """A model with damaged data and two strange options."""
    name = rng.choice(list(PROBLEMS))
    model, inputs, outputs = PROBLEMS[name]
    words, bad = "good", inputs
    if rng.random() < 0.5:
        words, bad = rng.choice(list(damaged(inputs)))
    options = train_options()
    chosen = {}
    for option in rng.sample(sorted(options), 2):
        what, chosen[option] = rng.choice(list((STRANGE | options[option]).items()))
        words += f", {option}: {what}"
    return "mixed", f"train({name}) X: {words}", lambda: quick(model, bad, outputs, **chosen)


def one_problem(number: int, seed: int) -> Outcome:
    rng, calls = random.Random(f"{seed} {number}"), all_calls()
    order = random.Random(seed).sample(range(len(calls)), len(calls))
    group, name, call = calls[order[number]] if number < len(calls) else mixed_call(rng)
    status, message = classify(call)
    kind, wrong = f"malformed calls: {group.replace('_', ' ')}", ["raw error"] if status == "raw" else []
    return Outcome(kind, status, wrong, f"{name}: {message[:300]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.exit(campaign.main(__doc__, isolated(one_problem, 12 * 10**9), count=4000))
