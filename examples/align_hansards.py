"""Word alignment: choose options by cross-validation, train MatchingSVM on 100 Hansards pairs, test on 347.

    python examples/align_hansards.py

English-French sentence pairs, read through ``BCFW_DATA`` or the user's cache (``bcfw.datasets.fetch_hansards`` says
where to get them). Matchings on a single feature show what learning weights adds; they link words only above a
threshold, the one that is best on the training pairs.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold

import bcfw
from bcfw.estimators import alignment_scores

GRID = {"cost_miss": (3.0, 4.0, 6.0), "lam": (0.03, 0.1, 0.3)}
OPTIONS = {"tol": 0.01, "solver": bcfw.solvers.MultiPlane(passes=10, clock="count")}

THRESHOLDS = np.linspace(0.0, 0.5, 26)

#: Features that say how well two words translate each other.
TRANSLATION = ("dice", "ibm1_f_given_e", "ibm1_e_given_f", "ibm1_geomean")


def main() -> None:
    start = time.perf_counter()
    pairs = bcfw.datasets.fetch_hansards()
    names = pairs.feature_names
    print(f"{'':40} {'AER':>7} {'precision':>10} {'recall':>7}")
    for title, name in (("matching on the Dice coefficient", "dice"), ("matching on IBM Model 1", "ibm1_geomean")):
        feature = names.index(name)
        errors = [alignment_scores(pairs.y_train, on_one_feature(pairs.X_train, feature, t))["aer"] for t in THRESHOLDS]
        best = float(THRESHOLDS[np.argmin(errors)])
        show(f"{title} > {best:.2f}", pairs.y_test, on_one_feature(pairs.X_test, feature, best))
    train, test = ([expand(x, names) for x in X] for X in (pairs.X_train, pairs.X_test))
    mean, scale = moments(train)
    train, test = ([(x - mean) / scale for x in X] for X in (train, test))
    folds = KFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(bcfw.MatchingSVM(**OPTIONS), GRID, cv=folds).fit(train, pairs.y_train)
    svm = search.best_estimator_
    show("MatchingSVM", pairs.y_test, svm.predict(test))
    print(
        f"chosen {search.best_params_} (validation AER {1 - search.best_score_:.3f}), gap {svm.duality_gap_:.3f} of "
        f"objective {svm.result_.primal:.3f}, {time.perf_counter() - start:.0f} s in all"
    )


def show(title: str, y_true: list[np.ndarray], y: list[np.ndarray]) -> None:
    scores = alignment_scores(y_true, y)
    print(f"{title:40} {scores['aer']:7.3f} {scores['precision']:10.3f} {scores['recall']:7.3f}", flush=True)


def on_one_feature(X: list[np.ndarray], feature: int, threshold: float) -> list[np.ndarray]:
    """The matchings with the largest sum of one feature above a threshold."""
    model = bcfw.models.Matching()
    return [model.oracle(np.ones(1), x[:, :, [feature]] - threshold) for x in X]


def expand(x: np.ndarray, names: list[str]) -> np.ndarray:
    """(I, J, 36): the given features, roots, logarithms and leads of the translation scores, and their neighbours."""
    scores = [x[:, :, names.index(name)] for name in TRANSLATION]
    dice, ibm1 = scores[0], scores[-1]
    more = [np.sqrt(score) for score in scores] + [np.log(score + 1e-3) for score in scores]
    more += [lead(score, axis) for score in scores for axis in (0, 1)]
    more += [neighbour(score, step) for score in (dice, ibm1) for step in (1, -1)]
    beside = np.maximum(neighbour(ibm1, 1), neighbour(ibm1, -1))
    return np.concatenate([x, np.stack([*more, beside, ibm1 * beside], axis=2)], axis=2)


def lead(score: np.ndarray, axis: int) -> np.ndarray:
    """(I, J) score minus the best score of the other links of the same column (axis 0) or row (axis 1)."""
    ordered = np.sort(score, axis=axis)
    best = np.take(ordered, [-1], axis=axis)
    second = np.take(ordered, [-2], axis=axis) if score.shape[axis] > 1 else np.zeros_like(best)
    return np.where(score == best, score - second, score - best)


def neighbour(score: np.ndarray, step: int) -> np.ndarray:
    """(I, J) scores of the words at (i + step, j + step); 0 beyond the ends."""
    padded = np.pad(score, 1)
    return padded[1 + step : 1 + step + score.shape[0], 1 + step : 1 + step + score.shape[1]]


def moments(X: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every feature over all links; the constant stays as it is."""
    rows = np.concatenate([x.reshape(-1, x.shape[2]) for x in X])
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    constant = scale == 0
    return np.where(constant, 0.0, mean), np.where(constant, 1.0, scale)


if __name__ == "__main__":
    main()
