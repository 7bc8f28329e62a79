"""Time of the distance transform and of the oracle of a pictorial tree against the size of the grid.

    python benchmarks/distance_transform.py [--repeats 5]

Square grids of standard normal scores; the transform of both coordinates, with weights of the squares that make long
and short envelopes, and the whole oracle on a tree of 14 parts, with one type and with four. Times are the best of the
repeats, per location (and part and type, for the oracle). The last lines have the exponents b of
``time = a locations^b``, fitted to the logarithms: time is linear in the number of locations, so b should be 0.9 to
1.15.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from bcfw.algorithms.distance_transform import Envelope, Quadratic, make_envelope, transform_grid
from bcfw.compile import entry
from bcfw.models import PictorialTree

#: Sides of the grids: caches of all sizes are passed on the way.
SIDES = (20, 30, 45, 70, 100, 150, 220, 330, 500)

#: The largest exponent, and the smallest, of a linear method.
WANTED = (0.9, 1.15)

#: Parts of the tree.
N_PARTS = 14


def transforms_pass(grids, side, squares, envelope_fields, half, out):
    """Transform many grids with several weights of the squares."""
    envelope = Envelope(*envelope_fields)
    for g in range(grids.shape[0]):
        for k in range(squares.shape[0]):
            score = Quadratic(0.1, squares[k], 0.5)
            transform_grid(grids[g], (side, side), score, score, envelope, half, out)


def best_of(run: Callable[[], object], repeats: int) -> float:
    run()  # compiles
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def transform_seconds(side: int, repeats: int, rng: np.random.Generator) -> float:
    """Of one transform."""
    squares = np.array([1e-4, 1e-2, 1.0])
    grids = rng.standard_normal((max(1, 300_000 // side**2), side * side))
    half, out = np.zeros(side * side), np.zeros(side * side)
    run = entry(transforms_pass)
    envelope = tuple(make_envelope(side))
    seconds = best_of(lambda: run(grids, side, squares, envelope, half, out), repeats)
    return seconds / (len(grids) * len(squares))


def oracle_seconds(side: int, n_types: int, repeats: int, rng: np.random.Generator) -> float:
    """Of one call of the oracle; the weights of the squares are spread over four orders."""
    edges = [(int(rng.integers(q)), q) for q in range(1, N_PARTS)]
    model = PictorialTree(edges, n_types, rng.integers(-4, 5, size=(N_PARTS - 1, n_types, 2)))
    w = rng.standard_normal(int(model.dim or 0))
    model.weight_parts(w)[2][:, :, 1::2] = 10.0 ** -rng.uniform(0.0, 4.0, size=(N_PARTS - 1, n_types, 2))
    count = max(1, 100_000 // side**2)
    data = model.pack([(rng.standard_normal((N_PARTS, side, side)), 1.0) for _ in range(count)])
    return best_of(lambda: model.decoded(w, data, 0.0), repeats) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(0)
    names = ("transform", "oracle, 1 type", "oracle, 4 types")
    print("nanoseconds per location (part and type)\n" + f"{'grid':>12}" + "".join(f"{name:>17}" for name in names))
    seconds = np.zeros((len(names), len(SIDES)))
    for j, side in enumerate(SIDES):
        seconds[0, j] = transform_seconds(side, repeats, rng)
        seconds[1, j] = oracle_seconds(side, 1, repeats, rng)
        seconds[2, j] = oracle_seconds(side, 4, repeats, rng)
        each = 1e9 * seconds[:, j] / side**2 / np.array([1, N_PARTS, 4 * N_PARTS])
        print(f"{f'{side} x {side}':>12}" + "".join(f"{one:17.1f}" for one in each))
    locations = np.log(np.square(SIDES))
    slopes = [np.polyfit(locations, np.log(row), 1)[0] for row in seconds]
    print(f"{'exponent':>12}" + "".join(f"{slope:17.3f}" for slope in slopes))
    met = all(WANTED[0] <= slope <= WANTED[1] for slope in slopes)
    print(f"wanted {WANTED[0]} to {WANTED[1]}: {'met' if met else 'NOT MET'}")


if __name__ == "__main__":
    main()
