"""The baselines of the papers: the figure of 2013 on three data sets, groups of blocks of 2026, and cutting planes.

    python benchmarks/baselines.py [figure groups planes] [--data ocr conll hansards] [--solvers BCFW 'SSG*'] [--runs 5]
                                   [--passes 100] [--cap 60] [--sentences N]

figure
    bcfw-2013, Fig. 1: how far the objective is above the optimum, relative to it, after 1, 10, 30 and 100 effective
    passes (oracle calls of steps, or expectations, divided by n), as the range over the runs; then the wrong labels of
    the test examples in percent (letters, chunk tags of words; of the word alignments the alignment error rate). The
    optimum is the dual value of a run to a small gap. Weights of averaging solvers are the averages. OCR-small has
    three lam, CoNLL-2000 has lam = 1/n and the Hansards 0.001, as in the paper.
groups
    flexible-blocks-2026, Fig. 4, on OCR-small: epochs and iterations until the dual value of single blocks after 30
    epochs.
planes
    OCR-small at lam = 1/n: passes of the oracle until the objectives that svm_hmm reaches in 54 and 60.

Data are read through ``BCFW_DATA``. Certificates are taken after every pass and do not count as passes. A run of the
figure that meets the cap of CPU seconds shows a dash for what it has not reached.
"""

from __future__ import annotations

import argparse
import fnmatch
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import bcfw
from bcfw.solvers import BCFW, AdaptiveBCFW, BatchFW, CuttingPlane, ExponentiatedGradient, Subgradient

PARTS = ("figure", "groups", "planes")

#: Effective passes at which the figure is read.
PASSES = (1, 10, 30, 100)

#: Objectives that svm_hmm reaches on OCR-small at lam = 1/n, and its passes.
SVM_HMM = {0.070: 54, 0.057: 60}

#: Relative gap of the runs that find the optimum.
OPTIMUM = 1e-5

#: Gap at which cutting planes stop, relative to the optimum.
SHARE = 0.03

SOLVERS = {
    "BCFW": BCFW(sampling="uniform", gap_every=1),
    "BCFW, averaged": BCFW(sampling="uniform", averaging=True, gap_every=1),
    "batch FW": BatchFW(),
    "SSG": Subgradient(gap_every=1),
    "SSG, averaged": Subgradient(averaging=True, gap_every=1),
    "one-slack": CuttingPlane(),
    "online EG": ExponentiatedGradient(gap_every=1),
}

#: Those for problems with millions of weights: planes are as long as w and dense, and there are hundreds of them.
WITHOUT_PLANES = tuple(name for name in SOLVERS if name != "one-slack")


class Task(NamedTuple):
    """A data set, its model, the lam by their names, what is wrong in predictions (%), and the solvers that fit."""

    name: str
    model: Any
    data: Any
    lams: dict[str, float]
    error: Callable[[Any, Any], float]
    solvers: tuple[str, ...]


class Options(NamedTuple):
    """Runs of random solvers, passes and CPU seconds of a run, names of solvers with wildcards."""

    runs: int
    passes: float
    cap: float
    solvers: list[str]


# --- data --------------------------------------------------------------------------------------------------------


def ocr() -> Task:
    data = bcfw.datasets.fetch_ocr("small")
    lams = {"0.01": 0.01, "0.001": 0.001, "1/n": 1.0 / len(data.y_train)}
    return Task("OCR-small", bcfw.models.Chain(), data, lams, wrong_labels, tuple(SOLVERS))


def conll(sentences: int | None) -> Task:
    data = bcfw.datasets.fetch_conll2000()
    data.X_train, data.y_train = data.X_train[:sentences], data.y_train[:sentences]
    model = bcfw.models.Chain(len(data.target_names))
    return Task("CoNLL-2000", model, data, {"1/n": 1.0 / len(data.y_train)}, wrong_labels, WITHOUT_PLANES)


def hansards() -> Task:
    data = bcfw.datasets.fetch_hansards()
    some = tuple(name for name in SOLVERS if name != "online EG")  # sums over all matchings are intractable
    return Task("Hansards", bcfw.models.Matching(), data, {"0.001": 0.001}, alignment_error, some)


def wrong_labels(truths: Any, found: Any) -> float:
    """Labels of single positions that are wrong, in percent."""
    return 100.0 * float(np.mean(np.concatenate(truths) != np.concatenate(found)))


def alignment_error(truths: Any, found: Any) -> float:
    """``1 - (|A and S| + |A and P|) / (|A| + |S|)`` of links A, sure ones S, and possible ones P with S in P, in %."""
    links, gold = (np.concatenate([np.ravel(one) for one in each]) for each in (found, truths))
    hits = np.sum((links == 1) & (gold == 1)) + np.sum((links == 1) & (gold != 0))
    return 100.0 * (1.0 - float(hits) / float(np.sum(links == 1) + np.sum(gold == 1)))


# --- the figure of 2013 ------------------------------------------------------------------------------------------


def train(task: Task, lam: float, **options: Any) -> bcfw.Result:
    """A run on the training examples, silent about a target that was missed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        return bcfw.train(task.model, task.data.X_train, task.data.y_train, lam=lam, **options)


class Watch:
    """Callback that predicts the test examples after some passes, and stops the run at the cap of CPU seconds."""

    def __init__(self, task: Task, bound: Any, cap: float) -> None:
        self.task, self.bound = task, bound
        self.end = time.process_time() + cap
        self.errors = np.full(len(PASSES), np.nan)

    def __call__(self, info: bcfw.solvers.PassInfo) -> bool:
        for place, number in enumerate(PASSES):
            if info.n_passes == number:
                found = self.bound.predict(info.w, self.task.data.X_test)
                self.errors[place] = self.task.error(self.task.data.y_test, found)
        return time.process_time() >= self.end


def above_optimum(result: bcfw.Result, best: float) -> list[float]:
    """``(P - P*) / P*`` of the last row at or before each of the passes; NaN after the end of runs without success."""
    passes, primal = result.history["passes"], result.history["primal"]
    ends = np.inf if result.status == "converged" else passes[-1] + 0.5
    rows = [np.searchsorted(passes, number, side="right") - 1 for number in PASSES]
    return [
        float(primal[row] / best - 1.0) if number <= ends else np.nan for number, row in zip(PASSES, rows, strict=True)
    ]


def spread(values: np.ndarray, digits: int) -> str:
    """Smallest and largest to so many digits, or one number if they are the same to two."""
    if np.isnan(values).all():
        return "-"
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    ends = [f"{float(f'{end:.{digits}g}'):g}" for end in (low, high)]
    return ends[0] if f"{low:.2g}" == f"{high:.2g}" else " .. ".join(ends)


def figure(task: Task, options: Options) -> None:
    bound = task.model.bind(task.data.X_train, task.data.y_train)
    for name, lam in task.lams.items():
        best = train(task, lam, tol=OPTIMUM, max_passes=np.inf, callbacks=[Watch(task, bound, options.cap)])
        n, runs = len(task.data.y_train), options.runs
        print(f"\n{task.name}, lam = {name}, n = {n}, optimum {best.dual:.5g} .. {best.primal:.5g}, {runs} runs")
        error = task.error(task.data.y_test, best.predict(task.data.X_test))
        print(f"(P - P*) / P* after passes; then what is wrong in the test part (%), at the optimum {error:.2f}")
        print(f"{'':<16}" + "".join(f"{number:<18}" for number in 2 * PASSES), flush=True)
        for row in task.solvers:
            if any(fnmatch.fnmatchcase(row, pattern) for pattern in options.solvers):
                objectives, errors = repeat(task, bound, row, best, options)
                cells = [f"{spread(column, 2):<18}" for column in objectives.T]
                cells += [f"{spread(column, 3):<18}" for column in errors.T]
                print(f"{row:<16}" + "".join(cells), flush=True)


def repeat(task: Task, bound: Any, row: str, best: bcfw.Result, options: Options) -> tuple[np.ndarray, np.ndarray]:
    """(runs, passes) objectives above the optimum, and test errors, of runs of one solver."""
    solver = SOLVERS[row]
    in_planes = isinstance(solver, CuttingPlane)
    # The target of cutting planes also says how far planes of cached outputs are followed.
    tol = SHARE * best.dual / best.history["primal"][0] if in_planes else 0.0
    objectives, errors = [], []
    for seed in range(1 if in_planes or isinstance(solver, BatchFW) else options.runs):
        watch = Watch(task, bound, options.cap)
        limits = {"tol": tol, "max_passes": options.passes, "callbacks": [watch]}
        result = train(task, best.lam, solver=solver, seed=seed, **limits)
        objectives.append(above_optimum(result, best.dual))
        errors.append(watch.errors)
    return np.array(objectives), np.array(errors)


# --- groups of blocks, cutting planes ----------------------------------------------------------------------------


def groups(task: Task, cap: float) -> None:
    n = len(task.data.y_train)
    for name in ("0.01", "1/n"):
        lam = task.lams[name]
        target = train(task, lam, solver=BCFW(gap_every=1), tol=0.0, max_passes=30).dual

        def reached(info: bcfw.solvers.PassInfo, target: float = target) -> bool:
            return info.dual >= target

        print(f"\nOCR-small, lam = {name}: to the dual {target:.6g} of single blocks after 30 epochs", flush=True)
        for metric in ("weights", "alpha"):
            for size in (1, 5, 10):
                solver = AdaptiveBCFW(block_size=size, metric=metric, gap_every=1)
                limits = {"tol": 0.0, "max_passes": 300, "max_seconds": cap, "callbacks": [reached]}
                epochs = train(task, lam, solver=solver, **limits).n_passes
                iterations = epochs * -(-n // size)
                print(
                    f"metric {metric:<8} groups of {size:<3} epochs {epochs:<4g} ({epochs / 30:.2f})  "
                    f"iterations {iterations:<7g} ({iterations / (30 * n):.3f})",
                    flush=True,
                )


def planes(task: Task, cap: float) -> None:
    limits = {"tol": 0.008, "max_passes": 200, "max_seconds": 10 * cap}
    history = train(task, task.lams["1/n"], solver=CuttingPlane(), **limits).history
    print("\nOCR-small, lam = 1/n: passes of the oracle to an objective", flush=True)
    for objective, theirs in SVM_HMM.items():
        where = np.flatnonzero(history["primal"] <= objective)
        ours = f"{history['passes'][where[0]]:g}" if len(where) else "-"
        print(f"{objective:<8g} one-slack {ours:<5} svm_hmm {theirs}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument(
        "--data", nargs="+", choices=["ocr", "conll", "hansards"], default=["ocr"], help="of the figure"
    )
    parser.add_argument("--solvers", nargs="+", default=["*"], help="of the figure, with wildcards")
    parser.add_argument("--runs", type=int, default=5, help="seeds of random methods")
    parser.add_argument("--passes", type=float, default=100, help="effective passes of every run")
    parser.add_argument(
        "--cap", type=float, default=60.0, help="CPU seconds per run of the figure, wall seconds of other parts"
    )
    parser.add_argument("--sentences", type=int, default=None, help="training sentences of CoNLL-2000; all by default")
    asked = parser.parse_args()
    tasks = {"ocr": ocr, "conll": lambda: conll(asked.sentences), "hansards": hansards}
    if "figure" in asked.parts:
        for name in asked.data:
            figure(tasks[name](), Options(asked.runs, asked.passes, asked.cap, asked.solvers))
    if "groups" in asked.parts:
        groups(ocr(), asked.cap)
    if "planes" in asked.parts:
        planes(ocr(), asked.cap)


if __name__ == "__main__":
    main()
