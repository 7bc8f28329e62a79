"""Peak memory and seconds of large problems, each in a process of its own.

    python benchmarks/memory.py [case ...]

A case prints the seconds that reading and packing the data took, the seconds of what follows, and the largest resident
set of the process. All data are random; what is compiled comes from the disk cache (run twice).
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import bcfw
from bcfw.dual import open_problem
from bcfw.models import Chain, Multiclass, Multilabel
from bcfw.passes.order import in_order


def many_classes() -> tuple[Any, ...]:
    """20,000 classes, 0/1 loss, 1000 examples: plain BCFW."""
    rng = np.random.default_rng(0)
    X = sp.random_array((1000, 100), density=0.1, rng=rng, format="csr")
    y = rng.integers(20_000, size=1000)
    return Multiclass(n_labels=20_000), X, y, bcfw.solvers.BCFW()


def many_classes_auto() -> tuple[Any, ...]:
    """The same with exact block solves, which "auto" chooses."""
    return *many_classes()[:3], "auto"


def as_many_classes() -> tuple[Any, ...]:
    """100,000 examples of 100,000 classes, 8 dense features."""
    rng = np.random.default_rng(0)
    return Multiclass(), rng.standard_normal((100_000, 8)), np.arange(100_000), "auto"


def many_labels() -> tuple[Any, ...]:
    """1000 labels that are on or off, 5000 examples: the store of multi-plane."""
    rng = np.random.default_rng(0)
    X = sp.random_array((5000, 100), density=0.1, rng=rng, format="csr")
    Y = (rng.random((5000, 1000)) < 0.05).astype(int)
    return Multilabel(), X, Y, bcfw.solvers.MultiPlane(clock="count", acceleration=10)


def many_labels_auto() -> tuple[Any, ...]:
    """The same with exact block solves."""
    return *many_labels()[:3], "auto"


def many_sequences() -> tuple[Any, ...]:
    """200,000 sparse sequences of 5 to 15 positions."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(5, 16, size=200_000)
    all_rows = sp.random_array((int(lengths.sum()), 20_000), density=5 / 20_000, rng=rng, format="csr")
    ends = np.cumsum(lengths)
    X = [all_rows[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    y = [rng.integers(5, size=length) for length in lengths]
    return Chain(), X, y, bcfw.solvers.BCFW()


def stacked_sequences() -> tuple[Any, ...]:
    """The same 200,000 as one matrix with offsets."""
    model, X, y, solver = many_sequences()
    return model, bcfw.Sequences.from_list(X), bcfw.Sequences.from_list(y), solver


def float32_rows() -> tuple[Any, ...]:
    """100,000 sequences of 10 positions with 256 dense float32 features: 1.02 GB of input."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((1_000_000, 256), dtype=np.float32)
    ends = np.arange(0, len(rows) + 1, 10)
    y = bcfw.Sequences(rng.integers(5, size=len(rows)), ends)
    return Chain(), bcfw.Sequences(rows, ends), y, bcfw.solvers.BCFW()


def float32_list() -> tuple[Any, ...]:
    """The same as a list of arrays."""
    model, X, y, solver = float32_rows()
    return model, list(X), list(y), solver


def float32_zeros() -> tuple[Any, ...]:
    """The same rows with zeros in the place of negative numbers, half of them, as behind a ReLU."""
    model, X, y, solver = float32_rows()
    np.maximum(X.rows, 0.0, out=X.rows)
    return model, X, y, solver


def float32_classes() -> tuple[Any, ...]:
    """The rows as a million examples of 5 classes, with exact block solves."""
    _, X, y, _ = float32_rows()
    return Multiclass(), X.rows, y.rows, "auto"


def run_case(make: Callable[[], tuple[Any, ...]]) -> None:
    """Open the problem, then train for three passes."""
    model, X, y, solver = make()
    base = peak()
    start, used = time.perf_counter(), time.process_time()
    open_problem(model, X, y, 0.01)
    packed, cpu = time.perf_counter(), time.process_time() - used
    opened = peak()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bcfw.train(model, X, y, lam=0.01, solver=solver, max_passes=3)
    trained = time.perf_counter()
    print(
        f"{make.__name__:<17} open {packed - start:6.2f} s ({cpu:.2f} s of CPU)   train (opens again) "
        f"{trained - packed:6.2f} s   peak {peak():6.2f} GB, {opened:.2f} GB after opening, {base:.2f} GB before",
        flush=True,
    )


def run_bounds() -> None:
    """Steps on 5 million weights, all of them bounded, against the same without bounds."""
    rng = np.random.default_rng(0)
    X = sp.random_array((2000, 1_000_000), density=2e-5, rng=rng, format="csr")
    y = rng.integers(5, size=2000)
    times = []
    for bounds in (None, (-1.0, 1.0)):
        problem = open_problem(Multiclass(), X, y, 0.01, bounds=bounds)
        rule = problem.rule()
        some = np.arange(100)
        problem.visit(in_order(some), rule)
        start = time.perf_counter()
        problem.visit(in_order(some), rule)
        times.append((time.perf_counter() - start) / len(some) * 1e3)
    print(f"{'bounds':<17} step {times[0]:.4f} ms without, {times[1]:.4f} ms with bounds   peak {peak():.2f} GB")


def peak() -> float:
    """Largest resident set so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


CASES = {
    make.__name__: make
    for make in (
        many_classes,
        many_classes_auto,
        as_many_classes,
        many_labels,
        many_labels_auto,
        many_sequences,
        stacked_sequences,
        float32_rows,
        float32_list,
        float32_zeros,
        float32_classes,
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="case", help=", ".join([*CASES, "bounds"]))
    parser.add_argument("--here", action="store_true", help="run in this process")
    options = parser.parse_args()
    for name in options.cases or [*CASES, "bounds"]:
        if not options.here:
            subprocess.run([sys.executable, __file__, "--here", name], check=True)
        elif name in CASES:
            run_case(CASES[name])
        else:
            run_bounds()


if __name__ == "__main__":
    main()
