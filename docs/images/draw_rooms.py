"""Draws ``rooms.svg``: the rooms of the source from the bottom up, and the way of the data through them.

python docs/images/draw_rooms.py
"""

from __future__ import annotations

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

#: Floors from the ground up; a room may use those below it. A room with a number is a station of the data's way.
FLOORS = [
    [("errors  options\nrecords  files", 0), ("kernels\nnumba, disk cache", 0), ("inputs\nreaders", 2)],
    [("run  selection\nprogress", 0), ("passes\ncompiled templates", 6)],
    [("models\nstructures, their kernels,\nthe form that solvers see", 3)],
    [("dual\nblock state, store,\ncertificates, snapshots", 4)],
    [("solvers\nwhich passes, until when", 5), ("product\nminimize over sets", 0)],
    [("training  result", 7), ("path\nweights for every lam", 0)],
    [("estimators\nscikit-learn", 1), ("datasets", 0), ("report", 0), ("commands", 0)],
]

#: The stations, by their numbers.
WAY = [
    "1  X, y of any kind come in (fit), or go to train directly",
    "2  readers turn them into checked arrays; errors name the example",
    "3  the model is bound to them and packs them into flat records, once",
    "4  the dual problem: one block per example, w = 0",
    "5  the solver orders passes and certificates until the gap is small",
    "6  compiled passes: choose a block, ask the oracle, step",
    "7  the result: weights, certificate, history; back to the estimator",
]

WIDTH, HEIGHT, SPACE = 10.0, 1.0, 0.22


def main() -> None:
    drawing = Figure(figsize=(11, 7.2), layout="constrained")
    axis = drawing.subplots()
    for floor, rooms in enumerate(FLOORS):
        y = floor * (HEIGHT + SPACE)
        width = (WIDTH - SPACE * (len(rooms) - 1)) / len(rooms)
        for place, (text, station) in enumerate(rooms):
            x = place * (width + SPACE)
            axis.add_patch(_box(x, y, width, "#dbe9f6" if station else "#f2f2f2"))
            axis.text(x + width / 2, y + HEIGHT / 2, text, ha="center", va="center", fontsize=10)
            if station:
                axis.text(x + 0.12, y + HEIGHT - 0.12, str(station), ha="left", va="top", fontsize=12, weight="bold")
    for number, text in enumerate(WAY):
        y = (len(FLOORS) - 1 - number) * (HEIGHT + SPACE) + HEIGHT / 2
        axis.text(WIDTH + 0.5, y, text, va="center", fontsize=10)
    axis.set(xlim=(-0.1, 2.02 * WIDTH), ylim=(-0.1, len(FLOORS) * (HEIGHT + SPACE)))
    axis.axis("off")
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "rooms"}):  # text as text; the same file every time
        drawing.savefig(Path(__file__).with_name("rooms.svg"), metadata={"Date": None})


def _box(x: float, y: float, width: float, colour: str) -> FancyBboxPatch:
    return FancyBboxPatch((x, y), width, HEIGHT, boxstyle="round,pad=0,rounding_size=0.08", fc=colour, ec="#888888")


if __name__ == "__main__":
    main()
