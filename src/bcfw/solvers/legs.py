"""Training in legs with a checkpoint after each leg, so that a killed run resumes exactly and loses at most one leg."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.dual import Certificate, DualProblem, snapshots
from bcfw.errors import OptionError
from bcfw.options import Positive
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.solver import Outcome, Solver
from bcfw.storage import checkpoints
from bcfw.storage.checked_arrays import SavedArrays
from bcfw.storage.files import checked_path

#: Prefix of the names of the arrays that a checkpoint of legs holds in addition to the dual state.
PREFIX = "legs_"

#: Columns of the history that are NaN in runs of solvers without a dual point.
OF_THE_DUAL = ("dual", "gap", "gap_bound")


@dataclass(frozen=True)
class Legs:
    """A checkpoint file that is written every ``passes`` passes, and from which a killed run resumes exactly.

    Training is divided into *legs* of ``passes`` passes. Each leg ends by saving the state. The next leg starts from
    the saved state (the dual point and the best weights) and has its own random numbers. So a run that is resumed from
    the file (``warm_start`` with this path) repeats the steps and the final certificate of an uninterrupted run
    exactly; at most one leg is lost. Everything else that a solver remembers (momentum, averages, the cache) starts
    anew in each leg, and so do the stored outputs of models written in Python: legs should be long enough for this.
    The solver must not read the clock; "auto" reads it if the model does not count the operations of its oracle.

    Parameters
    ----------
    path : path
        The checkpoint file.
    passes : float
        Number of passes in a leg, at least 1.

    Examples
    --------
    >>> import numpy as np, bcfw, tempfile, pathlib
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=60)
    >>> X = np.eye(3)[y] + 0.3 * rng.standard_normal((60, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     legs = bcfw.Legs(pathlib.Path(folder) / "run.npz", passes=5)
    ...     whole = bcfw.train(bcfw.models.Multiclass(), X, y, solver="bcfw", checkpoint=legs)
    ...     again = bcfw.train(bcfw.models.Multiclass(), X, y, solver="bcfw", checkpoint=legs,
    ...                        warm_start=legs.path)                   # repeats the last leg
    >>> bool(whole.gap == again.gap), whole.n_passes == again.n_passes
    (True, True)
    """

    path: str | os.PathLike[str]
    passes: float = 10.0

    def __post_init__(self) -> None:
        checked_path(self.path, "Legs: path")
        Positive(10.0).check("Legs", "passes", self.passes)
        if self.passes < 1.0:
            raise OptionError(f"Legs: passes must be at least 1, got {self.passes}")


class LegRunner:
    """A run of a solver that is divided into legs.

    Parameters
    ----------
    legs : Legs
    problem : DualProblem, prepared for the solver
    run : CountedRun
    solver : Solver
    seed : int
    start : (snapshot, its name) or None
        The snapshot from which the problem was restored. If a run in legs has written it, this run continues its counts
        and its history.
    """

    def __init__(
        self,
        legs: Legs,
        problem: DualProblem,
        run: CountedRun,
        solver: Solver,
        seed: int,
        start: tuple[dict[str, Any], str] | None = None,
    ) -> None:
        self.legs, self.problem, self.run, self.solver, self.seed = legs, problem, run, solver, seed
        self._path = Path(legs.path).absolute()  # the working directory may change during training
        self.leg = 0
        saved = None if start is None else SavedArrays(*start)
        if saved is not None and saved.has(PREFIX):
            self._resume(saved)
            self._begin_leg()

    @property
    def settings(self) -> str:
        """The settings that must be equal in all legs, as JSON."""
        return json.dumps(
            {
                "solver": repr(self.solver),
                "seed": self.seed,
                "passes": self.legs.passes,
                "lam": self.problem.lam,
                "data": self.problem.identity[:16],
            }
        )

    def _resume(self, saved: SavedArrays) -> None:
        """Take over the counts and the history of a saved run, or raise if its settings differ."""
        given = str(saved.snapshot[PREFIX + "settings"])
        if given != self.settings:
            raise OptionError(
                f"{saved.source} was written with other options or data: {given} there, {self.settings} here"
            )
        self.leg = int(saved.get(PREFIX + "leg", np.int64, least=1))
        self.problem.oracle_calls = int(saved.get(PREFIX + "oracle_calls", np.int64, least=0))
        counts = [int(saved.get(PREFIX + name, np.int64, least=0)) for name in self.run.COUNTS]
        length = len(saved.get(PREFIX + "history_passes", float, (None,)))
        history, begin = {}, PREFIX + "history_"
        for name in [name for name in saved.snapshot if name.startswith(begin)]:
            column = name.removeprefix(begin)
            may_be_nan = column in OF_THE_DUAL and not self.solver.certifies
            history[column] = saved.get(name, float, (length,), -np.inf, np.inf, may_be_nan)
        self.run.resume(counts, history)

    def solve(self) -> Outcome:
        """Run one leg after the other until the run ends, and return the outcome of the last leg."""
        run, whole = self.run, self.run.limit
        while True:
            run.limit = min(whole, run.budget_used(len(self.problem.blocks)) + self.legs.passes)
            rng = np.random.default_rng([self.seed, self.leg])
            outcome = self.solver.solve(self.problem, run, rng)
            ended_by_leg = run.status == "max_passes" and run.limit < whole
            run.limit = whole
            if not ended_by_leg:
                return outcome
            self.leg += 1
            self._save_and_restart()

    def _save_and_restart(self) -> None:
        """Save the state, and restore the problem from the saved snapshot for the next leg."""
        snapshot = snapshots.take(self.problem)
        run = self.run
        counts = {name: np.int64(getattr(run, name)) for name in run.COUNTS}
        counts |= {"leg": np.int64(self.leg), "oracle_calls": np.int64(self.problem.oracle_calls)}
        history = {f"history_{name}": np.asarray(column, float) for name, column in run.history().items()}
        more = {"settings": self.settings, **counts, **history}
        with checkpoints.warned(self._path):
            checkpoints.write({**snapshot, **{PREFIX + name: value for name, value in more.items()}}, self._path)
        snapshots.restore(self.problem, snapshot)
        self._begin_leg()

    def _begin_leg(self) -> None:
        """Prepare the restored problem and the run; the best weights so far have the certificate of the last row."""
        problem, run = self.problem, self.run
        run.status = run.best = run.start_certificate = None
        if self.solver.certifies:
            w = problem.solution() if problem.point is None else problem.point
            run.best = Certificate(*(run.rows[-1][name] for name in Certificate._fields)), w.copy()
        self.solver.prepare_resumed(problem)
