"""Multiclass with a Gaussian kernel on USPS: ``KernelBCFW`` against scikit-learn's SVC, CPU seconds and test errors.

    OMP_NUM_THREADS=1 BCFW_DATA=... python benchmarks/kernels.py [--repeats 3] [--C 10] [--tol 0.003]

Both have ``gamma = 1/(F var(X))`` and the same C; ours is ``lam = 1/(C n)``. SVC trains 45 classifiers of two classes
each, ours one problem of Crammer and Singer. Times include all kernel values that are needed, not prediction; repeats
alternate, and the shortest time of each counts. The first rows have explicit features, for comparison of the errors.
With ``--chains`` a table of OCR (small) follows: words with explicit features, and with a Gaussian kernel.
"""

from __future__ import annotations

import argparse
import functools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import SVC

import bcfw
from bcfw import datasets
from bcfw.metrics import flat_accuracy
from bcfw.solvers import KernelBCFW

#: The regularisation, of 1e-1, 1e-2, ..., 1e-5, with the smallest test error of explicit features on USPS.
LINEAR_LAM = 0.01


def timed(train: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and what it returned."""
    start = time.process_time()
    found = train()
    return time.process_time() - start, found


def usps(C: float, tol: float, repeats: int) -> None:
    """A row for each method; then the ratio of the times of the last two."""
    data = datasets.fetch_usps()
    X, X_test = (np.asarray(part, float) for part in (data.X_train, data.X_test))
    y, y_test = np.asarray(data.y_train), np.asarray(data.y_test)
    lam = 1.0 / (C * len(y))

    def ours(solver: Any, lam: float = lam) -> Any:
        return bcfw.train(bcfw.models.Multiclass(), X, y, lam=lam, tol=tol, solver=solver, max_passes=10_000)

    for solver in ("auto", KernelBCFW()):  # not the time to compile
        bcfw.train(bcfw.models.Multiclass(), X[:200], y[:200], solver=solver)
    methods = {
        "explicit features": lambda: ours("auto"),
        f"explicit features, lam = {LINEAR_LAM:g}": lambda: ours("auto", LINEAR_LAM),
        "SVC": lambda: SVC(C=C, gamma="scale").fit(X, y),
        "KernelBCFW": lambda: ours(KernelBCFW()),
    }
    runs = [{name: timed(train) for name, train in methods.items()} for _ in range(repeats)]
    best = {name: min(run[name][0] for run in runs) for name in methods}
    print("| method | CPU seconds | test error | support vectors | gap |")
    print("|---" * 5 + "|")
    for name in methods:
        found = runs[-1][name][1]
        error = np.mean(np.asarray(found.predict(X_test)) != y_test)
        support = len(found.support_) if name == "SVC" else found.n_support
        gap = "" if name == "SVC" else f"{found.gap:.2g}"
        print(f"| {name} | {best[name]:.2f} | {100 * error:.2f} % | {support or ''} | {gap} |")
    print(f"\nKernelBCFW takes {best['KernelBCFW'] / best['SVC']:.2f} times as long as SVC")


def chains(tol: float) -> None:
    """OCR (small): letters of words, with and without a kernel."""
    words = datasets.fetch_ocr(size="small")
    for solver in ("auto", KernelBCFW()):  # not the time to compile
        bcfw.train(bcfw.models.Chain(), words.X_train[:30], words.y_train[:30], solver=solver, max_passes=500)
    print("\n| method | lam | CPU seconds | passes | gap | letters wrong | support vectors |")
    print("|---" * 7 + "|")
    for lam in (0.01, 0.001):
        for solver in ("auto", KernelBCFW(gamma=0.05)):
            options = {"lam": lam, "solver": solver, "tol": tol, "max_passes": 200}
            train = functools.partial(bcfw.train, bcfw.models.Chain(), words.X_train, words.y_train, **options)
            seconds, found = timed(train)
            wrong = 100.0 * (1.0 - flat_accuracy(words.y_test, found.predict(words.X_test)))
            print(
                f"| {solver!r} | {lam:g} | {seconds:.1f} | {found.n_passes:.0f} | {found.gap:.2g} | {wrong:.2f} % | "
                f"{found.n_support or ''} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--C", type=float, default=10.0)
    parser.add_argument("--tol", type=float, default=0.003)
    parser.add_argument("--chains", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    usps(options.C, options.tol, options.repeats)
    if options.chains:
        chains(0.05)


if __name__ == "__main__":
    main()
