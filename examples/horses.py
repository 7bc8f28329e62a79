"""Horses: train GraphSVM on superpixel graphs, compare with a classifier that sees each superpixel alone.

    python examples/horses.py [--picture horses.png]

200 training and 128 test images, read through ``BCFW_DATA`` or the user's cache (``bcfw.datasets.fetch_horses`` says
where to get them). lam is chosen by 5-fold cross-validation. The picture shows some test images, cut out along the true
horse and along both predictions.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_score

import bcfw
from bcfw.report import PlotUnavailableError, plot_images

LAMBDAS = (30.0, 10.0, 3.0, 1.0, 0.3)
FOLDS = 5
OPTIONS = {"tol": 0.01, "max_passes": 1000}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", help="where to save the picture")
    options = parser.parse_args()
    horses = bcfw.datasets.fetch_horses()
    where = [horses.feature_names.index(name) for name in bcfw.datasets.horses.GEOMETRY]
    X, X_test = ([with_products(x, where) for x in graphs] for graphs in (horses.X_train, horses.X_test))
    y = horses.y_train
    accuracy = {}
    for lam in LAMBDAS:
        start = time.perf_counter()
        accuracy[lam] = cross_val_score(bcfw.GraphSVM(lam=lam, **OPTIONS), X, y, cv=KFold(FOLDS)).mean()
        seconds = (time.perf_counter() - start) / FOLDS
        print(f"lam {lam:<5g} cross-validated accuracy {accuracy[lam]:.4f}   {seconds:.1f} s per fit", flush=True)
    lam = max(accuracy, key=accuracy.__getitem__)
    svm = bcfw.GraphSVM(lam=lam, **OPTIONS).fit(X, y)
    print(f"on all images: lam {lam:g}, gap {svm.duality_gap_:.4f} after {svm.n_iter_} passes")
    alone = LogisticRegression(max_iter=2000).fit(np.vstack([x[0] for x in X]), np.concatenate(y))
    print(f"\n{'test images':34} superpixels right   pixel IoU")
    predictions = {
        "each superpixel alone (logistic)": [alone.predict(x[0]) for x in X_test],
        f"GraphSVM, lam {lam:g}": svm.predict(X_test),
        "best labels of the superpixels": horses.y_test,
    }
    for name, predicted in predictions.items():
        right = np.mean(np.concatenate(predicted) == np.concatenate(horses.y_test))
        iou = pixel_iou(predicted, horses.maps_test, horses.masks_test)
        print(f"{name:34} {right:17.2%} {iou:11.2%}")
    if options.picture:
        try:
            draw(horses, list(predictions.values())[:2], options.picture)
        except PlotUnavailableError as error:
            print(f"no picture: {error}")


def with_products(x: tuple[np.ndarray, np.ndarray, np.ndarray], where: list[int]) -> tuple[np.ndarray, ...]:
    """Add the products of all pairs of geometric features: a horse is in the middle, not on one side."""
    nodes, edges, edge_features = x
    a, b = np.triu_indices(len(where))
    geometry = nodes[:, where]
    return np.hstack([nodes, geometry[:, a] * geometry[:, b]]), edges, edge_features


def pixel_iou(predicted: list[np.ndarray], maps: list[np.ndarray], masks: list[np.ndarray]) -> float:
    """Mean over the images of |horse found and true| / |horse found or true|, in pixels."""
    shares = []
    for labels, superpixel, mask in zip(predicted, maps, masks, strict=True):
        found = labels[superpixel] == 1
        shares.append(np.sum(found & mask) / max(np.sum(found | mask), 1))
    return float(np.mean(shares))


def draw(horses: Any, predictions: list[list[np.ndarray]], path: str) -> None:
    """Rows of photographs, true horses and predicted horses of some test images."""
    chosen = np.linspace(0, len(horses.X_test) - 1, 6).astype(int)
    photographs = [enlarged(horses.images_test[k], horses.maps_test[k].shape) for k in chosen]
    masks = {"truth": [horses.masks_test[k] for k in chosen]}
    for name, labels in zip(("each alone", "graph"), predictions, strict=True):
        masks[name] = [labels[k][horses.maps_test[k]] == 1 for k in chosen]
    rows = {"image": photographs}
    for name, found in masks.items():
        rows[name] = [np.where(mask[..., None], one, 255) for one, mask in zip(photographs, found, strict=True)]
    print(f"wrote {plot_images(rows, path)}")


def enlarged(image: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The image with as many rows and columns as ``shape`` says; each pixel is the nearest one."""
    sizes = zip(image.shape[:2], shape, strict=True)
    rows, columns = (np.linspace(0, before - 1, after).round().astype(int) for before, after in sizes)
    return image[np.ix_(rows, columns)]


if __name__ == "__main__":
    main()
