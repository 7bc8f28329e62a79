"""The BCFW family on real data: effective passes, oracle calls and seconds to a relative gap.

    python benchmarks/variants.py [--data ocr-small] [--lam 0.01 0.001 0] [--seeds 3] [--cap 60] [--figure out.png]

For every solver and lam (0 stands for 1/n) it prints what was needed for relative gaps of 0.1, 0.01 and 0.001: passes
(oracle calls of steps divided by n), all oracle calls, and seconds. Medians over the seeds; a target that is missed
within the cap shows the gap that was reached. Data are read through ``BCFW_DATA``.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import bcfw
from bcfw.solvers import BCFW, MultiPlane

TARGETS = (0.1, 0.01, 0.001)

SOLVERS = {
    "uniform": BCFW(sampling="uniform", gap_every=5),
    "permuted": BCFW(gap_every=5),
    "permuted, averaged": BCFW(averaging=True, gap_every=5),
    "gap": BCFW(sampling="gap", gap_every=5),
    "pairwise": BCFW(step="pairwise", gap_every=5),
    "gap + pairwise": BCFW(sampling="gap", step="pairwise", gap_every=5),
    "gap + cache": BCFW(sampling="gap", cache="gap", gap_every=5),
    "gap + pairwise + cache": BCFW(sampling="gap", step="pairwise", cache="gap", gap_every=5),
    "multi-plane, fw": MultiPlane(step="fw", gap_every=1),
    "multi-plane, pairwise": MultiPlane(gap_every=1),
    "multi-plane, pairwise, 20": MultiPlane(passes=20, gap_every=1),
}


def load(name: str) -> tuple[Any, Any, Any]:
    """Model, inputs and outputs of a data set."""
    if name == "usps":
        data = bcfw.datasets.fetch_usps()
        return bcfw.models.Multiclass(), data.X_train, data.y_train
    data = bcfw.datasets.fetch_ocr(name.removeprefix("ocr-"))
    return bcfw.models.Chain(), data.X_train, data.y_train


def run(solver: Any, problem: tuple[Any, Any, Any], lam: float, seed: int, cap: float) -> dict[str, np.ndarray]:
    """History of one run, with the relative gap in place of the gap."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        result = bcfw.train(
            *problem, lam=lam, solver=solver, tol=TARGETS[-1], max_passes=np.inf, max_seconds=cap, seed=seed
        )
    history = dict(result.history)
    history["gap"] = history["gap"] / history["primal"][0]
    return history


def reached(history: dict[str, np.ndarray], target: float) -> tuple[float, float, float] | None:
    """Passes, oracle calls and seconds at the first certificate that meets the target."""
    where = np.flatnonzero(history["gap"] <= target)
    if not len(where):
        return None
    return tuple(float(history[key][where[0]]) for key in ("passes", "oracle_calls", "seconds"))  # type: ignore[return-value]


def cell(histories: list[dict[str, np.ndarray]], target: float) -> str:
    met = [reached(history, target) for history in histories]
    if any(one is None for one in met):
        return f"missed: gap {np.median([history['gap'][-1] for history in histories]):.2g}"
    passes, calls, seconds = np.median(np.array(met), axis=0)
    return f"{passes:.1f} / {calls:.3g} / {seconds:.2f} s"


def draw(curves: dict[str, dict[str, np.ndarray]], title: str, path: Path) -> None:
    """Relative gap against passes and against seconds, both axes logarithmic."""
    from bcfw.report.plots import figure

    drawing, axes = figure(11, 4.5, columns=2)
    for name, history in curves.items():
        for axis, key in zip(axes, ("passes", "seconds"), strict=True):
            axis.loglog(np.maximum(history[key], 1e-2), np.maximum(history["gap"], 1e-6), label=name)
    for axis, key in zip(axes, ("effective passes", "seconds"), strict=True):
        axis.set(xlabel=key, ylabel="relative gap", title=title)
        axis.grid(alpha=0.3, which="both")
    axes[0].legend(fontsize=7, frameon=False)
    drawing.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=("ocr-small", "ocr-large", "usps"), default="ocr-small")
    parser.add_argument("--lam", type=float, nargs="+", default=[0.01, 0.001, 0.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cap", type=float, default=60.0, help="seconds per run")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    problem = load(options.data)
    small = (problem[0], problem[1][:20], problem[2][:20])
    for solver in SOLVERS.values():
        run(solver, small, 0.1, 0, 0.1)  # compiles
    for lam in options.lam:
        value = lam or 1.0 / len(problem[2])
        print(f"\n{options.data}, lam = {value:.3g}: passes / oracle calls / seconds to a relative gap of", flush=True)
        print(f"{'':<28}" + "".join(f"{target:<28g}" for target in TARGETS), flush=True)
        curves = {}
        for name, solver in SOLVERS.items():
            histories = [run(solver, problem, value, seed, options.cap) for seed in range(options.seeds)]
            curves[name] = histories[0]
            print(f"{name:<28}" + "".join(f"{cell(histories, target):<28}" for target in TARGETS), flush=True)
        if options.figure is not None:
            stem = options.figure.with_stem(f"{options.figure.stem}-{value:.2g}")
            draw(curves, f"{options.data}, lam = {value:.2g}", stem)


if __name__ == "__main__":
    main()
