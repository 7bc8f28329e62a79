"""The solver KernelBCFW (bcfw-2013, section 5): training with kernel values and dual variables, without weights."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from bcfw.dual import DualProblem
from bcfw.errors import OptionError
from bcfw.inputs.rows import matrix_of
from bcfw.options import Choice, Count, CountOr, NonNegative, Positive
from bcfw.selection import SAMPLINGS, SamplingChoice
from bcfw.solvers.baselines.batch_fw import BatchFW
from bcfw.solvers.bcfw import BCFW
from bcfw.solvers.block_solves import BlockSolves
from bcfw.solvers.counted_run import CountedRun
from bcfw.solvers.kernelized.input_kernels import GammaChoice, KernelChoice, TrainingKernel, make_kernel
from bcfw.solvers.kernelized.input_problem import KernelProblem
from bcfw.solvers.kernelized.joint_problem import JointProblem
from bcfw.solvers.solver import Outcome, Solver


class KernelBCFW(Solver):
    """Block-coordinate Frank-Wolfe with an input kernel k, or a joint kernel, instead of explicit features.

    Two joint features ``phi(x, y)`` and ``phi(x', y')`` have the inner product ``sum_{t, s} k(x_t, x'_s) [y_t = y'_s]``
    over the inputs of the two examples (one input for ``Multiclass``, one per position for ``Chain``); for chains the
    inner product of the counts of transitions and ends is added. The weights are never formed. The state consists of
    the block averages mu_i, the coefficients ``beta_p = c_j/lam (z(y_j) - mu_j)(p)`` of all inputs, and the scores
    ``sum_s k(x_p, x_s) beta_s``. A step on example j changes the scores by the kernel rows of the inputs of example j;
    kernel rows are computed when a step needs them. Certificates compute all scores anew from the coefficients.

    With ``kernel="joint"``, the inner products of the features of pairs (x, y) are the values of the model's own kernel
    (:class:`bcfw.JointKernelModel`), and the state consists of coefficients of pairs.

    The result's ``w`` is None; ``predict`` works, and ``kernel_weights`` are the support vectors. The final state can
    neither be saved nor continued.

    Parameters
    ----------
    kernel : "rbf", "linear", "poly", "precomputed", function or "joint"
        The kernel. The matrix of its values must be symmetric and positive semidefinite.

        - "rbf": ``exp(-gamma |x - x'|^2)``;
        - "linear": the inner product ``<x, x'>``;
        - "poly": ``(gamma <x, x'> + coef0)^degree``;
        - "precomputed": each row of X holds the kernel values of an input with all training inputs;
        - a function of an (N, F) and an (N', F) matrix that returns the (N, N') kernel values;
        - "joint": the model's ``joint_kernel``.
    gamma : "scale", "auto" or float
        ``1 / (F var(X))``, ``1 / F``, or the number itself, for "rbf" and "poly".
    degree, coef0 : int, float
        The constants of "poly".
    bias : float
        Value of a constant feature that every input has besides its own features: ``bias^2`` is added to k.
    step : "auto", "solve", "fw" or "batch"
        - "solve": exact block solves (:class:`BlockSolves`), for models that offer them;
        - "fw": Frank-Wolfe steps on one example at a time (bcfw-2013, Alg. 4);
        - "batch": one step on all examples at once (bcfw-2013, Alg. 2);
        - "auto": "solve" if the model offers block solves, else "fw".
    sampling : "permuted", "uniform", "cyclic", "gap" or "max-gap"
        The blocks that a pass visits with step="fw" (see :class:`BCFW`).
    gap_every : "auto" or int
        Number of passes between certificates. "auto" means ten passes; with "solve", :class:`BlockSolves` chooses.
    cache_mb : float
        Megabytes of kernel rows that are kept. The least recently used rows are dropped first.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), [0, 0, 1, 1]
    >>> result = bcfw.train(bcfw.models.Multiclass(), X, y, solver=bcfw.solvers.KernelBCFW(kernel="rbf", gamma=2.0))
    >>> result.predict(X), result.w, result.n_support
    (array([0, 0, 1, 1]), None, 4)
    """

    kernel: Any = KernelChoice("rbf")
    gamma: Any = GammaChoice("scale")
    degree: Any = Count(3)
    coef0: Any = NonNegative(0.0)
    bias: Any = NonNegative(0.0)
    step: Any = Choice("auto", "solve", "fw", "batch")
    sampling: Any = SamplingChoice(*SAMPLINGS)
    gap_every: Any = CountOr("auto")
    cache_mb: Any = Positive(500.0)

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.only_with("gamma", self.kernel in ("rbf", "poly"), "kernel='rbf' or 'poly'")
        self.only_with("degree", self.kernel == "poly", "kernel='poly'")
        self.only_with("coef0", self.kernel == "poly", "kernel='poly'")
        self.only_with("sampling", self.step in ("auto", "fw"), "step='fw'")
        self.only_with("bias", self.kernel != "joint", "an input kernel")
        self.only_with("gap_every", self.step != "batch", "a step other than 'batch'")

    @property
    def needs(self) -> frozenset[str]:
        kernel = "joint kernel" if self._is_joint else "input kernel"
        return frozenset({kernel} | ({"block solves"} if self.step == "solve" else set()))

    @property
    def handles(self) -> frozenset[str]:
        return (super().handles | {"joint kernel"}) - {"bounds", "heuristic oracle"}

    @property
    def can_resume(self) -> bool:
        return False

    @property
    def can_checkpoint(self) -> bool:
        return False

    @property
    def forms_weights(self) -> bool:
        return False

    def prepare(self, problem: DualProblem) -> None:
        if not problem.is_initial:
            raise OptionError("KernelBCFW cannot go on from a warm start: weights do not tell kernels; leave it out")

    def solve(self, problem: DualProblem, run: CountedRun, rng: np.random.Generator) -> Outcome:
        inner = run.problem = self.open(problem)
        try:
            solver = self._inner_solver(inner)
            solver.prepare(inner)
            with inner.on_coefficients() if self.step == "batch" else contextlib.nullcontext():
                outcome = solver.solve(inner, run, rng)
        finally:
            problem.oracle_calls = inner.oracle_calls
        return outcome._replace(w=None, kernel_weights=inner.weights(outcome.w))

    @property
    def _is_joint(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "joint"

    def open(self, problem: DualProblem) -> KernelProblem | JointProblem:
        """Return the dual problem in kernel values that corresponds to ``problem``."""
        if self._is_joint:
            return JointProblem(problem, float(self.cache_mb))
        X = matrix_of(problem.data)
        kernel = make_kernel(self.kernel, self.gamma, self.degree, self.coef0, self.bias, X)
        return KernelProblem(problem, TrainingKernel(kernel, X), float(self.cache_mb))

    def _inner_solver(self, problem: DualProblem) -> Solver:
        """Return the solver that makes the passes on the problem in kernel values."""
        if self.step == "batch":
            return BatchFW()
        if self.step == "solve" or (self.step == "auto" and "block solves" in problem.adapter.offers):
            return BlockSolves(acceleration=0, gap_every=self.gap_every)
        return BCFW(sampling=self.sampling, gap_every=10 if self.gap_every == "auto" else self.gap_every)
