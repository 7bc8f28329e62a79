"""Features in raw units: the outer loop in units of the features against one ratio, and against standardised features.

    python benchmarks/feature_scales.py [--lam 0.01] [--max-passes 1000]

Passes and CPU seconds to a relative gap of 1e-3 (or the gap that is left), all in one process, after a first run that
compiles. "standardised" is another problem, with another optimum: what a user gets who scales the features. The data
come with scikit-learn; "digits, mixed units" are the digits with every pixel in a unit of its own, from 0.01 to 100.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

import bcfw
from bcfw.solvers import MultiPlane

SOLVERS = {
    "one ratio": MultiPlane(clock="count", acceleration=10),
    "units of features": MultiPlane(clock="count", acceleration="features"),
    "auto": "auto",
}


def tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Features and labels by name."""
    pixels, digits = load_digits(return_X_y=True)
    units = 10.0 ** np.random.default_rng(0).uniform(-2, 2, pixels.shape[1])
    return {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "digits, 0 to 255": (255 / 16 * pixels, digits),
        "digits, mixed units": (units * pixels, digits),
        "digits, 0 to 1": (pixels / 16, digits),
    }


def cell(X: np.ndarray, y: np.ndarray, solver: Any, options: argparse.Namespace) -> str:
    """Passes and CPU seconds of one run, with the gap where it does not converge."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        result = bcfw.train(
            bcfw.models.Multiclass(), X, y, lam=options.lam, solver=solver, max_passes=options.max_passes
        )
    seconds = time.process_time() - start
    left = "" if result.status == "converged" else f", gap {result.gap:.2g}"
    return f"{result.n_passes:.0f} ({seconds:.2f} s{left})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lam", type=float, default=0.01)
    parser.add_argument("--max-passes", type=float, default=1000)
    options = parser.parse_args()
    data = tables()
    for solver in SOLVERS.values():
        cell(*data["digits, 0 to 1"], solver, options)
    print("| | " + " | ".join([*SOLVERS, "auto, standardised"]) + " |")
    print("|---" * (len(SOLVERS) + 2) + "|")
    for name, (X, y) in data.items():
        cells = [cell(X, y, solver, options) for solver in SOLVERS.values()]
        cells.append(cell(StandardScaler().fit_transform(X), y, "auto", options))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
