"""What training returns, and how it is made out of a solver's outcome."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bcfw.dual import Certificate, DualProblem, snapshots
from bcfw.dual.joint import JointProblem
from bcfw.dual.kernel_problem import KernelProblem
from bcfw.inputs.examples import by_position
from bcfw.models.hooks import hook
from bcfw.run import duration
from bcfw.solvers.base import Outcome, Solver
from bcfw.solvers.run import SolverRun


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

    def summary(self) -> str:
        """One line on the run."""
        proof = "certified" if self.certified else "not certified"
        return (
            f"{self.status} after {self.n_passes:g} passes and {duration(self.training_seconds, self.compile_seconds)}"
            f": primal {self.primal:.6g}, dual {self.dual:.6g}, gap {self.gap:.3g} ({proof})"
        )

    def __repr__(self) -> str:
        return f"<Result: {self.summary()}>"


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
