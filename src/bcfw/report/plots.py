"""Figures: convergence of a run, a regularisation path, and image sequences with their predictions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.errors import BcfwError
from bcfw.path import RegularizationPath, Validation
from bcfw.result import Result

#: Points of a curve between two breakpoints.
BETWEEN = 12


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


def plot_path(path: RegularizationPath, file: str | Path, validation: Validation | None = None) -> Path:
    """Validation loss, bound on the gap and size of the weights against lam, with the chosen lam marked.

    Parameters
    ----------
    path : RegularizationPath
        Of :func:`bcfw.regularization_path` or :func:`bcfw.grid_path`, or an estimator's ``path_``.
    file : path of the picture; the ending decides the format (.png, .svg, .pdf)
    validation : Validation or None
        What :meth:`RegularizationPath.validate` returned, or an estimator's ``validation_``; without it the first
        panel is left out.

    Returns
    -------
    Path
    """
    panels = 2 if validation is None else 3
    drawing, axes = figure(4.2 * panels, 3.6, columns=panels)
    *first, gaps, norms = axes
    if validation is not None:
        _steps(first[0], validation.lambdas, validation.losses, path.is_grid)
        first[0].set_title(f"validation loss, smallest at lam = {validation.best:.3g}")
    lambdas = path.lambdas if path.is_grid else _between(path)
    gaps.plot(lambdas, [path.bound(lam) for lam in lambdas], color="black", marker="o" if path.is_grid else "")
    gaps.axhline(path.eps, color="tab:red", linestyle="--", label=f"eps = {path.eps:.3g}")
    gaps.set_ylim(0.0, 1.1 * max(path.eps, float(path.gaps.max())))
    gaps.set_title(f"gap, {'certified' if path.certified else 'not certified'}")
    gaps.legend(frameon=False)
    _steps(norms, path.lambdas, path.norms, path.is_grid)
    norms.set(yscale="log" if path.norms.any() else "linear", title="size of the weights |w|")
    for axis in axes:
        axis.set(xscale="log", xlabel="lam")
        axis.grid(alpha=0.3)
        if validation is not None:
            _mark(axis, validation)
    drawing.savefig(file, dpi=130)
    return Path(file)


def _steps(axis: Any, lambdas: np.ndarray, values: np.ndarray, is_grid: bool) -> None:
    """A curve that is constant from each lam down to the next; of a grid, its points."""
    if is_grid:
        axis.plot(lambdas, values, marker="o", markersize=3)
    else:
        axis.step(lambdas, values, where="post")


def _between(path: RegularizationPath) -> np.ndarray:
    """Every lam at which the bound of a path is drawn: several between two breakpoints, where it bends."""
    ends = [*path.lambdas, path.end] if path.end < path.lambdas[-1] and path.end > 0.0 else path.lambdas
    parts = [np.geomspace(a, b * (1.0 + 1e-9), BETWEEN) for a, b in itertools.pairwise(ends)]
    return np.concatenate([*parts, ends[-1:]])


def _mark(axis: Any, validation: Validation) -> None:
    """The chosen lam, and the range that is as good, as far as the axis goes."""
    low, high = axis.get_xlim()
    axis.axvspan(max(validation.interval[0], low), min(validation.interval[1], high), color="tab:green", alpha=0.15)
    axis.axvline(validation.best, color="tab:green", linewidth=1)
    axis.set_xlim(low, high)


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
