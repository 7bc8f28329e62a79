"""The figures of multiplane-2015: BCFW and multi-plane, without and with averages, by oracle calls and by CPU seconds.

    python benchmarks/multiplane.py [--data ocr usps] [--runs 5] [--passes 50] [--cap 60]

All at lam = 1/n, with plain Frank-Wolfe steps (``step="fw"``), as in the paper. Two tables per data set: primal and
dual suboptimality and duality gap, all divided by the optimum, after some effective passes (oracle calls of steps,
divided by n); then the same after some CPU seconds. Cells are medians over the runs. The optimum is the dual value of a
run to a small gap.

Values come from runs with a certificate after every iteration; CPU seconds from the same runs without certificates.
Multi-plane decides by fixed costs (``clock="count"``) how often it visits its store, so that the two agree: the cost of
a visit without the oracle, relative to one with it, is measured first. BCFW makes ten times the passes of multi-plane.
Data are read through ``BCFW_DATA``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

import bcfw
from bcfw.solvers import BCFW, MultiPlane

#: Effective passes, and CPU seconds, at which the tables are read.
PASSES = (1, 2, 5, 10, 20, 50)
SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)

#: Relative gap of the run that finds the optimum.
OPTIMUM = 1e-5

DATA = ("ocr", "usps")

#: A number of passes without certificate that no run reaches.
NEVER = 10**9


def solvers(store_cost: float, gap_every: int) -> dict[str, Any]:
    """Those of the paper."""
    plain: dict[str, Any] = {"gap_every": gap_every}
    multi = {"step": "fw", "clock": "count", "store_cost": store_cost, "gap_every": gap_every}
    return {
        "BCFW": BCFW(**plain),
        "BCFW, averaged": BCFW(averaging=True, **plain),
        "multi-plane": MultiPlane(**multi),
        "multi-plane, averaged": MultiPlane(averaging=True, **multi),
    }


def examples(name: str) -> tuple[Any, Any, Any]:
    """Model, inputs and outputs."""
    if name == "ocr":
        data = bcfw.datasets.fetch_ocr("small")
        return bcfw.models.Chain(), data.X_train, data.y_train
    data = bcfw.datasets.fetch_usps()
    return bcfw.models.Multiclass(), data.X_train, data.y_train


class CpuPasses:
    """Callback that notes the passes and the CPU seconds after each iteration."""

    def __init__(self) -> None:
        self.passes, self.cpu = [0.0], [0.0]

    def start(self) -> None:
        self.begin = time.process_time()

    def __call__(self, info: bcfw.solvers.PassInfo) -> None:
        self.passes.append(info.n_passes)
        self.cpu.append(time.process_time() - self.begin)


def store_cost(problem: tuple[Any, Any, Any]) -> float:
    """CPU time of a pass over the store, relative to that of a pass of the oracle, with some labelings in it."""
    count, seconds = 10, []
    for solver in (BCFW(gap_every=NEVER), MultiPlane(step="fw", passes=count, gap_every=NEVER)):
        train(problem, solver=solver, tol=0.0, max_passes=2)  # not the time to compile
        clock = CpuPasses()
        train(problem, solver=solver, tol=0.0, max_passes=20, callbacks=[clock])
        seconds.append(clock.cpu[-1] - clock.cpu[1])
    plain, multi = seconds
    return (multi / plain - 1.0) / count


def train(problem: tuple[Any, Any, Any], **options: Any) -> bcfw.Result:
    """A run that is silent about a target that was missed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        return bcfw.train(*problem, lam=1.0 / len(problem[2]), **options)


def run(problem: tuple[Any, Any, Any], watched: Any, timed: Any, best: float, **limits: Any) -> dict[str, np.ndarray]:
    """Passes, CPU seconds, and primal, dual and gap above the optimum, relative to it."""
    clock = CpuPasses()
    history = train(problem, solver=watched, tol=0.0, **limits).history
    train(problem, solver=timed, tol=0.0, callbacks=[clock], **limits)
    return {
        "passes": history["passes"],
        "cpu": np.interp(history["passes"], clock.passes, clock.cpu, right=np.inf),
        "primal": history["primal"] / best - 1.0,
        "dual": 1.0 - history["dual"] / best,
        "gap": history["gap"] / best,
        "store": history["store_passes"] / np.maximum(history["passes"], 1.0),
        "labelings": history["labelings"],
    }


def at(rows: dict[str, np.ndarray], key: str, number: float) -> list[float]:
    """Primal, dual and gap of the last row at or before a number of passes or seconds; NaN after the end."""
    row = int(np.searchsorted(rows[key], number * (1.0 + 1e-9), side="right")) - 1
    ended = number > rows[key][-1] * 1.05
    return [np.nan if ended else float(rows[value][row]) for value in ("primal", "dual", "gap")]


def table(found: dict[str, list[dict[str, np.ndarray]]], key: str, numbers: tuple[float, ...]) -> None:
    print(f"primal / dual / gap after {key}\n{'':<24}" + "".join(f"{number:<24g}" for number in numbers))
    for name, runs in found.items():
        cells = []
        for number in numbers:
            medians = np.median([at(rows, key, number) for rows in runs], axis=0)
            cells.append("-" if np.isnan(medians).any() else " / ".join(f"{value:.2g}" for value in medians))
        print(f"{name:<24}" + "".join(f"{cell:<24}" for cell in cells), flush=True)


def compare(name: str, runs: int, passes: float, cap: float) -> None:
    problem = examples(name)
    best = train(problem, tol=OPTIMUM, max_passes=np.inf, max_seconds=2 * cap)
    print(f"\n{name}, lam = 1/n, n = {len(problem[2])}, optimum {best.dual:.5g} .. {best.primal:.5g}, {runs} runs")
    cost = store_cost(problem)
    print(f"a visit without the oracle takes {cost:.2f} of one with it", flush=True)
    watched, timed = (solvers(cost, every) for every in (1, NEVER))
    found: dict[str, list[dict[str, np.ndarray]]] = {}
    for row in watched:
        train(problem, solver=timed[row], tol=0.0, max_passes=2)  # not the time to compile
        limits = {"max_passes": passes if "multi" in row else 10 * passes, "max_seconds": cap}
        found[row] = [run(problem, watched[row], timed[row], best.dual, seed=seed, **limits) for seed in range(runs)]
    table(found, "passes", tuple(number for number in PASSES if number <= passes))
    table(found, "cpu", SECONDS)
    for row in ("multi-plane", "multi-plane, averaged"):
        ends = [(rows["store"][-1], rows["labelings"][-1]) for rows in found[row]]
        store, labelings = np.median(ends, axis=0)
        print(f"{row}: {store:.1f} passes over the store per exact pass, {labelings:.1f} labelings per example")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--runs", type=int, default=5, help="seeds")
    parser.add_argument("--passes", type=float, default=50, help="effective passes of every run")
    parser.add_argument("--cap", type=float, default=60.0, help="seconds per run")
    asked = parser.parse_args()
    for name in asked.data:
        compare(name, asked.runs, asked.passes, asked.cap)


if __name__ == "__main__":
    main()
