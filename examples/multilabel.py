"""Handwritten digits on a seven-segment display: independent labels against a tree over the labels.

    python examples/multilabel.py

Every image of scikit-learn's digits has seven labels: the segments that a display lights for its digit. They depend
strongly on each other (of 128 combinations ten occur). The first half of the images trains, the other half tests.
Regularisation is chosen for every method by cross-validation on the training half.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, hamming_loss
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import bcfw

#: Segments a (top), b, c (right), d (bottom), e, f (left), g (middle) that show each digit.
SEGMENTS = ("abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg")
CS = (0.01, 0.1, 1.0, 10.0)
LAMBDAS = (0.1, 0.03, 0.01, 0.003, 0.001)


def main() -> None:
    digits = load_digits()
    X = digits.data / 16.0
    Y = np.array([[int(segment in SEGMENTS[digit]) for segment in "abcdefg"] for digit in digits.target])
    half = len(X) // 2
    logistic = LogisticRegression(max_iter=1000)
    methods = {
        "one-vs-rest LinearSVC": (OneVsRestClassifier(LinearSVC()), {"estimator__C": CS}),
        "one-vs-rest LogisticRegression": (OneVsRestClassifier(logistic), {"estimator__C": CS}),
        "MultilabelSVM, independent": (bcfw.MultilabelSVM(tol=0.01), {"lam": LAMBDAS}),
        'MultilabelSVM, tree="auto"': (bcfw.MultilabelSVM(tol=0.01, tree="auto"), {"lam": LAMBDAS}),
    }
    print(f"{'method':<32} {'Hamming loss':>12} {'subset acc.':>12} {'micro F1':>9}   chosen, certificate")
    for name, (method, grid) in methods.items():
        search = GridSearchCV(method, grid, cv=KFold(3)).fit(X[:half], Y[:half])
        predicted = search.predict(X[half:])
        exact = np.mean(np.all(predicted == Y[half:], axis=1))
        print(
            f"{name:<32} {hamming_loss(Y[half:], predicted):12.4f} {exact:12.4f} "
            f"{f1_score(Y[half:], predicted, average='micro'):9.4f}   {describe(search)}",
            flush=True,
        )
    edges = search.best_estimator_.edges_
    print("edges of the tree:", " ".join("abcdefg"[a] + "abcdefg"[b] for a, b in edges))


def describe(search: GridSearchCV) -> str:
    """The chosen option, and the certificate of the final fit where there is one."""
    ((option, value),) = search.best_params_.items()
    text = f"{option.removeprefix('estimator__')} = {value:g}"
    if isinstance(search.best_estimator_, bcfw.MultilabelSVM):
        result = search.best_estimator_.result_
        text += f", gap {result.gap:.1e} ({result.gap / result.history['primal'][0]:.1e} of P(0)), {result.status}"
    return text


if __name__ == "__main__":
    main()
