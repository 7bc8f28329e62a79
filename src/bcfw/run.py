"""What every optimisation run shares: limits, callbacks, Ctrl-C, history, status and the warning at its end."""

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

#: Relative to the objective, a gap that is no more than rounding: a run that stalls there has the status "rounding".
ROUNDING = 1e-9

#: Where users find what a quiet run says.
LOGGER = logging.getLogger("bcfw")


def now() -> float:
    """Seconds of the clock that runs and solvers read; it never goes back."""
    return time.perf_counter()


@dataclass(frozen=True)
class Info:
    """What a callback sees; return True from it to stop. Each optimiser has a subclass with names of its own.

    Attributes
    ----------
    unit : what is counted, "passes" or "iters"
    done : how many of them are done
    seconds : since the start
    latest : the newest row of the history, which was recorded after ``latest[unit]`` of them
    gap_target : the gap at which the run has converged
    limit : how many may be done; infinity for no limit
    max_seconds : when the run ends at the latest; None for no limit
    point : function that returns a copy of the current point
    compile_seconds : how many of the seconds were spent compiling
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
        """Seconds since the start without those spent compiling."""
        return self.seconds - self.compile_seconds

    @property
    def gap(self) -> float:
        """The latest recorded gap."""
        return self.latest["gap"]

    @property
    def distance(self) -> float:
        """How far the latest record is from the end of the run: the logarithm of the gap over its target, down to 0.

        It is infinite if the target is zero.
        """
        if self.gap <= self.gap_target:
            return 0.0
        return float(np.log(self.gap / self.gap_target)) if self.gap_target > 0 else np.inf

    @property
    def shown(self) -> dict[str, float]:
        """Values that a display shows besides the gap, by their names."""
        return {}


Callback = Callable[[Any], Any]


def check_callbacks(callbacks: Any) -> None:
    """Raise unless it is a sequence of callables."""
    if callable(callbacks):
        raise OptionError("callbacks must be a sequence of callables; wrap the one you gave in a list")
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        raise OptionError(f"callbacks must be a sequence of callables, got {callbacks!r}")


@contextlib.contextmanager
def announced(callbacks: Sequence[Callback]) -> Iterator[Callable[[Any], None]]:
    """Call the methods ``start()`` and ``finish(result)`` of the callbacks that have them, around a run.

    The result is what was given to the function that the context yields, whose summary is logged at the level INFO;
    None if it was not called: the run failed.
    """

    def tell(name: str, *facts: Any) -> None:
        for callback in callbacks:
            method = getattr(callback, name, None)
            if callable(method):  # an attribute of that name may be something else, such as a time
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
    """Whether a callback's answer counts as True."""
    try:
        return bool(answer)
    except (TypeError, ValueError) as error:
        raise OptionError(f"a callback must return True to stop, or else False or None, got {answer!r}") from error


class Interrupt:
    """While active, the first Ctrl-C only sets ``requested``; a second one raises as usual.

    Works in the main thread; elsewhere Python never delivers the signal, so nothing is installed.
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

    An optimiser reports what it has done (:meth:`record`, :meth:`after`) and asks whether to go on (:attr:`status` is
    None while it may).

    Parameters
    ----------
    gap_target : float
        The gap at which the run has converged.
    limit : float
        How many passes (or iterations) it may take.
    max_seconds : float or None
    callbacks : sequence of callables
        Each is called with an ``info`` after every pass.
    autosave : (seconds, function) or None
        Called after a pass, or within a long one, when so many seconds have gone since the last time.
    unit : str
        What is counted: the column of the history that holds it, and, after "max_", the status when the limit ends the
        run.
    info : class
        The subclass of :class:`Info` that callbacks see.
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
        #: A copy of the point that would be returned now; the optimiser says how to get it.
        self.point: Callable[[], Any]
        self._start = now()
        self._saved = self._start

    @property
    def seconds(self) -> float:
        """Wall-clock time since the start."""
        return now() - self._start

    @property
    def compile_seconds(self) -> float:
        """How many of these seconds were spent compiling; none where nothing is compiled."""
        return 0.0

    def record(self, converged: bool, **row: float) -> None:
        """Add a row to the history, which must have the columns ``unit`` and gap; the caller judges convergence."""
        self.rows.append({"seconds": self.seconds, **row})
        if converged:
            self.status = "converged"

    def check_limits(self, done: float) -> None:
        """Set the status if a limit is reached or Ctrl-C was pressed."""
        if self.status is not None:
            return
        if self.interrupt.requested:
            self.status = "interrupted"
        elif self.max_seconds is not None and self.seconds >= self.max_seconds:
            self.status = "max_seconds"
        elif done >= self.limit:
            self.status = f"max_{self.unit}"

    def stall(self, scale: float) -> None:
        """End the run, unless it has ended, because no step gains anything any more.

        The status is "rounding" where the latest gap is as small as the rounding of an objective of size ``scale``,
        else "stalled".
        """
        if self.status is None:
            self.status = "rounding" if self.rows[-1]["gap"] <= ROUNDING * scale else "stalled"

    def save_if_due(self) -> None:
        """Save if it is time; an optimiser may ask for it wherever its state is whole."""
        if self.autosave is not None and now() - self._saved >= self.autosave[0]:
            self.autosave[1]()
            self._saved = now()

    def after(self, done: float) -> None:
        """After a pass or an iteration: save if it is time, and call the callbacks."""
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
        """The recorded rows as arrays of equal length."""
        return {key: np.array([row[key] for row in self.rows]) for key in self.rows[0]}

    def warn_unless_converged(self, gap: float, hint: Callable[[], str] = str) -> None:
        """One warning when a limit ended the run, with what ``hint()`` adds; a stop that users asked for is silent."""
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
    """Both times in words, as summaries of runs have them; compilation only where it was seen."""
    compiled = f" (and {compile_seconds:.1f} s of compilation)" if compile_seconds >= 0.05 else ""
    return f"{training_seconds:.2f} s{compiled}"


def warn_of_limit(message: str) -> None:
    """A ConvergenceWarning that shows the user's own line."""
    warn(message, ConvergenceWarning)
