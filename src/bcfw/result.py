"""``Result``, which training returns: its attributes, saving and loading, and its construction from a run."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bcfw.dual import Certificate, DualProblem, snapshots
from bcfw.inputs.examples import indexable_examples
from bcfw.models.base.hooks import hook
from bcfw.run import duration
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.kernelized.input_problem import KernelProblem
from bcfw.solvers.kernelized.joint_problem import JointProblem
from bcfw.solvers.kernelized.support_vectors import KernelWeights
from bcfw.solvers.solver import Outcome, Solver
from bcfw.storage import model_file
from bcfw.storage.checked_arrays import SavedArrays
from bcfw.storage.files import PathLike
from bcfw.storage.load import reads
from bcfw.storage.model_file import ModelFile
from bcfw.storage.objects import model_header, saved_model, saved_solver, solver_header
from bcfw.storage.values import decode, encode

#: The attributes of a result that a model file stores under "certificate", and their types.
FIGURES: dict[str, type] = {
    "status": str,
    "certified": bool,
    **dict.fromkeys(("lam", "primal", "dual", "gap", "n_passes"), float),
    "n_oracle_calls": int,
    **dict.fromkeys(("seconds", "training_seconds", "compile_seconds"), float),
}


def predict(model: Any, w: np.ndarray, X: Any) -> Any:
    """Return the predictions of a bound model with weights w."""
    return hook(model, "predict")(w, indexable_examples(X))


@dataclass(repr=False)
class Result:
    """Result of :func:`bcfw.train`: weights, certificate, costs and history.

    Attributes
    ----------
    w : (d,) array or None
        The weights; if the solver averages, the averaged weights. None with a kernel.
    primal, dual, gap : float
        ``P(w)``, ``D(alpha)`` and their difference, computed at the returned weights by a full pass of the oracle. If
        the oracle is a heuristic, ``primal`` is a proven upper bound of ``P(w)`` if ``certified``, and else the value
        that the oracle has found.
    certified : bool
        Whether ``gap`` is a proven upper bound of ``P(w) - P*``. It is not proven if the oracle is a heuristic whose
        upper bound is missing or too large, or if the solver has no dual point (then dual and gap are NaN).
    status : str
        "converged", "estimated" (a heuristic oracle's estimate of the gap is small enough), "max_passes",
        "max_seconds", "stopped", "interrupted", "stalled" or "rounding" (at a gap that is no more than rounding).
    lam, n_passes, n_oracle_calls, seconds
        The regularisation, exact-oracle steps divided by n, all oracle calls including certificates, wall-clock time.
    history : dict of arrays
        The columns passes, seconds, primal, dual, gap, gap_bound and oracle_calls, with one row at the start, one per
        certificate, and one at the end. With a heuristic oracle, ``primal`` and ``gap`` are the values that the oracle
        has found, and ``gap_bound`` is the proven bound (infinity if there is none). Otherwise ``gap_bound`` equals
        ``gap``.
    solver, model
        The solver that ran, and the bound copy of the model.
    last : Result or None
        If the solver averages: the last iterate with its own certificate.
    snapshot : dict
        The dual state as plain arrays, for ``warm_start``.
    kernel_weights : KernelWeights, JointWeights or None
        With a kernel: support vectors and their coefficients.
    training_seconds, compile_seconds : float
        ``training_seconds`` are ``seconds`` without compilation. ``compile_seconds`` is the time of all compilation in
        the call of ``train``; a part of it is before the start of ``seconds``, while the data are read. Compiled code
        is cached on disk for later processes.
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
        """Number of support vectors; None without a kernel.

        With an input kernel, the support vectors are training inputs; with a joint kernel, they are pairs of a training
        input and an output.
        """
        return None if self.kernel_weights is None else len(self.kernel_weights.support)

    def predict(self, X: Any) -> Any:
        """Return the model's predictions for the inputs X with the learned weights."""
        if self.kernel_weights is not None:
            return self.kernel_weights.predict(X)
        return predict(self.model, self.w, X)

    def save(self, path: PathLike) -> None:
        """Write a model file, which :func:`bcfw.load` reads.

        The file contains everything but the dual state (``snapshot``), which checkpoints contain. Model files contain
        no code: of a model of your own, only its name is saved; a kernel of your own is an error.

        Parameters
        ----------
        path : path
            The file to write; an older file is replaced when the new one is complete.
        """
        header, arrays = self._saved_state()
        model_file.write(path, "result", header, arrays)

    def _saved_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the header and the arrays of a model file."""
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
        """Return the header of one point, with its certificate and solver; its weights are put into ``arrays``."""
        if self.w is not None:
            arrays |= model_file.pack_weights(name, self.w)
        figures = {figure: kind(getattr(self, figure)) for figure, kind in FIGURES.items()}
        return {"certificate": figures, "solver": solver_header(self.solver, arrays)}

    @classmethod
    def _restored(cls, header: dict[str, Any], saved: SavedArrays, model: Any = None) -> Result:
        """Return the result that :meth:`_saved_state` has saved; ``model`` is given if it is a user's own model."""
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
        """Return one line with status, passes, time, objective values and gap of the run."""
        proof = "certified" if self.certified else "not certified"
        status = "converged to rounding" if self.status == "rounding" else self.status
        return (
            f"{status} after {self.n_passes:g} passes and {duration(self.training_seconds, self.compile_seconds)}"
            f": primal {self.primal:.6g}, dual {self.dual:.6g}, gap {self.gap:.3g} ({proof})"
        )

    def __repr__(self) -> str:
        return f"<Result: {self.summary()}>"


@reads("result")
def read_result(file: ModelFile, model: Any) -> Result:
    """The result that a model file holds."""
    return Result._restored(file.header, file.arrays, model)


def _saved_weights(name: str, saved: SavedArrays, model: Any) -> np.ndarray:
    """Return saved weights; raise unless their number is the model's ``dim``."""
    w = model_file.unpack_weights(saved, name)
    if len(w) != model.dim:
        raise saved.damaged(name, f"has {len(w)} weights where the model has {model.dim}")
    return w


def _saved_point(header: dict[str, Any], saved: SavedArrays) -> dict[str, Any]:
    """Return the saved certificate, costs and solver as keyword arguments of :class:`Result`."""
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
    outcome: Outcome, problem: DualProblem, run: CountedRun, solver: Solver, snapshot: dict[str, Any] | None = None
) -> Result:
    """Return the result of a solver's outcome; a last iterate that is another point shares the snapshot."""
    certificate, certified = outcome.certificate.proven(run.gap_target)
    if snapshot is None:
        snapshot = snapshots.take(problem) if solver.can_checkpoint else {}
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
        model=problem.adapter.model,
        last=None if outcome.last is None else make_result(outcome.last, problem, run, solver, snapshot),
        snapshot=snapshot,
        training_seconds=run.seconds - run.compile_seconds,
        compile_seconds=run.compile_seconds,
        kernel_weights=outcome.kernel_weights,
    )


def partial_result(problem: DualProblem, run: CountedRun, solver: Solver) -> Result | None:
    """Return the result of a run whose oracle failed: the current weights, without a certificate; None at the start."""
    if not run.rows:
        return None
    nan, passes = float("nan"), max(run.rows[-1]["passes"], run.calls / len(problem.blocks))
    outcome = Outcome(run.point(), Certificate(nan, run.problem.dual_value(), nan, nan), passes)
    if isinstance(run.problem, KernelProblem | JointProblem):
        outcome = outcome._replace(kernel_weights=run.problem.weights())
    result = make_result(outcome, problem, run, solver)
    result.certified, result.status = False, "interrupted"
    return result
