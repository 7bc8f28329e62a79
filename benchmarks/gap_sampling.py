"""The experiments of gaps-2016: its eight methods, how stale gaps may be, and the two parameters of the cache.

    python benchmarks/gap_sampling.py [methods staleness cache] [--data conll horses] [--lam 0.1 0.001]
                                      [--seeds 1] [--cap 12] [--sentences 8936] [--output folder]

**methods** (Figs. 3, 5 and 6): uniform or gap sampling, Frank-Wolfe or pairwise steps, without or with cache, on
CoNLL-2000 (``Chain``, mean loss) and on the horses (``BinaryGraph(normalize=False)``: the loss is the number of wrong
superpixels), each at three lam: one that is good on test data, a larger and a smaller one. A cell has effective passes
(oracle calls of steps, divided by n), all calls with those of certificates, and CPU seconds to a relative gap of 0.1,
0.01 and 0.001; medians over the seeds. A target that a seed missed within the cap (CPU seconds) shows the median gap
reached.

**staleness** (Fig. 1): gap sampling on OCR where the blocks' gaps are computed anew every so many passes, or never, and
uniform sampling. Effective passes include those that compute gaps anew. The estimate is the sum of the gaps that the
sampling knows, divided by the true gap, just before they are computed anew.

**cache** (Fig. 2): what the eight methods are measured by, to a relative gap of 0.03 (OCR-small, lam = 0.01,
Frank-Wolfe steps) and 0.01 (horses, lam = 0.1, pairwise steps), with gap sampling and a cache, for several F and nu,
and the share of visits that the cache answered. ``BCFW`` wants both to be positive: 1e-9 stands for 0.

True gaps are measured after every pass of n visits up to ten, then whenever visits have grown by a tenth, so what is
needed is known up to a tenth. These measurements are no part of a run: neither their calls nor their seconds count, and
they tell the sampling nothing. Gaps are computed anew every 10 passes as in the paper, except where that is the
question. With --output the tables and figures of the first seed are written to that folder. Data are read through
``BCFW_DATA``. Everything is compiled first, with five examples. The parts take about 10, 4 and 3 CPU minutes.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bcfw
from bcfw.dual import DualProblem
from bcfw.dual.certify import certify_dual_point, certify_state
from bcfw.report import PlotUnavailableError, curve_style, figure
from bcfw.solvers import BCFW, PassInfo
from costly_oracles import last, reached
from variants import TARGETS, History, Table, train
from variants import load as load_letters

PARTS = ("methods", "staleness", "cache")

#: Passes between certificates where a run takes none of its own.
NEVER = 10**9

#: A good lam, a larger and a smaller one; those of CoNLL are the paper's.
LAMBDAS = {"conll": (0.1, 0.01, 1e-4), "horses": (1.0, 0.1, 0.001)}

#: Passes after which gaps are computed anew; data, lam and effective passes of these runs; relative gaps on their way.
REFRESHES = (1, 2, 5, 10, 20, 50, None)
STALE_RUNS = (
    ("ocr-small", 0.01, 1000),
    ("ocr-small", 0.001, 1000),
    ("ocr-small", 0.0001, 500),
    ("ocr-large", 0.001, 150),
)
STALE_TARGETS = (0.3, 0.1, 0.03, 0.01)

#: Passes that the ratio of estimated and true gap leaves out: every block is visited in the first one.
FIRST_PASSES = 10

#: The grid of the cache's parameters.
SHARES, FLOORS = (1e-9, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0), (1e-9, 0.001, 0.01, 0.1, 1.0)


class Examples(NamedTuple):
    """Model, inputs and outputs of a data set."""

    model: Any
    X: Any
    y: Any


class OpenBCFW(BCFW):
    """BCFW whose problem can be looked at while it runs."""

    def prepare(self, problem: DualProblem) -> None:
        super().prepare(problem)
        self.problem = problem


class Watch:
    """Callback that measures the true gap, computes the blocks' gaps anew if it is told to, and ends the run.

    Parameters
    ----------
    solver : OpenBCFW
        The one that runs.
    cap, max_calls : float
        CPU seconds without measurements, and oracle calls, after which the run ends.
    refresh : int or None
        Passes after which all block gaps are computed anew, at the price of n calls; None for never.
    """

    def __init__(self, solver: OpenBCFW, cap: float, max_calls: float = np.inf, refresh: int | None = None) -> None:
        self.solver, self.cap, self.max_calls, self.refresh = solver, cap, max_calls, refresh
        self.start, self.measuring = time.process_time(), 0.0
        self.number, self.next = 0, 1
        self.rows: list[dict[str, float]] = []

    def __call__(self, info: PassInfo) -> bool:
        self.number += 1
        problem = self.solver.problem
        due = self.refresh is not None and self.number % self.refresh == 0
        ends = info.gap <= info.gap_target or self._cpu() >= self.cap or problem.oracle_calls >= self.max_calls
        planned = ends or self.number >= self.next
        if planned:
            self.next = max(self.number + 1, int(np.ceil(1.1 * self.number)))
        if planned or due:
            self._measure(problem, info.n_passes, planned)
            ends |= planned and self.rows[-1]["gap"] <= info.gap_target
        if due:
            certify_state(problem)
        return bool(ends)

    def _measure(self, problem: DualProblem, passes: float, planned: bool) -> None:
        """Add a row, and put the counter and the clock back."""
        calls, cpu, before = problem.oracle_calls, self._cpu(), time.process_time()
        gap = certify_dual_point(problem, problem.v, problem.ell).gap
        problem.oracle_calls = calls
        row = {
            "planned": planned,
            "passes": passes,
            "exact_calls": passes * problem.n_blocks,
            "oracle_calls": calls,
            "all_passes": calls / problem.n_blocks,
            "cpu": cpu,
            "gap": gap,
            "estimate": float(problem.state.gap.sum()) / gap,
            "hits": 1.0 - passes / self.number,
        }
        self.rows.append(row)
        self.measuring += time.process_time() - before

    def _cpu(self) -> float:
        return time.process_time() - self.start - self.measuring

    def history(self, value_at_zero: float) -> History:
        """The rows as arrays, with gaps relative to P(0)."""
        columns = {key: np.array([row[key] for row in self.rows]) for key in self.rows[0]}
        return {**columns, "relative": columns["gap"] / value_at_zero}


class Setting(NamedTuple):
    """What the runs of a table have in common: data, lam, the relative gap where they end, seeds, and CPU seconds."""

    examples: Examples
    lam: float
    tol: float
    seeds: int
    cap: float


def runs(setting: Setting, refresh: int | None = None, max_calls: float = np.inf, **options: Any) -> list[History]:
    """Histories of BCFW with these options, one per seed; the code is compiled before."""
    model, X, y = setting.examples
    train((model, X[:5], y[:5]), lam=setting.lam, solver=BCFW(**options), max_passes=3, tol=0.0)
    histories = []
    for seed in range(setting.seeds):
        solver = OpenBCFW(**options)
        watch = Watch(solver, setting.cap, max_calls, refresh)
        limits = {"tol": setting.tol, "max_passes": np.inf, "callbacks": [watch], "seed": seed}
        result = train(setting.examples, lam=setting.lam, solver=solver, **limits)
        histories.append(watch.history(result.history["primal"][0]))
    return histories


# --- the eight methods


def methods() -> dict[str, dict[str, Any]]:
    """Options of BCFW by the method's name."""
    return {
        f"{sampling}, {step}{', cache' if cache else ''}": {"sampling": sampling, "step": step, "cache": cache}
        for sampling, step, cache in itertools.product(("uniform", "gap"), ("fw", "pairwise"), (None, "gap"))
    }


def load(data: str, sentences: int | None = None) -> Examples:
    if data == "conll":
        words = bcfw.datasets.fetch_conll2000()
        return Examples(bcfw.models.Chain(), words.X_train[:sentences], words.y_train[:sentences])
    if data == "horses":
        horses = bcfw.datasets.fetch_horses()
        return Examples(bcfw.models.BinaryGraph(normalize=False), horses.X_train, horses.y_train)
    return Examples(*load_letters(data))


def cell(histories: list[History], target: float) -> str:
    """Effective passes, all calls and CPU seconds to a target, or the gap that was left."""
    found = reached(histories, target)
    if found is None:
        return f"(gap {last(histories, 'relative'):.2g})"
    passes = found[0] * histories[0]["passes"][-1] / histories[0]["exact_calls"][-1]
    return f"{passes:.1f} / {found[1] / 1e3:.3g}k / {found[2]:.2f} s"


def compare_methods(options: argparse.Namespace, table: Table) -> None:
    for data in options.data:
        examples, curves = load(data, options.sentences), {}
        for lam in options.lam or LAMBDAS[data]:
            setting = Setting(examples, lam, TARGETS[-1], options.seeds, options.cap)
            table.add(
                f"\n{data}, lam = {lam:g}, n = {len(examples.y)}, seeds: {options.seeds}, cap: {options.cap:g} CPU s"
            )
            table.add("effective passes of steps / all oracle calls / CPU seconds to a relative gap of")
            table.add(f"{'':<26}" + "".join(f"{target:<28g}" for target in TARGETS))
            curves[lam] = {}
            for name, chosen in methods().items():
                histories = runs(setting, gap_every=10, **chosen)
                curves[lam][name] = histories[0]
                table.add(f"{name:<26}" + "".join(f"{cell(histories, target):<28}" for target in TARGETS))
        if options.output is not None:
            draw_methods(curves, data, options.output / f"methods_{data}.png")


def method_style(name: str) -> dict[str, Any]:
    """As in the paper: colour for the cache, line for the sampling, marker for the steps."""
    return {
        "color": "tab:blue" if "cache" in name else "tab:orange",
        "linestyle": "-" if name.startswith("gap") else "--",
        "marker": "o" if "pairwise" in name else "s",
        "markersize": 3,
        "linewidth": 1.2,
    }


def draw_methods(curves: dict[float, dict[str, History]], data: str, path: Path) -> None:
    """Relative gap against effective passes (above) and CPU seconds (below), a column per lam."""
    drawing, axes = figure(5.0 * len(curves), 7.6, 2, len(curves))
    panels = np.reshape(axes, (2, -1))
    for column, (lam, histories) in enumerate(curves.items()):
        for row, (key, label) in enumerate({"passes": "effective passes", "cpu": "CPU seconds"}.items()):
            axis = panels[row, column]
            for name, history in histories.items():
                axis.loglog(history[key], history["relative"], label=name, **method_style(name))
            axis.set(xlabel=label, ylabel="relative gap", title=f"{data}, lam = {lam:g}")
            axis.grid(alpha=0.3, which="both")
    panels[0, 0].legend(fontsize=7, frameon=False)
    drawing.savefig(path, dpi=130)


# --- staleness


def planned_rows(history: History) -> History:
    """The rows that all runs have. Gaps go up and down: a run that is measured more often meets a target earlier."""
    return {key: column[history["planned"]] for key, column in history.items()}


def passes_to(histories: list[History], target: float) -> str:
    """Median of effective passes, those that compute gaps anew included; a dash if a run missed the target."""
    found = reached([planned_rows(history) for history in histories], target)
    n = histories[0]["oracle_calls"][-1] / histories[0]["all_passes"][-1]
    return "-" if found is None else f"{found[1] / n:.0f}"


def estimates(histories: list[History], refresh: int | None) -> str:
    """Median and range of estimated divided by true gap, where gaps are computed anew next; if never, everywhere."""
    ratios = []
    for history in histories:
        visits = np.round(history["passes"])
        counted = visits > FIRST_PASSES
        ratios.append(history["estimate"][counted & ((visits % refresh == 0) if refresh else True)])
    together = np.concatenate(ratios)
    return f"{np.median(together):.2f} ({together.min():.2g} .. {together.max():.2g})"


def compare_refreshes(options: argparse.Namespace, table: Table) -> None:
    curves = {}
    for data, lam, passes in STALE_RUNS:
        examples = load(data)
        n, title = len(examples.y), f"{data}, lam = {lam:g}"
        setting = Setting(examples, lam, STALE_TARGETS[-1] / 10, options.seeds, np.inf)
        table.add(f"\n{title}, n = {n}, seeds: {options.seeds}, {passes} effective passes, certificates included")
        head = "".join(f"to {target:<7g}" for target in STALE_TARGETS)
        table.add(f"{'effective passes':<24}{head}{'gap at the end':<16}estimated / true gap (range)")
        curves[title] = {}
        for name, refresh, sampling in (
            ("uniform", None, "uniform"),
            *((f"gap, anew every {k}" if k else "gap, never anew", k, "gap") for k in REFRESHES),
        ):
            limits = {"refresh": refresh, "max_calls": passes * n}
            histories = runs(setting, **limits, sampling=sampling, gap_every=NEVER)
            curves[title][name] = histories[0]
            row = "".join(f"{passes_to(histories, target):<10}" for target in STALE_TARGETS)
            table.add(f"{name:<24}{row}{last(histories, 'relative'):<16.3g}{estimates(histories, refresh)}")
    if options.output is not None:
        draw_refreshes(curves, options.output / "staleness.png")


def draw_refreshes(curves: dict[str, dict[str, History]], path: Path) -> None:
    """Relative gap, and estimated divided by true gap, against effective passes, a row per problem."""
    drawing, axes = figure(11.0, 4.2 * len(curves), len(curves), 2)
    for row, (title, histories) in enumerate(curves.items()):
        for column, (key, label) in enumerate({"relative": "relative gap", "estimate": "estimated / true gap"}.items()):
            axis = axes[row, column]
            for number, (name, history) in enumerate(histories.items()):
                rows = planned_rows(history)
                axis.loglog(rows["all_passes"], rows[key], label=name, **curve_style(number))
            axis.set(xlabel="effective passes, certificates included", ylabel=label, title=title)
            axis.grid(alpha=0.3, which="both")
    axes[0, 0].legend(fontsize=7, frameon=False)
    drawing.savefig(path, dpi=130)


# --- the parameters of the cache


def compare_parameters(options: argparse.Namespace, table: Table) -> None:
    for data, lam, step, target in (("ocr-small", 0.01, "fw", 0.03), ("horses", 0.1, "pairwise", 0.01)):
        examples = load(data)
        setting = Setting(examples, lam, target, options.seeds, options.cap / 2)
        table.add(
            f"\n{data}, lam = {lam:g}, {step}, n = {len(examples.y)}, seeds: {options.seeds}, cap: {setting.cap:g} s"
        )
        table.add(
            f"effective passes of steps / all calls / CPU seconds to {target:g}, share of visits that hit the cache"
        )
        table.add(f"{'F':<8}" + "".join(f"nu = {floor:<26g}" for floor in FLOORS))
        curves = {}
        for share in SHARES:
            cells = []
            for floor in FLOORS:
                parameters = {"cache_F": share, "cache_nu": floor}
                histories = runs(setting, sampling="gap", step=step, cache="gap", gap_every=10, **parameters)
                curves[share, floor] = histories[0]
                cells.append(f"{cell(histories, target)}, {last(histories, 'hits'):.0%}")
            table.add(f"{share:<8g}" + "".join(f"{one:<31}" for one in cells))
        if options.output is not None:
            draw_parameters(curves, data, options.output / f"cache_{data}.png")


def draw_parameters(curves: dict[tuple[float, float], History], data: str, path: Path) -> None:
    """Relative gap against effective passes and CPU seconds, for the extremes of both parameters and the defaults."""
    drawing, axes = figure(10.4, 4.2, columns=2)
    shown = [*itertools.product((SHARES[0], SHARES[-1]), (FLOORS[0], FLOORS[-1])), (0.25, FLOORS[0]), (0.25, 0.01)]
    for axis, (key, label) in zip(axes, {"passes": "effective passes", "cpu": "CPU seconds"}.items(), strict=True):
        for number, (share, floor) in enumerate(shown):
            history, name = curves[share, floor], f"F = {share:g}, nu = {floor:g}"
            axis.loglog(history[key], history["relative"], label=name, **curve_style(number))
        axis.set(xlabel=label, ylabel="relative gap", title=f"{data}: parameters of the cache")
        axis.grid(alpha=0.3, which="both")
    axes[0].legend(fontsize=7, frameon=False)
    drawing.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--data", nargs="+", choices=tuple(LAMBDAS), default=list(LAMBDAS), help="of the methods")
    parser.add_argument("--lam", type=float, nargs="+", help="of the methods, in place of three for each data set")
    parser.add_argument("--sentences", type=int, help="of CoNLL; all by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--cap", type=float, default=12.0, help="CPU seconds per run of a method; half for the cache")
    parser.add_argument("--output", type=Path, help="folder for the tables and the figures")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {sorted(unknown)[0]!r}; there are {', '.join(PARTS)}")
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
    measure = {"methods": compare_methods, "staleness": compare_refreshes, "cache": compare_parameters}
    for part in options.parts or PARTS:
        try:
            measure[part](options, Table(options.output, f"{part}.txt"))
        except bcfw.datasets.DataNotFound as error:
            parser.exit(1, f"{error}\n")
        except PlotUnavailableError as error:
            print(f"no figures: {error}", flush=True)


if __name__ == "__main__":
    main()
