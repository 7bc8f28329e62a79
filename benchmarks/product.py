"""Which blocks to ask: experiments 1 and 2 of flexible-blocks-2026, with ``bcfw.minimize``.

    python benchmarks/product.py [--experiments 1 2] [--sizes 100 200 300] [--starts 3] [--rules full 'lazy*']
                                 [--steps short adaptive] [--targets 0.1 0.01] [--max-iters 10000] [--max-seconds 20]
                                 [--figures folder]

Experiment 1 looks for a matrix in the cube [-1, 1/s]^(s x s) and in the spectraplex, ``f = 1/2 |x_1 - x_2|^2``. The
matrix I/s is in both, so the minimum is 0 and the value is the primal gap. (All common matrices have the diagonal 1/s:
the intersection is thin.) Experiment 2 minimises the difference of convex quadratics ``1/2 <X, X(A - B)>`` of an
s x 2s matrix X, whose first s columns are in the unit cube each, and whose last s columns are a matrix of nuclear norm
at most 1. It is not convex; the measure is the smallest full Frank-Wolfe gap so far, relative to the gap at the start.

A cell shows iterations / calls of the expensive oracle (spectraplex, nuclear-norm ball) / CPU seconds to the target,
means over the starts. Where a start missed the target within the limits, it shows the mean of what was reached, in
brackets. Starts are the oracles' answers to Gaussian directions; in experiment 2 each start has its own A and B. The
measure is computed beside the run, after iterations that are 1 % (experiment 2: 5 %) apart; its time does not count.
Runs take no certificates, but for the rule "gap", which needs them: every tenth pass, and they count.

Steps: "short" has the paper's constant (2; the Frobenius norm of A - B) for every step, "own" is the library's
``step="short"``, which takes a block's own constant where it moves alone.

``BENCH=full`` in the environment adds s = 500 and makes it 20 starts. One thread is enough: OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import bcfw
from bcfw.domains import Box, LinfBall, NuclearBall, Spectraplex
from bcfw.product.objectives import OfProduct
from bcfw.report import curve_style, figure
from bcfw.selection import (
    PQ,
    CostAware,
    Cyclic,
    EssentiallyCyclic,
    Full,
    Gap,
    Lazy,
    Permuted,
    QuasiStochastic,
    Rule,
    SelectionState,
)

FULL = os.environ.get("BENCH") == "full"

#: Relative distance of the iterations after which the measure is computed.
SPACING = {1: 0.01, 2: 0.05}

NEVER = 10**9


class Problem(NamedTuple):
    """A random instance. The last block is the expensive one.

    Attributes
    ----------
    measure : function of a point that is to become small
    smoothness : the paper's constant for short steps
    """

    objective: Any
    domains: list[Any]
    x0: list[np.ndarray]
    measure: Callable[[list[np.ndarray]], float]
    smoothness: float


def intersection(s: int, rng: np.random.Generator) -> Problem:
    """Experiment 1."""
    identity = sp.identity(s * s)
    objective = bcfw.objectives.LeastSquares([identity, -identity], np.zeros(s * s))
    domains = [Box(-1.0, 1.0 / s, shape=(s, s)), Spectraplex(s)]
    return Problem(objective, domains, random_start(domains, rng), lambda x: 0.5 * float(((x[0] - x[1]) ** 2).sum()), 2)


def difference_of_convex(s: int, rng: np.random.Generator) -> Problem:
    """Experiment 2. Points are kept transposed: a block of the cube is a row, the matrix of the last block s rows."""
    H = random_semidefinite(2 * s, rng) - random_semidefinite(2 * s, rng)
    eigenvalues = np.linalg.eigvalsh(H)
    assert eigenvalues[0] < 0.0 < eigenvalues[-1]
    domains = [*[LinfBall(s)] * s, NuclearBall((s, s))]
    start = random_start(domains, rng)

    def gap(x: list[np.ndarray]) -> float:
        """The full Frank-Wolfe gap, in closed form."""
        rows = np.vstack(x)
        gradient = H @ rows
        farthest = np.abs(gradient[:s]).sum() + np.linalg.norm(gradient[s:], 2)
        return float((gradient * rows).sum() + farthest)

    first = gap(start)
    return Problem(RowsForm(H, s), domains, start, lambda x: gap(x) / first, float(np.linalg.norm(H)))


EXPERIMENTS = {1: intersection, 2: difference_of_convex}


def random_start(domains: list[Any], rng: np.random.Generator) -> list[np.ndarray]:
    return [domain.argmin(rng.standard_normal(domain.shape)) for domain in domains]


def random_semidefinite(order: int, rng: np.random.Generator) -> np.ndarray:
    """The projection of a Gaussian matrix onto the positive semidefinite ones."""
    gaussian = rng.standard_normal((order, order))
    values, vectors = np.linalg.eigh(0.5 * (gaussian + gaussian.T))
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


class RowsForm(OfProduct):
    """``1/2 <P, H P>`` of the matrix P whose rows are the blocks, one after the other.

    ``bcfw.objectives.Quadratic`` would need the matrix ``kron(H, I)``. Here H P is kept, and a step on k rows costs k
    products of a column of H and a row.
    """

    def __init__(self, H: np.ndarray, width: int) -> None:
        super().__init__(sp.identity(len(H) * width, format="csc"))
        self.outer = RowsProduct(H, width)


class RowsProduct:
    """``phi(p) = 1/2 <P, H P>``, p the entries of P in C order."""

    quadratic = True
    convex = False
    curvature = None

    def __init__(self, H: np.ndarray, width: int) -> None:
        self.H = H
        self.width = width

    def hessian(self, p: np.ndarray) -> np.ndarray:
        return np.asarray(self.H @ p.reshape(-1, self.width)).ravel()

    gradient = hessian

    def value(self, p: np.ndarray) -> float:
        return 0.5 * float(p.dot(self.hessian(p)))

    def gradient_after(self, p: np.ndarray, r: np.ndarray, rows: Any, q: np.ndarray) -> tuple[Any, np.ndarray]:
        changed, Q = self._rows(rows, q)
        return slice(None), r + (self.H[:, changed] @ Q).ravel()

    def bregman(self, p: np.ndarray, r: np.ndarray, rows: Any, q: np.ndarray) -> float:
        changed, Q = self._rows(rows, q)
        return 0.5 * float((Q * (self.H[changed][:, changed] @ Q)).sum())

    def _rows(self, entries: Any, q: np.ndarray) -> tuple[Any, np.ndarray]:
        """Changed rows of P, from changed entries of p: blocks are whole rows."""
        if isinstance(entries, slice):
            first, last, _ = entries.indices(len(self.H) * self.width)
            rows: Any = slice(first // self.width, last // self.width)
        else:
            rows = entries[:: self.width] // self.width
        return rows, q.reshape(-1, self.width)


# --- rules and steps ----------------------------------------------------------------------------------------------


def rules(experiment: int, s: int) -> dict[str, Rule]:
    """The rules to compare, by the names of the tables."""
    if experiment == 1:
        return {
            "full": Full(),
            "cyclic": Cyclic(),
            "permuted": Permuted(),
            "essentially cyclic, K = 20": EssentiallyCyclic(20, expensive=[1]),
            "lazy, q = 5": Lazy(5, expensive=[1]),
            "lazy, q = 10": Lazy(10, expensive=[1]),
            "lazy, q = 20": Lazy(20, expensive=[1]),
            "cost-aware, K = 20": CostAware(20),
            "quasi-stochastic, K = 20": QuasiStochastic(20),
            "gap": Gap(),
        }
    pairs = ((s, 2), (s // 2, 5), (10, 10), (2, 20))
    return {
        "full": Full(),
        "cyclic": Cyclic(),
        "permuted": Permuted(),
        "essentially cyclic, K = 1.5 s": EssentiallyCyclic(3 * s // 2, expensive=[s]),
        "essentially cyclic, K = 2 s": EssentiallyCyclic(2 * s, expensive=[s]),
        **{f"p = {p}, q = {q}": PQ(p, q, expensive=[s]) for p, q in pairs},
        "lazy, q = 20": Lazy(20, expensive=[s]),
        "cost-aware, K = 20": CostAware(20),
        "quasi-stochastic, K = 2 s": QuasiStochastic(2 * s),
        "gap": Gap(),
    }


def steps(smoothness: float) -> dict[str, Any]:
    return {"short": bcfw.steps.Short(smoothness), "adaptive": "adaptive", "own": "short", "line-search": "line-search"}


class Counting(Rule):
    """Another rule, and how often it has taken one block."""

    def __init__(self, rule: Rule, block: int) -> None:
        self.rule = rule
        self.block = block
        self.count = 0

    @property
    def timed(self) -> bool:  # type: ignore[override]
        return self.rule.timed

    def iterations(self, facts: SelectionState) -> Iterator[Sequence[int]]:
        for blocks in self.rule.iterations(facts):
            self.count += self.block in blocks
            yield blocks


# --- runs ---------------------------------------------------------------------------------------------------------


class Curve(NamedTuple):
    """What one run reached, and when; one entry per measurement. The measure is the smallest so far."""

    iterations: np.ndarray
    calls: np.ndarray
    seconds: np.ndarray
    measure: np.ndarray

    def at(self, target: float) -> tuple[float, float, float] | None:
        """Iterations, expensive calls and seconds to a target; None if it was not reached."""
        reached = np.flatnonzero(self.measure <= target)
        if not len(reached):
            return None
        first = int(reached[0])
        return float(self.iterations[first]), float(self.calls[first]), float(self.seconds[first])


class Watch:
    """A callback that measures after some iterations, without charging its own time, and stops the run in time."""

    def __init__(self, problem: Problem, rule: Counting, spacing: float, target: float, max_seconds: float) -> None:
        self.problem = problem
        self.rule = rule
        self.spacing = spacing
        self.target = target
        self.max_seconds = max_seconds
        self.next = 1
        self.rows: list[tuple[float, float, float, float]] = []

    def start(self) -> None:
        self.begun, self.aside = time.process_time(), 0.0

    def __call__(self, info: Any) -> bool:
        if info.n_iters < self.next:
            return False
        began = time.process_time()
        seconds = began - self.begun - self.aside
        self.next = max(info.n_iters + 1, int(info.n_iters * (1.0 + self.spacing)))
        certificates = info.latest["certificate_calls"] // len(self.problem.domains) - 1  # the first counts for nobody
        measure = self.problem.measure(info.x)
        best = min(measure, self.rows[-1][-1]) if self.rows else measure
        self.rows.append((info.n_iters, self.rule.count + certificates, seconds, best))
        self.aside += time.process_time() - began
        return best <= self.target or seconds > self.max_seconds


def run(problem: Problem, rule: Rule, step: Any, experiment: int, limits: argparse.Namespace, seed: int) -> Curve:
    counting = Counting(rule, len(problem.domains) - 1)
    watch = Watch(problem, counting, SPACING[experiment], min(limits.targets), limits.max_seconds)
    pass_length = rule.per_pass(len(problem.domains))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        bcfw.minimize(
            problem.objective,
            problem.domains,
            x0=problem.x0,
            selection=counting,
            step=step,
            tol=0,
            max_iters=limits.max_iters,
            gap_every=10 * pass_length if isinstance(rule, Gap) else NEVER,
            callbacks=[watch],
            seed=seed,
        )
    return Curve(*np.array(watch.rows).T)


# --- tables and figures -------------------------------------------------------------------------------------------


def cell(curves: list[Curve], target: float) -> str:
    """Means over the starts, or what was reached."""
    found = [curve.at(target) for curve in curves]
    reached = [one for one in found if one is not None]
    if len(reached) < len(found):
        return f"({np.mean([curve.measure[-1] for curve in curves]):.2g})"
    iterations, calls, seconds = np.mean(reached, axis=0)
    return f"{iterations:.0f} / {calls:.0f} / {seconds:.2f}"


def print_table(results: dict[tuple[int, str], list[Curve]], title: str, targets: list[float]) -> None:
    """A row per size and rule."""
    print(f"\n### {title}\n")
    print("| s | rule |" + "".join(f" {target:g} |" for target in targets))
    print("|---|---|" + "---|" * len(targets))
    for (s, rule), curves in results.items():
        print(f"| {s} | {rule} |" + "".join(f" {cell(curves, target)} |" for target in targets), flush=True)


def mean_curve(curves: list[Curve]) -> Curve:
    """Over the starts, up to the end of the shortest; runs with the same limits measure after the same iterations."""
    length = min(len(curve.iterations) for curve in curves)
    return Curve(*(np.mean([column[:length] for column in columns], axis=0) for columns in zip(*curves, strict=True)))


def draw(results: dict[tuple[int, str], list[Curve]], experiment: int, path: Path) -> None:
    """A row of panels per size: the measure against iterations, expensive calls and seconds."""
    sizes = sorted({s for s, _ in results})
    drawing, axes = figure(12, 3.4 * len(sizes), rows=len(sizes), columns=3)
    oracle, measure = ("spectraplex", "primal gap") if experiment == 1 else ("nuclear-norm", "smallest relative FW gap")
    for panels, s in zip(np.atleast_2d(axes), sizes, strict=True):
        of_size = {rule: mean_curve(curves) for (size, rule), curves in results.items() if size == s}
        for number, (rule, mean) in enumerate(of_size.items()):
            for panel, column in zip(panels, mean[:3], strict=True):
                panel.loglog(column, mean.measure, label=rule, **curve_style(number))
        for panel, label in zip(panels, ("iterations", f"calls of the {oracle} oracle", "CPU seconds"), strict=True):
            panel.set(xlabel=label, title=f"matrices of size s = {s}: {measure}")
            panel.grid(alpha=0.3)
        panels[0].legend(frameon=False, fontsize=7)
    drawing.savefig(path, dpi=90)


def compare(experiment: int, step: str, options: argparse.Namespace) -> dict[tuple[int, str], list[Curve]]:
    """The runs of one table: curves of all starts by size and rule."""
    results: dict[tuple[int, str], list[Curve]] = {}
    for s in options.sizes:
        for seed in range(options.starts):
            problem = EXPERIMENTS[experiment](s, np.random.default_rng(seed))
            for name, rule in rules(experiment, s).items():
                if any(fnmatch.fnmatch(name, pattern) for pattern in options.rules):
                    curve = run(problem, rule, steps(problem.smoothness)[step], experiment, options, seed)
                    results.setdefault((s, name), []).append(curve)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, nargs="+", default=[1, 2], choices=[1, 2])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 200, 300, 500] if FULL else [100, 200, 300])
    parser.add_argument("--starts", type=int, default=20 if FULL else 3)
    parser.add_argument("--rules", nargs="+", default=["*"], help="names or patterns")
    parser.add_argument("--steps", nargs="+", default=["short", "adaptive"], choices=list(steps(1.0)))
    parser.add_argument("--targets", type=float, nargs="+", default=[1e-1, 1e-2], help="runs end at the smallest")
    parser.add_argument("--max-iters", type=float, default=10_000)
    parser.add_argument("--max-seconds", type=float, default=60.0 if FULL else 20.0, help="of one run")
    parser.add_argument("--figures", type=Path, help="folder for the figures")
    options = parser.parse_args()
    for experiment in options.experiments:
        for step in options.steps:
            results = compare(experiment, step, options)
            print_table(results, f"Experiment {experiment}, {step} steps", options.targets)
            if options.figures is not None:
                options.figures.mkdir(parents=True, exist_ok=True)
                draw(results, experiment, options.figures / f"product-{experiment}-{step}.png")


if __name__ == "__main__":
    main()
