"""What every optimisation run shares: limits, callbacks, Ctrl-C, history, status and the result."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from bcfw.errors import ConvergenceWarning
from bcfw.models.inputs import by_position

#: Share of the target at which an estimated gap counts as converged although its upper bound has not closed.
ESTIMATED = 0.1


@dataclass
class Result:
    """What training returns.

    Attributes
    ----------
    w : (d,) array
        The weights (the averaged ones when the solver averages).
    primal, dual, gap : float
        ``P(w)``, ``D(alpha)`` and their difference, recomputed at the returned weights by a full oracle pass.
    certified : bool
        Whether ``gap`` is a proven bound on ``P(w) - P*``. If not, the oracle is a heuristic and "converged" means that
        the gap is estimated to be small enough.
    status : str
        "converged", "max_passes", "max_seconds", "stopped", "interrupted" or "stalled".
    lam, n_passes, n_oracle_calls, seconds
        The regularisation, exact-oracle steps divided by n, all oracle calls including certificates, wall-clock time.
    history : dict of arrays
        passes, seconds, primal, dual, gap, oracle_calls: one row at the start, one per certificate, one at exit.
    solver, model
        The solver that ran, and the bound copy of the model.
    last : Result or None
        With averaging: the last iterate with its own certificate.
    snapshot : dict
        The dual state as plain arrays, which ``warm_start`` reads.
    """

    w: np.ndarray
    primal: float
    dual: float
    gap: float
    certified: bool
    status: str
    lam: float
    n_passes: float
    n_oracle_calls: int
    seconds: float
    history: dict[str, np.ndarray] = field(repr=False)
    solver: Any
    model: Any
    last: Result | None = field(default=None, repr=False)
    snapshot: dict[str, Any] = field(default_factory=dict, repr=False)

    def predict(self, X: Any) -> Any:
        """Decode new inputs with the learned weights."""
        return self.model.predict(self.w, by_position(X))


@dataclass(frozen=True)
class Info:
    """What a callback sees after each pass; return True from it to stop.

    ``primal``, ``dual`` and ``gap`` are those of the latest certificate (taken at ``certified_passes``);
    ``w`` is a copy of the current weights.
    """

    n_passes: float
    seconds: float
    primal: float
    dual: float
    gap: float
    certified_passes: float
    gap_target: float
    max_passes: float
    max_seconds: float | None
    weights: Callable[[], np.ndarray] = field(repr=False)

    @property
    def w(self) -> np.ndarray:
        """Copy of the current weights."""
        return self.weights()


Callback = Callable[[Info], Any]


@contextlib.contextmanager
def announced(callbacks: Sequence[Callback]) -> Iterator[Callable[[Result], None]]:
    """Call the methods ``start()`` and ``finish(result)`` of the callbacks that have them, around a run.

    The result is what was given to the function that the context yields; None if it was not called: the run failed.
    """

    def tell(name: str, *facts: Any) -> None:
        for callback in callbacks:
            method = getattr(callback, name, None)
            if callable(method):  # an attribute of that name may be something else, such as a time
                method(*facts)

    results: list[Result] = []
    tell("start")
    try:
        yield results.append
    finally:
        tell("finish", results[-1] if results else None)


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

    A solver reports what it has done (:meth:`record`, :meth:`after_pass`) and asks whether to go on
    (:attr:`status` is None while it may).
    """

    def __init__(
        self,
        gap_target: float,
        max_passes: float,
        max_seconds: float | None = None,
        callbacks: Sequence[Callback] = (),
        autosave: tuple[float, Callable[[], None]] | None = None,
    ) -> None:
        self.gap_target = gap_target
        self.max_passes = max_passes
        self.max_seconds = max_seconds
        self.callbacks = callbacks
        self.autosave = autosave
        self.status: str | None = None
        self.interrupt = Interrupt()
        self.rows: list[dict[str, float]] = []
        #: Oracle calls of steps, visits that may have used the cache instead, and visits to the store alone.
        self.calls = 0
        self.cached_visits = 0
        self.store_visits = 0
        #: A copy of the weights that would be returned now; the solver says how to get them.
        self.weights: Callable[[], np.ndarray]
        self._start = time.perf_counter()
        self._saved = self._start

    @property
    def seconds(self) -> float:
        """Wall-clock time since the start."""
        return time.perf_counter() - self._start

    def record(self, **row: float) -> None:
        """Add a row to the history; convergence is decided here.

        If the oracle is a heuristic with an upper bound, the run goes on until that proves the target, or until the
        estimate is a tenth of it, when the bound is too loose to wait for.
        """
        self.rows.append({"seconds": self.seconds, **row})
        enough = self.gap_target if np.isinf(row["gap_bound"]) else ESTIMATED * self.gap_target
        if row["gap_bound"] <= self.gap_target or row["gap"] <= enough:
            self.status = "converged"

    def check_limits(self, passes: float) -> None:
        """Set the status if a limit is reached or Ctrl-C was pressed."""
        if self.status is not None:
            return
        if self.interrupt.requested:
            self.status = "interrupted"
        elif self.max_seconds is not None and self.seconds >= self.max_seconds:
            self.status = "max_seconds"
        elif passes >= self.max_passes:
            self.status = "max_passes"

    def after_pass(self, passes: float) -> None:
        """Call the callbacks and save if it is time."""
        if self.autosave is not None and time.perf_counter() - self._saved >= self.autosave[0]:
            self.autosave[1]()
            self._saved = time.perf_counter()
        latest = self.rows[-1]
        info = Info(
            n_passes=passes,
            seconds=self.seconds,
            primal=latest["primal"],
            dual=latest["dual"],
            gap=latest["gap"],
            certified_passes=latest["passes"],
            gap_target=self.gap_target,
            max_passes=self.max_passes,
            max_seconds=self.max_seconds,
            weights=self.weights,
        )
        for callback in self.callbacks:
            answer = callback(info)
            if isinstance(answer, bool | np.bool_) and answer and self.status is None:
                self.status = "stopped"

    def history(self) -> dict[str, np.ndarray]:
        """The recorded rows as arrays of equal length."""
        return {key: np.array([row[key] for row in self.rows]) for key in self.rows[0]}

    def warn_unless_converged(self, gap: float) -> None:
        """One warning when a limit ended the run; a stop that the user asked for is silent."""
        if self.status in ("max_passes", "max_seconds", "stalled"):
            advice = {
                "max_passes": "raise max_passes or tol",
                "max_seconds": "raise max_seconds or tol",
                "stalled": "the steps no longer gain anything in floating point; raise tol",
            }
            warnings.warn(
                f"not converged ({self.status}): gap {gap:.3g} is above the target {self.gap_target:.3g}; "
                f"{advice[self.status]}",
                ConvergenceWarning,
                stacklevel=_frames_to_caller(),
            )


def _frames_to_caller() -> int:
    """The ``stacklevel`` at which a warning of our caller shows the first line outside the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    return level
