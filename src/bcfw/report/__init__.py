"""Plots of runs, regularisation paths and predictions (needs matplotlib: ``pip install 'bcfw[plot]'``)."""

from bcfw.report.plots import curve_style, plot_convergence, plot_images, plot_path, plot_sequences

__all__ = ["curve_style", "plot_convergence", "plot_images", "plot_path", "plot_sequences"]


def __dir__() -> list[str]:
    return sorted(__all__)
