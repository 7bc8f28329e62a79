"""The BCFW family on real data: effective passes, oracle calls and seconds to a relative gap of 0.1, 0.01 and 0.001.

    python benchmarks/variants.py [--problems 'ocr-small*' usps-1/n] [--variants auto 'multi*'] [--seeds 3] [--cap 60]
                                  [--output folder] [--quick]

A cell shows medians over the seeds of effective passes (oracle calls of steps, divided by n), of all oracle calls
including those of certificates, and of seconds; a target that is missed within the cap shows the gap that was reached.
Certificates are taken every 5 passes of BCFW, after every iteration of multi-plane, and as "auto" does by itself. Their
time counts: a user pays it too.

In the problems named "5ms" the oracle is charged 5 ms without waiting for it: seconds are those measured for the run
and 0.005 for every oracle call of a step. Certificate calls are not charged, so that the number of certificates does
not decide the comparison. Multi-plane knows this cost: it chooses its passes over the store by fixed costs, the time of
a store visit measured here against 5 ms, and "auto" stands for what it chooses when it measures these costs. These runs
end at 20,000 charged seconds, or at the cap of real ones.

With --output the table and two log-log figures with one panel per problem (relative gap against effective passes, and
against seconds; first seed) are written to that folder. Data are read through ``BCFW_DATA``. With the cap of 60 s the
whole takes some hours, --quick (cap 2 s, one seed) some minutes.
"""

from __future__ import annotations

import argparse
import fnmatch
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bcfw
from bcfw.report import PlotUnavailableError, curve_style, figure
from bcfw.solvers import BCFW, MultiPlane
from bcfw.solvers.auto import multiplane_for_cost

TARGETS = (0.1, 0.01, 0.001)

#: Charged seconds after which a run on a problem with a charged oracle ends.
CHARGED_CAP = 20_000.0

#: A history as ``bcfw.train`` returns it, with relative gaps and charged seconds.
History = dict[str, np.ndarray]


class Problem(NamedTuple):
    """A data set with its lam (None: 1/n), how many seeds it gets, and the seconds charged per oracle call."""

    data: str
    lam: float | None
    seeds: int
    charge: float = 0.0


PROBLEMS = {
    "ocr-small-0.01": Problem("ocr-small", 0.01, 3),
    "ocr-small-0.001": Problem("ocr-small", 0.001, 3),
    "ocr-small-1/n": Problem("ocr-small", None, 3),
    "ocr-large-0.01": Problem("ocr-large", 0.01, 1),
    "ocr-large-0.001": Problem("ocr-large", 0.001, 1),
    "ocr-large-1/n": Problem("ocr-large", None, 1),
    "usps-1/n": Problem("usps", None, 1),
    "ocr-small-5ms-0.01": Problem("ocr-small", 0.01, 1, charge=0.005),
    "ocr-small-5ms-0.001": Problem("ocr-small", 0.001, 1, charge=0.005),
    "ocr-small-5ms-1/n": Problem("ocr-small", None, 1, charge=0.005),
}


def variants(**clock: Any) -> dict[str, Any]:
    """The solvers to compare; ``clock`` holds the options by which multi-plane chooses its passes over the store."""
    return {
        "auto": multiplane_for_cost(clock["store_cost"]) if clock else "auto",
        "uniform": BCFW(sampling="uniform", gap_every=5),
        "permuted": BCFW(gap_every=5),
        "permuted, averaged": BCFW(averaging=True, gap_every=5),
        "gap": BCFW(sampling="gap", gap_every=5),
        "pairwise": BCFW(step="pairwise", gap_every=5),
        "gap + pairwise": BCFW(sampling="gap", step="pairwise", gap_every=5),
        "gap + cache": BCFW(sampling="gap", cache="gap", gap_every=5),
        "gap + pairwise + cache": BCFW(sampling="gap", step="pairwise", cache="gap", gap_every=5),
        "multi-plane, fw": MultiPlane(step="fw", gap_every=1, **clock),
        "multi-plane, pairwise": MultiPlane(gap_every=1, **clock),
        "multi-plane, pairwise, 20": MultiPlane(passes=20, gap_every=1),
    }


def load(name: str) -> tuple[Any, Any, Any]:
    """Model, inputs and outputs of a data set."""
    if name == "usps":
        data = bcfw.datasets.fetch_usps()
        return bcfw.models.Multiclass(), data.X_train, data.y_train
    data = bcfw.datasets.fetch_ocr(name.removeprefix("ocr-"))
    return bcfw.models.Chain(), data.X_train, data.y_train


def train(examples: tuple[Any, Any, Any], **options: Any) -> bcfw.Result:
    """``bcfw.train``, silent about a target that was missed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        return bcfw.train(*examples, **options)


def run(solver: Any, examples: tuple[Any, Any, Any], lam: float, charge: float, seed: int, cap: float) -> History:
    """History of one run, with the relative gap in place of the gap and charged seconds."""
    cost = charge * len(examples[2])

    def over_cap(info: bcfw.solvers.PassInfo) -> bool:
        return cost > 0.0 and info.seconds + cost * info.n_passes >= CHARGED_CAP

    limits = {"tol": TARGETS[-1], "max_passes": np.inf, "max_seconds": cap, "callbacks": [over_cap]}
    history = dict(train(examples, lam=lam, solver=solver, seed=seed, **limits).history)
    history["gap"] = history["gap"] / history["primal"][0]
    history["seconds"] = history["seconds"] + cost * history["passes"]
    return history


def store_visit_seconds(examples: tuple[Any, Any, Any], lam: float) -> float:
    """Time of one visit without oracle: 20 more passes over the store after each of 10 exact passes."""
    few, many = (train(examples, lam=lam, solver=MultiPlane(passes=m), tol=0.0, max_passes=10) for m in (1, 21))
    return (many.seconds - few.seconds) / (10 * 20 * len(examples[2]))


def reached(history: History, target: float) -> tuple[float, ...] | None:
    """Passes, oracle calls and seconds at the first certificate that meets the target."""
    where = np.flatnonzero(history["gap"] <= target)
    if not len(where):
        return None
    return tuple(float(history[key][where[0]]) for key in ("passes", "oracle_calls", "seconds"))


def cell(histories: list[History], target: float) -> str:
    met = [reached(history, target) for history in histories]
    if any(one is None for one in met):
        return f"missed: gap {np.median([history['gap'][-1] for history in histories]):.2g}"
    passes, calls, seconds = np.median(np.array(met), axis=0)
    return f"{passes:.1f} / {calls:.3g} / {seconds:.2f} s"


class Table:
    """Lines that are printed as they come, and kept in a file of the folder if there is one."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self.path = None if folder is None else folder / name
        if self.path is not None:
            self.path.write_text("")

    def add(self, line: str) -> None:
        print(line, flush=True)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(line + "\n")


def compare(
    name: str, rows: list[str], examples: tuple[Any, Any, Any], seeds: int, cap: float, table: Table
) -> dict[str, History]:
    """Some variants on one problem: a row of the table each; returns the histories of the first seed."""
    problem = PROBLEMS[name]
    lam = 1.0 / len(examples[2]) if problem.lam is None else problem.lam
    small = examples[0], examples[1][:20], examples[2][:20]
    # "auto" would take simpler steps on so few examples.
    for solver in (multiplane_for_cost(1.0), *(variants()[row] for row in rows)):
        train(small, lam=0.1, solver=solver, max_passes=2, tol=0.0)  # compiles
    clock = {}
    table.add(f"\n{name}, lam = {lam:.3g}, n = {len(examples[2])}, seeds: {seeds}; passes / oracle calls / seconds")
    if problem.charge > 0.0:
        clock = {"clock": "count", "store_cost": store_visit_seconds(examples, lam) / problem.charge}
        table.add(
            f"{1e3 * problem.charge:g} ms charged per call of a step; store visit = {clock['store_cost']:.2g} calls"
        )
    table.add(f"{'to a relative gap of':<28}" + "".join(f"{target:<30g}" for target in TARGETS))
    curves = {}
    for row in rows:
        solver = variants(**clock)[row]
        histories = [run(solver, examples, lam, problem.charge, seed, cap) for seed in range(seeds)]
        curves[row] = histories[0]
        table.add(f"{row:<28}" + "".join(f"{cell(histories, target):<30}" for target in TARGETS))
    return curves


def draw(curves: dict[str, dict[str, History]], key: str, label: str, path: Path) -> None:
    """Relative gap against ``key``, both axes logarithmic, one panel per problem."""
    columns = min(3, len(curves))
    rows = -(-len(curves) // columns)
    drawing, axes = figure(5.2 * columns, 4.2 * rows, rows, columns)
    panels = np.atleast_1d(axes).ravel()
    for axis, (problem, histories) in zip(panels, curves.items(), strict=False):
        for number, (name, history) in enumerate(histories.items()):
            after = history["passes"] > 0
            axis.loglog(history[key][after], history["gap"][after], label=name, **curve_style(number))
        axis.set(xlabel=label, ylabel="relative gap", title=in_words(problem))
        axis.grid(alpha=0.3, which="both")
    for axis in panels[len(curves) :]:
        axis.axis("off")
    panels[0].legend(fontsize=7, frameon=False)
    drawing.savefig(path, dpi=130)


def in_words(name: str) -> str:
    """The title of a problem's panel."""
    problem = PROBLEMS[name]
    data = {"ocr-small": "OCR letters, 626 words", "ocr-large": "OCR letters, 6251 words", "usps": "USPS digits"}
    charge = f", {1e3 * problem.charge:g} ms per oracle call" if problem.charge else ""
    return f"{data[problem.data]}, lam = {'1/n' if problem.lam is None else format(problem.lam, 'g')}{charge}"


def draw_all(curves: dict[str, dict[str, History]], folder: Path) -> None:
    """Both figures; without matplotlib one sentence instead."""
    try:
        draw(curves, "passes", "effective passes", folder / "gap-passes.png")
        draw(curves, "seconds", "seconds", folder / "gap-seconds.png")
    except PlotUnavailableError as error:
        print(f"no figures: {error}", flush=True)


def selected(parser: argparse.ArgumentParser, option: str, patterns: list[str], names: list[str]) -> list[str]:
    """The names that match one of the patterns; a pattern that matches none is an error."""
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            parser.error(f"{option}: nothing is named {pattern!r}; there are {', '.join(names)}")
    return [name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=["*"], help=f"names or patterns of: {', '.join(PROBLEMS)}")
    parser.add_argument("--variants", nargs="+", default=["*"], help=f"names or patterns of: {', '.join(variants())}")
    parser.add_argument("--seeds", type=int, help="in place of 3 for ocr-small and 1 for the others")
    parser.add_argument("--cap", type=float, default=60.0, help="real seconds per run")
    parser.add_argument("--output", type=Path, help="folder for the table and the figures")
    parser.add_argument("--quick", action="store_true", help="one seed, 2 seconds per run")
    options = parser.parse_args()
    seeds, cap = (1, 2.0) if options.quick else (options.seeds, options.cap)
    problems = selected(parser, "--problems", options.problems, list(PROBLEMS))
    rows = selected(parser, "--variants", options.variants, list(variants()))
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
    table, curves = Table(options.output, "variants.txt"), {}
    for name in problems:
        problem = PROBLEMS[name]
        try:
            examples = load(problem.data)
        except bcfw.datasets.DataNotFound as error:
            print(f"{name} left out: {error}", flush=True)
            continue
        curves[name] = compare(name, rows, examples, seeds or problem.seeds, cap, table)
        if options.output is not None:
            draw_all(curves, options.output)


if __name__ == "__main__":
    main()
