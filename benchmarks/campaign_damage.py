"""Damaged checkpoint files: each must be refused with a clear error, or give a correct certified result.

    nice python benchmarks/campaign_damage.py [--count 600] [--log FILE]

Checkpoints of several models and solvers are cut, filled with zeros or garbage, or have bits flipped; and valid npz
files are written with wrong arrays: other values, shapes and types, missing ones, ones too many. Training continues
from every file in a worker process, which is started again when a file kills it. A result counts as wrong if its
certificate does not enclose the enumerated optimum.

A third of the wrong arrays get fresh checksums, as if a faulty program had written them, so that only the checks of the
arrays themselves stand between them and compiled code. Numbers that could be right cannot be told from right ones: here
it counts as a failure only if a worker dies, an error is not the package's own, or a result is NaN; the rest is counted
as "forged".
"""

from __future__ import annotations

import functools
import io
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import bcfw
import campaign
from bcfw.storage.checked_arrays import checksums
from campaign import Outcome
from worker import isolated

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from problems import CASES  # noqa: E402 - small problems whose outputs are enumerated

FOLDER = Path(tempfile.gettempdir())

#: Begins the description of wrong arrays with fresh checksums.
FORGED = "forged "

SOURCES = [
    ("multiclass-cost", bcfw.solvers.BCFW()),
    ("chain-cost", bcfw.solvers.BCFW(step="pairwise")),
    ("chain-wide", bcfw.solvers.MultiPlane(clock="count", acceleration=10)),
    ("multilabel-tree", bcfw.solvers.BCFW(step="away", cache="gap")),
    ("graph-cost", bcfw.solvers.BCFW(sampling="gap", step="pairwise")),
    ("bounded-chain-cost", bcfw.solvers.BCFW(averaging=True)),
    ("matching-costs", bcfw.solvers.BatchFW()),
    ("dense-features", bcfw.solvers.BCFW()),
    ("sparse-features", bcfw.solvers.MultiPlane(clock="count")),
    ("user-compiled", bcfw.solvers.BCFW(step="pairwise")),
]


def damaged_bytes(rng: np.random.Generator, content: bytes) -> tuple[str, bytes]:
    """The file cut, flipped, zeroed or with garbage in it."""
    changed = bytearray(content)
    a, b = sorted(rng.integers(len(content) + 1, size=2))
    kind = str(rng.choice(["cut", "begin", "flip", "zero", "garbage", "empty"], p=[0.2, 0.1, 0.4, 0.14, 0.14, 0.02]))
    if kind == "cut":
        del changed[a:]
    elif kind == "begin":
        del changed[:a]
    elif kind == "flip":
        for position in rng.integers(len(content), size=rng.integers(1, 4)):
            changed[position] ^= 1 << int(rng.integers(8))
    elif kind == "zero":
        changed[a:b] = bytes(b - a)
    elif kind == "garbage":
        changed[a:b] = rng.bytes(b - a)
    else:
        changed.clear()
    return kind, bytes(changed)


def damaged_array(rng: np.random.Generator, array: np.ndarray) -> tuple[str, Any]:
    """An array with other values, of another shape or of another type."""
    number = array.dtype.kind in "if"
    kinds = ["longer", "shorter", "deeper", "type", "text", *(["one", "all", "noise", "scale"] if number else [])]
    kind = str(rng.choice(kinds))
    values = [0, -1, 1, 2, 7, 10**6, -(10**6), 2**31 - 1]
    values += [0.5, np.nan, np.inf, -np.inf, 1e300, -1e-3] if array.dtype.kind == "f" else []
    value = values[rng.integers(len(values))]
    changed = array.copy()
    if kind == "longer":
        changed = np.concatenate([np.atleast_1d(array), np.atleast_1d(array)])
    elif kind == "shorter":
        changed = np.atleast_1d(array)[:-1]
    elif kind == "deeper":
        changed = array[None]
    elif kind == "type":
        other = [np.float32, np.int8, np.uint64, bool, complex, ">f8"][rng.integers(6)]
        changed = array.astype(other) if number else np.zeros(3, other)
    elif kind == "text":
        changed = np.array(["other", "words"])
    elif kind == "one" and changed.size:
        changed.reshape(-1)[rng.integers(changed.size)] = value
    elif kind == "all":
        changed[...] = value
    elif kind == "noise":
        changed = (changed + rng.standard_normal(changed.shape) * 10.0 ** rng.integers(-8, 3)).astype(array.dtype)
    elif kind == "scale":
        changed = (changed * rng.choice([-1, 2, 1.001])).astype(array.dtype)
    return kind, changed


def damaged_npz(rng: np.random.Generator, content: bytes) -> tuple[str, bytes]:
    """A valid npz file with one wrong, missing or additional array, with the old or with fresh checksums."""
    with np.load(io.BytesIO(content)) as file:
        arrays = dict(file)
    name = str(rng.choice(list(arrays)))
    kind = str(rng.choice(["wrong", "missing", "more"], p=[0.9, 0.05, 0.05]))
    if kind == "wrong":
        kind, arrays[name] = damaged_array(rng, arrays[name])
    elif kind == "missing":
        del arrays[name]
    else:
        arrays[str(rng.choice(["more", "mu_9", "store_more", "point"]))] = np.ones(3)
    fresh = bool(rng.random() < 1 / 3) and name not in ("version", "checksums")
    if fresh:
        arrays["checksums"] = checksums({k: v for k, v in arrays.items() if k not in ("version", "checksums")})
    file = io.BytesIO()
    np.savez(file, **arrays)
    return f"{FORGED if fresh else ''}{name} {kind}", file.getvalue()


@functools.cache
def good(source: int) -> bytes:
    """A checkpoint as it was written."""
    name, solver = SOURCES[source]
    path = FOLDER / "good.npz"
    CASES[name].few_passes(3, solver=solver, checkpoint=path)
    return path.read_bytes()


def one_problem(number: int, seed: int) -> Outcome:
    rng = np.random.default_rng([seed, number])
    source = number % len(SOURCES)
    content = good(source)
    what, changed = (damaged_bytes if rng.random() < 0.25 else damaged_npz)(rng, content)
    path = FOLDER / "bad.npz"
    path.write_bytes(changed)
    name = SOURCES[source][0]
    status, wrong = continued(name, path, forged=what.startswith(FORGED))
    return Outcome(f"damaged checkpoints: {name}", status, wrong, what)


def continued(name: str, path: Path, forged: bool) -> tuple[str, list[str]]:
    """How training from a file ended: "refused", "correct" or "forged"; and what is wrong."""
    case = CASES[name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = case.train(warm_start=path, tol=0.01, max_passes=300)
    except bcfw.InputError as error:
        return "refused", [] if str(path) in str(error) else [f"error without the file: {error}"]
    except bcfw.BcfwError as error:
        return "forged", [] if forged else [f"{type(error).__name__}: {error}"]
    objective = case.enumerated()
    best = objective.optimum
    room = 1e-7 * (1.0 + abs(best.primal))
    primal = objective.primal(result.w) if np.isfinite(result.w).all() else np.nan
    right = [
        abs(result.primal - primal) <= room,
        abs(result.primal - result.dual - result.gap) <= room,
        result.dual <= best.primal + room,
        result.primal >= best.dual - room,
        result.status == "converged",
    ]
    if all(right):
        return "correct", []
    if forged and np.isfinite([primal, result.primal, result.dual, result.gap]).all():
        return "forged", []
    return "wrong", [f"wrong result: {result.summary()}, optimum {best.primal:.6g}, primal {primal:.6g}"]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = Path(folder)
        sys.exit(campaign.main(__doc__, isolated(one_problem), count=600))
