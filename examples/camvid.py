"""CamVid street scenes: GraphSVM on superpixel graphs of eleven classes, against each superpixel alone.

    python examples/camvid.py [--pairwise potts] [--picture camvid.png]

367 training, 101 validation and 233 test images, read through ``BCFW_DATA`` or the user's cache
(``bcfw.datasets.fetch_camvid`` says where to get them). lam is chosen on the validation images. Void superpixels have
no label: they are in no loss and in no count. The picture shows some test images (superpixels in their mean colours),
the true classes, and both predictions.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import bcfw
from bcfw.datasets.convert.superpixels import to_rgb
from bcfw.report import PlotUnavailableError, plot_images

LAMBDAS = (1.0, 0.3, 0.1)
OPTIONS = {"tol": 0.02, "max_passes": 100}

#: Colours of the eleven classes, and of void.
PALETTE = np.array(
    [
        [128, 128, 128], [128, 0, 0], [192, 192, 128], [128, 64, 128], [60, 40, 222], [128, 128, 0],
        [192, 128, 128], [64, 64, 128], [64, 0, 128], [64, 64, 0], [0, 128, 192], [0, 0, 0],
    ]
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairwise", choices=("potts", "full"), default="potts")
    parser.add_argument("--picture", help="where to save the picture")
    options = parser.parse_args()
    camvid = bcfw.datasets.fetch_camvid()
    where = [camvid.feature_names.index(name) for name in bcfw.datasets.camvid.GEOMETRY]
    X = {part: [with_products(x, where) for x in camvid[f"X_{part}"]] for part in ("train", "val", "test")}
    fits = {}
    for lam in LAMBDAS:
        start = time.process_time()
        svm = bcfw.GraphSVM(lam=lam, pairwise=options.pairwise, symmetric=options.pairwise == "full", **OPTIONS)
        fits[lam] = svm.fit(X["train"], camvid.y_train)
        print(
            f"lam {lam:<4g} {svm.result_.summary()}, {time.process_time() - start:.0f} CPU s: "
            f"validation {svm.score(X['val'], camvid.y_val):.2%}",
            flush=True,
        )
    lam = max(fits, key=lambda one: fits[one].score(X["val"], camvid.y_val))
    alone = fit_alone(X["train"], camvid.y_train)
    for part in ("val", "test"):
        predictions = {
            "alone": [alone.predict(x[0]) for x in X[part]],
            f"GraphSVM, lam {lam:g}": fits[lam].predict(X[part]),
        }
        report(part, predictions, camvid)
    if options.picture:
        try:
            draw(camvid, list(predictions.values()), options.picture)
        except PlotUnavailableError as error:
            print(f"no picture: {error}")


def with_products(x: tuple[np.ndarray, np.ndarray, np.ndarray], where: list[int]) -> tuple[np.ndarray, ...]:
    """Add the products of all pairs of geometric features: the road is in the middle of the lower half."""
    nodes, edges, edge_features = x
    a, b = np.triu_indices(len(where))
    geometry = nodes[:, where]
    return np.hstack([nodes, geometry[:, a] * geometry[:, b]]), edges, edge_features


def fit_alone(X: list[Any], y: list[np.ndarray]) -> LogisticRegression:
    """A classifier of single superpixels, with the same features."""
    nodes, labels = np.vstack([x[0] for x in X]), np.concatenate(y)
    return LogisticRegression(max_iter=300).fit(nodes[labels >= 0], labels[labels >= 0])


def report(part: str, predictions: dict[str, list[np.ndarray]], camvid: Any) -> None:
    """Accuracy on the labelled superpixels, and the recall of each class."""
    truth = np.concatenate(camvid[f"y_{part}"])
    right = {name: np.concatenate(one) == truth for name, one in predictions.items()}
    print(f"\n{part + ' images':14}" + "".join(f"{name:>20}" for name in predictions))
    rows = {"superpixels right": truth >= 0}
    rows |= {name: truth == k for k, name in enumerate(camvid.target_names)}
    for name, chosen in rows.items():
        print(f"{name:14}" + "".join(f"{one[chosen].mean():20.1%}" for one in right.values()))
    recalls = [[one[truth == k].mean() for k in range(len(camvid.target_names))] for one in right.values()]
    print(f"{'mean recall':14}" + "".join(f"{np.mean(one):20.1%}" for one in recalls), flush=True)


def draw(camvid: Any, predictions: list[list[np.ndarray]], path: str) -> None:
    """Rows of images, truths and predictions of some test images."""
    chosen = np.linspace(0, len(camvid.X_test) - 1, 5).astype(int)
    lab = [camvid.feature_names.index(name) for name in ("L", "a", "b")]
    pixels = camvid.maps_test
    rows = {
        "superpixels": [to_rgb(100.0 * camvid.X_test[k][0][:, lab])[pixels[k]] for k in chosen],
        "truth": [PALETTE[camvid.labels_test[k]] for k in chosen],
    }
    for name, labels in zip(("each alone", "graph"), predictions, strict=True):
        rows[name] = [PALETTE[labels[k]][pixels[k]] for k in chosen]
    print(f"wrote {plot_images(rows, path)}")


if __name__ == "__main__":
    main()
