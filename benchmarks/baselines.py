"""The baselines of the papers: the figure of 2013 on three data sets, groups of blocks of 2026, and cutting planes.

    python benchmarks/baselines.py [figure draw groups planes] [--data ocr conll hansards] [--lam 0.001]
                                   [--solvers BCFW 'SSG*'] [--runs 10] [--passes 100] [--cap 60] [--sentences N]
                                   [--output folder]

figure
    bcfw-2013, Fig. 1: how far the objective is above the optimum, relative to it, after so many effective passes
    (oracle calls of steps, or expectations, divided by n), and the wrong labels of the test examples in percent
    (letters, chunk tags of words; of the word alignments the alignment error rate). The table has the range over the
    runs after 1, 10, 30 and 100 passes. The optimum is the dual value of a run to a small gap. Weights of averaging
    solvers are the averages, those of cutting planes the best so far. OCR-small has three lam, CoNLL-2000 has lam =
    1/n and the Hansards 0.001, as in the paper. With --output the optimum and the measured values are kept in files of
    that folder; the optimum is then found once, and values take the place of older ones of the same solver.
draw
    The tables, and a picture of the figure, out of the files in the folder of --output.
groups
    flexible-blocks-2026, Fig. 4, on OCR-small: epochs and iterations until the dual value of single blocks after 30
    epochs, iterations relative to theirs, and the objective above the optimum, relative to it, after some epochs.
planes
    OCR-small at lam = 1/n: passes of the oracle until the objectives that svm_hmm reaches in 54 and 60.

Data are read through ``BCFW_DATA``. Objectives and errors are measured beside the runs: neither the passes nor the
seconds of these measurements count. A run of the figure that meets the cap of CPU seconds shows a dash for what it has
not reached.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bcfw
from bcfw.dual import DualProblem
from bcfw.dual.certify import certify_primal
from bcfw.dual.opening import open_problem
from bcfw.report import curve_style
from bcfw.report import figure as new_figure
from bcfw.solvers import BCFW, AdaptiveBCFW, BatchFW, CuttingPlane, ExponentiatedGradient, Subgradient

PARTS = ("figure", "draw", "groups", "planes")

#: Effective passes at which the objective and the error are measured, and those in the table.
POINTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)
PASSES = (1, 10, 30, 100)

#: Passes between certificates where a run takes none of its own.
NEVER = 10**9

#: Objectives that svm_hmm reaches on OCR-small at lam = 1/n, and its passes.
SVM_HMM = {0.070: 54, 0.057: 60}

#: Relative gap of the runs that find the optimum.
OPTIMUM = 1e-5

#: Gap at which cutting planes stop, relative to the optimum.
SHARE = 0.03

SOLVERS = {
    "BCFW": BCFW(sampling="uniform", gap_every=NEVER),
    "BCFW, averaged": BCFW(sampling="uniform", averaging=True, gap_every=NEVER),
    "batch FW": BatchFW(),
    "SSG": Subgradient(gap_every=NEVER),
    "SSG, averaged": Subgradient(averaging=True, gap_every=NEVER),
    "one-slack": CuttingPlane(),
    "online EG": ExponentiatedGradient(gap_every=NEVER),
}

#: Single blocks with exact steps, to compare groups with, and the epochs at which their objectives are read.
SINGLE = {
    "BCFW, permuted": (BCFW(gap_every=1), 1),
    "BCFW, uniform": (BCFW(sampling="uniform", gap_every=1), 1),
}
EPOCHS = (1, 10, 30, 150)

#: The panels of the picture: file of the measured values, what is drawn, what that is.
PANELS = (
    ("ocr-0.01", "objective", "(P - P*) / P*"),
    ("ocr-0.001", "objective", "(P - P*) / P*"),
    ("ocr-1_n", "objective", "(P - P*) / P*"),
    ("conll-1_n", "objective", "(P - P*) / P*"),
    ("conll-1_n", "error", "wrong test tags, %"),
    ("hansards-0.001", "objective", "(P - P*) / P*"),
)


class Task(NamedTuple):
    """A data set, its bound model, the lam by their names, what is wrong in predictions (%), the solvers that fit."""

    key: str
    name: str
    model: Any
    data: Any
    lams: dict[str, float]
    error: Callable[[Any, Any], float]
    solvers: tuple[str, ...]


class Options(NamedTuple):
    """Runs of random solvers, passes and CPU seconds of a run, names of lam and solvers with wildcards, a folder."""

    runs: int
    passes: float
    cap: float
    lams: list[str]
    solvers: list[str]
    output: Path | None


# --- data --------------------------------------------------------------------------------------------------------


def ocr() -> Task:
    data = bcfw.datasets.fetch_ocr("small")
    lams = {"0.01": 0.01, "0.001": 0.001, "1/n": 1.0 / len(data.y_train)}
    model = bcfw.models.Chain().bind(data.X_train, data.y_train)
    return Task("ocr", "OCR-small", model, data, lams, wrong_labels, tuple(SOLVERS))


def conll(sentences: int | None) -> Task:
    data = bcfw.datasets.fetch_conll2000()
    data.X_train, data.y_train = data.X_train[:sentences], data.y_train[:sentences]
    model = bcfw.models.Chain(len(data.target_names)).bind(data.X_train, data.y_train)
    return Task("conll", "CoNLL-2000", model, data, {"1/n": 1.0 / len(data.y_train)}, wrong_labels, tuple(SOLVERS))


def hansards() -> Task:
    data = bcfw.datasets.fetch_hansards()
    some = tuple(name for name in SOLVERS if name != "online EG")  # sums over all matchings are intractable
    model = bcfw.models.Matching().bind(data.X_train, data.y_train)
    return Task("hansards", "Hansards", model, data, {"0.001": 0.001}, alignment_error, some)


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
    """Callback that measures the weights after some passes, and stops the run at the cap of CPU seconds.

    Parameters
    ----------
    task : Task
    problem : DualProblem of the task at one lam; its state is not used
    best : float
        The optimum.
    cap : float
    returns_best : bool
        The solver returns the best weights so far: these are measured, after every pass.
    """

    def __init__(self, task: Task, problem: DualProblem, best: float, cap: float, returns_best: bool) -> None:
        self.task, self.problem, self.best, self.returns_best = task, problem, best, returns_best
        self.so_far = self.measure(np.zeros(task.model.dim))
        self.end = time.process_time() + cap
        self.rows = np.full((len(POINTS), 2), np.nan)

    def __call__(self, info: bcfw.solvers.PassInfo) -> bool:
        if time.process_time() >= self.end:
            return True
        begin = time.process_time()
        if self.returns_best or info.n_passes in POINTS:
            found = self.measure(info.w)
            self.so_far = min(self.so_far, found) if self.returns_best else found
        if info.n_passes in POINTS:
            self.rows[POINTS.index(int(info.n_passes))] = self.so_far
        self.end += time.process_time() - begin
        return False

    def measure(self, w: np.ndarray) -> tuple[float, float]:
        """``(P(w) - P*) / P*``, and what is wrong in the test part (%)."""
        return certify_primal(self.problem, w).primal / self.best - 1.0, test_error(self.task, w)

    def all_rows(self, result: bcfw.Result) -> np.ndarray:
        """(points, 2) measured values; a run that has converged stays where it is."""
        if result.status == "converged":
            self.rows[np.array(POINTS) > result.n_passes] = self.measure(result.w)
        return self.rows


def test_error(task: Task, w: np.ndarray) -> float:
    """What is wrong in the test part (%)."""
    return task.error(task.data.y_test, task.model.predict(w, task.data.X_test))


def figure(task: Task, options: Options) -> None:
    for name, lam in task.lams.items():
        if not matches(name, options.lams):
            continue
        path = None if options.output is None else options.output / f"{task.key}-{name.replace('/', '_')}.json"
        panel = json.loads(path.read_text()) if path is not None and path.exists() else optimum(task, name, options.cap)
        problem = open_problem(task.model, task.data.X_train, task.data.y_train, lam)
        print_head(panel)
        for row in task.solvers:
            if matches(row, options.solvers):
                panel["solvers"][row] = repeat(task, problem, row, panel["optimum"][0], options).tolist()
                print_row(row, panel["solvers"][row])
                if path is not None:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(json.dumps(panel))


def optimum(task: Task, name: str, cap: float) -> dict[str, Any]:
    """A panel of the figure without any solver: its title, the optimum, and what is wrong there."""
    end = time.process_time() + cap
    limits = {"max_passes": np.inf, "callbacks": [lambda info: time.process_time() >= end]}
    best = train(task, task.lams[name], tol=OPTIMUM, **limits)
    title = f"{task.name}, lam = {name}, n = {len(task.data.y_train)}"
    return {"title": title, "optimum": [best.dual, best.primal], "error": test_error(task, best.w), "solvers": {}}


def matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def repeat(task: Task, problem: DualProblem, row: str, best: float, options: Options) -> np.ndarray:
    """(runs, points, 2) objectives above the optimum, and test errors, of runs of one solver."""
    solver = SOLVERS[row]
    in_planes = isinstance(solver, CuttingPlane)
    # The target of cutting planes also says how far planes of cached outputs are followed.
    tol = SHARE * best / problem.value_at_zero() if in_planes else 0.0
    measured = []
    for seed in range(1 if in_planes or isinstance(solver, BatchFW) else options.runs):
        watch = Watch(task, problem, best, options.cap, in_planes)
        limits = {"tol": tol, "max_passes": options.passes, "callbacks": [watch]}
        measured.append(watch.all_rows(train(task, problem.lam, solver=solver, seed=seed, **limits)))
    return np.array(measured)


# --- tables and pictures of measured values ----------------------------------------------------------------------


def print_head(panel: dict[str, Any]) -> None:
    dual, primal = panel["optimum"]
    print(f"\n{panel['title']}, optimum {dual:.5g} .. {primal:.5g}, at it {panel['error']:.2f} % wrong")
    print("(P - P*) / P* after passes; then what is wrong in the test part (%)")
    print("| solver (runs) | " + " | ".join(str(number) for number in 2 * PASSES) + " |", flush=True)


def print_row(name: str, values: Any) -> None:
    measured = np.array(values)
    columns = [POINTS.index(number) for number in PASSES]
    cells = [spread(measured[:, column, 0], 2) for column in columns]
    cells += [spread(measured[:, column, 1], 3) for column in columns]
    print(f"| {name} ({len(measured)}) | " + " | ".join(cells) + " |", flush=True)


def spread(values: np.ndarray, digits: int) -> str:
    """Smallest and largest to so many digits, or one number if they are the same."""
    if np.isnan(values).all():
        return "-"
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    ends = [f"{float(f'{end:.{digits}g}'):g}" for end in (low, high)]
    return " .. ".join(dict.fromkeys(ends))


def draw(folder: Path) -> None:
    """Print the tables of all files, and draw Fig. 1 of bcfw-2013: medians, with the range over the runs shaded."""
    panels = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    for panel in panels.values():
        print_head(panel)
        for name in SOLVERS:
            if name in panel["solvers"]:
                print_row(name, panel["solvers"][name])
    drawing, axes = new_figure(15.6, 8.4, 2, 3)
    for axis, (key, what, label) in zip(axes.ravel(), PANELS, strict=True):
        if key in panels:
            draw_panel(axis, panels[key], what, label)
        else:
            axis.axis("off")
    names = axes[0, 0].get_legend_handles_labels()
    drawing.legend(*names, loc="outside lower center", ncols=len(SOLVERS), frameon=False)
    drawing.savefig(folder / "baselines.png", dpi=110)


def draw_panel(axis: Any, panel: dict[str, Any], what: str, label: str) -> None:
    for number, name in enumerate(SOLVERS):
        if name in panel["solvers"]:
            values = np.array(panel["solvers"][name])[:, :, 0 if what == "objective" else 1]
            reached = ~np.isnan(values).any(axis=0)
            points, values = np.array(POINTS)[reached], values[:, reached]
            axis.plot(points, np.median(values, axis=0), label=name, **curve_style(number))
            axis.fill_between(
                points, values.min(axis=0), values.max(axis=0), color=f"C{number}", alpha=0.2, linewidth=0
            )
    if what == "objective":
        axis.set_yscale("log")
    else:
        axis.axhline(panel["error"], color="black", linewidth=0.8)
        axis.set_ylim(0.85 * panel["error"], 1.8 * panel["error"])  # where the better methods differ
    axis.set(xscale="log", xlabel="effective passes", ylabel=label, title=panel["title"])
    axis.grid(alpha=0.3, which="both")


# --- groups of blocks, cutting planes ----------------------------------------------------------------------------


def groups(task: Task, cap: float) -> None:
    n = len(task.data.y_train)
    solvers = {
        f"{metric}, {size}": (AdaptiveBCFW(block_size=size, metric=metric, gap_every=1), size)
        for metric in ("weights", "alpha")
        for size in (1, 5, 10)
    }
    for name in ("0.01", "1/n"):
        best = optimum(task, name, cap)["optimum"][0]
        limits = {"tol": 0.0, "max_passes": EPOCHS[-1], "max_seconds": cap}
        target = np.nan
        print(f"\nOCR-small, lam = {name}: epochs and iterations to the dual of single blocks after 30 epochs;")
        print(f"(P - P*) / P* after epochs\n| | epochs | iterations | {' | '.join(map(str, EPOCHS))} |", flush=True)
        for row, (solver, size) in (SINGLE | solvers).items():
            history = train(task, task.lams[name], solver=solver, **limits).history
            target = history["dual"][30] if np.isnan(target) else target
            there = np.append(history["passes"][history["dual"] >= target], np.nan)[0]
            iterations = there * -(-n // size) / (30 * n)
            above = [
                f"{history['primal'][number] / best - 1.0:.2g}" for number in EPOCHS if number < len(history["primal"])
            ]
            print(f"| {row} | {there:g} | {iterations:.2g} | {' | '.join(above)} |", flush=True)


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
    parser.add_argument("--lam", nargs="+", default=["*"], help="of the figure: 0.01, 0.001, 1/n")
    parser.add_argument("--solvers", nargs="+", default=["*"], help="of the figure, with wildcards")
    parser.add_argument("--runs", type=int, default=10, help="seeds of random methods")
    parser.add_argument("--passes", type=float, default=100, help="effective passes of every run")
    parser.add_argument(
        "--cap", type=float, default=60.0, help="CPU seconds per run of the figure, wall seconds of other parts"
    )
    parser.add_argument("--sentences", type=int, default=None, help="training sentences of CoNLL-2000; all by default")
    parser.add_argument("--output", type=Path, help="folder for measured values and the picture of the figure")
    asked = parser.parse_args()
    tasks = {"ocr": ocr, "conll": lambda: conll(asked.sentences), "hansards": hansards}
    if "figure" in asked.parts:
        options = Options(asked.runs, asked.passes, asked.cap, asked.lam, asked.solvers, asked.output)
        for name in asked.data:
            figure(tasks[name](), options)
    if "draw" in asked.parts and asked.output is not None:
        draw(asked.output)
    if "groups" in asked.parts:
        groups(ocr(), asked.cap)
    if "planes" in asked.parts:
        planes(ocr(), asked.cap)


if __name__ == "__main__":
    main()
