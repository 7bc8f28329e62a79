"""Pictures of a run and of its predictions (needs matplotlib: ``pip install 'bcfw[plot]'``)."""

from bcfw.report.plots import plot_convergence, plot_path, plot_sequences

__all__ = ["plot_convergence", "plot_path", "plot_sequences"]
