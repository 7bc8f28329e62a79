"""Poses of the Leeds Sports data: a tree of parts joined by springs, against the best place of each joint alone.

    python examples/lsp_joints.py [--types 3] [--midpoints] [--picture joints.png]

The joints are real, read through ``BCFW_DATA`` or the user's cache (``bcfw.datasets.fetch_lsp`` says where to get
them). **The scores of the joints are synthetic**: the data come without images, so ``bcfw.datasets.synthetic_poses``
makes score maps up, with a peak near the true place, one near its counterpart on the other side of the body, and some
at random places. The example shows that learning works, and nothing about real images.

100 people to train on and 200 to test, on 40 x 40 cells. A joint counts as found if it is at most 0.2 trunks (left
shoulder to right hip) from its true place. With --midpoints there are 26 parts, with points halfway between the joints,
as in the 2016 paper. The picture has the map of one joint, and the joints as each finds its place alone and as the
trees place them.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import bcfw
from bcfw.report import PlotUnavailableError, figure

N_TRAIN, N_TEST, N_JOINTS = 100, 200, 14

#: Displacements are measured in so many cells: about how far they are from their anchors.
UNIT = 5.0

#: How far a joint may be from its place, in trunks.
TOLERANCE = 0.2

#: The joint whose map is drawn: the left wrist.
DRAWN = 11


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--types", type=int, default=3, help="types of each part, besides a model with one")
    parser.add_argument("--lam", type=float, default=0.1)
    parser.add_argument("--midpoints", action="store_true", help="26 parts instead of the 14 joints")
    parser.add_argument("--picture", help="where to save the picture")
    options = parser.parse_args()
    people = bcfw.datasets.fetch_lsp()
    train = bcfw.datasets.synthetic_poses(people.y_train[:N_TRAIN], midpoints=options.midpoints, seed=0)
    test = bcfw.datasets.synthetic_poses(people.y_test[:N_TEST], midpoints=options.midpoints, seed=1)
    found = {"each alone": best_places(test.X)}
    for n_types in sorted({1, options.types}):
        name = "tree" if n_types == 1 else f"tree, {n_types} types"
        start = time.process_time()
        result = fit(train, n_types, options.lam)
        print(f"{name}: {result.summary()}, {time.process_time() - start:.1f} CPU s", flush=True)
        found[name] = np.array(result.predict(test.X))[:, :, :2]
    report(found, test, people.target_names)
    if options.picture:
        try:
            draw(found, test, people.edges, options.picture)
        except PlotUnavailableError as error:
            print(f"no picture: {error}")


def fit(train: Any, n_types: int, lam: float) -> bcfw.Result:
    """Train a tree whose types are clusters of displacements; anchors are their means."""
    anchors, types = bcfw.models.displacement_types(train.y, train.edges, n_types)
    model = bcfw.models.PictorialTree(train.edges, n_types, anchors, unit=UNIT)
    y = train.y if n_types == 1 else np.concatenate([train.y, types[:, :, None]], axis=2)
    return bcfw.train(model, train.X, y, lam=lam, tol=0.05)


def best_places(X: list[Any]) -> np.ndarray:
    """(n, V, 2) places of the highest scores."""
    flat = np.array([scores.reshape(len(scores), -1).argmax(axis=1) for scores, _ in X])
    return np.stack(np.unravel_index(flat, X[0][0].shape[1:]), axis=-1)


def is_found(places: np.ndarray, test: Any) -> np.ndarray:
    """(n, 14) whether a joint is near its true place."""
    squared = ((places[:, :N_JOINTS] - test.y[:, :N_JOINTS]) ** 2).sum(axis=2)
    return squared <= TOLERANCE**2 * np.array([scale for _, scale in test.X])[:, None]


def report(found: dict[str, np.ndarray], test: Any, names: list[str]) -> None:
    """Shares of joints found, of every kind, and the mean loss."""
    right = {name: is_found(places, test) for name, places in found.items()}
    print(f"\n{'joints found':16}" + "".join(f"{name:>18}" for name in found))
    print(f"{'all':16}" + "".join(f"{one.mean():18.1%}" for one in right.values()))
    for joint in ("ankle", "knee", "hip", "wrist", "elbow", "shoulder", "Neck", "Head"):
        chosen = [k for k, name in enumerate(names) if joint in name]
        print(f"{joint.lower():16}" + "".join(f"{one[:, chosen].mean():18.1%}" for one in right.values()))
    model = bcfw.models.PictorialTree(test.edges)
    for name, places in found.items():
        losses = [model.loss(*pair, scale=x[1]) for *pair, x in zip(test.y, places, test.X, strict=True)]
        print(f"mean loss, {name}: {np.mean(losses):.3f}")


def draw(found: dict[str, np.ndarray], test: Any, edges: np.ndarray, path: str) -> None:
    """A row per person: the map of one joint, then the skeleton of every method over the true one in grey."""
    chosen = range(4)
    drawing, axes = figure(3.1 * (1 + len(found)), 3.2 * len(chosen), len(chosen), 1 + len(found))
    for row, k in enumerate(chosen):
        scores, truth = test.X[k][0][DRAWN], test.y[k, DRAWN]
        axes[row, 0].imshow(scores, cmap="viridis")
        axes[row, 0].plot(truth[1], truth[0], "o", mec="red", mfc="none", ms=12)
        for axis, places in zip(axes[row, 1:], found.values(), strict=True):
            skeleton(axis, test.y[k], edges, "0.75", 5.0)
            skeleton(axis, places[k], edges, "tab:blue", 1.5)
            wrong = places[k, :N_JOINTS][~is_found(places[[k]], _only(test, k))[0]]
            axis.plot(wrong[:, 1], wrong[:, 0], "o", color="tab:red", ms=5)
            axis.set(xlim=(-0.5, scores.shape[1] - 0.5), ylim=(scores.shape[0] - 0.5, -0.5), aspect="equal")
        for axis in axes[row]:
            axis.set(xticks=[], yticks=[])
    for axis, name in zip(axes[0], ("synthetic scores, left wrist", *found), strict=True):
        axis.set_title(name)
    drawing.savefig(path, dpi=90)
    print(f"wrote {path}")


def _only(test: Any, k: int) -> Any:
    """One person of the test set."""
    return type(test)(X=[test.X[k]], y=test.y[[k]])


def skeleton(axis: Any, places: np.ndarray, edges: np.ndarray, color: str, width: float) -> None:
    """Lines between the joints of one person."""
    for p, q in edges:
        axis.plot(places[[p, q], 1], places[[p, q], 0], color=color, linewidth=width, solid_capstyle="round")


if __name__ == "__main__":
    main()
