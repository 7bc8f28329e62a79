"""Trails on grids: labels that only neighbours can tell apart. PairwiseGraph against each node alone.

    python examples/trails.py [--train 150] [--test 150] [--lam 0.01] [--seed 0]

A trail is a walk over ten cells of a grid of 6 x 6 to 10 x 10 cells that never meets itself; from 8 x 8 cells on there
are two. Its cells have the labels 1 to 10 in the order of the walk, all others the label 0. A cell shows an arrow to
the next cell of the trail (some show only that they are on it), the last one an end, those beside the trail nothing. So
a cell alone tells that it is on the trail, but not where: that has to be passed on from the end, cell by cell.

Node features say what a cell shows. Edge features are those of the two nodes, once for edges to the right and once for
edges downward, sparse: dim = 7 * 11 + 28 * 121 = 3465. The share of graphs whose upper bound is tight says for how many
of them the predicted labels are proved to be the best ones.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import bcfw

#: Labels of a trail, what a cell can show (4 arrows, the end, hidden, nothing), and the share of hidden arrows.
LENGTH, SHOWN, HIDDEN = 10, 7, 0.1

#: The steps of arrows 0 to 3.
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
END, SECRET, NOTHING = 4, 5, 6


def draw_trails(side: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(side, side) what the cells show, and their labels."""
    shown, labels = np.full((side, side), NOTHING), np.zeros((side, side), int)
    for _ in range(1 if side < 8 else 2):
        walk = None
        while walk is None:
            walk = draw_walk(labels == 0, rng)
        cells, arrows = walk
        for step, (cell, arrow) in enumerate(zip(cells, [*arrows, END], strict=True), start=1):
            labels[cell], shown[cell] = step, arrow
    return np.where((shown < END) & (rng.random(shown.shape) < HIDDEN), SECRET, shown), labels


def draw_walk(free: np.ndarray, rng: np.random.Generator) -> tuple[list[tuple[int, int]], list[int]] | None:
    """Ten free cells, each beside the one before, and the arrows between them; None at a dead end."""
    side = len(free)
    starts = np.argwhere(free)
    cells, arrows = [tuple(int(k) for k in rng.choice(starts))], []
    while len(cells) < LENGTH:
        ahead = [(cells[-1][0] + down, cells[-1][1] + across) for down, across in STEPS]
        inside = [k for k, (r, c) in enumerate(ahead) if 0 <= r < side and 0 <= c < side and free[r, c]]
        ways = [k for k in inside if ahead[k] not in cells]
        if not ways:
            return None
        arrows.append(int(rng.choice(ways)))
        cells.append(ahead[arrows[-1]])
    return cells, arrows


def make_graph(shown: np.ndarray) -> tuple[sp.csr_matrix, np.ndarray, sp.csr_matrix]:
    """Node features, edges to the right and downward, and the features of their two nodes for either direction."""
    side = len(shown)
    cell = np.arange(side * side).reshape(side, side)
    pairs = [(cell[:, :-1], cell[:, 1:]), (cell[:-1], cell[1:])]
    edges = np.vstack([np.column_stack([a.ravel(), b.ravel()]) for a, b in pairs])
    nodes = sp.csr_matrix(np.eye(SHOWN)[shown.ravel()])
    both = sp.hstack([nodes[edges[:, 0]], nodes[edges[:, 1]]]).tocsr()
    half = len(edges) // 2
    return nodes, edges, sp.block_diag([both[:half], both[half:]]).tocsr()


def draw(n: int, rng: np.random.Generator) -> tuple[list, list]:
    drawn = [draw_trails(int(rng.integers(6, 11)), rng) for _ in range(n)]
    return [make_graph(shown) for shown, _ in drawn], [labels.ravel() for _, labels in drawn]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=int, default=150)
    parser.add_argument("--test", type=int, default=150)
    parser.add_argument("--lam", type=float, default=0.01)
    parser.add_argument("--tol", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    (X, y), (X_test, y_test) = draw(options.train, rng), draw(options.test, rng)
    alone = LogisticRegression(max_iter=1000).fit(sp.vstack([x[0] for x in X]), np.concatenate(y))
    truth = np.concatenate(y_test)
    on_trail = truth > 0
    start = time.process_time()
    result = bcfw.train(bcfw.models.PairwiseGraph(), X, y, lam=options.lam, tol=options.tol, max_passes=200)
    print(f"{result.summary()}; {time.process_time() - start:.1f} CPU s, solver {result.solver!r}")
    gap, bound, start = (result.history[key] for key in ("gap", "gap_bound", "primal"))
    print(f"estimated gap {gap[-1]:.4g}, proven {bound[-1]:.4g}, P(0) {start[0]:.3g}")
    for part, inputs, outputs in (("training (loss added)", X, y), ("test", X_test, None)):
        found, bound = result.model.brackets(result.w, inputs, outputs)
        tight = bound - found <= 1e-6 * (1.0 + np.abs(found))
        print(f"bound tight on {tight.mean():.1%} of the {part} graphs")
    for name, predicted in (
        ("each cell alone (logistic)", [alone.predict(x[0]) for x in X_test]),
        ("PairwiseGraph", result.predict(X_test)),
    ):
        right = np.concatenate(predicted) == truth
        print(f"{name:28} cells right {right.mean():.2%}, on the trail {right[on_trail].mean():.2%}")


if __name__ == "__main__":
    main()
