"""``Progress``, the display of a run: a live bar in a terminal or notebook, or plain lines.

Every run can show it: ``train(..., verbose=1)``, or ``callbacks=[bcfw.Progress()]``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import sys
import time
from collections.abc import Mapping
from numbers import Integral
from types import FunctionType
from typing import IO, Any

import numpy as np

from bcfw.compile.timing import CompileLines, first_notice, in_notebook, when_compiling
from bcfw.errors import OptionError
from bcfw.run import Callback, Info

#: Seconds between two lines of the plain display, and between two updates of the live bar.
LINE_SECONDS, DRAW_SECONDS = 1.0, 0.1

#: The singular of the units that runs count.
SINGULAR = {"passes": "pass", "iters": "iteration"}

#: The remaining time is estimated from the certificates in the last SHARE of the time so far, but from at least RECENT
#: certificates if there are that many. There is no estimate with fewer than EVIDENCE certificates.
SHARE, RECENT, EVIDENCE = 0.5, 5, 2


def progress_callbacks(verbose: int | bool) -> list[Callback]:
    """Return the callbacks for the option ``verbose``: 0 none, 1 a bar if possible, 2 always plain lines."""
    if not isinstance(verbose, Integral) or verbose not in (0, 1, 2):
        raise OptionError(f"verbose must be 0 (quiet), 1 (live) or 2 (plain lines), got {verbose!r}")
    return [Progress(live=None if verbose == 1 else False)] if verbose else []


class Progress:
    """Callback that shows the number of passes, the latest certificate, the time and the remaining time.

    If the latest certificate is older than the pass that is shown, the display says from which pass its numbers are.
    Times do not include compilation, which is reported separately.

    Parameters
    ----------
    live : bool or None
        True: a bar that is redrawn. False: plain lines. None: a bar if the output is a terminal, or a notebook with
        ipywidgets; else plain lines.
    file : file or None
        File for the output. None: standard error, so that results can be piped; in a notebook, standard output.

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
        self._reset()

    def _reset(self) -> None:
        """Reset the display before and after a run."""
        self._bar: Any = None
        self._task: Any = None
        self._shown = -math.inf
        self._trend = TimeLeft()
        self._watching = contextlib.ExitStack()

    def start(self) -> None:
        """Prepare for a run; while functions are compiled, the display says so."""
        self._compile_lines = CompileLines(self._print)
        self._watching.enter_context(when_compiling(self._say_compiling))

    def __call__(self, info: Info) -> None:
        """Show the state after a pass, unless another state was shown a moment ago."""
        self._trend.note(info)
        if not self._is_due(DRAW_SECONDS if self._is_live() else LINE_SECONDS):
            return
        if self.live:
            self._update(_bar_text(info, self._left(info)), self._fraction(info))
        else:
            self._print(self.line(info))

    def finish(self, result: Any) -> None:
        """Close the display; after a successful run, print the summary of the result."""
        self._watching.close()
        if self._bar is not None:
            self._bar.stop()
        if result is not None:
            self._print(result.summary())
        self._reset()

    def line(self, info: Info) -> str:
        """Return one line with the state after a pass."""
        shown = "".join(f"{name} {value:.6g}, " for name, value in info.shown.items())
        return (
            f"{_counted(info, info.done)}: {shown}gap {info.gap:.3g} (target {info.gap_target:.3g}{_age(info)}), "
            f"{info.training_seconds:.1f} s{self._left(info)}"
        )

    def _is_due(self, seconds: float) -> bool:
        """Return whether ``seconds`` have passed since the last display; if so, restart the clock."""
        now = time.perf_counter()
        if now - self._shown < seconds:
            return False
        self._shown = now
        return True

    def _is_live(self) -> bool:
        if self.live is None:
            self.live = _can_redraw(self._file)
        return self.live

    def _left(self, info: Info) -> str:
        left = self._trend.seconds_left(info)
        if left is None:
            return ""
        return f", about {left:.0f} s left" if left >= 1.0 else ", under 1 s left"

    def _fraction(self, info: Info) -> float:
        """Return the time so far as a share of the estimated time of the whole run; 0 without an estimate."""
        left = self._trend.seconds_left(info)
        return 0.0 if left is None else info.training_seconds / max(info.training_seconds + left, 1e-9)

    def _say_compiling(self, function: FunctionType) -> None:
        """Show which function is being compiled."""
        first_notice().shown = True
        if self._is_live():
            taken, name = self._compile_lines.seconds, function.__name__
            self._update(f"compiling {name} (the first use on this machine takes some seconds), {taken:.0f} s", 0.0)
        else:
            self._compile_lines(function)

    def _print(self, text: str) -> None:
        print(text, file=self._file, flush=True)

    @property
    def _file(self) -> IO[str]:
        if self.file is not None:
            return self.file
        return sys.stdout if in_notebook() else sys.stderr

    def _update(self, text: str, fraction: float) -> None:
        """Update text and fraction of the bar, which is created at its first use."""
        if self._bar is None:
            self._bar = _make_bar(self._file)
            self._task = self._bar.add_task("training", total=1.0, text=text)
            self._bar.start()
        self._bar.update(self._task, completed=fraction, text=text)


class TimeLeft:
    """Estimate of the remaining time from the latest certificates.

    :attr:`bcfw.run.Info.distance`, the logarithm of gap / target, decreases about linearly in the cube root of the
    training time: faster than for a gap proportional to 1/time, slower than for a gap that decreases geometrically. A
    line fitted to the latest values predicts when it will be zero. Old values would mislead, because solvers change
    their pace. Too few values would mislead, too, because the best gap stays constant for a while and then drops.
    """

    def __init__(self) -> None:
        self._latest: Mapping[str, float] | None = None
        self._seen: list[tuple[float, float]] = []

    def note(self, info: Info) -> None:
        """Store the latest certificate of ``info``, once; the certificate of the start is not stored."""
        if info.latest is not self._latest and info.latest[info.unit] > 0:
            self._seen.append((math.cbrt(info.training_seconds), info.distance))
        self._latest = info.latest

    def seconds_left(self, info: Info) -> float | None:
        """Return the estimated time until the run has converged or a limit ends it; None if there is no estimate."""
        if len(self._seen) < EVIDENCE:
            return None
        seen = np.array(self._seen)
        late = int(np.count_nonzero(seen[:, 0] ** 3 >= (1.0 - SHARE) * seen[-1, 0] ** 3))
        roots, distances = seen[-max(RECENT, late) :].T
        left = _until_limits(info)
        if np.isfinite(distances).all():  # else only a limit ends the run
            ages, falls = roots - roots.mean(), distances.mean() - distances
            if ages @ falls <= 0.0:
                return None
            end = roots[-1] + distances[-1] * (ages @ ages) / (ages @ falls)
            left = min(left, float(end**3) - info.training_seconds)
        return max(0.0, left) if math.isfinite(left) else None


def _until_limits(info: Info) -> float:
    """Return the seconds until a limit ends the run, at the pace so far."""
    left = info.training_seconds / info.done * (info.limit - info.done) if info.done > 0 else math.inf
    return left if info.max_seconds is None else min(left, info.max_seconds - info.seconds)


def _counted(info: Info, number: float) -> str:
    """Return the unit and the number, such as "pass 3"."""
    return f"{SINGULAR.get(info.unit, info.unit)} {number:.6g}"


def _age(info: Info) -> str:
    """Return a text that says from which pass the shown numbers are; empty if they are from the current pass."""
    certified = info.latest[info.unit]
    return "" if certified == info.done else f"; as of {_counted(info, certified)}"


def _bar_text(info: Info, left: str) -> str:
    shown = "".join(f", {name} {value:.4g}" for name, value in info.shown.items())
    return (  # the most important numbers come first, because a narrow terminal cuts the line
        f"{_counted(info, info.done)}, {info.training_seconds:.1f} s{left}: gap {info.gap:.2g} > {info.gap_target:.2g}"
        f"{_age(info)}{shown}"
    )


def _can_redraw(file: IO[str]) -> bool:
    """Return whether a bar can be redrawn: in a notebook with ipywidgets, or in a terminal that is not "dumb"."""
    if in_notebook():
        return importlib.util.find_spec("ipywidgets") is not None
    return os.environ.get("TERM") not in ("dumb", "unknown") and bool(getattr(file, "isatty", lambda: False)())


def _make_bar(file: IO[str]) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as RichProgress

    console = Console(file=None if in_notebook() else file)
    columns = SpinnerColumn(), BarColumn(bar_width=12), TextColumn("{task.fields[text]}")
    return RichProgress(*columns, console=console, transient=True)
