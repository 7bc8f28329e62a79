"""Probabilities of labels: one temperature on an SVM's scores against the marginals of a CRF.

    BCFW_DATA=... python benchmarks/probabilities.py [ocr-small] [ocr-large] [conll] [--lam 0.01 ...] [--folds 5]

``ChainSVM(probability=True)`` and python-crfsuite (L-BFGS with c2 = 1, its default without L1) learn from the same
training sequences; printed are, for the labels of the test sequences: accuracy of the predicted labels and of the
likeliest ones, mean logarithm of the true label's probability, expected calibration error in 15 bins of equal width and
of equal mass (``bcfw.metrics``), the temperature and seconds. Seconds are not alike: those of the SVM are its training,
folds included; those of the CRF also convert the data and compute all marginals of the test sequences.

python-crfsuite is no dependency of bcfw: ``pip install python-crfsuite``.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import bcfw
from bcfw import datasets, metrics

PROBLEMS: dict[str, Callable[[], Any]] = {
    "ocr-small": lambda: datasets.fetch_ocr(size="small"),
    "ocr-large": lambda: datasets.fetch_ocr(size="large"),
    "conll": datasets.fetch_conll2000,
}


def crf_probabilities(data: Any) -> tuple[list[np.ndarray], list[Any], list[str]]:
    """Marginals and best labels of the test sequences by a CRF of the training sequences, and the CRF's labels."""
    try:
        import pycrfsuite
    except ImportError as error:
        raise SystemExit("this comparison needs python-crfsuite: pip install python-crfsuite") from error

    def items(x: Any) -> Any:
        rows = sp.csr_matrix(x)
        positions = []
        for t in range(rows.shape[0]):
            part = slice(rows.indptr[t], rows.indptr[t + 1])
            positions.append({str(j): float(v) for j, v in zip(rows.indices[part], rows.data[part], strict=True)})
        return pycrfsuite.ItemSequence(positions)

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params={"c1": 0.0, "c2": 1.0}, verbose=False)
    for x, y in zip(data.X_train, data.y_train, strict=True):
        trainer.append(items(x), [str(label) for label in y])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "crf")
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        labels = tagger.labels()
        tables, best = [], []
        for x in data.X_test:
            best.append(tagger.tag(items(x)))
            table = [[tagger.marginal(label, t) for label in labels] for t in range(x.shape[0])]
            tables.append(np.array(table))
        tagger.close()
    return tables, best, labels


def report(name: str, y: Any, tables: list[np.ndarray], best: Any, labels: Any, more: str) -> None:
    """One line of figures."""
    names = np.asarray(labels)
    likeliest = [names[table.argmax(axis=1)] for table in tables]
    accuracies = [metrics.flat_accuracy(y, guess) for guess in (best, likeliest)]
    errors = [metrics.calibration_error(y, tables, labels, strategy=kind) for kind in ("uniform", "quantile")]
    likelihood = metrics.sequence_log_likelihood(y, tables, labels)
    figures = f"{accuracies[0]:.4f}  {accuracies[1]:.4f}  {likelihood:8.4f}  {errors[0]:.4f}  {errors[1]:.4f}"
    print(f"{name:24} {figures}  {more}", flush=True)


def compare(name: str, lambdas: list[float], folds: int) -> None:
    data = PROBLEMS[name]()
    print(f"\n{name:24} best    likely  log-lik.  ECE     (mass)  (accuracies, test labels)")
    for lam in lambdas:
        start = time.perf_counter()
        svm = bcfw.ChainSVM(lam=lam or 1.0 / len(data.y_train), probability=True, probability_folds=folds, tol=0.01)
        svm.fit(data.X_train, data.y_train)
        seconds = time.perf_counter() - start
        tables, best = svm.predict_proba(data.X_test), svm.predict(data.X_test)
        more = f"temperature {svm.temperature_:.4g}, {seconds:.1f} s"
        report(f"SVM, lam {svm.lam_:.3g}", data.y_test, tables, best, svm.classes_, more)
    start = time.perf_counter()
    tables, best, labels = crf_probabilities(data)
    truth = [[str(label) for label in y] for y in data.y_test]
    report("CRF, c2 = 1", truth, tables, best, labels, f"{time.perf_counter() - start:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=["ocr-small"], choices=PROBLEMS)
    parser.add_argument("--lam", type=float, nargs="*", default=[0.01, 0.001, 0.0], help="0 is 1/n")
    parser.add_argument("--folds", type=int, default=5)
    options = parser.parse_args()
    for name in options.problems:
        compare(name, options.lam, options.folds)


if __name__ == "__main__":
    main()
