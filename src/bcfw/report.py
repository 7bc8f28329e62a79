"""Plots of runs, regularisation paths and predictions (needs matplotlib: ``pip install 'bcfw[plot]'``)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.errors import BcfwError, InputError
from bcfw.path import RegularizationPath, Validation
from bcfw.product import MinimizeResult
from bcfw.result import Result

__all__ = ["curve_style", "plot_convergence", "plot_images", "plot_path", "plot_sequences"]


def __dir__() -> list[str]:
    return sorted(__all__)


#: Number of points of a curve between two breakpoints.
BETWEEN = 12


#: Line styles, used in turn, so that neighbouring curves differ in line style as well as in colour.
LINES = ("-", "--", "-.", ":")


#: Axis labels for the columns of histories.
UNITS = {"passes": "passes over the data", "iters": "iterations", "seconds": "seconds"}


class PlotUnavailableError(BcfwError, ImportError):
    """Matplotlib is not installed."""


def figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """Return a matplotlib figure, which needs no display, and its axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise PlotUnavailableError("plots need matplotlib: pip install 'bcfw[plot]'") from error
    drawing = Figure(figsize=(width, height), layout="constrained")
    return drawing, drawing.subplots(rows, columns)


def curve_style(number: int) -> dict[str, Any]:
    """Return colour, line style and width of curve ``number``.

    The first twenty curves differ in colour or line style; neighbouring curves differ in both.
    """
    return {"color": f"C{number % 10}", "linestyle": LINES[number % len(LINES)], "linewidth": 1.3}


def plot_convergence(results: Any, path: str | Path) -> Path:
    """Plot the convergence of one run or of several runs.

    For one run of ``train``: objective and proven lower bound against passes, and the gap on a logarithmic scale. For
    one run of ``minimize``: value and gap against iterations. For several runs: the gap of each run against passes (or
    iterations) and against seconds, including compilation, with logarithmic axes; every curve has its own style.

    Parameters
    ----------
    results : Result or MinimizeResult, or a mapping from names to several results of one type
        Curves have one point per certificate.
    path : path of the picture; the ending determines the format (.png, .svg, .pdf)

    Returns
    -------
    Path
    """
    if isinstance(results, Mapping):
        if not results:
            raise InputError("plot_convergence: no results to draw")
        return _plot_runs(results, path)
    drawing, (values, gaps) = figure(9, 3.6, columns=2)
    (_draw_value if isinstance(results, MinimizeResult) else _draw_bounds)(values, results)
    steps, gap = _after_start(results, _unit(results))
    gaps.semilogy(steps, gap, marker="o", markersize=3, color="black")
    gaps.set_title(f"gap at the end: {results.gap:.2g} ({results.status})")
    gaps.grid(alpha=0.3, which="both")
    for axis in (values, gaps):
        axis.set_xlabel(UNITS[_unit(results)])
    drawing.savefig(path, dpi=130)
    return Path(path)


def _draw_bounds(axis: Any, result: Result) -> None:
    """Plot primal and dual value against passes."""
    passes, primal, dual = (result.history[key] for key in ("passes", "primal", "dual"))
    axis.plot(passes, primal, marker="o", markersize=3, label="primal: objective of the weights")
    axis.plot(passes, dual, marker="o", markersize=3, label="dual: proven lower bound")
    axis.fill_between(passes, dual, primal, alpha=0.15, label="duality gap")
    axis.set_title(f"objective and lower bound: {type(result.model).__name__}, lam = {result.lam:g}")
    axis.set_ylim(min(0.0, float(dual.min())), 1.05 * float(primal.max()))
    axis.legend(frameon=False)


def _draw_value(axis: Any, result: MinimizeResult) -> None:
    axis.plot(result.history["iters"], result.history["value"], marker="o", markersize=3)
    axis.set_title("value of the objective")


def _plot_runs(results: Mapping[str, Any], path: str | Path) -> Path:
    """Plot the gaps of several runs against passes or iterations, and against seconds."""
    units = {_unit(result) for result in results.values()}
    if len(units) > 1:
        raise InputError("plot_convergence: the results of train and of minimize do not go into one picture")
    drawing, axes = figure(11, 4.2, columns=2)
    for axis, key in zip(axes, (*units, "seconds"), strict=True):
        for number, (name, result) in enumerate(results.items()):
            axis.loglog(*_after_start(result, key), label=name, **curve_style(number))
        axis.set(xlabel=UNITS[key], ylabel="gap", title=f"gap against {UNITS[key]}")
        axis.grid(alpha=0.3, which="both")
    axes[0].legend(fontsize=7, frameon=False)
    drawing.savefig(path, dpi=130)
    return Path(path)


def _unit(result: Any) -> str:
    """Return the column of the history that counts passes or iterations."""
    return "iters" if isinstance(result, MinimizeResult) else "passes"


def _after_start(result: Any, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a column of the history and the gap, without the start and without gaps that are not positive."""
    history = result.history
    shown = (history[_unit(result)] > 0) & (history["gap"] > 0)
    return history[key][shown], history["gap"][shown]


def plot_path(path: RegularizationPath, file: str | Path, validation: Validation | None = None) -> Path:
    """Plot validation loss, bound of the gap and norm of the weights against lam, and mark the best lam.

    Parameters
    ----------
    path : RegularizationPath
        The result of :func:`bcfw.regularization_path` or :func:`bcfw.grid_path`, or an estimator's ``path_``.
    file : path of the picture; the ending determines the format (.png, .svg, .pdf)
    validation : Validation or None
        The result of :meth:`RegularizationPath.validate`, or an estimator's ``validation_``. None: the plot has no
        panel for the validation loss.

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
    """Plot a curve that is constant from each lam down to the next; for a grid, plot its points."""
    if is_grid:
        axis.plot(lambdas, values, marker="o", markersize=3)
    else:
        axis.step(lambdas, values, where="post")


def _between(path: RegularizationPath) -> np.ndarray:
    """Return the values of lam at which the bound of a path is drawn: several between two breakpoints."""
    ends = [*path.lambdas, path.end] if path.end < path.lambdas[-1] and path.end > 0.0 else path.lambdas
    parts = [np.geomspace(a, b * (1.0 + 1e-9), BETWEEN) for a, b in itertools.pairwise(ends)]
    return np.concatenate([*parts, ends[-1:]])


def _mark(axis: Any, validation: Validation) -> None:
    """Mark the best lam, and the part of the interval of almost equal losses that is inside the axis limits."""
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
    """Draw sequences of images with their true labels and the labels of several predictors; mistakes are red.

    Parameters
    ----------
    images : list of (T, height, width) arrays
    truths : list with T labels per sequence
    predictions : mapping from the name of a predictor to a list with T labels per sequence
    path : path of the picture; the ending determines the format

    Returns
    -------
    Path
    """
    rows = {"truth": truths, **predictions}
    size = 2 + max(image.shape[1] for image in images)  # side length of a cell, in image pixels
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


def plot_images(rows: Mapping[str, Sequence[np.ndarray]], path: str | Path, width: float = 12.0) -> Path:
    """Draw rows of images one below the other, for example photographs, true labels and predictions.

    Parameters
    ----------
    rows : mapping from the name of a row to its images; all rows have equal numbers of images
        An image is (height, width, 3) with values from 0 to 255; or (height, width) with values from 0 to 1, or False
        and True, which is drawn in grey. The images of a column belong to one example.
    path : path of the picture; the ending determines the format
    width : width of the whole drawing in inches

    Returns
    -------
    Path
    """
    counts = {name: len(images) for name, images in rows.items()}
    if len(set(counts.values())) != 1 or not min(counts.values()):
        raise InputError(f"plot_images: rows must have the same number of images, at least one, got {counts}")
    columns = next(iter(counts.values()))
    tallest = max(image.shape[0] / image.shape[1] for images in rows.values() for image in images)
    drawing, axes = figure(width, width / columns * tallest * len(rows), len(rows), columns)
    for line, (name, images) in zip(np.asarray(axes).reshape(len(rows), columns), rows.items(), strict=True):
        for axis, image in zip(line, images, strict=True):
            grey = {"cmap": "gray", "vmin": 0.0, "vmax": 1.0} if image.ndim == 2 else {}
            axis.imshow(image if image.ndim == 2 else np.clip(image, 0, 255).astype(np.uint8), **grey)
            axis.set(xticks=[], yticks=[])
        line[0].set_ylabel(name)
    drawing.savefig(path, dpi=100)
    return Path(path)
