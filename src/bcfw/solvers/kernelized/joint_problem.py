"""The dual problem with a joint kernel k((x, y), (x', y')), and the support vectors that training on it returns.

Every pair (x_j, y) that the oracle has returned has a number p. Instead of weights, ``state.w`` holds one coefficient
beta_p per pair: ``w = sum_p beta_p phi(pair_p)`` with

    beta_p = c_j/lam ([y = y_j] - mu_j(y))        for a pair p = (x_j, y)

so that ``|w|^2 = sum_{p, q} beta_p beta_q k(pair_p, pair_q)``. Passes and certificates are the ones for any black-box
model; they compute inner products as sums of kernel values (:class:`bcfw.models.joint_kernel.pairs.PairVectors`).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from bcfw.dual.problem import DualProblem
from bcfw.errors import InputError
from bcfw.inputs.examples import indexable_examples
from bcfw.models.base.hooks import hook
from bcfw.models.joint_kernel.pairs import Pair, Score, expansion
from bcfw.passes.order import Visits
from bcfw.passes.steps import exact_step


class JointProblem(DualProblem):
    """A dual problem whose features are known only through the values of a joint kernel.

    Parameters
    ----------
    problem : DualProblem
        The problem as ``open_problem`` returned it, before any step; its model must offer "joint kernel".
    cache_mb : float
        Megabytes for the cache of kernel rows.
    """

    def __init__(self, problem: DualProblem, cache_mb: float) -> None:
        super().__init__(problem.adapter, problem.data, problem.state.c, problem.lam, n_jobs=problem.n_jobs)
        self.pairs = self.data.vectors.pairs
        self.pairs.cache_mb = cache_mb
        self.counters, self.oracle_calls = problem.counters, problem.oracle_calls
        self._first_hinge_losses = problem._first_hinge_losses

    def solution(self) -> np.ndarray:
        """Return the coefficients, recomputed from the block averages: coefficients without mass are exactly zero."""
        return self.v_from_blocks()

    def weights_for_callbacks(self, w: np.ndarray) -> None:
        """Return None: callbacks see no weights."""

    def announce_visits(self, visits: Visits) -> None:
        """Enlarge ``state.w`` for the new pairs that a pass may find, at most one per visit."""
        w, size = self.state.w, len(self.pairs.output) + visits.n_visits
        if len(w) < size:
            self.state = self.state._replace(w=np.append(w, np.zeros(2 * size - len(w))))

    def on_coefficients(self) -> contextlib.AbstractContextManager[None]:
        """Return a context that changes nothing, because passes of this problem always update coefficients.

        :class:`bcfw.solvers.kernelized.input_problem.KernelProblem` has to change its routines here.
        """
        return contextlib.nullcontext()

    def regulariser(self, w: np.ndarray) -> float:
        """Return ``lam/2 |w|^2`` for the weights with coefficients ``w``."""
        return 0.5 * self.lam * float(self.data.vectors.square(w))

    def dual_value(self) -> float:
        return self.ell - self.regulariser(self.state.w)

    def best_step(self, v: np.ndarray, direction: np.ndarray, slope: float) -> float:
        """Return the step size in [0, 1] that maximises the dual along a direction of the coefficients."""
        return exact_step(slope, self.lam * float(self.data.vectors.square(direction)), 1.0)

    def weights(self, solution: np.ndarray | None = None) -> JointWeights:
        """Return the predictor with the coefficients ``solution``, by default the current coefficients."""
        beta = self.solution() if solution is None else solution
        numbers = np.flatnonzero(beta)
        examples = np.array([self.pairs.example[p] for p in numbers], np.int64)
        support = [self.pairs.pair(p) for p in numbers]
        return JointWeights(self.adapter.model, support, beta[numbers], examples)


@dataclass(frozen=True)
class JointWeights:
    """The weights ``w = sum_s beta_s phi(x_s, y_s)``; support vector s is a training input x_s with an output y_s.

    Attributes
    ----------
    model : the bound model
    support : list of M pairs (x_s, y_s)
    coefficients : (M,) array
        The coefficients beta_s: positive for true outputs, negative for other outputs.
    examples : (M,) array
        The number of the training example of each pair.
    """

    model: Any
    support: list[Pair]
    coefficients: np.ndarray
    examples: np.ndarray

    def __repr__(self) -> str:
        return f"<JointWeights: {len(self.support)} support vectors of {self.n_examples} examples>"

    @property
    def n_examples(self) -> int:
        """The number of training examples that have a support vector."""
        return len(np.unique(self.examples))

    def saved(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """Raise ``InputError``: support vectors contain the user's own types, which model files cannot hold."""
        raise InputError(
            f"{type(self.model).__name__}: the support vectors of a joint kernel are inputs and outputs of your own "
            "kinds and cannot be saved; pickle the result, or train anew"
        )

    def score(self, x: Any) -> Score:
        """Return the score function ``y -> <w, phi(x, y)>`` of a new input x, the argument of the model's oracle."""
        return expansion(self.model, x, self.support, self.coefficients)

    def predict(self, X: Any) -> Any:
        """Return the best output of every input."""
        return hook(self.model, "predict")(self, indexable_examples(X))

    def output_scores(self, X: Any, outputs: Any) -> np.ndarray:
        """Return (n,) scores ``<w, phi(x, y)>`` of one given output per input."""
        X = indexable_examples(X)
        return np.array([self.score(X[i])([y])[0] for i, y in enumerate(outputs)], dtype=np.float64)
