"""The regularisation path against grids of lam: oracle calls and CPU seconds on OCR-small and USPS, gaps of 0.1.

    python benchmarks/path.py [--data ocr-small usps] [--eps 0.1]

The grid has 31 powers of two, 2^15 to 2^-15, each solved to a gap of eps, with both warm starts and without; the path
goes down to 2^-15 unless it is complete before. Calls are those of steps and certificates, divided by n. A first,
short run compiles. Data are read through ``BCFW_DATA``.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import bcfw
from bcfw.solvers import BCFW

GRID = 2.0 ** np.arange(15, -16, -1)
DATA = {
    "ocr-small": (bcfw.models.Chain(), lambda: bcfw.datasets.fetch_ocr(size="small")),
    "usps": (bcfw.models.Multiclass(), bcfw.datasets.fetch_usps),
}
SOLVERS = [BCFW(sampling="gap"), BCFW(sampling="gap", step="pairwise", cache="gap")]


def runs(model, X, y, eps, solver):
    """Name and function of every run."""
    for exact in (True, False):
        yield (
            f"{'exact' if exact else 'heuristic'} path",
            lambda exact=exact: bcfw.regularization_path(model, X, y, eps, GRID[-1], exact=exact, solver=solver),
        )
    for start in ("shrink", "keep", None):
        yield (
            f"grid, {start or 'cold'}",
            lambda start=start: bcfw.grid_path(model, X, y, GRID, start, eps=eps, solver=solver),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--eps", type=float, default=0.1)
    options = parser.parse_args()
    warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
    for name in options.data:
        model, load = DATA[name]
        data = load()
        X, y = data.X_train, data.y_train
        for solver in SOLVERS:
            print(
                f"\n{name}, {solver}\n{'':16s} {'status':>9s} {'lam':>4s} {'passes':>8s} {'calls/n':>8s} {'CPU s':>7s}"
            )
            for exact in (True, False):
                bcfw.regularization_path(model, X[:20], y[:20], options.eps, 0.1, exact=exact, solver=solver)
            for what, run in runs(model, X, y, options.eps, solver):
                start = time.process_time()
                path = run()
                seconds = time.process_time() - start
                print(
                    f"{what:16s} {path.status:>9s} {len(path.lambdas):4d} {path.n_passes:8.1f} "
                    f"{path.n_oracle_calls / len(y):8.1f} {seconds:7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
