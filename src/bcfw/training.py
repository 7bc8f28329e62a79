"""``bcfw.train``: data in, certified weights out."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bcfw.dual import DualProblem, open_problem, snapshots
from bcfw.errors import InputError, ModelError, OptionError, OracleError
from bcfw.files import check_writable
from bcfw.inputs.examples import by_position
from bcfw.kernels.compiling import compile_seconds, compiling_logged
from bcfw.memory import memory_named
from bcfw.models.check import loss_that_was_missed
from bcfw.models.failures import CompilationError, cannot_compile, is_from_numba
from bcfw.models.model import require_model
from bcfw.options import Count, NonNegative, Positive
from bcfw.progress import progress_callbacks
from bcfw.result import Result, make_result, partial_result
from bcfw.run import Callback, announced, check_callbacks
from bcfw.solvers import Solver, find_solver
from bcfw.solvers.auto import has_large_features
from bcfw.solvers.base import require_match
from bcfw.solvers.legs import Journey, Legs
from bcfw.solvers.run import SolverRun

#: Seconds between saves when ``checkpoint`` is only a path.
CHECKPOINT_SECONDS = 60.0

#: More threads than this only cost memory, even where the oracle waits for something else than the processor.
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
        Limits; whichever comes first. With a cache, 20 visits count at least as one oracle call, so that a run without
        calls still ends.
    bounds : (lower, upper) or None
        Box constraints on w: each side a number, a (d,) array (-inf and inf leave a weight free) or None. They are
        joined with those that the model needs (``model.bounds()``).
    sample_weight : (n,) array or None
        Non-negative weights; an integer weight equals repetition.
    callbacks : sequence of callables
        Each is called with a :class:`bcfw.solvers.PassInfo` after every pass; True, or what counts as it, stops. A
        callback's methods ``start()`` and ``finish(result)``, if it has them, are called before and after the run
        (with None, if it failed).
    seed : int
        Makes the run reproducible, except where a solver reads the clock: "auto" with a Python model or a costly
        oracle (give the result's ``solver`` instead), and ``MultiPlane(clock="wall")``.
    warm_start : Result, path or None
        A result or checkpoint of the same problem (lam may differ) to continue from.
    checkpoint : path, (path, seconds), bcfw.Legs or None
        Where, and how often (60 s), to save the state, also within a pass; saved at the end and after an error, too.
        With :class:`bcfw.Legs` it is saved after every so many passes, and a run that is killed can go on exactly.
    n_jobs : int
        Threads of the certificate passes, at most 1024; -1 takes all cores. The oracle of a Python model is then
        called from several threads at once.
    verbose : int
        0 quiet, 1 a live display, 2 plain lines. At any of them, ``logging.getLogger("bcfw")`` hears at the level INFO
        what is compiled, and the summary.

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
    with announced(everyone) as ended, explained(model):
        problem = open_problem(model, X, y, float(lam), sample_weight, bounds, thread_count(n_jobs))
        chosen = chosen.chosen_for(problem)
        require_match(chosen, problem)
        if path is not None and not chosen.saves:
            raise OptionError(f"{type(chosen).__name__} has no state that can be saved; leave checkpoint out")
        if isinstance(checkpoint, Legs) and not chosen.continues:
            raise OptionError(f"{type(chosen).__name__} cannot go on from a saved state; leave checkpoint out")
        start = None if warm_start is None else read_warm_start(warm_start)
        if start is not None:
            snapshots.restore(problem, *start)
        chosen.prepare(problem)
        by_clock = None if isinstance(checkpoint, Legs) else path
        autosave = None if by_clock is None else (every, lambda: save_or_warn(problem, by_clock))
        run = SolverRun(problem, tol, max_passes, max_seconds=max_seconds, callbacks=everyone, autosave=autosave)
        require_loss(problem, run, X, y)
        try:
            with run.interrupt, problem.memory_named():
                if isinstance(checkpoint, Legs):
                    outcome = Journey(checkpoint, problem, run, chosen, seed, start).solve()
                else:
                    outcome = chosen.solve(problem, run, np.random.default_rng(seed))
            result = make_result(outcome, problem, run, chosen)
        except OracleError as error:
            error.result = partial_result(problem, run, chosen)
            raise
        finally:
            if by_clock is not None and not problem.untouched:
                save_or_warn(problem, by_clock)
        result.compile_seconds = compile_seconds() - compiled_before
        ended(result)
    if chosen.certifies:  # else there is no gap to wait for
        run.warn_unless_converged(result.gap, lambda: hint_on_features(problem, outcome.solver or chosen))
    return result


def hint_on_features(problem: DualProblem, solver: Solver) -> str:
    """What to do about features that are too large for their regularisation; nothing if they are not."""
    if not has_large_features(problem):
        return ""
    sizes = problem.form.feature_sizes(problem.data)
    other = "" if "feature rows" in solver.needs else ", or leave solver='auto', which works in their units"
    return (
        f"the features are large for lam = {problem.lam:g} (root mean squares from {sizes.min():.2g} to "
        f"{sizes.max():.2g}): scale them, with scikit-learn's StandardScaler for example{other}"
    )


def require_loss(problem: DualProblem, run: SolverRun, X: Any, y: Any) -> None:
    """Raise if P(0) is zero because an oracle that should be exact overlooks the loss."""
    if run.value_at_zero == 0.0 and "exact oracle" in problem.form.offers:
        some = problem.blocks[:5].tolist()  # those without weight have no part in P(0)
        missed = loss_that_was_missed(problem.form.model, by_position(X), by_position(y), some)
        if missed is not None:
            raise missed


@contextlib.contextmanager
def explained(model: Any) -> Iterator[None]:
    """Log what numba compiles, and say what to do where it fails on the kernels of a model, or memory is too small."""
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
    """The numbers that every problem needs, each with its own error."""
    Positive(0.01).check("", "lam", lam)
    Positive(1000, finite=False).check("", "max_passes", max_passes)
    NonNegative(1e-3, finite=False).check("", "tol", tol)
    Positive(None, finite=False, or_none=True).check("", "max_seconds", max_seconds)


def check_arguments(model: Any, y: Any, callbacks: Any, seed: Any) -> None:
    """Mistakes that would otherwise show up far from their cause."""
    require_model(model)
    if y is None:
        raise InputError("y is None; training needs an output for every input")
    check_callbacks(callbacks)
    Count(0, least=0).check("", "seed", seed)


def read_checkpoint(checkpoint: Any) -> tuple[str | Path | None, float]:
    """Where and how often to save; the folder must exist before hours of work depend on it."""
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
    """Write a checkpoint of the problem's state."""
    with snapshots.warned(path):
        snapshots.save(problem, path)


def thread_count(n_jobs: Any) -> int:
    """The option n_jobs as a number of threads."""
    threads = Count(1, most=MOST_THREADS)
    if not threads.accepts(n_jobs) and not Count(-1, least=-1, most=-1).accepts(n_jobs):
        raise OptionError(f"n_jobs must be {threads.allowed()}, or -1 for all cores, got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else os.cpu_count() or 1


def read_warm_start(source: Any) -> tuple[dict[str, Any], str]:
    """The snapshot behind a Result or a checkpoint path, and what messages call it."""
    if isinstance(source, str | Path):
        return snapshots.read(source), str(source)
    if isinstance(source, Result):
        if not source.snapshot:
            raise InputError("warm_start: this Result carries no dual state; give the one that train returned")
        return source.snapshot, "warm_start"
    raise OptionError(f"warm_start must be a Result or a checkpoint's path, got {type(source).__name__}")
