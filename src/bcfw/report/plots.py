"""Figures: convergence of a run, and image sequences with their predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.errors import BcfwError
from bcfw.result import Result


class PlotUnavailableError(BcfwError, ImportError):
    """Matplotlib is not installed."""


def figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """A matplotlib figure that needs no display, with its axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PlotUnavailableError("plots need matplotlib: pip install 'bcfw[plot]'") from error
    drawing = Figure(figsize=(width, height), layout="constrained")
    return drawing, drawing.subplots(rows, columns)


def plot_convergence(result: Result, path: str | Path) -> Path:
    """Primal and dual against passes, and the relative gap on a logarithmic scale.

    Parameters
    ----------
    result : Result
    path : path of the picture; the ending decides the format (.png, .svg, .pdf)

    Returns
    -------
    Path
    """
    passes, primal, dual, gap = (result.history[key] for key in ("passes", "primal", "dual", "gap"))
    drawing, (values, gaps) = figure(9, 3.6, columns=2)
    values.plot(passes, primal, marker="o", markersize=3, label="primal: objective of the weights")
    values.plot(passes, dual, marker="o", markersize=3, label="dual: proven lower bound")
    values.fill_between(passes, dual, primal, alpha=0.15, label="duality gap")
    values.set(xlabel="passes over the data", title=f"{type(result.model).__name__}, lam = {result.lam:g}")
    values.set_ylim(min(0.0, float(dual.min())), 1.05 * float(primal.max()))
    values.legend(frameon=False)
    shown = gap > 0
    gaps.semilogy(passes[shown], gap[shown], marker="o", markersize=3, color="black")
    gaps.set(xlabel="passes over the data", title=f"duality gap, at the end {result.gap:.2g} ({result.status})")
    gaps.grid(alpha=0.3, which="both")
    drawing.savefig(path, dpi=130)
    return Path(path)


def plot_sequences(
    images: Sequence[np.ndarray],
    truths: Sequence[Sequence[Any]],
    predictions: Mapping[str, Sequence[Sequence[Any]]],
    path: str | Path,
) -> Path:
    """Sequences of images, each with its true labels and the labels that several predictors gave, mistakes in red.

    Parameters
    ----------
    images : list of (T, height, width) arrays
    truths : list of T labels each
    predictions : name of the predictor to a list of T labels each
    path : path of the picture

    Returns
    -------
    Path
    """
    rows = {"truth": truths, **predictions}
    size = 2 + max(image.shape[1] for image in images)  # side of a cell, in pixels of the images
    margin, across, down = 3 * size, max(map(len, images)) * size, size * (1.1 + 0.36 * len(rows))
    width = 7.0
    drawing, axes = figure(width, width * down / (margin + across) * len(images), rows=len(images))
    for index, axis in enumerate(np.atleast_1d(axes)):
        strip = np.concatenate([np.pad(one, 1) for one in images[index]], axis=1)
        axis.imshow(strip, cmap="gray_r", vmin=0.0, extent=(0, len(images[index]) * size, size, 0))
        for line, (name, labels) in enumerate(rows.items()):
            y = size * (1.22 + 0.36 * line)
            axis.text(-0.2 * size, y, name, ha="right", va="center", fontsize=8)
            for t, label in enumerate(labels[index]):
                style = {} if label == truths[index][t] else {"color": "tab:red", "fontweight": "bold"}
                axis.text((t + 0.5) * size, y, str(label), ha="center", va="center", fontsize=10, **style)
        axis.set(xlim=(-margin, across), ylim=(down, 0))
        axis.axis("off")
    drawing.savefig(path, dpi=130)
    return Path(path)
