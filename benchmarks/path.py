"""The regularisation path against grids of lam, the choice of kappa, and cross-validation by paths.

    python benchmarks/path.py compare [--data ocr-small usps horses] [--eps 0.1] [--figure path.png]
    python benchmarks/path.py kappa [--eps 0.1] [--figure kappa.png]
    python benchmarks/path.py cv [--data ocr-small usps horses]

``compare`` (gaps-2016, Figs. 4 and 8): the eps-approximate path, the heuristic one, and a grid of 31 powers of two
from 2^15 to 2^-15, each solved to a gap of eps, with both warm starts and without; with two solvers inside and with the
usual one. On horses, where smaller lam take hours with some of these, the grid has 19 values, down to 2^-3. The paths
go as far as the grid, unless they are complete before.

``kappa`` (Fig. 7), on OCR-small: what the share of eps that is left at each breakpoint costs, and how large the gaps of
heuristic paths truly are: at most the primal value less the dual value of a run to a hundredth of eps.

``cv``: an estimator that chooses lam by paths of five folds against GridSearchCV over the 31 values, both with the
estimators' default options; accuracy of the folds and of test data.

Calls are those of steps and certificates, divided by n; seconds are of the CPU. A first, short run compiles. Data are
read through ``BCFW_DATA``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from functools import partial

import numpy as np
from sklearn.model_selection import GridSearchCV

import bcfw
from bcfw.dual import open_problem
from bcfw.dual.certify import certify_weights
from bcfw.solvers import BCFW

GRID = 2.0 ** np.arange(15, -16, -1)
SHORTER = {"horses": GRID[GRID >= 2.0**-3]}
DATA = {
    "ocr-small": (bcfw.models.Chain(), partial(bcfw.datasets.fetch_ocr, size="small")),
    "usps": (bcfw.models.Multiclass(), bcfw.datasets.fetch_usps),
    "horses": (bcfw.models.BinaryGraph(), bcfw.datasets.fetch_horses),
}
SOLVERS = {
    "gap sampling": BCFW(sampling="gap"),
    "pairwise, gap sampling, cache": BCFW(sampling="gap", step="pairwise", cache="gap"),
    "usual": None,
}
LINES = dict(zip(SOLVERS, (":", "--", "-"), strict=True))
KAPPAS = (0.3, 0.5, 0.7, 0.9, 0.97)
ESTIMATORS = {
    "ocr-small": (bcfw.ChainSVM(unseen="wrong"), bcfw.ChainSVMCV()),
    "usps": (bcfw.MulticlassSVM(), bcfw.MulticlassSVMCV()),
    "horses": (bcfw.StructuralSVM(bcfw.models.BinaryGraph()), bcfw.StructuralSVMCV(bcfw.models.BinaryGraph())),
}


def timed(run):
    """What a function returns, and the CPU seconds it takes."""
    start = time.process_time()
    return run(), time.process_time() - start


def runs(model, X, y, eps, grid, solver):
    """Name and function of every run."""
    options = {"solver": solver, "max_passes": 1e6}
    for exact, name in ((True, "exact path"), (False, "heuristic path")):
        yield name, partial(bcfw.regularization_path, model, X, y, eps, grid[-1], exact=exact, **options)
    for start in ("shrink", "keep", None):
        yield f"grid, {start or 'cold'}", partial(bcfw.grid_path, model, X, y, grid, start, eps=eps, **options)


def compare(names, eps, figure):
    curves = {}
    for name in names:
        model, load = DATA[name]
        data = load()
        X, y = data.X_train, data.y_train
        for word, solver in SOLVERS.items():
            print(f"\n{name}, n = {len(y)}, {word}")
            print(f"{'':16s} {'status':>9s} {'values':>6s} {'passes':>8s} {'calls/n':>8s} {'CPU s':>7s}")
            for exact in (True, False):
                bcfw.regularization_path(model, X[:20], y[:20], eps, 0.1, exact=exact, solver=solver)
            for what, run in runs(model, X, y, eps, SHORTER.get(name, GRID), solver):
                path, seconds = timed(run)
                curves[name, word, what] = path
                print(
                    f"{what:16s} {path.status:>9s} {len(path.lambdas):6d} {path.n_passes:8.1f} "
                    f"{path.n_oracle_calls / len(y):8.1f} {seconds:7.2f}",
                    flush=True,
                )
    if figure:
        draw_comparison(curves, names, {name: len(DATA[name][1]().y_train) for name in names}, figure)


def draw_comparison(curves, names, sizes, file):
    """Calls and seconds until each lam is done: a column for each data set, a kind of line for each solver."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(4.2 * len(names), 6.5), layout="constrained")
    axes = drawing.subplots(2, len(names), squeeze=False)
    colours = {}
    for (name, word, what), path in curves.items():
        colour = colours.setdefault(what, f"C{len(colours)}")
        column = names.index(name)
        style = {"color": colour, "linestyle": LINES[word]}
        label = what if column == 0 and word == "usual" else None
        axes[0][column].plot(path.lambdas, path.history["oracle_calls"] / sizes[name], **style, label=label)
        axes[1][column].plot(path.lambdas, path.history["seconds"], **style)
    for column, name in enumerate(names):
        axes[0][column].set(title=name, ylabel="oracle calls / n until lam is done" if column == 0 else "")
        axes[1][column].set(xlabel="lam", ylabel="seconds until lam is done" if column == 0 else "")
        for axis in axes[:, column]:
            axis.set(xscale="log", yscale="log")
            axis.invert_xaxis()
            axis.grid(alpha=0.3)
    title = ", ".join(f"{line} {word}" for word, line in LINES.items())
    axes[0][0].legend(frameon=False, fontsize=8)
    drawing.suptitle(title, fontsize=9)
    drawing.savefig(file, dpi=110)


def kappa(eps, figure):
    model, load = DATA["ocr-small"]
    data = load()
    X, y = data.X_train, data.y_train
    curves = {}
    for word, solver in SOLVERS.items():
        print(f"\nocr-small, n = {len(y)}, {word}")
        print(
            f"{'kappa':>5s} {'':9s} {'values':>6s} {'calls/n':>8s} {'CPU s':>7s} {'largest gap at a breakpoint':>28s}"
        )
        for exact in (True, False):
            for share in KAPPAS:
                path, seconds = timed(
                    lambda exact=exact, share=share, solver=solver: bcfw.regularization_path(
                        model, X, y, eps, GRID[-1], share, exact, solver, max_passes=1e6
                    )
                )
                gaps = path.gaps if exact else true_gaps(model, X, y, path, eps)
                curves[word, exact, share] = path, gaps
                print(
                    f"{share:5g} {'exact' if exact else 'heuristic':9s} {len(path.lambdas):6d} "
                    f"{path.n_oracle_calls / len(y):8.1f} {seconds:7.2f} {max(gaps):28.3f}",
                    flush=True,
                )
    if figure:
        draw_kappa(curves, len(y), eps, figure)


def true_gaps(model, X, y, path, eps):
    """Primal value of each breakpoint's weights less a dual value that is optimal up to a hundredth of eps."""
    tight = bcfw.grid_path(model, X, y, path.lambdas, eps=0.01 * eps, solver="auto", max_passes=1e6)
    gaps = []
    for lam, gap in zip(tight.lambdas, tight.gaps, strict=True):
        problem = open_problem(model, X, y, lam)
        found, best = (certify_weights(problem, one.weights(lam)).primal for one in (path, tight))
        gaps.append(found - (best - gap))
    return gaps


def draw_kappa(curves, n, eps, file):
    """A column for each solver: calls of exact paths, and below them the true gaps of heuristic paths."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(4.2 * len(SOLVERS), 6.5), layout="constrained")
    axes = drawing.subplots(2, len(SOLVERS), squeeze=False)
    for (word, exact, share), (path, gaps) in curves.items():
        axis = axes[int(not exact)][list(SOLVERS).index(word)]
        values = path.history["oracle_calls"] / n if exact else gaps
        axis.plot(path.lambdas, values, label=f"kappa {share:g}", color=f"C{KAPPAS.index(share)}")
        axis.set(xscale="log", xlabel="lam", title=f"{'exact' if exact else 'heuristic'}: {word}")
        axis.title.set_fontsize(9)
        if not axis.xaxis_inverted():
            axis.invert_xaxis()
    for row, label in enumerate(("oracle calls / n until lam is done", "true gap at each breakpoint")):
        axes[row][0].set_ylabel(label)
        axes[row][0].legend(frameon=False, fontsize=8)
    for axis in axes[1]:
        axis.axhline(eps, color="black", linestyle="--", linewidth=1)
    drawing.savefig(file, dpi=110)


def cross_validation(names):
    print(f"{'':10s} {'':14s} {'lam':>9s} {'5 folds':>8s} {'test':>7s} {'CPU s':>8s}")
    for name in names:
        data, (single, search) = DATA[name][1](), ESTIMATORS[name]
        X, y = data.X_train, data.y_train
        grid = GridSearchCV(single, {"lam": GRID}, cv=5)
        search.fit(X[:60], y[:60])
        GridSearchCV(single, {"lam": [0.1, 0.01]}, cv=2).fit(X[:60], y[:60])
        found, seconds = timed(lambda search=search, X=X, y=y: search.fit(X, y))
        folds = found.scores_.mean(axis=0).max()
        report(name, "paths", found.lam_, folds, found.score(data.X_test, data.y_test), seconds)
        found, seconds = timed(lambda grid=grid, X=X, y=y: grid.fit(X, y))
        lam = found.best_params_["lam"]
        report(name, "GridSearchCV", lam, found.best_score_, found.score(data.X_test, data.y_test), seconds)


def report(name, what, lam, folds, test, seconds):
    print(f"{name:10s} {what:14s} {lam:9.4g} {folds:8.4f} {test:7.4f} {seconds:8.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["compare", "kappa", "cv"])
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--eps", type=float, default=0.1)
    parser.add_argument("--figure", help="file of a picture of what is compared")
    options = parser.parse_args()
    warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
    if options.part == "compare":
        compare(options.data, options.eps, options.figure)
    elif options.part == "kappa":
        kappa(options.eps, options.figure)
    else:
        cross_validation(options.data)


if __name__ == "__main__":
    main()
