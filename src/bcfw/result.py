"""What training returns, and how it is made out of a solver's outcome."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bcfw import model_file
from bcfw.dual import Certificate, DualProblem, snapshots
from bcfw.dual.joint import JointProblem
from bcfw.dual.kernel_problem import KernelProblem
from bcfw.dual.kernel_weights import KernelWeights
from bcfw.files import PathLike
from bcfw.inputs.examples import by_position
from bcfw.loading import reads
from bcfw.model_file import ModelFile
from bcfw.models.hooks import hook
from bcfw.run import duration
from bcfw.saved_arrays import SavedArrays
from bcfw.saved_objects import model_header, saved_model, saved_solver, solver_header
from bcfw.saved_values import decode, encode
from bcfw.solvers.base import Outcome, Solver
from bcfw.solvers.run import SolverRun

#: The figures of a run that a model file has under "certificate", and their types.
FIGURES: dict[str, type] = {
    "status": str,
    "certified": bool,
    **dict.fromkeys(("lam", "primal", "dual", "gap", "n_passes"), float),
    "n_oracle_calls": int,
    **dict.fromkeys(("seconds", "training_seconds", "compile_seconds"), float),
}


def predict(model: Any, w: np.ndarray, X: Any) -> Any:
    """Decode inputs with a bound model and weights."""
    return hook(model, "predict")(w, by_position(X))


@dataclass(repr=False)
class Result:
    """What training returns.

    Attributes
    ----------
    w : (d,) array or None
        The weights (the averaged ones when the solver averages); None with a kernel.
    primal, dual, gap : float
        ``P(w)``, ``D(alpha)`` and their difference, recomputed at the returned weights by a full oracle pass. If the
        oracle is a heuristic: the proven upper bound of ``P(w)`` where ``certified``, else what was found.
    certified : bool
        Whether ``gap`` is a proven bound on ``P(w) - P*``. If not, the oracle is a heuristic, or the solver has no dual
        point (dual and gap are NaN).
    status : str
        "converged", "estimated" (a heuristic oracle's estimate of the gap is small enough), "max_passes",
        "max_seconds", "stopped", "interrupted" or "stalled".
    lam, n_passes, n_oracle_calls, seconds
        The regularisation, exact-oracle steps divided by n, all oracle calls including certificates, wall-clock time.
    history : dict of arrays
        passes, seconds, primal, dual, gap, gap_bound, oracle_calls: one row at the start, one per certificate, one at
        exit. With a heuristic oracle ``primal`` and ``gap`` are what it has found, and ``gap_bound`` is what is proved
        (infinity without an upper bound); otherwise ``gap_bound`` equals ``gap``.
    solver, model
        The solver that ran, and the bound copy of the model.
    last : Result or None
        With averaging: the last iterate with its own certificate.
    snapshot : dict
        The dual state as plain arrays, which ``warm_start`` reads.
    kernel_weights : KernelWeights, JointWeights or None
        With a kernel: support vectors and their coefficients.
    training_seconds, compile_seconds : float
        ``seconds`` without those spent compiling; and the time of all that was compiled in the call of ``train``, also
        before ``seconds`` begin, when the data are opened. Compiled code is kept on disk: the next process has it.
    """

    w: Any
    primal: float
    dual: float
    gap: float
    certified: bool
    status: str
    lam: float
    n_passes: float
    n_oracle_calls: int
    seconds: float
    history: dict[str, np.ndarray]
    solver: Any
    model: Any
    last: Result | None = None
    snapshot: dict[str, Any] = field(default_factory=dict)
    training_seconds: float = 0.0
    compile_seconds: float = 0.0
    kernel_weights: Any = None

    @property
    def n_support(self) -> int | None:
        """With an input kernel: how many training inputs are support vectors; None without a kernel.

        With a joint kernel: how many pairs of a training input and an output.
        """
        return None if self.kernel_weights is None else len(self.kernel_weights.support)

    def predict(self, X: Any) -> Any:
        """Decode new inputs with the learned weights."""
        if self.kernel_weights is not None:
            return self.kernel_weights.predict(X)
        return predict(self.model, self.w, X)

    def save(self, path: PathLike) -> None:
        """Write a model file, which :func:`bcfw.load` reads.

        It has everything but the dual state (``snapshot``), which checkpoints are for. A model or a kernel of your own
        is code, which files do not have: of the model, the name is kept; the kernel is an error.

        Parameters
        ----------
        path : path
            The file to write; an older one is replaced when the new one is complete.
        """
        header, arrays = self._saved_state()
        model_file.write(path, "result", header, arrays)

    def _saved_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and arrays of a model file."""
        arrays: dict[str, Any] = {}
        header = {
            "model": model_header(self.model, "model", arrays),
            **self._point("w", arrays),
            "history": encode(self.history, "history", arrays),
            "last": None if self.last is None else self.last._point("last.w", arrays),
            "kernel": None if self.kernel_weights is None else self.kernel_weights.saved(arrays),
        }
        return header, arrays

    def _point(self, name: str, arrays: dict[str, Any]) -> dict[str, Any]:
        """What belongs to the weights alone; they are put into ``arrays``."""
        if self.w is not None:
            arrays |= model_file.pack_weights(name, self.w)
        figures = {figure: kind(getattr(self, figure)) for figure, kind in FIGURES.items()}
        return {"certificate": figures, "solver": solver_header(self.solver, arrays)}

    @classmethod
    def _restored(cls, header: dict[str, Any], saved: SavedArrays, model: Any = None) -> Result:
        """The opposite of :meth:`_saved_state`; ``model`` takes the place of a user's own."""
        bound = saved_model(header["model"], model, saved)
        kernel = header["kernel"]
        result = cls(
            w=_saved_weights("w", saved, bound) if kernel is None else None,
            **_saved_point(header, saved),
            history=_saved_history(header["history"], saved),
            model=bound,
            kernel_weights=None if kernel is None else KernelWeights.restored(kernel, saved, bound),
        )
        if header["last"] is not None:
            w, figures = _saved_weights("last.w", saved, bound), _saved_point(header["last"], saved)
            result.last = dataclasses.replace(result, w=w, **figures)
        return result

    def summary(self) -> str:
        """One line on the run."""
        proof = "certified" if self.certified else "not certified"
        return (
            f"{self.status} after {self.n_passes:g} passes and {duration(self.training_seconds, self.compile_seconds)}"
            f": primal {self.primal:.6g}, dual {self.dual:.6g}, gap {self.gap:.3g} ({proof})"
        )

    def __repr__(self) -> str:
        return f"<Result: {self.summary()}>"


@reads("result")
def read_result(file: ModelFile, model: Any) -> Result:
    """The result that a model file holds."""
    return Result._restored(file.header, file.arrays, model)


def _saved_weights(name: str, saved: SavedArrays, model: Any) -> np.ndarray:
    """The weights, which must be as many as the model has."""
    w = model_file.unpack_weights(saved, name)
    if len(w) != model.dim:
        raise saved.damaged(name, f"has {len(w)} weights where the model has {model.dim}")
    return w


def _saved_point(header: dict[str, Any], saved: SavedArrays) -> dict[str, Any]:
    """Figures and solver, as arguments of a result."""
    figures = {name: header["certificate"][name] for name in FIGURES}
    for name, kind in FIGURES.items():
        if type(figures[name]) is not kind:
            raise saved.damaged("the header", f"has {name} = {figures[name]!r}, which is no {kind.__name__}")
    return {**figures, "solver": saved_solver(header["solver"], saved)}


def _saved_history(stored: Any, saved: SavedArrays) -> dict[str, np.ndarray]:
    history = decode(stored, saved)
    if any(column.ndim != 1 for column in history.values()) or len({len(column) for column in history.values()}) > 1:
        raise saved.damaged("history", "has columns of different lengths")
    return history  # type: ignore[no-any-return]


def make_result(
    outcome: Outcome, problem: DualProblem, run: SolverRun, solver: Solver, snapshot: dict[str, Any] | None = None
) -> Result:
    """The result of an outcome; its last iterate, if that is another point, shares the snapshot."""
    certificate, certified = outcome.certificate.proven(run.gap_target)
    if snapshot is None:
        snapshot = snapshots.take(problem) if solver.saves else {}
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
        model=problem.form.model,
        last=None if outcome.last is None else make_result(outcome.last, problem, run, solver, snapshot),
        snapshot=snapshot,
        training_seconds=run.seconds - run.compile_seconds,
        compile_seconds=run.compile_seconds,
        kernel_weights=outcome.kernel_weights,
    )


def partial_result(problem: DualProblem, run: SolverRun, solver: Solver) -> Result | None:
    """What had been reached when an oracle failed: the weights without a certificate of their own."""
    if not run.rows:
        return None
    nan, passes = float("nan"), max(run.rows[-1]["passes"], run.calls / len(problem.blocks))
    outcome = Outcome(run.point(), Certificate(nan, run.problem.dual_value(), nan, nan), passes)
    if isinstance(run.problem, KernelProblem | JointProblem):
        outcome = outcome._replace(kernel_weights=run.problem.weights())
    result = make_result(outcome, problem, run, solver)
    result.certified, result.status = False, "interrupted"
    return result
