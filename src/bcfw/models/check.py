"""``bcfw.check_model``: find the mistakes people make in a model of their own before training does."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import BcfwError, ModelError, OracleError
from bcfw.inputs.bounds import join_bounds
from bcfw.inputs.examples import by_position
from bcfw.models.compiled import CompiledModel, checked_pack
from bcfw.models.hooks import hidden_hooks, hook
from bcfw.models.kernels.black_box import ROUNDING, without_rounding
from bcfw.models.model import require_model
from bcfw.options import Count

#: Relative rounding allowed between values that should be equal or ordered.
TOLERANCE = 1e-8


def check_model(model: Any, X: Any, y: Any, n_examples: int = 10, n_weights: int = 5, seed: int = 0) -> list[str]:
    """Check a model's methods against each other on a few examples.

    For random weights w, the output of ``oracle(w, x, y_true)`` must have the largest
    ``loss(y_true, y) + <w, features(x, y)>`` among all outputs that could be found: the oracle's outputs for other
    weights, and integer labelings with one entry changed, if some weights make the oracle return them. If the oracle is
    a heuristic, none may have more than ``upper_bound(w, x, y_true)`` instead. Losses must be >= 0 and zero on the
    truth, features finite and of one size.

    Parameters
    ----------
    model : bcfw.Model
    X, y : training data
    n_examples, n_weights : int
        How many examples, and weight vectors for each, to try.
    seed : int

    Returns
    -------
    list of str
        Remarks that are no errors: a truth that is not among the oracle's outputs, a better labeling that may not be
        a possible output, or an attribute that has the name of a hook and is not read.

    Raises
    ------
    ModelError
        Listing every mistake found, with the example it was found on.
    """
    require_model(model)
    Count(10).check("check_model", "n_examples", n_examples)
    Count(5).check("check_model", "n_weights", n_weights)
    X, y = by_position(X), by_position(y)
    try:
        bound = hook(model, "bind")(X, y)
    except BcfwError:
        raise
    except Exception as error:
        raise ModelError(f"{type(model).__name__}: example 0: {type(error).__name__}: {error}") from error
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(y))[:n_examples])
    mistakes: list[str] = []
    remarks = [
        f"{name} is a hook of bcfw.Model, but here no method of the class; what it holds is never read"
        for name in hidden_hooks(model)
    ]
    mistakes += _losses_of_truths(bound, X, y)
    for i in chosen:
        try:
            example = _Example(bound, X[int(i)], y[int(i)], rng, n_weights)
            mistakes += [f"example {i}: {text}" for text in example.mistakes()]
            remarks += [f"example {i}: {text}" for text in example.remarks]
        except Exception as error:
            mistakes.append(f"example {i}: {type(error).__name__}: {error}")
    if mistakes:
        raise ModelError(f"{type(model).__name__}:\n  " + "\n  ".join(mistakes))
    return remarks


def loss_of(model: Any, x: Any, y_true: Any, y: Any) -> float:
    """The loss that training uses: for a :class:`CompiledModel` that of its kernel, run as plain Python."""
    if isinstance(model, CompiledModel):
        return float(
            _plain(model.labeling_loss)(checked_pack(model, [x], [y_true]), 0, checked_pack(model, [x], [y]).y)
        )
    return without_rounding(float(model.loss(y_true, y)))


def loss_that_was_missed(model: Any, X: Any, y: Any, examples: Sequence[int], n_weights: int = 3) -> OracleError | None:
    """The error for a bound model whose oracle has found no loss at w = 0 although there is one; None if all is well.

    With random weights the oracle decodes the given examples; an output with a loss shows that the largest loss is not
    zero.
    """
    rng = np.random.default_rng(0)
    box = join_bounds(model.dim, hook(model, "bounds")())
    for i in examples:
        for _ in range(n_weights):
            w = rng.standard_normal(model.dim)
            output = model.oracle(w if box is None else np.clip(w, *box), X[i])
            loss = loss_of(model, X[i], y[i], output)
            if loss > 0.0:
                return OracleError(
                    f"example {i}: at w = 0 the oracle returned an output without loss, but {output!r:.200} has the "
                    f"loss {loss:.6g}; with y_true it must maximise loss plus score (is the sign of the loss right?)",
                    i,
                )
    return None


def _plain(kernel: Any) -> Any:
    """A kernel as a Python function, which checks its indices."""
    return getattr(kernel, "py_func", kernel)


def _losses_of_truths(model: Any, X: Any, y: Any) -> Iterator[str]:
    """The first truth whose loss is not zero."""
    for i in range(len(y)):
        try:
            zero = loss_of(model, X[i], y[i], y[i])
        except Exception as error:
            yield f"example {i}: {type(error).__name__}: {error}"
            return
        if not abs(zero) <= ROUNDING:
            yield f"example {i}: loss(y, y) = {zero:.6g} on the truth; it must be 0"
            return


class _Example:
    """One example under test: candidate labelings, and what is wrong."""

    def __init__(self, model: Any, x: Any, y_true: Any, rng: np.random.Generator, n_weights: int) -> None:
        self.model, self.x, self.y_true = model, x, y_true
        self.remarks: list[str] = []
        if isinstance(model, CompiledModel):
            self.try_kernels()
        size = self.features(y_true)
        scale = 1.0 / max(1e-12, float(np.linalg.norm(size)))
        self.weights = [
            np.zeros(model.dim),
            *(scale * 10.0**k * rng.standard_normal(model.dim) for k in np.linspace(-1, 2, n_weights)),
        ]
        self.weights = [self.allowed(w) for w in self.weights]

    def try_kernels(self) -> None:
        """Run the kernels of a :class:`CompiledModel` as plain Python: compiled, they would not check their indices."""
        model: Any = self.model
        data = checked_pack(model, [self.x], [self.y_true])
        found = np.array(data.y, dtype=np.int64)
        _plain(model.decode)(data, 0, np.zeros(model.dim), 1.0, found)
        for y in (data.y, found):
            _plain(model.add_features)(data, 0, y, 1.0, np.zeros(model.dim))
            _plain(model.labeling_loss)(data, 0, y)

    def loss(self, y: Any) -> float:
        return loss_of(self.model, self.x, self.y_true, y)

    def allowed(self, w: np.ndarray) -> np.ndarray:
        """The nearest weights within the model's bounds."""
        box = join_bounds(self.model.dim, hook(self.model, "bounds")())
        return w if box is None else np.clip(w, *box)

    def features(self, y: Any) -> np.ndarray:
        given = self.model.features(self.x, y)
        if np.iscomplexobj(given):
            raise ModelError("features(x, y) are complex; only real features are supported")
        vector = given.toarray().ravel() if sp.issparse(given) else np.asarray(given, dtype=float).ravel()
        if vector.shape != (self.model.dim,):
            raise ModelError(f"features(x, y) has {vector.size} numbers, but dim = {self.model.dim}")
        if not np.all(np.isfinite(vector)):
            raise ModelError("features(x, y) holds a NaN or an infinity")
        return vector

    def mistakes(self) -> Iterator[str]:
        augmented = [self.model.oracle(w, self.x, self.y_true) for w in self.weights]
        plain = [self.model.oracle(w, self.x) for w in self.weights]
        outputs = _distinct([*augmented, *plain])
        negative = [y for y in outputs if not 0.0 <= self.loss(y) < np.inf]
        if negative:
            yield (
                f"loss(y_true, y) = {self.loss(negative[0]):.6g} for y = {negative[0]!r}; it must be finite and >= 0"
            )
        yield from self.two_losses(outputs)
        if self.model.exact_oracle:
            yield from self.not_maximal(augmented, outputs, self.y_true)
            yield from self.not_maximal(plain, outputs, None)
        else:
            yield from self.bound_too_low(outputs)

    def two_losses(self, outputs: list[Any]) -> Iterator[str]:
        """The first output for which a compiled model's kernel and its method ``loss``, if it has one, differ."""
        if not isinstance(self.model, CompiledModel) or type(self.model).loss is CompiledModel.loss:
            return
        for y in outputs:
            kernel, method = self.loss(y), float(self.model.loss(self.y_true, y))
            if abs(kernel - method) > TOLERANCE * (1.0 + abs(method)):
                yield f"labeling_loss gives {kernel:.6g} and loss(y_true, y) {method:.6g} for y = {y!r}"
                return

    def value(self, w: np.ndarray, y: Any, y_true: Any) -> float:
        loss = 0.0 if y_true is None else self.loss(y)
        return loss + float(self.features(y) @ w)

    def not_maximal(self, answers: list[Any], outputs: list[Any], y_true: Any) -> Iterator[str]:
        """The first weights for which an answer is beaten by another output.

        Beaten by the truth, or by a labeling that may not be a possible output, is only a remark.
        """
        call = "oracle(w, x)" if y_true is None else "oracle(w, x, y_true)"
        remarks = {}
        for w, answer in zip(self.weights, answers, strict=True):
            reached = self.value(w, answer, y_true)
            slack = TOLERANCE * (1.0 + abs(reached) + float(np.abs(self.features(answer)) @ np.abs(w)))
            for other in itertools.chain([self.y_true], self.comparable(answer, outputs)):
                value = self.value(w, other, y_true)
                if value <= reached + slack:
                    continue
                found = f"it returned {answer!r} with value {reached:.6g}, but {other!r} has {value:.6g}"
                if any(same_output(other, output) for output in outputs) or self.can_return(other, answer, w):
                    yield f"{call} is not maximal: {found}"
                    return
                if same_output(other, self.y_true):
                    remarks["truth"] = (
                        f"the truth is not among the oracle's outputs, although it is better: in {call} {found}; "
                        "training counts it as one"
                    )
                else:
                    remarks["changed"] = f"{call} is not maximal if its outputs include a changed entry: {found}"
                    break
        self.remarks += remarks.values()

    def comparable(self, y: Any, outputs: list[Any]) -> Iterator[Any]:
        """The outputs, and neighbours of one of them, that have labels where it has."""
        missing = self.model._unlabelled
        for other in itertools.chain(outputs, _neighbours(y, outputs)):
            if missing is None or np.array_equal(np.asarray(other) == missing, np.asarray(y) == missing):
                yield other

    def bound_too_low(self, outputs: list[Any]) -> Iterator[str]:
        """The first weights for which an output has a larger value than ``upper_bound`` allows."""
        for w in self.weights:
            bound = float(hook(self.model, "upper_bound")(w, self.x, self.y_true))
            for y in [self.y_true, *outputs]:
                value = self.value(w, y, self.y_true)
                if not value <= bound + TOLERANCE * (1.0 + abs(bound)):
                    yield f"upper_bound(w, x, y_true) = {bound:.6g}, but {y!r} has the value {value:.6g}"
                    return

    def can_return(self, y: Any, answer: Any, w: np.ndarray) -> bool:
        """Whether weights that favour ``y`` make the oracle return it, which proves that it is a possible output."""
        towards = self.features(y) - self.features(answer)
        size = max(1e-12, float(np.linalg.norm(towards)))
        favouring = (self.allowed(w + t / size * towards) for t in (1.0, 10.0, 1e3, 1e5))
        return any(same_output(self.model.oracle(weights, self.x), y) for weights in favouring)


def same_output(a: Any, b: Any) -> bool:
    """Equality of two outputs of any type."""
    try:
        return bool(np.array_equal(np.asarray(a), np.asarray(b)))
    except ValueError:
        return bool(a == b)


def _distinct(labelings: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for y in labelings:
        if not any(same_output(y, other) for other in kept):
            kept.append(y)
    return kept


def _neighbours(y: Any, outputs: list[Any]) -> Iterator[Any]:
    """Integer labelings that differ from ``y`` in one entry, with values seen in the outputs."""
    array = np.asarray(y)
    if array.dtype.kind not in "iu" or array.ndim != 1 or array.size > 50:
        return
    seen = np.unique(np.concatenate([np.asarray(other).ravel() for other in outputs]))
    for position in range(array.size):
        for value in seen[:10]:
            other = array.copy()
            other[position] = value
            yield other
