"""``bcfw.train``: train a structural SVM with a given model and solver; also the checks of its arguments."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.compile.timing import compile_seconds, compiling_logged
from bcfw.dual import DualProblem, open_problem, snapshots
from bcfw.errors import InputError, ModelError, OptionError, OracleError
from bcfw.inputs.examples import indexable_examples
from bcfw.inputs.memory import memory_named
from bcfw.models.base.model import require_model
from bcfw.models.check.check_model import loss_that_was_missed
from bcfw.models.check.failures import CompilationError, cannot_compile, is_from_numba
from bcfw.options import Count, NonNegative, Positive
from bcfw.progress import progress_callbacks
from bcfw.result import Result, make_result, partial_result
from bcfw.run import Callback, callbacks_notified, check_callbacks
from bcfw.solvers import Solver, find_solver
from bcfw.solvers.auto import has_large_features
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.legs import LegRunner, Legs
from bcfw.solvers.solver import require_supported
from bcfw.storage import checkpoints
from bcfw.storage.files import check_writable

#: Seconds between two saves if ``checkpoint`` is only a path.
CHECKPOINT_SECONDS = 60.0

#: Largest number of threads. More threads would only cost memory, even if the oracle mostly waits.
MOST_THREADS = 1024


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
    checkpoint: str | Path | tuple[str | Path, float] | Legs | None = None,
    n_jobs: int = 1,
    verbose: int = 0,
) -> Result:
    """Train a structural SVM until its duality gap is certified to be small.

    Minimises ``P(w) = lam/2 |w|^2 + (1/S) sum_i s_i max_y [L_i(y) - <w, phi(x_i, y_i) - phi(x_i, y)>]`` by its dual
    problem. The s_i are the sample weights, 1 by default, and S is their sum.

    Parameters
    ----------
    model : bcfw.Model
        A built-in model or your own; it is not changed.
    X, y : sequences
        Inputs and outputs, in the form that the model takes.
    lam : float
        Regularisation, > 0. The C of other SVMs is 1/(lam S).
    solver : Solver or str
        "auto" (see :class:`bcfw.solvers.Auto`; the result's ``solver`` is the chosen solver), another name in
        ``bcfw.solvers.SOLVERS``, or an instance with options.
    tol : float
        Stop when ``gap <= tol P(0)``; P(0) is the weighted mean of the largest loss of each example.
    max_passes, max_seconds : float
        Stop at the first of these limits that is reached. With a cache, 20 visits count at least as one oracle call, so
        that a run without oracle calls still ends.
    bounds : (lower, upper) or None
        Box constraints on w. Each side is a number, a (d,) array (-inf or inf: no bound) or None. The bounds that the
        model needs (``model.bounds()``) apply, too.
    sample_weight : (n,) array or None
        Non-negative weights of the examples. An integer weight has the effect of repeating the example.
    callbacks : sequence of callables
        Each is called with a :class:`bcfw.solvers.PassInfo` after every pass; if it returns True (or a value that
        counts as true), the run stops. If a callback has the methods ``start()`` and ``finish(result)``, they are
        called before and after the run; the result is None if the run failed.
    seed : int
        Seed of the random numbers. Runs with equal seeds are equal, unless the solver uses measured times: "auto" with
        a Python model or a costly oracle (to repeat the run, give the result's ``solver``), and
        ``MultiPlane(clock="wall")``.
    warm_start : Result, path or None
        A result or checkpoint of the same problem (lam may differ) to continue from.
    checkpoint : path, (path, seconds), bcfw.Legs or None
        File in which the state is saved, and the seconds between two saves (default 60). The state is also saved during
        a pass, at the end and after an error. With :class:`bcfw.Legs` the state is saved after a fixed number of
        passes, and a killed run can be continued with exactly the results of an uninterrupted run.
    n_jobs : int
        Number of threads for certificate passes, at most 1024; -1: one per core. With more than one, the oracle of a
        Python model is called from several threads at once.
    verbose : int
        0 quiet, 1 a live display, 2 plain lines. With any of them, compilations and the summary are logged to
        ``logging.getLogger("bcfw")`` at the level INFO.

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
    everyone = (*callbacks, *progress_callbacks(verbose))
    compiled_before = compile_seconds()
    with callbacks_notified(everyone) as ended, compile_errors_explained(model):
        problem = open_problem(model, X, y, float(lam), sample_weight, bounds, thread_count(n_jobs))
        chosen = chosen.resolve(problem)
        require_supported(chosen, problem)
        if path is not None and not chosen.can_checkpoint:
            raise OptionError(f"{type(chosen).__name__} has no state that can be saved; leave checkpoint out")
        if isinstance(checkpoint, Legs) and not chosen.can_resume:
            raise OptionError(f"{type(chosen).__name__} cannot go on from a saved state; leave checkpoint out")
        start = None if warm_start is None else read_warm_start(warm_start)
        if start is not None:
            snapshots.restore(problem, *start)
        chosen.prepare(problem)
        by_clock = None if isinstance(checkpoint, Legs) else path
        autosave = None if by_clock is None else (every, lambda: save_or_warn(problem, by_clock))
        run = CountedRun(problem, tol, max_passes, max_seconds=max_seconds, callbacks=everyone, autosave=autosave)
        require_loss(problem, run, X, y)
        try:
            with run.interrupt, problem.memory_named():
                if isinstance(checkpoint, Legs):
                    outcome = LegRunner(checkpoint, problem, run, chosen, seed, start).solve()
                else:
                    outcome = chosen.solve(problem, run, np.random.default_rng(seed))
            result = make_result(outcome, problem, run, chosen)
        except OracleError as error:
            error.result = partial_result(problem, run, chosen)
            raise
        finally:
            if by_clock is not None and (run.status == "converged" or not problem.is_initial):
                save_or_warn(problem, by_clock)
        result.compile_seconds = compile_seconds() - compiled_before
        ended(result)
    if chosen.certifies:  # else the run has no gap
        run.warn_unless_converged(result.gap, lambda: hint_on_features(problem, outcome.solver or chosen))
    return result


def hint_on_features(problem: DualProblem, solver: Solver) -> str:
    """Return advice for features that are too large for lam; an empty text if they are not."""
    if not has_large_features(problem):
        return ""
    sizes = problem.adapter.feature_sizes(problem.data)
    other = "" if "feature rows" in solver.needs else ", or leave solver='auto', which works in their units"
    return (
        f"the features are large for lam = {problem.lam:g} (root mean squares from {sizes.min():.2g} to "
        f"{sizes.max():.2g}): scale them, with scikit-learn's StandardScaler for example{other}"
    )


def require_loss(problem: DualProblem, run: CountedRun, X: Any, y: Any) -> None:
    """Raise if P(0) is zero because an oracle that claims to be exact misses outputs with a positive loss."""
    if run.value_at_zero == 0.0 and "exact oracle" in problem.adapter.offers:
        some = problem.blocks[:5].tolist()  # these blocks have positive weight, so that they contribute to P(0)
        missed = loss_that_was_missed(problem.adapter.model, indexable_examples(X), indexable_examples(y), some)
        if missed is not None:
            raise missed


@contextlib.contextmanager
def compile_errors_explained(model: Any) -> Iterator[None]:
    """Context that logs compilations and adds advice to failed compilations of a model and to lack of memory."""
    try:
        with (
            compiling_logged(),
            memory_named(type(model).__name__, {}, "use less data, fewer labels or fewer features"),
        ):
            yield
    except Exception as error:
        short = cannot_compile(type(model).__name__, error) if is_from_numba(error) else error
        if not isinstance(short, CompilationError):
            raise
        raise ModelError(f"{short}; bcfw.check_model runs them as plain Python, which often tells more") from None


def check_numbers(lam: Any, tol: Any, max_passes: Any, max_seconds: Any) -> None:
    """Raise OptionError unless these numeric options are in their ranges."""
    Positive(0.01).check("", "lam", lam)
    Positive(1000, finite=False).check("", "max_passes", max_passes)
    NonNegative(1e-3, finite=False).check("", "tol", tol)
    Positive(None, finite=False, or_none=True).check("", "max_seconds", max_seconds)


def check_arguments(model: Any, y: Any, callbacks: Any, seed: Any) -> None:
    """Raise for arguments that are wrong in a way that later errors would not explain."""
    require_model(model)
    if y is None:
        raise InputError("y is None; training needs an output for every input")
    check_callbacks(callbacks)
    Count(0, least=0).check("", "seed", seed)


def read_checkpoint(checkpoint: Any) -> tuple[str | Path | None, float]:
    """Return the path of the checkpoint (or None) and the seconds between saves; raise unless it can be written."""
    pair = isinstance(checkpoint, tuple) and len(checkpoint) == 2
    named = checkpoint.path if isinstance(checkpoint, Legs) else checkpoint
    path, every = checkpoint if pair else (named, CHECKPOINT_SECONDS)
    is_path = path is None or (isinstance(path, str | Path) and str(path))
    if not is_path or not NonNegative(0, finite=False).accepts(every):
        raise OptionError(f"checkpoint must be a path, or a path and a number of seconds >= 0, got {checkpoint!r}")
    if path is not None:
        check_writable(path, "checkpoint")
        path = Path(path).absolute()  # the working directory may change during training
    return path, float(every)


def save_or_warn(problem: DualProblem, path: str | Path) -> None:
    """Write a checkpoint of the problem's state; if it cannot be written, warn."""
    with checkpoints.warned(path):
        snapshots.save(problem, path)


def thread_count(n_jobs: Any) -> int:
    """Return the number of threads for the option ``n_jobs``."""
    threads = Count(1, most=MOST_THREADS)
    if not threads.accepts(n_jobs) and not Count(-1, least=-1, most=-1).accepts(n_jobs):
        raise OptionError(f"n_jobs must be {threads.allowed()}, or -1 for all cores, got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else os.cpu_count() or 1


def read_warm_start(source: Any) -> tuple[dict[str, Any], str]:
    """Return the snapshot of a Result or of a checkpoint file, and its name for messages."""
    if isinstance(source, str | Path):
        return checkpoints.read(source), str(source)
    if isinstance(source, Result):
        if not source.snapshot:
            raise InputError("warm_start: this Result carries no dual state; give the one that train returned")
        return source.snapshot, "warm_start"
    raise OptionError(f"warm_start must be a Result or a checkpoint's path, got {type(source).__name__}")
