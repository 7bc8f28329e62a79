"""Figures: convergence of a run, a regularisation path, and image sequences with their predictions."""

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

#: Points of a curve between two breakpoints.
BETWEEN = 12

#: Kinds of lines, in turn: neighbouring curves differ in more than their colour.
LINES = ("-", "--", "-.", ":")

#: What the columns of histories count, in words.
UNITS = {"passes": "passes over the data", "iters": "iterations", "seconds": "seconds"}


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


def curve_style(number: int) -> dict[str, Any]:
    """Colour, line and marker of curve ``number``: the first twenty differ in colour or line, neighbours in both."""
    return {"color": f"C{number % 10}", "linestyle": LINES[number % len(LINES)], "linewidth": 1.3}


def plot_convergence(results: Any, path: str | Path) -> Path:
    """How runs came near the optimum.

    Of one run: its objective and the proven lower bound against passes (of ``minimize``: the value against iterations),
    and the gap on a logarithmic scale. Of several: the gap of each against passes and against seconds (with those of
    compilation, if there were any), all logarithmic; every curve has a style of its own.

    Parameters
    ----------
    results : Result or MinimizeResult, or a mapping of names to several of one kind
        Histories have a point per certificate.
    path : path of the picture; the ending decides the format (.png, .svg, .pdf)

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
    """Primal and dual value against passes."""
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
    """The gaps of several runs against passes and against seconds."""
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
    """What the run of a result counts."""
    return "iters" if isinstance(result, MinimizeResult) else "passes"


def _after_start(result: Any, key: str) -> tuple[np.ndarray, np.ndarray]:
    """A column of the history and the gap, without the start and what a logarithmic scale cannot show."""
    history = result.history
    shown = (history[_unit(result)] > 0) & (history["gap"] > 0)
    return history[key][shown], history["gap"][shown]


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


def plot_images(rows: Mapping[str, Sequence[np.ndarray]], path: str | Path, width: float = 12.0) -> Path:
    """Images side by side, with one row for each kind of them: photographs, true labels, predictions.

    Parameters
    ----------
    rows : name of a row to its images, all rows of the same number
        Each is (height, width, 3) with values 0 to 255, or (height, width) with values 0 to 1 or False and True, drawn
        in grey. Those of a column show the same picture.
    path : path of the picture
    width : of the whole, in inches

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
