"""Block-coordinate Frank-Wolfe by kernel values (bcfw-2013, section 5): no weights, only dual variables."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from bcfw.dual import DualProblem
from bcfw.dual.joint import JointProblem
from bcfw.dual.kernel_problem import KernelProblem
from bcfw.errors import OptionError
from bcfw.input_kernels import GammaChoice, KernelChoice, TrainingKernel, make_kernel
from bcfw.inputs.rows import matrix_of
from bcfw.options import Choice, Count, CountOr, NonNegative, Positive
from bcfw.selection import SAMPLINGS, SamplingChoice
from bcfw.solvers.base import Outcome, Solver
from bcfw.solvers.batch import BatchFW
from bcfw.solvers.bcfw import BCFW
from bcfw.solvers.block_solves import BlockSolves
from bcfw.solvers.run import SolverRun


class KernelBCFW(Solver):
    """Block-coordinate Frank-Wolfe with an input kernel k, or a joint kernel, in the place of explicit features.

    Two joint features ``phi(x, y)`` and ``phi(x', y')`` have the inner product ``sum_{t, s} k(x_t, x'_s) [y_t = y'_s]``
    over the inputs of the two examples (one for ``Multiclass``, one per position for ``Chain``), and for chains that of
    the counts of transitions and ends. The weights are never formed: a state are the block averages mu_i, the
    coefficients ``beta_p = c_j/lam (z(y_j) - mu_j)(p)`` of all inputs, and their scores ``sum_s k(x_p, x_s) beta_s``,
    which a step on example j changes by the kernel rows of its inputs. Rows are computed when a step needs them.
    Certificates compute all scores anew out of the coefficients.

    With ``kernel="joint"`` the features of pairs (x, y) are known by the model's own kernel between them
    (:class:`bcfw.JointKernelModel`); the state are then coefficients of pairs.

    The result's ``w`` is None; ``predict`` works, and ``kernel_weights`` are the support vectors. It can neither be
    saved nor continued.

    Parameters
    ----------
    kernel : "rbf", "linear", "poly", "precomputed", function or "joint"
        ``exp(-gamma |x - x'|^2)``, ``x'x'``, ``(gamma x'x' + coef0)^degree``; rows of X that hold the values of an
        input with all training inputs; a function of two (N, F) matrices that returns their (N, N') values; or the
        model's ``joint_kernel``. The matrix of values must be symmetric and positive semidefinite.
    gamma : "scale", "auto" or float
        ``1 / (F var(X))``, ``1 / F``, or the number itself.
    degree, coef0 : int, float
        Of "poly".
    bias : float
        Beside its features every input has a constant one of this value: ``bias^2`` is added to k.
    step : "auto", "solve", "fw" or "batch"
        - "solve": exact block solves (:class:`BlockSolves`), for models that offer them;
        - "fw": Frank-Wolfe steps on one example at a time (bcfw-2013, Alg. 4);
        - "batch": one step for all examples (Alg. 2);
        - "auto": "solve" where it is offered, else "fw".
    sampling : "permuted", "uniform", "cyclic", "gap" or "max-gap"
        With "fw", the order of a pass, as of :class:`BCFW`.
    gap_every : "auto" or int
        Passes between certificates; with "auto" ten, or for "solve" as :class:`BlockSolves` chooses.
    cache_mb : float
        Megabytes of kernel rows that are kept. Rows that were not used for longest are forgotten first.

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
    def continues(self) -> bool:
        return False

    @property
    def saves(self) -> bool:
        return False

    @property
    def gives_weights(self) -> bool:
        return False

    def prepare(self, problem: DualProblem) -> None:
        if not problem.untouched:
            raise OptionError("KernelBCFW cannot go on from a warm start: weights do not tell kernels; leave it out")

    def solve(self, problem: DualProblem, run: SolverRun, rng: np.random.Generator) -> Outcome:
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
        """The same problem by kernel values."""
        if self._is_joint:
            return JointProblem(problem, float(self.cache_mb))
        X = matrix_of(problem.data)
        kernel = make_kernel(self.kernel, self.gamma, self.degree, self.coef0, self.bias, X)
        return KernelProblem(problem, TrainingKernel(kernel, X), float(self.cache_mb))

    def _inner_solver(self, problem: DualProblem) -> Solver:
        """Whose passes are made on the problem by kernel values."""
        if self.step == "batch":
            return BatchFW()
        if self.step == "solve" or (self.step == "auto" and "block solves" in problem.form.offers):
            return BlockSolves(acceleration=0, gap_every=self.gap_every)
        return BCFW(sampling=self.sampling, gap_every=10 if self.gap_every == "auto" else self.gap_every)
