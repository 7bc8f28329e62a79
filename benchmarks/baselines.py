"""The baselines of the papers on OCR-small: the figure of 2013, groups of blocks of 2026, and cutting planes.

    python benchmarks/baselines.py [figure groups planes test-error] [--runs 3] [--passes 100] [--cap 60]

figure
    bcfw-2013, Fig. 1: how far the objective is above the optimum, relative to it, after 1, 10, 30 and 100 effective
    passes (oracle calls of steps, or expectations, divided by n), as the range over the runs. The optimum is the dual
    value of a run to a relative gap of 1e-5. Weights of averaging solvers are the averages.
groups
    flexible-blocks-2026, Fig. 4: epochs and iterations until the dual value of single blocks after 30 epochs.
planes
    Passes of the oracle until the objectives that svm_hmm reaches at lam = 1/n with its eps .03 and .01 in 54 and 60.
test-error
    Share of wrong letters in the test words after some passes at lam = 1/n, without and with averaging.

Data are read through ``BCFW_DATA``. Certificates are taken after every pass and do not count. The first part takes some
minutes, the others less than one; a run that meets the cap of seconds shows a dash for what it has not reached.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

import bcfw
from bcfw.solvers import BCFW, AdaptiveBCFW, BatchFW, CuttingPlane, ExponentiatedGradient, Subgradient

PARTS = ("figure", "groups", "planes", "test-error")

#: Effective passes at which the figure is read.
PASSES = (1, 10, 30, 100)

#: Objectives that svm_hmm reaches on OCR-small at lam = 1/n, and its passes.
SVM_HMM = {0.070: 54, 0.057: 60}


def baselines() -> dict[str, Any]:
    """The solvers of the figure."""
    return {
        "BCFW": BCFW(sampling="uniform", gap_every=1),
        "BCFW, averaged": BCFW(sampling="uniform", averaging=True, gap_every=1),
        "batch FW": BatchFW(),
        "SSG": Subgradient(gap_every=1),
        "SSG, averaged": Subgradient(averaging=True, gap_every=1),
        "one-slack": CuttingPlane(),
        "online EG": ExponentiatedGradient(gap_every=1),
    }


def train(data: Any, **options: Any) -> bcfw.Result:
    """A run on the training words, silent about a target that was missed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        return bcfw.train(bcfw.models.Chain(), data.X_train, data.y_train, **options)


def above_optimum(result: bcfw.Result, best: float) -> list[float]:
    """``(P - P*) / P*`` of the last row at or before each of the passes; NaN after the end of runs without success."""
    passes, primal = result.history["passes"], result.history["primal"]
    ends = np.inf if result.status == "converged" else passes[-1] + 0.5
    rows = [np.searchsorted(passes, number, side="right") - 1 for number in PASSES]
    return [
        float(primal[row] / best - 1.0) if number <= ends else np.nan for number, row in zip(PASSES, rows, strict=True)
    ]


def spread(values: np.ndarray) -> str:
    """Smallest and largest, or one number if they are the same."""
    if np.isnan(values).all():
        return "-"
    low, high = np.nanmin(values), np.nanmax(values)
    return f"{low:.3g}" if f"{low:.2g}" == f"{high:.2g}" else f"{low:.2g} .. {high:.2g}"


def figure(data: Any, runs: int, passes: float, cap: float) -> None:
    n = len(data.y_train)
    for name, lam in (("0.01", 0.01), ("0.001", 0.001), ("1/n", 1.0 / n)):
        best = train(data, lam=lam, tol=1e-5, max_passes=np.inf, max_seconds=2 * cap)
        print(f"\nOCR-small, lam = {name}, n = {n}, optimum {best.dual:.5f} .. {best.primal:.5f}, {runs} runs")
        print(f"{'(P - P*) / P* after passes':<28}" + "".join(f"{number:<20}" for number in PASSES), flush=True)
        for row, solver in baselines().items():
            repeats = 1 if isinstance(solver, BatchFW | CuttingPlane) else runs
            limits = {"tol": 0.0 if not isinstance(solver, CuttingPlane) else 1e-3, "max_passes": passes}
            table = np.array(
                [
                    above_optimum(train(data, lam=lam, solver=solver, seed=seed, max_seconds=cap, **limits), best.dual)
                    for seed in range(repeats)
                ]
            )
            print(f"{row:<28}" + "".join(f"{spread(column):<20}" for column in table.T), flush=True)


def groups(data: Any, cap: float) -> None:
    n = len(data.y_train)
    for name, lam in (("0.01", 0.01), ("1/n", 1.0 / n)):
        target = train(data, lam=lam, solver=BCFW(gap_every=1), tol=0.0, max_passes=30).dual

        def reached(info: bcfw.solvers.PassInfo, target: float = target) -> bool:
            return info.dual >= target

        print(f"\nOCR-small, lam = {name}: to the dual {target:.6g} of single blocks after 30 epochs", flush=True)
        for metric in ("weights", "alpha"):
            for size in (1, 5, 10):
                solver = AdaptiveBCFW(block_size=size, metric=metric, gap_every=1)
                limits = {"tol": 0.0, "max_passes": 300, "max_seconds": cap, "callbacks": [reached]}
                epochs = train(data, lam=lam, solver=solver, **limits).n_passes
                iterations = epochs * -(-n // size)
                print(
                    f"metric {metric:<8} groups of {size:<3} epochs {epochs:<4g} ({epochs / 30:.2f})  "
                    f"iterations {iterations:<7g} ({iterations / (30 * n):.3f})",
                    flush=True,
                )


def planes(data: Any, cap: float) -> None:
    history = train(
        data, lam=1.0 / len(data.y_train), solver=CuttingPlane(), tol=0.008, max_passes=200, max_seconds=10 * cap
    ).history
    print("\nOCR-small, lam = 1/n: passes of the oracle to an objective", flush=True)
    for objective, theirs in SVM_HMM.items():
        where = np.flatnonzero(history["primal"] <= objective)
        ours = f"{history['passes'][where[0]]:g}" if len(where) else "-"
        print(f"{objective:<8g} one-slack {ours:<5} svm_hmm {theirs}", flush=True)


def test_error(data: Any, cap: float) -> None:
    truth = np.concatenate(data.y_test)
    print("\nOCR-small, lam = 1/n: wrong letters in the test words (%) after passes", flush=True)
    print(f"{'':<20}" + "".join(f"{number:<8}" for number in PASSES), flush=True)
    for row, solver in baselines().items():
        errors = []
        for number in PASSES:
            result = train(
                data, lam=1.0 / len(data.y_train), solver=solver, tol=0.0, max_passes=number, max_seconds=cap
            )
            wrong = np.concatenate(result.predict(data.X_test)) != truth
            errors.append(100.0 * wrong.mean())
        print(f"{row:<20}" + "".join(f"{error:<8.2f}" for error in errors), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--runs", type=int, default=3, help="seeds of random methods")
    parser.add_argument("--passes", type=float, default=100, help="effective passes of every run")
    parser.add_argument("--cap", type=float, default=60.0, help="seconds per run")
    options = parser.parse_args()
    data = bcfw.datasets.fetch_ocr("small")
    if "figure" in options.parts:
        figure(data, options.runs, options.passes, options.cap)
    if "groups" in options.parts:
        groups(data, options.cap)
    if "planes" in options.parts:
        planes(data, options.cap)
    if "test-error" in options.parts:
        test_error(data, options.cap)


if __name__ == "__main__":
    main()
