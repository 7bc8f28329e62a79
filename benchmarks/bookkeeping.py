"""What sampling by gaps, pairwise steps and the cache cost per step beyond the oracle call, on OCR-large.

    python benchmarks/bookkeeping.py [--lam 0.01] [--rounds 5] [--passes 10]

Time per exact step of ``BCFW(sampling="gap", step="pairwise", cache="gap")`` against plain ``BCFW()``. The cache is
never hit (``cache_nu`` is out of reach) but looked up in full, so every visit pays for all the bookkeeping and for the
oracle. The rows add one thing at a time; all of them run in turn, several rounds in one process, without certificates.
A figure is the least time of a pass over the second half of the passes of all rounds, divided by its steps. Sampling by
gaps also changes which words are visited: the rows in permuted order compare the same words. Data are read through
``BCFW_DATA``.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

import bcfw
from bcfw.solvers import BCFW

NO_HIT = {"cache": "gap", "cache_nu": 1e12}
NO_CERTIFICATE = {"gap_every": 10**9}

SOLVERS = {
    "plain": BCFW(**NO_CERTIFICATE),
    "gap": BCFW(sampling="gap", **NO_CERTIFICATE),
    "pairwise": BCFW(step="pairwise", **NO_CERTIFICATE),
    "pairwise + cache": BCFW(step="pairwise", **NO_HIT, **NO_CERTIFICATE),
    "gap + pairwise": BCFW(sampling="gap", step="pairwise", **NO_CERTIFICATE),
    "gap + pairwise + cache": BCFW(sampling="gap", step="pairwise", **NO_HIT, **NO_CERTIFICATE),
}


def step_seconds(solver: Any, X: Any, y: Any, lam: float, passes: int) -> float:
    """Least time per step over the second half of so many passes, each with a step and a call per example."""
    ends: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        bcfw.train(
            bcfw.models.Chain(),
            X,
            y,
            lam=lam,
            solver=solver,
            tol=0.0,
            max_passes=passes,
            callbacks=[lambda info: ends.append(info.seconds)],
        )
    if len(ends) != passes:
        raise RuntimeError(f"{solver}: {len(ends)} rounds for {passes} passes of calls, so the cache was hit")
    return float(np.diff(ends)[passes // 2 - 1 :].min()) / len(y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lam", type=float, default=0.01)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--passes", type=int, default=10)
    options = parser.parse_args()
    data = bcfw.datasets.fetch_ocr("large")
    X, y = data.X_train, data.y_train
    for solver in SOLVERS.values():
        step_seconds(solver, X[:50], y[:50], 0.1, 4)  # compiles
    least = dict.fromkeys(SOLVERS, np.inf)
    for _ in range(options.rounds):
        for name, solver in SOLVERS.items():
            least[name] = min(least[name], step_seconds(solver, X, y, options.lam, options.passes))
    print(f"OCR-large, lam = {options.lam:g}: time per exact step, and ratio to plain BCFW", flush=True)
    for name, seconds in least.items():
        print(f"{name:<28}{1e6 * seconds:8.2f} us {seconds / least['plain']:8.2f}", flush=True)


if __name__ == "__main__":
    main()
