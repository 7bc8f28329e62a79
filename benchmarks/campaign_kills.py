"""Training that is killed at random moments, and goes on from its checkpoint: nothing of it may be lost or left behind.

    nice python benchmarks/campaign_kills.py [--count 30] [--log FILE]

Each problem starts a training process that saves every 0.05 seconds (some of them all the time, so that many kills fall
into a save), kills it with SIGKILL at a random moment, and starts another one from the checkpoint, up to three times.
The oracles written in Python take some milliseconds, so that passes are longer than the time between saves. Then

- the checkpoint is readable and was, when the process was killed, at most some seconds older than the time between
  saves;
- its dual value is not smaller than the last one before, if the solver's dual never decreases;
- the last run converges, and its certificate encloses the enumerated optimum as that of an uninterrupted run does;
- no temporary file is left beside the checkpoint.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import bcfw
import campaign
from bcfw.dual import snapshots
from bcfw.storage import checkpoints
from campaign import Outcome

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from problems import CASES, Case, Pairs  # noqa: E402 - small problems whose outputs are enumerated


class SlowPairs(Pairs):
    """An oracle that takes three milliseconds."""

    def oracle(self, w: Any, x: Any, y_true: Any = None) -> Any:
        time.sleep(0.003)
        return super().oracle(w, x, y_true)


def repeated(name: str, times: int) -> Case:
    """A case with every example several times, so that a pass takes a while."""
    case = CASES[name]
    if isinstance(case.model, Pairs):
        case = dataclasses.replace(case, model=SlowPairs(case.model.K, case.model.cost))
    return dataclasses.replace(case.take(np.tile(np.arange(len(case.y)), times)), lam=0.01)


#: Case, how often its examples are repeated, solver, tolerance.
RUNS = [
    ("dense-features", 10, bcfw.solvers.BCFW(), 0.02),
    ("dense-features", 10, bcfw.solvers.MultiPlane(clock="count"), 1e-4),
    ("dense-features", 10, bcfw.solvers.MultiPlane(clock="count", acceleration=10), 1e-4),
    ("chain-wide", 2000, bcfw.solvers.BCFW(step="pairwise"), 1e-4),
    ("chain-cost", 2000, bcfw.solvers.BCFW(sampling="gap", step="away", cache="gap"), 1e-4),
    ("multiclass-wide", 3000, bcfw.solvers.BCFW(), 1e-3),
    ("multilabel-tree", 2000, bcfw.solvers.MultiPlane(clock="count"), 1e-5),
    ("graph-cost", 500, bcfw.solvers.BCFW(averaging=True), 1e-2),
    ("user-compiled", 2000, bcfw.solvers.BCFW(step="pairwise"), 1e-5),
]


def train(run: int, path: Path, every: float, fast: bool = False) -> bcfw.Result:
    """What a killed process does, or, ``fast``, what goes on to the end."""
    name, times, solver, tol = RUNS[run]
    case = repeated(name, times)
    start = {"warm_start": path} if path.exists() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcfw.ConvergenceWarning)
        return case.train(
            solver=solver if not fast else "auto",
            tol=tol if fast else 1e-9,
            max_passes=100_000,
            checkpoint=(path, every),
            callbacks=[] if fast else [lambda info: print("pass", flush=True)],
            **start,
        )


def saved_dual(case: Case, path: Path) -> float:
    """The dual value of a checkpoint, computed from its averages."""
    problem = case.problem()
    snapshots.restore(problem, checkpoints.read(path), str(path))
    return problem.dual_value()


#: What a call, a certificate and a save may take on a busy machine.
SLACK = 5.0


def kill_once(run: int, path: Path, every: float, rng: np.random.Generator) -> tuple[bool, float]:
    """Start a process, kill it some time after its first save; whether it was within a save, age of the checkpoint."""
    command = [sys.executable, __file__, "--train", str(run), str(path), str(every)]
    before = path.stat().st_mtime_ns if path.exists() else 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and (path.stat().st_mtime_ns if path.exists() else 0) == before:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.4)
        process.kill()
        process.wait()
        age = time.time() - path.stat().st_mtime
    return any(path.parent.glob("*.part")), age


def one_problem(number: int, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        return one_round(number, seed, Path(folder))


def one_round(number: int, seed: int, folder: Path) -> Outcome:
    rng = np.random.default_rng([seed, number])
    run, every = number % len(RUNS), float(rng.choice([0.0, 0.05]))
    name, times, solver, _ = RUNS[run]
    case, path = repeated(name, times), folder / f"run-{number}.npz"
    wrong, duals, inside, ages = [], [0.0], [], []
    for _ in range(rng.integers(1, 4)):
        within, age = kill_once(run, path, every, rng)
        inside.append(within)
        ages.append(age)
        duals.append(saved_dual(case, path))
        if age > every + SLACK:
            wrong.append(f"the checkpoint was {age:.1f} s old")
        if solver.monotone and duals[-1] < duals[-2] - 1e-12:
            wrong.append(f"the dual fell from {duals[-2]} to {duals[-1]}")
    result = train(run, path, every, fast=True)
    best = CASES[name].enumerated(lam=case.lam).optimum  # repetition does not change the objective
    whole = repeated(name, 1).train(tol=RUNS[run][3], max_passes=100_000)
    if result.status != "converged":
        wrong.append(f"ended as {result.status}")
    if not (result.dual <= best.primal + 1e-9 and best.dual - 1e-9 <= result.primal <= best.primal + result.gap + 1e-9):
        wrong.append(f"{result.summary()}: the optimum is {best.primal:.8g}")
    if abs(result.primal - whole.primal) > max(result.gap, whole.gap) + 1e-9:
        wrong.append(f"primal {result.primal} where an uninterrupted run has {whole.primal}")
    left = [file.name for file in folder.iterdir() if file.suffix == ".part"]
    if left:
        wrong.append(f"left behind: {left}")
    status = f"{len(inside)} kills, {sum(inside)} of them within a save"
    about = f"{solver}, every {every} s, checkpoints at most {max(ages):.2f} s old"
    return Outcome(f"killed: {name}", status, wrong, about)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        train(int(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]))
    else:
        sys.exit(campaign.main(__doc__, one_problem, count=30))
