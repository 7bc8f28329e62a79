"""Handwritten words: choose lam on a validation fold, train ChainSVM on OCR-large, print the test letter error.

    python examples/ocr_letters.py

Taskar's data, 6251 training words (folds 1-9) and 626 test words (fold 0), read through ``BCFW_DATA`` or the user's
cache (``bcfw.datasets.fetch_ocr`` says where to get them).
"""

from __future__ import annotations

import time

import numpy as np

import bcfw

LAMBDAS = (0.03, 0.01, 0.003, 0.001, 0.0003)
VALIDATION_FOLD = 9
OPTIONS = {"tol": 0.02, "solver": bcfw.solvers.MultiPlane(passes=10), "n_jobs": -1}


def main() -> None:
    ocr = bcfw.datasets.fetch_ocr("large")
    held_out = np.asarray(ocr.fold_train) == VALIDATION_FOLD
    X, y = ocr.X_train, ocr.y_train
    part = {side: ([X[i] for i in where], [y[i] for i in where]) for side, where in split(held_out).items()}
    errors = {}
    for lam in LAMBDAS:
        start = time.perf_counter()
        svm = bcfw.ChainSVM(lam=lam, **OPTIONS).fit(*part["train"])
        errors[lam] = 1.0 - svm.score(*part["validation"])
        print(
            f"lam {lam:<8g} validation letter error {errors[lam]:.4f}   gap {svm.duality_gap_:.4f} after {svm.n_iter_} "
            f"passes, {time.perf_counter() - start:.1f} s",
            flush=True,
        )
    lam = min(errors, key=errors.__getitem__)
    svm = bcfw.ChainSVM(lam=lam, **OPTIONS).fit(X, y)
    letters = 1.0 - svm.score(ocr.X_test, ocr.y_test)
    words = 1.0 - svm.set_params(scoring="sequence").score(ocr.X_test, ocr.y_test)
    print(f"chosen lam {lam:g}: test letter error {letters:.4f}, word error {words:.4f}, gap {svm.duality_gap_:.4f}")


def split(held_out: np.ndarray) -> dict[str, np.ndarray]:
    return {"train": np.flatnonzero(~held_out), "validation": np.flatnonzero(held_out)}


if __name__ == "__main__":
    main()
