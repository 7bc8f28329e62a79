"""Cost of one block step of ``bcfw.minimize`` with a maintained product, against the number of blocks.

    python benchmarks/product_step_cost.py [--steps 20000]

Least squares over m simplices of ten entries, ``f = 1/2 |sum_i A_i x_i - b|^2``: dense with 50 rows, and sparse, where
every block reaches three rows of a product that grows with m. A step is timed inside a run, without certificates; what
the oracle takes by itself is timed in the same process and subtracted. A block step should cost the same whatever m is:
read the ratio. Times are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

import bcfw


def dense_problem(m: int, rng: np.random.Generator) -> Any:
    A = rng.standard_normal((50, 10 * m))
    return bcfw.objectives.LeastSquares(A, rng.standard_normal(50))


def sparse_problem(m: int, rng: np.random.Generator) -> Any:
    n_rows = max(3, m)
    rows = rng.integers(n_rows, size=(m, 3))
    A = [
        sp.csc_matrix((rng.standard_normal(30), (np.repeat(rows[i], 10), np.tile(np.arange(10), 3))), (n_rows, 10))
        for i in range(m)
    ]
    return bcfw.objectives.LeastSquares(A, rng.standard_normal(n_rows))


def seconds_per_step(objective: Any, m: int, steps: int, **options: Any) -> float:
    """CPU seconds per iteration between two callbacks: neither the start nor the last certificate counts."""
    domains = [bcfw.domains.Simplex(10)] * m
    marks: dict[int, float] = {}
    warm = m + steps // 10  # every block once, for constants that are computed on first use

    def watch(info: Any) -> None:
        if info.done in (warm, warm + steps):
            marks[int(info.done)] = time.process_time()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        bcfw.minimize(objective, domains, tol=0, max_iters=warm + steps, gap_every=10**9, callbacks=[watch], **options)
    return (marks[warm + steps] - marks[warm]) / steps


def oracle_seconds(steps: int) -> float:
    domain, direction = bcfw.domains.Simplex(10), np.random.default_rng(0).standard_normal(10)
    began = time.process_time()
    for _ in range(steps):
        domain.argmin(direction)
    return (time.process_time() - began) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20_000)
    steps = parser.parse_args().steps
    oracle = oracle_seconds(steps)
    print(f"oracle alone: {1e6 * oracle:.1f} us")
    print(
        f"{'product':8} {'options':34} {'m = 100':>10} {'m = 10,000':>11} {'ratio':>6}   us per step without the oracle"
    )
    for name, problem in (("dense", dense_problem), ("sparse", sparse_problem)):
        for options in (
            {"step": "short"},
            {"step": "adaptive"},
            {"step": "line-search"},
            {"step": "short", "selection": "gap"},
            {"step": "line-search", "direction": "pairwise"},
        ):
            costs = [
                min(seconds_per_step(problem(m, np.random.default_rng(0)), m, steps, **options) for _ in range(3))
                - oracle
                for m in (100, 10_000)
            ]
            shown = ", ".join(options.values())
            print(
                f"{name:8} {shown:34} {1e6 * costs[0]:10.1f} {1e6 * costs[1]:11.1f} {costs[1] / costs[0]:6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
