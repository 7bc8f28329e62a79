"""The class Run, shared by all optimisers: limits, callbacks, Ctrl-C, history, status and the warning at the end."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from bcfw.errors import ConvergenceWarning, OptionError, warn

#: A gap of at most this share of the objective is rounding: a run that stalls with this gap has the status "rounding".
ROUNDING = 1e-9

#: The logger of the library; it receives the summary of every run.
LOGGER = logging.getLogger("bcfw")


def now() -> float:
    """Return the seconds of a monotonic clock, which all runs and solvers use."""
    return time.perf_counter()


@dataclass(frozen=True)
class Info:
    """The argument of callbacks: the progress of a run. A callback returns True to stop the run.

    Each optimiser has a subclass with additional names.

    Attributes
    ----------
    unit : what the run counts, "passes" or "iters"
    done : the number of passes or iterations so far
    seconds : seconds since the start of the run
    latest : the newest row of the history, which was recorded after ``latest[unit]`` passes or iterations
    gap_target : the gap at which the run has converged
    limit : the largest number of passes or iterations; infinity for no limit
    max_seconds : the largest number of seconds; None for no limit
    point : function that returns a copy of the current point
    compile_seconds : the part of ``seconds`` that was spent compiling
    """

    unit: str
    done: float
    seconds: float
    latest: Mapping[str, float]
    gap_target: float
    limit: float
    max_seconds: float | None
    point: Callable[[], Any] = field(repr=False)
    compile_seconds: float = 0.0

    @property
    def training_seconds(self) -> float:
        """Seconds since the start of the run, without the seconds of compilation."""
        return self.seconds - self.compile_seconds

    @property
    def gap(self) -> float:
        """The latest recorded gap."""
        return self.latest["gap"]

    @property
    def distance(self) -> float:
        """How far the run is from convergence: ``log(gap / gap_target)`` of the latest record, but at least 0.

        The distance is infinite if the target is zero and the gap is not.
        """
        if self.gap <= self.gap_target:
            return 0.0
        return float(np.log(self.gap / self.gap_target)) if self.gap_target > 0 else np.inf

    @property
    def shown(self) -> dict[str, float]:
        """Values by name that a progress display shows besides the gap."""
        return {}


Callback = Callable[[Any], Any]


def check_callbacks(callbacks: Any) -> None:
    """Raise ``OptionError`` unless ``callbacks`` is a sequence of callables."""
    if callable(callbacks):
        raise OptionError("callbacks must be a sequence of callables; wrap the one you gave in a list")
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        raise OptionError(f"callbacks must be a sequence of callables, got {callbacks!r}")


@contextlib.contextmanager
def callbacks_notified(callbacks: Sequence[Callback]) -> Iterator[Callable[[Any], None]]:
    """Context of a run: call ``start()`` of the callbacks at its beginning, and ``finish(result)`` at its end.

    Callbacks without these methods are skipped. The context yields a function, which the caller calls with the result
    of the run; the function logs the result's summary at the level INFO. If the run fails before this call, the
    callbacks get ``finish(None)``.
    """

    def tell(name: str, *facts: Any) -> None:
        for callback in callbacks:
            method = getattr(callback, name, None)
            if callable(method):  # "start" may be another attribute, such as a time
                method(*facts)

    results: list[Any] = []

    def ended(result: Any) -> None:
        results.append(result)
        LOGGER.info("%s", result.summary())

    tell("start")
    try:
        yield ended
    finally:
        tell("finish", results[-1] if results else None)


def wants_to_stop(answer: Any) -> bool:
    """Return whether a callback's return value is true; raise ``OptionError`` if it has no truth value."""
    try:
        return bool(answer)
    except (TypeError, ValueError) as error:
        raise OptionError(f"a callback must return True to stop, or else False or None, got {answer!r}") from error


class Interrupt:
    """Context in which the first Ctrl-C only sets ``requested``; a second Ctrl-C raises ``KeyboardInterrupt``.

    The handler is only installed in the main thread: Python never delivers the signal to other threads.
    """

    def __init__(self) -> None:
        self.requested = False
        self._previous: Any = None

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True


class Run:
    """Limits, history and callbacks of one run.

    An optimiser reports its progress (:meth:`record`, :meth:`after`) and goes on while :attr:`status` is None.

    Parameters
    ----------
    gap_target : float
        The gap at which the run has converged.
    limit : float
        The largest number of passes (or iterations).
    max_seconds : float or None
        The largest number of seconds; None for no limit.
    callbacks : sequence of callables
        Each is called with an :class:`Info` after every pass or iteration.
    autosave : (seconds, function) or None
        The function is called after a pass, or during a long pass, when this many seconds have passed since its last
        call.
    unit : str
        What the run counts, "passes" or "iters". The column of the history with the count has this name, and the status
        is "max_" + ``unit`` if the limit ends the run.
    info : class
        The subclass of :class:`Info` that callbacks get.
    """

    def __init__(
        self,
        gap_target: float,
        limit: float,
        max_seconds: float | None = None,
        callbacks: Sequence[Callback] = (),
        autosave: tuple[float, Callable[[], None]] | None = None,
        unit: str = "passes",
        info: type[Info] = Info,
    ) -> None:
        self.gap_target = gap_target
        self.limit = limit
        self.max_seconds = max_seconds
        self.callbacks = callbacks
        self.autosave = autosave
        self.unit = unit
        self.info = info
        self.status: str | None = None
        self.interrupt = Interrupt()
        self.rows: list[dict[str, float]] = []
        #: Function that returns a copy of the current point; the optimiser sets it.
        self.point: Callable[[], Any]
        self._start = now()
        self._saved = self._start

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since the start of the run."""
        return now() - self._start

    @property
    def compile_seconds(self) -> float:
        """Seconds that were spent compiling; 0 for optimisers that compile nothing."""
        return 0.0

    def record(self, converged: bool, **row: float) -> None:
        """Add a row to the history, with at least the columns ``unit`` and "gap"; the caller decides on convergence."""
        self.rows.append({"seconds": self.seconds, **row})
        if converged:
            self.status = "converged"

    def check_limits(self, done: float) -> None:
        """Set the status if ``done`` or the time has reached its limit, or if Ctrl-C was pressed."""
        if self.status is not None:
            return
        if self.interrupt.requested:
            self.status = "interrupted"
        elif self.max_seconds is not None and self.seconds >= self.max_seconds:
            self.status = "max_seconds"
        elif done >= self.limit:
            self.status = f"max_{self.unit}"

    def stall(self, scale: float) -> None:
        """End the run, because no step gains anything any more; a status that is already set does not change.

        The status is "rounding" if the latest gap is proved to be as small as the rounding of an objective of size
        ``scale``, and "stalled" otherwise.
        """
        if self.status is None:
            proved = self.rows[-1].get("gap_bound", self.rows[-1]["gap"])
            self.status = "rounding" if proved <= ROUNDING * scale else "stalled"

    def save_if_due(self) -> None:
        """Save if it is time; an optimiser may call this whenever its state is consistent, also during a pass."""
        if self.autosave is not None and now() - self._saved >= self.autosave[0]:
            self.autosave[1]()
            self._saved = now()

    def after(self, done: float) -> None:
        """End a pass or an iteration: save if it is time, and call the callbacks, one of which may stop the run."""
        self.save_if_due()
        if not self.callbacks:
            return
        info = self.info(
            unit=self.unit,
            done=done,
            seconds=self.seconds,
            latest=self.rows[-1],
            gap_target=self.gap_target,
            limit=self.limit,
            max_seconds=self.max_seconds,
            point=self.point,
            compile_seconds=self.compile_seconds,
        )
        for callback in self.callbacks:
            if wants_to_stop(callback(info)) and self.status is None:
                self.status = "stopped"

    def history(self) -> dict[str, np.ndarray]:
        """Return the recorded rows by column, as arrays of equal length."""
        return {key: np.array([row[key] for row in self.rows]) for key in self.rows[0]}

    def warn_unless_converged(self, gap: float, hint: Callable[[], str] = str) -> None:
        """Warn if a limit or a stall ended the run, and add the advice that ``hint()`` returns.

        There is no warning if the user stopped the run.
        """
        limit = f"max_{self.unit}"
        advice = {
            limit: f"raise {limit} or tol",
            "max_seconds": "raise max_seconds or tol",
            "stalled": "the steps no longer gain anything in floating point; raise tol",
        }
        if self.status in advice:
            warn_of_limit(
                f"not converged ({self.status}): gap {gap:.3g} is above the target {self.gap_target:.3g}; "
                f"{advice[self.status]}{(more := hint()) and f'; {more}'}"
            )


def duration(training_seconds: float, compile_seconds: float) -> str:
    """Return the text for both times in summaries; a compilation time that would be shown as 0.0 s is left out."""
    compiled = f" (and {compile_seconds:.1f} s of compilation)" if compile_seconds >= 0.05 else ""
    return f"{training_seconds:.2f} s{compiled}"


def warn_of_limit(message: str) -> None:
    """Issue a ``ConvergenceWarning`` that points to the user's line of code."""
    warn(message, ConvergenceWarning)
