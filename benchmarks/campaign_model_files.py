"""Model files that were made up, damaged or belong to other programs: one clear error, or a model that works.

    nice python benchmarks/campaign_model_files.py [--count 2000] [--log FILE]

Files of the commands, of all estimators and of results are changed, one or two places at a time:

- forged: any field of the header, or of the file's words about itself, gets another value, or an array gets other
  numbers, another shape or type, or another array's place; all with right checksums;
- damaged: bytes are flipped, cut, left out, put in, zeroed or exchanged;
- foreign: pickles, npz, zip, png, text and other files; bombs that ask for memory.

Each file is loaded, asked for predictions, and given to the commands info, predict and evaluate, by a worker process
with limited memory. Errors must be those of the package and name the file; commands end with exit code 0, or 2 and one
line; load and info accept the same files; damaged and foreign files are refused; whole files give the answers of the
original. A file that was forged may answer anything.
"""

from __future__ import annotations

import copy
import functools
import io
import json
import pickle
import random
import struct
import sys
import tempfile
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from click.testing import CliRunner
from safetensors.numpy import save

import bcfw
import campaign
from bcfw.commands import main as command
from bcfw.errors import BcfwError
from bcfw.storage import model_file
from bcfw.storage.checked_arrays import checksums
from campaign import Outcome
from worker import isolated

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "estimators")]

from test_saved_estimators import CASES, fitted  # noqa: E402 - estimators of all kinds, fitted on small data

from problems import CASES as PROBLEMS  # noqa: E402
from same import difference  # noqa: E402

#: Most addresses of the worker.
MEMORY = 12 * 10**9

FOLDER = Path(tempfile.gettempdir())

SENTENCES = "The DT B-NP\ncat NN I-NP\nsleeps VB B-VP\n. . O\n\nDogs NN B-NP\nsleep VB B-VP\n\n" * 3
ATTRIBUTES = "B-NP\tw=the\tt=DT\nI-NP\tw=cat\tt=NN\tn:3\n\nB-NP\tw=dogs\n\n" * 3
NUMBERS = "1 1:0.5 2:1\n2 1:-1 3:.25\n1 2:.5\n3 3:2\n"
CHAINS = "1 qid:1 1:0.5 2:1\n2 qid:1 1:-1 3:.25\n1 qid:2 2:.5\n3 qid:2 3:2\n"
TABLE = "width,colour,class\n1,red,a\n2,blue,b\n1.5,red,a\n"

#: Files of the commands: format and text of the data, options of train.
TAGGERS = {
    "tagger conll": ("conll", SENTENCES, []),
    "tagger hashed": ("conll", SENTENCES, ["--hash", "64"]),
    "tagger template": ("conll", SENTENCES, ["--template", "TEMPLATE"]),
    "tagger crfsuite": ("crfsuite", ATTRIBUTES, []),
    "tagger libsvm": ("libsvm", NUMBERS, []),
    "tagger chains": ("libsvm", CHAINS, []),
    "tagger csv": ("csv", TABLE, []),
} | {f"tagger {name}": ("conll", SENTENCES, ["--attributes", name]) for name in bcfw.formats.ATTRIBUTE_SETS}

#: Results of every model of the package: problems of the tests by name, and the options of train.
RESULTS: dict[str, tuple[str, dict[str, Any]]] = {
    f"result {kind}": (next(name for name, case in PROBLEMS.items() if type(case.model) is model), {})
    for kind, model in bcfw.models.MODELS.items()
}
RESULTS["result with kernel"] = ("multiclass-wide", {"solver": bcfw.solvers.KernelBCFW(kernel="rbf", gamma=0.5)})

ESTIMATORS = {f"{name} {case}": (name, case) for name in CASES for case in CASES[name] if case != "of your own"}

KINDS = [*TAGGERS, *ESTIMATORS, *RESULTS]


class Original(NamedTuple):
    """A good file: its content; inputs for predict in Python, or None; text for the commands and its format."""

    content: bytes
    X: Any
    text: str
    words: list[str]


@functools.cache
def original(kind: str) -> Original:
    path = FOLDER / "good.bcfw"
    if kind in TAGGERS:
        name, text, options = TAGGERS[kind]
        data, template = FOLDER / "good.data", FOLDER / "TEMPLATE"
        data.write_text(text)
        template.write_text("U00:%x[0,0]\nU01:%x[-1,1]/%x[0,1]\nB\n")
        options = [str(template) if option == "TEMPLATE" else option for option in options]
        done = run("train", str(data), "-f", name, "-m", str(path), "-q", *options)
        assert done.exit_code == 0, done.output
        return Original(path.read_bytes(), None, text, [])
    if kind in RESULTS:
        name, options = RESULTS[kind]
        PROBLEMS[name].few_passes(20, **options).save(path)
        return Original(path.read_bytes(), PROBLEMS[name].X, CHAINS if "chain" in kind else NUMBERS, ["-f", "libsvm"])
    name, case = ESTIMATORS[kind]
    fitted(name, case).save(path)
    by_name = case in ("attributes", "hashed", "spans of attributes")
    text = ATTRIBUTES if by_name else CHAINS if "Chain" in name else NUMBERS
    return Original(path.read_bytes(), CASES[name][case][1], text, ["-f", "crfsuite" if by_name else "libsvm"])


# --- forged ----------------------------------------------------------------------------------------------------------


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


VALUES: list[Any] = [None, True, False, -1, 0, 1, 2, 1.5, 2**31, 2**63, 10**18, 10**30, 1e308, -1e-300]
VALUES += [float("nan"), float("inf"), "", "x", "os.system", "w", "a" * 2000, "\0", "\ud800", "{}", "[" * 10**5]
VALUES += [[], [1], ["a"], [None] * 50, nested(60), nested(300), {}, {"a": 1}]
VALUES += [{"$array": "w"}, {"$array": 3}, {"$tuple": [1, 2]}, {"$tuple": 5}, {"$dict": [[1, 2]]}, {"$dict": [[[], 2]]}]
VALUES += [{"$labels": ["<U5", [2], ["a", "b"]]}, {"$labels": ["|O", [1, 1], [[]]]}, {"$labels": ["<f8", [-1], [1.0]]}]
VALUES += [{"$bytes": "ä漢"}, {"$scalar": ["<f8", 1]}, {"$scalar": ["<U9999999", "a"]}, {"$model": {}}]
VALUES += [{"$solver": {"solver": "bcfw", "options": {}}}, {"$vectorizer": {"options": {}, "columns": 5}}]


def places_of(value: Any, keys: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all values in a header; of long lists only the first ones."""
    items = list(value.items()) if isinstance(value, dict) else []
    if isinstance(value, list):
        items = list(enumerate(value))[:5]
    return [place for key, one in items for place in [(*keys, key), *places_of(one, (*keys, key))]]


def forge_header(header: dict[str, Any], rng: random.Random) -> str:
    """Change one or two places of a header."""
    words = []
    for _ in range(rng.choice([1, 1, 2])):
        places = places_of(header)
        keys, action = rng.choice(places), rng.random()
        parent = functools.reduce(lambda value, key: value[key], keys[:-1], header)
        if action < 0.1:
            del parent[keys[-1]]
            words.append(f"{keys} left out")
        elif action < 0.3:
            other = rng.choice(places_of(header))
            parent[keys[-1]] = copy.deepcopy(functools.reduce(lambda value, key: value[key], other, header))
            words.append(f"{keys} = that of {other}")
        else:
            value = copy.deepcopy(rng.choice(VALUES))
            parent[keys[-1]] = value
            words.append(f"{keys} = {value!r:.60}")
    return ", ".join(words)


def forge_array(arrays: dict[str, np.ndarray], rng: random.Random) -> str:
    """Change one array."""
    name = rng.choice(list(arrays))
    array = arrays[name]
    kind = rng.choice(["missing", "swapped", "shorter", "longer", "type", "deeper", "one", "all", "renamed", "bytes"])
    if kind == "missing":
        del arrays[name]
    elif kind == "renamed":
        arrays[rng.choice(["x", "w", "w.dim", "names"])] = arrays.pop(name)
    elif kind == "swapped":
        other = rng.choice(list(arrays))
        arrays[name], arrays[other] = arrays[other], array
    elif kind == "shorter":
        arrays[name] = np.atleast_1d(array)[:-1]
    elif kind == "longer":
        arrays[name] = np.concatenate([np.atleast_1d(array)] * 2)
    elif kind == "type":
        arrays[name] = np.nan_to_num(array).astype(
            rng.choice([np.float32, np.int8, np.uint64, bool, np.int64, np.float64])
        )
    elif kind == "deeper":
        arrays[name] = array[None]
    elif kind == "bytes":
        arrays[name] = np.frombuffer(rng.randbytes(rng.choice([0, 1, 8, 9, 50])), np.uint8)
    else:
        values = [0, 1, -1, 7, 10**6, 2**40, 2**62] + ([np.nan, np.inf, 1e300] if array.dtype.kind == "f" else [])
        changed = np.array(array)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = np.array(rng.choice(values)).astype(array.dtype)
        if changed.size:
            changed.reshape(-1)[slice(None) if kind == "all" else rng.randrange(changed.size)] = value
        arrays[name] = changed
    return f"{name} {kind}"


def written(kind: Any, header: Any, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> bytes:
    """A file with right checksums."""
    text = header if isinstance(header, str) else json.dumps(header)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    sums = checksums({"(kind)": kind, "(header)": text, **arrays}).tolist()
    words = {"layout": 1, "kind": kind, "header": text, "checksums": sums, **about}
    return save(arrays, {"bcfw": json.dumps({key: value for key, value in words.items() if value is not ...})})


def forged(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    file = parsed(content)
    kind, header, arrays = file.kind, copy.deepcopy(file.header), dict(file.arrays.snapshot)
    what, about = rng.random(), {}
    if what < 0.65:
        words = forge_header(header, rng)
    elif what < 0.92:
        words = forge_array(arrays, rng)
    elif what < 0.96:
        key, value = rng.choice(["layout", "kind", "header", "checksums"]), rng.choice([*VALUES, ...])
        about, words = {key: value}, f"({key}) = {value!r:.60}"
    else:
        kind = rng.choice(["result", "tagger", "estimator", "recipe", ""])
        words = f"kind {kind}"
    return f"forged: {words}", written(kind, header, arrays, about)


def parsed(content: bytes) -> model_file.ModelFile:
    path = FOLDER / "parsed.bcfw"
    path.write_bytes(content)
    return model_file.read(path)


# --- damaged and foreign ---------------------------------------------------------------------------------------------


def damaged(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    a, b = sorted(rng.sample(range(len(content)), 2))
    middle = (a + b) // 2
    ways = {
        "flipped": content[:a] + bytes([content[a] ^ (1 << rng.randrange(8))]) + content[a + 1 :],
        "cut": content[:a],
        "begun late": content[a + 1 :],
        "zeroed": content[:a] + bytes(b - a) + content[b:],
        "left out": content[:a] + content[b:],
        "put in": content[:a] + rng.randbytes(1 + rng.randrange(20)) + content[a:],
        "exchanged": content[:a] + content[middle:b] + content[a:middle] + content[b:],
        "longer": content + rng.randbytes(1 + rng.randrange(1000)),
        "twice": content + content,
    }
    way = rng.choice(list(ways))
    return f"damaged: {way} at {a} .. {b}", ways[way]


class Evil:
    """A pickle that leaves a file behind if it is run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (FOLDER / "evil",)


def sparse_header(dtype: str, shape: list[int], end: int) -> bytes:
    text = json.dumps({"__metadata__": {"bcfw": "{}"}, "w": {"dtype": dtype, "shape": shape, "data_offsets": [0, end]}})
    return struct.pack("<Q", len(text)) + text.encode()


def foreign(rng: random.Random) -> tuple[str, bytes]:
    file, packed = io.BytesIO(), io.BytesIO()
    np.savez(file, w=np.ones(3))
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("w.npy", "x")
    ways = {
        "pickle": pickle.dumps(Evil()),
        "npz": file.getvalue(),
        "zip": packed.getvalue(),
        "png": b"\x89PNG\r\n\x1a\n" + rng.randbytes(200),
        "empty": b"",
        "text": SENTENCES.encode(),
        "JSON": b'{"layout": 1}',
        "gzip": b"\x1f\x8b" + zlib.compress(b"x" * 100),
        "noise": rng.randbytes(rng.choice([1, 7, 8, 9, 100, 5000])),
        "safetensors": save(
            {"w": np.ones(3)}, rng.choice([None, {"format": "pt"}, {"bcfw": "{"}, {"bcfw": "[" * 90_000}])
        ),
        "header of 2^62 bytes": struct.pack("<Q", 2**62) + b"{}",
        "header of nothing": struct.pack("<Q", 0),
        "array of 10^15 bytes": sparse_header("F64", [10**15 // 8], 10**15) + bytes(100),
        "shape of 2^80": sparse_header("F64", [2**40, 2**40], 8) + bytes(8),
        "negative shape": sparse_header("F64", [-1], 8) + bytes(8),
        "sparse 16 GB": sparse_header("F64", [2 * 10**9], 16 * 10**9),
    }
    way = rng.choice(list(ways))
    return f"foreign: {way}", ways[way]


def bomb(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A small file that asks for much memory."""
    file = parsed(content)
    header, arrays = copy.deepcopy(file.header), dict(file.arrays.snapshot)
    way = rng.choice(["sizes", "dim", "names", "labels", "hashed", "long header"])
    large = rng.choice([10**6, 10**7, 2**31, 2**40, 2**62])
    if way == "sizes":
        for place in places_of(header):
            parent = functools.reduce(lambda value, key: value[key], place[:-1], header)
            if type(parent[place[-1]]) is int:
                parent[place[-1]] = large
    elif way == "dim":
        weights = model_file.pack_weights("w", np.eye(1, 5000)[0])
        arrays = {name: array for name, array in arrays.items() if name.split(".")[0] != "w"}
        arrays |= {**weights, "w.dim": np.array(large)}
    elif way == "names":
        raw = zlib.compress(bytes(10**6), level=9)
        size = rng.choice([10**6, 90 * len(raw), 2**62])
        packed = np.frombuffer(size.to_bytes(8, "little") + raw, np.uint8)
        arrays = {name: packed if array.dtype == np.uint8 else array for name, array in arrays.items()}
    elif way == "labels":
        header["labels"] = header["classes"] = [str(k) for k in range(min(large, 10**5))]
    elif way == "hashed":
        header["hashed"] = large
    else:
        header["more"] = nested(rng.choice([10, 300])) if rng.random() < 0.5 else [0] * min(large, 10**6)
    return f"bomb: {way} {large}", written(file.kind, header, arrays, {})


# --- what becomes of a file -------------------------------------------------------------------------------------------


def run(*words: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CliRunner().invoke(command, list(words), **options)


def fault_of_command(name: str, done: Any) -> list[str]:
    """What is wrong with the end of a command."""
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return [f"{name}: raw {type(done.exception).__name__}"]
    lines = done.stderr.splitlines()
    if done.exit_code not in (0, 2):
        return [f"{name}: exit code {done.exit_code}"]
    if done.exit_code == 2 and not (len(lines) == 1 and lines[0].startswith("bcfw: ") and len(lines[0]) < 1000):
        return [f"{name}: {len(lines)} lines of error"]
    return []


def loaded(path: Path, X: Any) -> tuple[str, Any, list[str]]:
    """How loading and predicting ended, what was predicted, and what is wrong."""
    try:
        twin = bcfw.load(path)
    except BcfwError as error:
        return "refused", None, [] if str(path) in str(error) else [f"load: an error without the file: {error}"[:200]]
    if X is None:
        return "read", None, []
    try:
        return "read", twin.predict(X), []
    except BcfwError:
        return "read", None, []


WAYS = {
    "whole": lambda content, rng: ("whole", content),
    "forged": forged,
    "damaged": damaged,
    "foreign": lambda content, rng: foreign(rng),
    "bomb": bomb,
}


def one_problem(number: int, seed: int) -> Outcome:
    rng = random.Random(f"{seed} {number}")
    kind = KINDS[number % len(KINDS)]
    way = rng.choices(["whole", "forged", "damaged", "foreign", "bomb"], [3, 74, 14, 6, 3])[0]
    row = f"{way}: {kind.split()[0]}"
    campaign.trying(row)
    good = original(kind)
    words, content = WAYS[way](good.content, rng)
    path, data = FOLDER / "tried.bcfw", FOLDER / "tried.txt"
    path.write_bytes(content)
    if words.endswith("16 GB"):
        with path.open("ab") as file:
            file.truncate(len(content) + 16 * 10**9)
    data.write_text(good.text)
    status, predicted, wrong = loaded(path, good.X)
    done = {"info": run("info", str(path), "--top", "3")}
    done |= {name: run(name, str(path), str(data), *good.words) for name in ("predict", "evaluate")}
    for name, one in done.items():
        wrong += fault_of_command(name, one)
    if (done["info"].exit_code == 0) != (status == "read"):
        wrong.append(f"load {status}, info with exit code {done['info'].exit_code}")
    if way in ("damaged", "foreign") and content != good.content and status != "refused":
        wrong.append("a damaged file was read")
    if way == "whole":
        name, case = ESTIMATORS.get(kind, (None, None))
        expected = None if name is None else fitted(name, case).predict(good.X)
        wrong += ["a whole file was refused"] * (status != "read")
        if expected is not None and difference(expected, predicted) is not None:
            wrong.append("a whole file answers otherwise")
    if (FOLDER / "evil").exists():
        wrong.append("a pickle was run")
    return Outcome(row, status, wrong, f"{kind}: {words}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = Path(folder)
        sys.exit(campaign.main(__doc__, isolated(one_problem, MEMORY)))
