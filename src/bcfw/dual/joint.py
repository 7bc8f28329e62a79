"""A problem whose joint features are known by a kernel alone, and what training on it returns in place of weights.

``state.w`` holds coefficients beta of pairs (x_j, y), by their numbers: ``w = sum_p beta_p phi(pair_p)`` with

    beta_p = c_j/lam ([y = y_j] - mu_j(y))        for a pair p = (x_j, y)

so that ``|w|^2 = sum_{p, q} beta_p beta_q k(pair_p, pair_q)``. Passes and certificates are those of any black-box
model: their inner products are sums of kernel values (:class:`bcfw.models.pairs.PairVectors`).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from bcfw.dual.problem import DualProblem
from bcfw.errors import InputError
from bcfw.inputs.examples import by_position
from bcfw.models.hooks import hook
from bcfw.models.pairs import Pair, Score, expansion
from bcfw.passes.steps import exact_step
from bcfw.records import Visits


class JointProblem(DualProblem):
    """The dual of a problem by the values of a joint kernel.

    Parameters
    ----------
    problem : DualProblem
        The same problem as it was opened, untouched; its model offers "joint kernel".
    cache_mb : float
        Megabytes of kernel rows to keep.
    """

    def __init__(self, problem: DualProblem, cache_mb: float) -> None:
        super().__init__(problem.form, problem.data, problem.state.c, problem.lam, n_jobs=problem.n_jobs)
        self.pairs = self.data.vectors.pairs
        self.pairs.cache_mb = cache_mb
        self.tally, self.oracle_calls = problem.tally, problem.oracle_calls
        self._first_hinges = problem._first_hinges

    def solution(self) -> np.ndarray:
        """Coefficients out of the block averages: those that steps have made zero are exactly zero."""
        return self.v_from_blocks()

    def shown(self, w: np.ndarray) -> None:
        """There are no weights to see."""

    def expect(self, visits: Visits) -> None:
        """Make room for the pairs that a pass may find, one at each visit."""
        w, size = self.state.w, len(self.pairs.output) + visits.n_visits
        if len(w) < size:
            self.state = self.state._replace(w=np.append(w, np.zeros(2 * size - len(w))))

    def on_coefficients(self) -> contextlib.AbstractContextManager[None]:
        """Passes always apply directions to coefficients (see :class:`bcfw.dual.kernel_problem.KernelProblem`)."""
        return contextlib.nullcontext()

    def regulariser(self, w: np.ndarray) -> float:
        """``lam/2 |w|^2`` of any coefficients."""
        return 0.5 * self.lam * float(self.data.vectors.square(w))

    def dual_value(self) -> float:
        return self.ell - self.regulariser(self.state.w)

    def best_step(self, v: np.ndarray, direction: np.ndarray, slope: float) -> float:
        """Maximiser over [0, 1] of the dual along a direction of the coefficients."""
        return exact_step(slope, self.lam * float(self.data.vectors.square(direction)), 1.0)

    def weights(self, solution: np.ndarray | None = None) -> JointWeights:
        """Coefficients, by default the current ones, as a function of new inputs."""
        beta = self.solution() if solution is None else solution
        numbers = np.flatnonzero(beta)
        examples = np.array([self.pairs.example[p] for p in numbers], np.int64)
        support = [self.pairs.pair(p) for p in numbers]
        return JointWeights(self.form.model, support, beta[numbers], examples)


@dataclass(frozen=True)
class JointWeights:
    """``w = sum_s beta_s phi(x_s, y_s)`` over support vectors, which are pairs of a training input and an output.

    Attributes
    ----------
    model : the bound model
    support : list of M pairs (x_s, y_s)
    coefficients : (M,) array
        beta: positive for truths, negative for other outputs.
    examples : (M,) array
        The training examples that the pairs belong to.
    """

    model: Any
    support: list[Pair]
    coefficients: np.ndarray
    examples: np.ndarray

    def __repr__(self) -> str:
        return f"<JointWeights: {len(self.support)} support vectors of {self.n_examples} examples>"

    @property
    def n_examples(self) -> int:
        """Examples that the support vectors belong to."""
        return len(np.unique(self.examples))

    def saved(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """Support vectors are pairs of the user's own kinds, which model files cannot hold."""
        raise InputError(
            f"{type(self.model).__name__}: the support vectors of a joint kernel are inputs and outputs of your own "
            "kinds and cannot be saved; pickle the result, or train anew"
        )

    def score(self, x: Any) -> Score:
        """The function ``y -> <w, phi(x, y)>`` of a new input, which the model's oracle takes."""
        return expansion(self.model, x, self.support, self.coefficients)

    def predict(self, X: Any) -> Any:
        """The best output of every input."""
        return hook(self.model, "predict")(self, by_position(X))

    def output_scores(self, X: Any, outputs: Any) -> np.ndarray:
        """(n,) scores ``<w, phi(x, y)>`` of an output of every input."""
        X = by_position(X)
        return np.array([self.score(X[i])([y])[0] for i, y in enumerate(outputs)], dtype=np.float64)
