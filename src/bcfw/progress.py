"""A live display of training: a bar in a terminal or notebook, plain lines in a log.

Any run can use it: ``train(..., verbose=1)``, or ``callbacks=[bcfw.Progress()]``.
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

from bcfw.errors import OptionError
from bcfw.kernels.compiling import CompileLines, first_notice, in_notebook, when_compiling
from bcfw.run import Callback, Info

#: Seconds between two lines of the plain display, and between two updates of the live one.
LINE_SECONDS, DRAW_SECONDS = 1.0, 0.1

#: One of what a run counts.
SINGULAR = {"passes": "pass", "iters": "iteration"}

#: The time left is read off the certificates of this last share of the time, off so many at least if there are; and the
#: least that it takes.
SHARE, RECENT, EVIDENCE = 0.5, 5, 2


def progress_callbacks(verbose: int | bool) -> list[Callback]:
    """The callbacks for a ``verbose`` option: 0 none, 1 a bar where possible, 2 always plain lines."""
    if not isinstance(verbose, Integral) or verbose not in (0, 1, 2):
        raise OptionError(f"verbose must be 0 (quiet), 1 (live) or 2 (plain lines), got {verbose!r}")
    return [Progress(live=None if verbose == 1 else False)] if verbose else []


class Progress:
    """Callback that shows passes, the latest certificate, time and time left.

    The numbers are those of the latest certificate; where that was taken before the pass that is shown, they are
    marked with its own pass. Times do not contain compilation, which is reported apart.

    Parameters
    ----------
    live : bool or None
        A bar that is redrawn (True), plain lines (False), or a bar where the output is a terminal, or a notebook that
        can redraw one (with ipywidgets).
    file : file or None
        Where to write. By default standard error, so that results can be piped; in a notebook standard output.

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
        """Before a run, and after it: nothing is shown or known."""
        self._bar: Any = None
        self._task: Any = None
        self._shown = -math.inf
        self._trend = Trend()
        self._watching = contextlib.ExitStack()

    def start(self) -> None:
        """Before the run: if something has to be compiled, say why nothing else happens for a while."""
        self._compile_lines = CompileLines(self._print)
        self._watching.enter_context(when_compiling(self._say_compiling))

    def __call__(self, info: Info) -> None:
        """Show the state after a pass, unless the last one was shown a moment ago."""
        self._trend.note(info)
        if not self._is_due(DRAW_SECONDS if self._is_live() else LINE_SECONDS):
            return
        if self.live:
            self._update(_bar_text(info, self._left(info)), self._fraction(info))
        else:
            self._print(self.line(info))

    def finish(self, result: Any) -> None:
        """Close the display; after a successful run also say what was certified."""
        self._watching.close()
        if self._bar is not None:
            self._bar.stop()
        if result is not None:
            self._print(result.summary())
        self._reset()

    def line(self, info: Info) -> str:
        """One line on the state after a pass."""
        shown = "".join(f"{name} {value:.6g}, " for name, value in info.shown.items())
        return (
            f"{_counted(info, info.done)}: {shown}gap {info.gap:.3g} (target {info.gap_target:.3g}{_age(info)}), "
            f"{info.training_seconds:.1f} s{self._left(info)}"
        )

    def _is_due(self, seconds: float) -> bool:
        """Whether so many seconds have gone since something was shown; if so, it is shown now."""
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
        """Time spent as a share of the whole run's estimated time."""
        left = self._trend.seconds_left(info)
        return 0.0 if left is None else info.training_seconds / max(info.training_seconds + left, 1e-9)

    def _say_compiling(self, function: FunctionType) -> None:
        """A sign of life while functions are compiled."""
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
        """Write into the bar, which is made when it is needed first."""
        if self._bar is None:
            self._bar = _make_bar(self._file)
            self._task = self._bar.add_task("training", total=1.0, text=text)
            self._bar.start()
        self._bar.update(self._task, completed=fraction, text=text)


class Trend:
    """Reads the time left off the latest certificates.

    :attr:`bcfw.run.Info.distance`, the logarithm of the gap over its target, falls about evenly with the cube root of
    the time of training: faster than that of a gap of one over the time, slower than that of a geometric one. A line
    through its latest values tells when it will be zero. Solvers change their pace, so that older values would mislead;
    the best gap stands still for a while and then falls at once, so that few values would, too.
    """

    def __init__(self) -> None:
        self._latest: Mapping[str, float] | None = None
        self._seen: list[tuple[float, float]] = []

    def note(self, info: Info) -> None:
        """Take in what a callback sees: a certificate counts once, that of the start, where nothing moved, does not."""
        if info.latest is not self._latest and info.latest[info.unit] > 0:
            self._seen.append((math.cbrt(info.training_seconds), info.distance))
        self._latest = info.latest

    def seconds_left(self, info: Info) -> float | None:
        """Estimate of the time until the run has converged or a limit ends it; None without evidence."""
        if len(self._seen) < EVIDENCE:
            return None
        seen = np.array(self._seen)
        late = int(np.count_nonzero(seen[:, 0] ** 3 >= (1.0 - SHARE) * seen[-1, 0] ** 3))
        roots, distances = seen[-max(RECENT, late) :].T
        left = _until_limits(info)
        if np.isfinite(distances).all():  # else nothing but a limit ends the run
            ages, falls = roots - roots.mean(), distances.mean() - distances
            if ages @ falls <= 0.0:
                return None
            end = roots[-1] + distances[-1] * (ages @ ages) / (ages @ falls)
            left = min(left, float(end**3) - info.training_seconds)
        return max(0.0, left) if math.isfinite(left) else None


def _until_limits(info: Info) -> float:
    """Seconds until a limit ends the run, at the pace so far."""
    left = info.training_seconds / info.done * (info.limit - info.done) if info.done > 0 else math.inf
    return left if info.max_seconds is None else min(left, info.max_seconds - info.seconds)


def _counted(info: Info, number: float) -> str:
    """The name of a pass or an iteration."""
    return f"{SINGULAR.get(info.unit, info.unit)} {number:.6g}"


def _age(info: Info) -> str:
    """When the numbers that are shown were computed, unless that is now."""
    certified = info.latest[info.unit]
    return "" if certified == info.done else f"; as of {_counted(info, certified)}"


def _bar_text(info: Info, left: str) -> str:
    shown = "".join(f", {name} {value:.4g}" for name, value in info.shown.items())
    return (  # what matters most comes first: a terminal cuts the rest
        f"{_counted(info, info.done)}, {info.training_seconds:.1f} s{left}: gap {info.gap:.2g} > {info.gap_target:.2g}"
        f"{_age(info)}{shown}"
    )


def _can_redraw(file: IO[str]) -> bool:
    """Whether a bar can be redrawn: in a terminal that knows how to, and in a notebook that has widgets."""
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
