"""Checks of a model on one example: at several weights, the oracle must return the best of all known outputs."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.compile.specialise import source
from bcfw.errors import ModelError
from bcfw.inputs.bounds import join_bounds
from bcfw.inputs.numbers import unmasked
from bcfw.models.base.compiled import CompiledModel, checked_pack
from bcfw.models.base.hooks import hook
from bcfw.models.check.findings import TOLERANCE
from bcfw.models.check.outputs import same_output, shown
from bcfw.models.python.python_routines import loss_between, loss_on, real_loss

#: Factor that makes weights, and so the scores, so large that losses do not matter.
LARGE = 1e5


def loss_of(model: Any, x: Any, y_true: Any, y: Any) -> float:
    """Return the loss that training uses; for a :class:`CompiledModel`, run ``labeling_loss`` as plain Python."""
    if isinstance(model, CompiledModel):
        labeling_loss = source(type(model).labeling_loss)
        return real_loss(labeling_loss(checked_pack(model, [x], [y_true]), 0, checked_pack(model, [x], [y]).y))
    return loss_on(model, x, y_true, y)


def features_of(model: Any, x: Any, y: Any) -> np.ndarray:
    """Return the features of an output as an array. Raise unless they are real, finite and of length ``dim``."""
    given = model.features(x, y)
    if np.iscomplexobj(given):
        raise ModelError("features(x, y) are complex; only real features are supported")
    unmasked(given, "features(x, y)", ModelError)
    vector = given.toarray().ravel() if sp.issparse(given) else np.asarray(given, dtype=float).ravel()
    if vector.shape != (model.dim,):
        raise ModelError(f"features(x, y) has {vector.size} numbers, but dim = {model.dim}")
    if not np.all(np.isfinite(vector)):
        raise ModelError("features(x, y) holds a NaN or an infinity")
    return vector


class TriedExample:
    """Checks of a model on one example: ``mistakes`` finds errors and fills ``remarks``."""

    def __init__(self, model: Any, x: Any, y_true: Any, rng: np.random.Generator, n_weights: int) -> None:
        self.model, self.x, self.y_true = model, x, y_true
        self.remarks: dict[str, str] = {}
        size = self.features(y_true)
        scale = 1.0 / max(1e-12, float(np.linalg.norm(size)))
        self.weights = [
            np.zeros(model.dim),
            *(scale * 10.0**k * rng.standard_normal(model.dim) for k in np.linspace(-1, 2, n_weights)),
        ]
        self.weights = [self.allowed(w) for w in self.weights]

    def loss(self, y: Any) -> float:
        return loss_of(self.model, self.x, self.y_true, y)

    def allowed(self, w: np.ndarray) -> np.ndarray:
        """Return the nearest weights within the model's bounds."""
        box = join_bounds(self.model.dim, hook(self.model, "bounds")())
        return w if box is None else np.clip(w, *box)

    def features(self, y: Any) -> np.ndarray:
        return features_of(self.model, self.x, y)

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """Yield the mistakes found, as pairs: the kind of mistake, and the text that this example adds to it."""
        augmented = [self.model.oracle(w, self.x, self.y_true) for w in self.weights]
        plain = [self.model.oracle(w, self.x) for w in self.weights]
        outputs = distinct([*augmented, *plain])
        negative = [y for y in outputs if not 0.0 <= self.loss(y) < np.inf]
        if negative:
            told = f"= {self.loss(negative[0]):.6g} for y = {shown(negative[0])}; it must be finite and >= 0"
            yield "loss(y_true, y) ", told
        yield from self.two_losses(outputs)
        if self.model.exact_oracle:
            yield from self.not_maximal(augmented, outputs, self.y_true)
            yield from self.not_maximal(plain, outputs, None)
        else:
            yield from self.bound_too_low(outputs)

    def two_losses(self, outputs: list[Any]) -> Iterator[tuple[str, str]]:
        """Yield the first output for which ``labeling_loss`` and the method ``loss`` of a compiled model differ."""
        if not isinstance(self.model, CompiledModel) or type(self.model).loss is CompiledModel.loss:
            return
        for y in outputs:
            compiled, method = self.loss(y), loss_between(self.model, self.y_true, y)
            if abs(compiled - method) > TOLERANCE * (1.0 + abs(method)):
                yield "labeling_loss gives ", f"{compiled:.6g} and loss(y_true, y) {method:.6g} for y = {shown(y)}"
                return

    def value(self, w: Any, y: Any, y_true: Any) -> float:
        """Return the value that the oracle must maximise; with slack rescaling, it is relative to the truth."""
        score, loss = self.score(w, y), 0.0 if y_true is None else self.loss(y)
        if y_true is None or not self.model._rescales_slack:
            return loss + score
        return loss * (1.0 + score - self.score(w, y_true))

    def score(self, w: Any, y: Any) -> float:
        """Return the score ``<w, phi(x, y)>``."""
        return float(self.features(y) @ w)

    def size(self, w: Any, y: Any) -> float:
        """Return the sum of the absolute values of the terms of a score, for its rounding error."""
        return float(np.abs(self.features(y)) @ np.abs(w))

    def not_maximal(self, answers: list[Any], outputs: list[Any], y_true: Any) -> Iterator[tuple[str, str]]:
        """Yield a mistake for the first weights at which another output has a larger value than the oracle's answer.

        If the better output is the truth, or may not be a possible output for this truth, there is only a remark.
        """
        call = "oracle(w, x)" if y_true is None else "oracle(w, x, y_true)"
        own = distinct(answers)
        for w, answer in zip(self.weights, answers, strict=True):
            reached = self.value(w, answer, y_true)
            slack = TOLERANCE * (1.0 + abs(reached) + self.size(w, answer))
            for other in itertools.chain([self.y_true], self.comparable(answer, outputs)):
                value = self.value(w, other, y_true)
                if value <= reached + slack:
                    continue
                found = f"it returned {shown(answer)} with value {reached:.6g}, but {shown(other)} has {value:.6g}"
                elsewhere = not is_among(other, own) and is_among(other, outputs)
                if elsewhere:
                    found += f"; the rival is {'an output for the truth' if y_true is None else 'the plain prediction'}"
                if self.must_be_found(other, answer, w, y_true, own, outputs):
                    yield f"{call} is not maximal: ", found
                    return
                if same_output(other, self.y_true):
                    self.remarks[f"truth: {call}"] = (
                        f"the truth is not among the oracle's outputs, although it is better: in {call} {found}; "
                        "training counts it as one"
                    )
                elif elsewhere:
                    self.remarks[f"rival: {call}"] = (
                        f"whether {call} is maximal cannot be decided: {found} and may be no output "
                        f"{'without it' if y_true is None else 'for this truth'}"
                    )
                    break
                else:
                    self.remarks[f"changed: {call}"] = (
                        f"{call} is not maximal if its outputs include a changed entry: {found}"
                    )
                    break

    def comparable(self, y: Any, outputs: list[Any]) -> Iterator[Any]:
        """Yield the outputs, and the possible neighbours of y, that are unlabelled at the same places as y."""
        missing = self.model._unlabelled
        possible = filter(self.is_possible, _neighbours(y, outputs))
        for other in itertools.chain(outputs, possible):
            if missing is None or np.array_equal(np.asarray(other) == missing, np.asarray(y) == missing):
                yield other

    def is_possible(self, y: Any) -> bool:
        """Return whether loss and features accept a labeling; the oracle has not returned it, so they may raise."""
        try:
            self.loss(y)
            self.score(self.weights[0], y)
        except Exception:
            return False
        return True

    def bound_too_low(self, outputs: list[Any]) -> Iterator[tuple[str, str]]:
        """Yield a mistake for the first weights at which an output has a larger value than ``upper_bound``."""
        for w in self.weights:
            bound = float(hook(self.model, "upper_bound")(w, self.x, self.y_true))
            for y in [self.y_true, *outputs]:
                value = self.value(w, y, self.y_true)
                if not value <= bound + TOLERANCE * (1.0 + abs(bound)):
                    yield "upper_bound(w, x, y_true) ", f"= {bound:.6g}, but {shown(y)} has the value {value:.6g}"
                    return

    def must_be_found(self, y: Any, answer: Any, w: Any, y_true: Any, own: list[Any], outputs: list[Any]) -> bool:
        """Return whether the better output ``y`` is possible, so that the oracle is wrong to return ``answer``.

        ``y`` is possible if the oracle has returned it in calls of this kind (``own``) or returns it for weights that
        favour it. If the oracle returns ``y`` only in the other kind of calls (with or without the truth), ``y`` counts
        as possible unless the set of outputs depends on the truth.
        """
        if is_among(y, own) or self.can_return(y, answer, w, y_true):
            return True
        possible = is_among(y, outputs) or (y_true is not None and self.can_return(y, answer, w))
        return possible and not self.outputs_depend_on_truth

    def can_return(self, y: Any, answer: Any, w: Any, y_true: Any = None) -> bool:
        """Return whether the oracle returns ``y`` for weights that favour it; then ``y`` is a possible output."""
        towards = self.features(y) - self.features(answer)
        size = max(1e-12, float(np.linalg.norm(towards)))
        favouring = (self.allowed(w + t / size * towards) for t in (1.0, 10.0, 1e3, 1e5))
        return any(same_output(self.model.oracle(weights, self.x, y_true), y) for weights in favouring)

    def times(self, factor: float, w: Any) -> Any:
        """Return the weights times a number, clipped to the model's bounds."""
        return self.allowed(factor * w)

    @functools.cached_property
    def outputs_depend_on_truth(self) -> bool:
        """Whether the truth determines which outputs are possible; in a ranking, it determines the items to order.

        The test uses weights so large that losses do not matter. The outputs depend on the truth if the oracle does not
        return the prediction y for the truth ``y_true``, but returns y for the truth y (and not only because it repeats
        every truth). If y is not a valid truth, an exception counts as yes.
        """
        if self.model._rescales_slack:
            return False
        oracle = self.model.oracle
        try:
            for w in self.weights[1:]:
                y, large = oracle(w, self.x), self.times(LARGE, w)
                found = oracle(large, self.x, self.y_true)
                if same_output(found, y) or not same_output(oracle(large, self.x, y), y):
                    continue
                if not same_output(found, self.y_true) or not same_output(oracle(self.times(-LARGE, w), self.x, y), y):
                    return True
        except Exception:
            return True
        return False


def is_among(y: Any, outputs: list[Any]) -> bool:
    return any(same_output(y, other) for other in outputs)


def distinct(labelings: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for y in labelings:
        if not is_among(y, kept):
            kept.append(y)
    return kept


def _neighbours(y: Any, outputs: list[Any]) -> Iterator[Any]:
    """Yield integer labelings of y's type that differ from ``y`` in one entry; the values occur in the outputs."""
    array = _whole_numbers(y)
    if array is None or array.size > 50:
        return
    seen = np.unique(np.concatenate([other for other in map(_whole_numbers, outputs) if other is not None]))
    for position in range(array.size):
        for value in seen[:10]:
            other = array.copy()
            other[position] = value
            yield other if isinstance(y, np.ndarray) else type(y)(other.tolist())


def _whole_numbers(y: Any) -> np.ndarray | None:
    """Return a list, tuple or 1-D array of whole numbers as an array; None for other outputs."""
    if type(y) in (list, tuple) and not all(isinstance(entry, int | np.integer) for entry in y):
        return None
    if type(y) not in (list, tuple, np.ndarray):
        return None
    array = np.asarray(y)
    return array if array.ndim == 1 and array.dtype.kind in "iu" else None
