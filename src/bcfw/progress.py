"""A live display of training: a bar in a terminal or notebook, plain lines in a log.

Any run can use it: ``train(..., verbose=1)``, or ``callbacks=[bcfw.Progress()]``.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from numbers import Integral
from typing import IO, Any

from bcfw.errors import OptionError
from bcfw.kernels.compiling import when_compiling
from bcfw.run import Callback, Info

#: Seconds between two lines of the plain display.
LINE_SECONDS = 1.0

#: One of what a run counts.
SINGULAR = {"passes": "pass", "iters": "iteration"}


def progress_callbacks(verbose: int | bool) -> list[Callback]:
    """The callbacks for a ``verbose`` option: 0 none, 1 a bar where possible, 2 always plain lines."""
    if not isinstance(verbose, Integral) or verbose not in (0, 1, 2):
        raise OptionError(f"verbose must be 0 (quiet), 1 (live) or 2 (plain lines), got {verbose!r}")
    return [Progress(live=None if verbose == 1 else False)] if verbose else []


class Progress:
    """Callback that shows passes, primal, dual, relative gap, time and time left.

    Parameters
    ----------
    live : bool or None
        A bar that is redrawn (True), plain lines (False), or a bar where the output is a terminal or a notebook.
    file : file or None
        Where to write; standard error by default, so that results can be piped.

    Examples
    --------
    >>> import sys, numpy as np, bcfw
    >>> show = bcfw.Progress(live=False, file=sys.stdout)
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), [0, 1]
    >>> result = bcfw.train(bcfw.models.Multiclass(), X, y)  # compiles, if need be
    >>> result = bcfw.train(bcfw.models.Multiclass(), X, y, callbacks=[show])  # doctest: +ELLIPSIS
    pass ...
    converged after ... passes ...: primal ..., dual ..., gap ... (certified)
    """

    def __init__(self, live: bool | None = None, file: IO[str] | None = None) -> None:
        self.live = live
        self.file = file
        self._bar: Any = None
        self._printed = -math.inf
        self._watching = contextlib.ExitStack()

    def start(self) -> None:
        """Before the run: if something has to be compiled, say why nothing else happens for a while."""
        self._watching.enter_context(when_compiling(self._say_compiling))

    def __call__(self, info: Info) -> None:
        """Show the state after a pass."""
        if self.live is None:
            self.live = _can_redraw(self._file)
        if self.live:
            self._draw(info)
        elif time.perf_counter() - self._printed >= LINE_SECONDS:
            print(self.line(info), file=self._file, flush=True)
            self._printed = time.perf_counter()

    def finish(self, result: Any) -> None:
        """Close the display; after a successful run also say what was certified."""
        self._watching.close()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if result is not None:
            print(result.summary(), file=self._file, flush=True)
        self._printed = -math.inf

    def _say_compiling(self) -> None:
        text = "compiling: the first use of a model and a solver on this machine takes some seconds"
        if self._bar is None:
            print(text, file=self._file, flush=True)
        else:
            self._bar.console.print(text)

    @property
    def _file(self) -> IO[str]:
        return self.file if self.file is not None else sys.stderr

    def line(self, info: Info) -> str:
        """One line on the state after a pass."""
        left = seconds_left(info)
        shown = "".join(f"{name} {value:.6g}, " for name, value in info.shown.items())
        return (
            f"{SINGULAR.get(info.unit, info.unit)} {info.done:g}: {shown}gap {info.gap:.3g} "
            f"(target {info.gap_target:.3g}), {info.seconds:.1f} s{'' if left is None else f', {left:.0f} s left'}"
        )

    def _draw(self, info: Info) -> None:
        if self._bar is None:
            self._bar = _make_bar(self._file)
            self._bar.start()
            self._task = self._bar.add_task("training", total=1.0, text="")
        left = seconds_left(info)
        shown = "".join(f"{name[0].upper()} {value:.4g}, " for name, value in info.shown.items())
        text = (
            f"{info.done:.4g} {info.unit}, {shown}gap {info.gap:.2g} > {info.gap_target:.2g}, {info.seconds:.1f} s"
            f"{'' if left is None else f', {left:.0f} s left'}"
        )
        self._bar.update(self._task, completed=fraction_done(info), text=text)


def seconds_left(info: Info) -> float | None:
    """Estimate of the remaining time, if the limits do not end the run before; None where nothing is known yet.

    That is before the first certificate of a moved point.
    """
    if info.latest[info.unit] == 0 or info.done == 0:
        return None
    per_pass = info.seconds / info.done
    left = per_pass * (min(info.expected, info.limit) - info.done)
    if info.max_seconds is not None:
        left = min(left, info.max_seconds - info.seconds)
    return max(0.0, left) if math.isfinite(left) else None


def fraction_done(info: Info) -> float:
    """Time spent as a share of the whole run's estimated time."""
    left = seconds_left(info)
    return 0.0 if left is None else info.seconds / max(info.seconds + left, 1e-9)


def _can_redraw(file: IO[str]) -> bool:
    if "ipykernel" in sys.modules:
        return True
    return bool(getattr(file, "isatty", lambda: False)())


def _make_bar(file: IO[str]) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as RichProgress

    console = Console(file=None if "ipykernel" in sys.modules else file)
    return RichProgress(BarColumn(bar_width=12), TextColumn("{task.fields[text]}"), console=console, transient=True)
