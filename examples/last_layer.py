"""A structured last layer: a network's features under a chain, against the network's own softmax layer.

    python examples/last_layer.py

A small network (scikit-learn's MLPClassifier) learns to read single digits of handwritten dates. Its hidden layer is
then taken as features of every digit, and a ChainSVM in the place of the softmax layer also learns which digit follows
which. Any other network would do: what is needed is an array of activations, one row per position.
"""

from __future__ import annotations

import numpy as np
from sklearn.neural_network import MLPClassifier

import bcfw
from bcfw.metrics import flat_accuracy, sequence_accuracy

HIDDEN = 32


def main() -> None:
    words = bcfw.datasets.load_digit_words(constant=False)
    X_train, X_test = (bcfw.Sequences.from_list(X) for X in (words.X_train, words.X_test))
    y_train, y_test = (bcfw.Sequences.from_list(y) for y in (words.y_train, words.y_test))

    network = MLPClassifier((HIDDEN,), early_stopping=True, random_state=0).fit(X_train.rows, y_train.rows)
    softmax = bcfw.Sequences(network.predict(X_test.rows), X_test.offsets)
    report("softmax layer", y_test, softmax)

    deep_train, deep_test = (bcfw.Sequences(hidden_layer(network, X.rows), X.offsets) for X in (X_train, X_test))
    search = bcfw.ChainSVMCV(cv=3, eps=0.05, lam_min=1e-3, fit_intercept=True, tol=0.01).fit(deep_train, y_train)
    report(f"chain, lam {search.lam_:.2g}", y_test, search.predict(deep_test))
    print(search.result_.summary())


def hidden_layer(network: MLPClassifier, X: np.ndarray) -> np.ndarray:
    """(N, HIDDEN) activations before the softmax layer."""
    return np.maximum(X @ network.coefs_[0] + network.intercepts_[0], 0.0)


def report(name: str, y_true: bcfw.Sequences, y_pred: object) -> None:
    digits, whole = 1.0 - flat_accuracy(y_true, y_pred), 1.0 - sequence_accuracy(y_true, y_pred)
    print(f"{name:<20} test digits wrong {digits:.1%}, words with a mistake {whole:.1%}")


if __name__ == "__main__":
    main()
