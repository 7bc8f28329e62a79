"""``bcfw.train``: data in, certified weights out."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from bcfw import files
from bcfw.dual import Certificate, DualProblem, read_sample_weight, snapshots
from bcfw.errors import InputError, ModelError, OptionError, OracleError, nearest
from bcfw.models import Model
from bcfw.models.base import require_model
from bcfw.models.inputs import by_position
from bcfw.progress import progress_callbacks
from bcfw.run import Callback, Result, Run, announced
from bcfw.solvers import SOLVERS, Solver
from bcfw.solvers.base import Outcome

#: Seconds between saves when ``checkpoint`` is only a path.
CHECKPOINT_SECONDS = 60.0


def train(
    model: Any,
    X: Any,
    y: Any,
    lam: float = 0.01,
    solver: Solver | str = "auto",
    tol: float = 1e-3,
    max_passes: float = 1000,
    max_seconds: float | None = None,
    bounds: Any = None,
    sample_weight: Any = None,
    callbacks: Sequence[Callback] = (),
    seed: int = 0,
    warm_start: Result | str | Path | None = None,
    checkpoint: str | Path | tuple[str | Path, float] | None = None,
    n_jobs: int = 1,
    verbose: int = 0,
) -> Result:
    """Train a structural SVM until its duality gap is certified to be small.

    Minimises ``P(w) = lam/2 |w|^2 + (1/S) sum_i s_i max_y [L_i(y) - <w, phi(x_i, y_i) - phi(x_i, y)>]``, where s_i are
    the sample weights (1) and S their sum, through its dual.

    Parameters
    ----------
    model : bcfw.Model
        A built-in or your own structure; it is not changed.
    X, y : sequences
        Inputs and outputs, in the form the model takes.
    lam : float
        Regularisation, > 0. The C of other SVMs is 1/(lam S).
    solver : Solver or str
        "auto" (see :class:`bcfw.solvers.Auto`; the result's ``solver`` says what it chose), another name in
        ``bcfw.solvers.SOLVERS``, or an instance with options.
    tol : float
        Stop when ``gap <= tol P(0)``; P(0) is the weighted mean of the worst losses.
    max_passes, max_seconds : float
        Limits; whichever comes first. With a cache, a twentieth of the visits that may use it counts as passes, if that
        is more.
    bounds : (lower, upper) or None
        Box constraints on w: each side a number, a (d,) array (-inf and inf leave a weight free) or None. They are
        joined with those that the model needs (``model.bounds()``).
    sample_weight : (n,) array or None
        Non-negative weights; an integer weight equals repetition.
    callbacks : sequence of callables
        Each is called with an :class:`bcfw.run.Info` after every pass; True stops. A callback's methods ``start()`` and
        ``finish(result)``, if it has them, are called before and after the run (with None, if it failed).
    seed : int
        Makes the run reproducible, except where a solver reads the clock: "auto" with a Python model or a costly
        oracle (give the result's ``solver`` instead), and ``MultiPlane(clock="wall")``.
    warm_start : Result, path or None
        A result or checkpoint of the same problem (lam may differ) to continue from.
    checkpoint : path, (path, seconds) or None
        Where, and how often (60 s), to save the state; also saved at the end and after an error.
    n_jobs : int
        Threads of the certificate passes; -1 takes all cores. The oracle of a Python model is then called from several
        threads at once.
    verbose : int
        0 quiet, 1 a live display, 2 plain lines.

    Returns
    -------
    Result

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=60)
    >>> X = np.eye(3)[y] + 0.3 * rng.standard_normal((60, 3))
    >>> result = bcfw.train(bcfw.models.Multiclass(), X, y, lam=0.01, tol=1e-4)
    >>> result.status, bool(result.gap <= 1e-4)
    ('converged', True)
    """
    chosen = find_solver(solver)
    check_arguments(model, y, callbacks, seed)
    check_numbers(lam, tol, max_passes, max_seconds)
    path, every = read_checkpoint(checkpoint)
    X, y = by_position(X), by_position(y)
    everyone = (*callbacks, *progress_callbacks(verbose))
    with announced(everyone) as ended, explained(model):
        bound = bind(model, X, y, sample_weight)
        problem = DualProblem(bound, X, y, float(lam), sample_weight, thread_count(n_jobs), bounds)
        if warm_start is not None:
            problem.restore(read_warm_start(warm_start))
        chosen.prepare(problem)
        autosave = None if path is None else (every, lambda: save_or_warn(problem, path))
        run = Run(0.0, max_passes, max_seconds, everyone, autosave)
        run.gap_target = tol * problem.worst_loss
        try:
            with run.interrupt:
                outcome = chosen.solve(problem, run, np.random.default_rng(seed))
            result = make_result(outcome, problem, run, chosen)
        except OracleError as error:
            error.result = partial_result(problem, run, chosen)
            raise
        finally:
            if path is not None and not problem.untouched:
                save_or_warn(problem, path)
        ended(result)
    run.warn_unless_converged(result.gap)
    return result


@contextlib.contextmanager
def explained(model: Model) -> Iterator[None]:
    """Say what to do where numba fails on the kernels of a model."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("numba."):
            raise
        raise ModelError(
            f"{type(model).__name__}: numba cannot compile its kernels (its message is above); bcfw.check_model runs "
            "them as plain Python, which often tells more"
        ) from error


def find_solver(solver: Solver | str) -> Solver:
    """An instance for a name."""
    if isinstance(solver, Solver):
        return solver
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]()
    if isinstance(solver, type) and issubclass(solver, Solver):
        raise OptionError(f"solver is the class {solver.__name__}; give an instance, {solver.__name__}()")
    raise OptionError(f"solver {solver!r} is unknown; {nearest(str(solver), list(SOLVERS))}")


def check_numbers(lam: Any, tol: Any, max_passes: Any, max_seconds: Any) -> None:
    """The limits that every problem needs, each with its own error."""
    if not is_number(lam) or not 0 < lam < np.inf:
        raise OptionError(f"lam must be a finite number > 0, got {lam!r}")
    if not is_number(max_passes) or not max_passes > 0:
        raise OptionError(f"max_passes must be a number > 0, got {max_passes!r}")
    if not is_number(tol) or not tol >= 0:
        raise OptionError(f"tol must be a number >= 0, got {tol!r}")
    if max_seconds is not None and not (is_number(max_seconds) and max_seconds > 0):
        raise OptionError(f"max_seconds must be a number > 0 or None, got {max_seconds!r}")


def bind(model: Model, X: Any, y: Any, sample_weight: Any) -> Model:
    """The model with everything set that the data, and where it matters their weights, determine."""
    if sample_weight is None or not model.binds_weights:
        return model.bind(X, y)
    binding: Any = model.bind
    return binding(X, y, read_sample_weight(sample_weight, len(y)))


def check_arguments(model: Any, y: Any, callbacks: Any, seed: Any) -> None:
    """Mistakes that would otherwise show up far from their cause."""
    require_model(model)
    if y is None:
        raise InputError("y is None; training needs an output for every input")
    if callable(callbacks):
        raise OptionError("callbacks must be a sequence of callables; wrap the one you gave in a list")
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        raise OptionError(f"callbacks must be a sequence of callables, got {callbacks!r}")
    if not isinstance(seed, Integral) or seed < 0:
        raise OptionError(f"seed must be a whole number >= 0, got {seed!r}")


def read_checkpoint(checkpoint: Any) -> tuple[str | Path | None, float]:
    """Where and how often to save; the folder must exist before hours of work depend on it."""
    pair = isinstance(checkpoint, tuple) and len(checkpoint) == 2
    path, every = checkpoint if pair else (checkpoint, CHECKPOINT_SECONDS)
    is_path = path is None or (isinstance(path, str | Path) and str(path))
    if not is_path or not is_number(every) or not every >= 0:
        raise OptionError(f"checkpoint must be a path, or a path and a number of seconds >= 0, got {checkpoint!r}")
    if path is not None:
        files.check_writable(path, "checkpoint")
    return path, float(every)


def save_or_warn(problem: DualProblem, path: str | Path) -> None:
    """A checkpoint that cannot be written must not cost what was computed."""
    try:
        problem.save(path)
    except (OSError, InputError) as error:
        warnings.warn(f"the checkpoint {path} was not written: {error}", RuntimeWarning, stacklevel=2)


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def thread_count(n_jobs: int) -> int:
    if not isinstance(n_jobs, Integral) or n_jobs == 0 or n_jobs < -1:
        raise OptionError(f"n_jobs must be a whole number >= 1, or -1 for all cores, got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else os.cpu_count() or 1


def read_warm_start(source: Any) -> dict[str, Any]:
    """The snapshot behind a Result or a checkpoint path."""
    if isinstance(source, str | Path):
        return snapshots.read(source)
    if isinstance(source, Result):
        if not source.snapshot:
            raise InputError("warm_start: this Result carries no dual state; give the one that train returned")
        return source.snapshot
    raise OptionError(f"warm_start must be a Result or a checkpoint's path, got {type(source).__name__}")


def make_result(
    outcome: Outcome, problem: DualProblem, run: Run, solver: Solver, snapshot: dict[str, Any] | None = None
) -> Result:
    """The result of an outcome; its last iterate, if that is another point, shares the snapshot."""
    certificate = outcome.certificate
    certified = certificate.gap_bound <= max(certificate.gap, run.gap_target)
    if certified and certificate.gap_bound > certificate.gap:  # a heuristic oracle, but its upper bound closes the gap
        certificate = certificate._replace(primal=certificate.dual + certificate.gap_bound, gap=certificate.gap_bound)
        run.rows[-1] |= {"primal": certificate.primal, "gap": certificate.gap}
    snapshot = problem.snapshot() if snapshot is None else snapshot
    return Result(
        w=outcome.w,
        primal=certificate.primal,
        dual=certificate.dual,
        gap=certificate.gap,
        certified=certified,
        status=run.status or "max_passes",
        lam=problem.lam,
        n_passes=outcome.passes,
        n_oracle_calls=problem.oracle_calls,
        seconds=run.seconds,
        history=run.history(),
        solver=outcome.solver or solver,
        model=problem.model,
        last=None if outcome.last is None else make_result(outcome.last, problem, run, solver, snapshot),
        snapshot=snapshot,
    )


def partial_result(problem: DualProblem, run: Run, solver: Solver) -> Result | None:
    """What had been reached when an oracle failed: the weights without a certificate of their own."""
    if not run.rows:
        return None
    nan, passes = float("nan"), max(run.rows[-1]["passes"], run.calls / len(problem.blocks))
    outcome = Outcome(run.weights(), Certificate(nan, problem.dual_value(), nan, nan), passes)
    result = make_result(outcome, problem, run, solver)
    result.certified, result.status = False, "interrupted"
    return result
