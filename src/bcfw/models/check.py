"""``bcfw.check_model``: find the mistakes people make in a model of their own before training does."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from bcfw.errors import BcfwError, ModelError, OracleError
from bcfw.inputs.bounds import join_bounds
from bcfw.inputs.examples import by_position, check_same_length
from bcfw.kernels.specialise import source
from bcfw.models.compiled import CompiledForm, CompiledModel, checked_pack
from bcfw.models.failures import CompilationError, described, place
from bcfw.models.hooks import bound_copy, hidden_hooks, hook
from bcfw.models.kernel_model import KernelForm, KernelModel
from bcfw.models.kernels.black_box import ROUNDING, loss_between, loss_on, real_loss
from bcfw.models.model import require_methods, require_model
from bcfw.models.outputs import same_output, shown
from bcfw.models.trial import kernel_error, trial_weights, try_at, try_examples
from bcfw.options import Count
from bcfw.passes.trial import DIRECTION_SIZE, OUTPUT_LOSS, VALUE, direction_pass

#: Relative rounding allowed between values that should be equal or ordered.
TOLERANCE = 1e-8

#: Examples that a message names before it only counts them.
NAMED = 3


class Findings:
    """What was found on some examples: each kind is said once, with its first example and how many more have it."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, set[int]]] = {}

    def add(self, i: int, text: str, kind: str | None = None) -> None:
        """Texts of one kind are alike; without one, those that differ in numbers only."""
        self._found.setdefault(kind or re.sub(r"\d[\d.e+-]*", "0", text), (text, set()))[1].add(int(i))

    def add_error(self, i: int, text: str, error: Exception) -> None:
        """Exceptions of one type that come from one line of the user's are alike."""
        where = place(error)
        self.add(i, text, f"{type(error).__name__}{where}" if where else None)

    def lines(self) -> list[str]:
        return [f"example {min(examples)}: {text}{_all(examples)}" for text, examples in self._found.values()]


def _all(examples: set[int]) -> str:
    """The examples of a finding in brackets, if there are several."""
    if len(examples) == 1:
        return ""
    named, more = ", ".join(map(str, sorted(examples)[:NAMED])), len(examples) - NAMED
    return f" (so for examples {named} and {more} more)" if more > 0 else f" (so for examples {named})"


def check_model(model: Any, X: Any, y: Any, n_examples: int = 10, n_weights: int = 5, seed: int = 0) -> list[str]:
    """Check a model's methods against each other on a few examples.

    For random weights w, the output of ``oracle(w, x, y_true)`` must have the largest
    ``loss(y_true, y) + <w, features(x, y)>`` (with slack rescaling, the loss times one plus the difference to the
    truth's score) among all outputs that could be found: the oracle's outputs for other
    weights, and integer labelings with one entry changed, if some weights make the oracle return them. If the oracle is
    a heuristic, none may have more than ``upper_bound(w, x, y_true)`` instead. Losses must be >= 0 and zero on the
    truth, features finite and of one size.

    Kernels are run as plain Python before, which tells the line where one fails; those of a
    :class:`bcfw.CompiledModel` are then compiled and tried on all examples. Those of a
    :class:`bcfw.models.KernelModel` of your own must agree with each other and with ``loss`` and ``features``.

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
        a possible output, negative labels of a compiled model, or an attribute that has the name of a hook and is not
        read.

    Raises
    ------
    ModelError
        Listing every kind of mistake found, with the examples it was found on, and the line of your code that raised
        an exception.
    """
    require_model(model)
    Count(10).check("check_model", "n_examples", n_examples)
    Count(5).check("check_model", "n_weights", n_weights)
    Count(0, least=0).check("check_model", "seed", seed)
    X, y = by_position(X), by_position(y)
    name = type(model).__name__
    check_same_length(X, y, name)
    require_methods(model)
    bound, packed = _bound_and_packed(model, X, y)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(y))[:n_examples])
    _raise(name, _mistakes_in_kernels(bound, X, y, chosen).lines())
    mistakes, remarks = _losses_of_truths(bound, X, y), Findings()
    for i in chosen:
        try:
            example = _Example(bound, X[int(i)], y[int(i)], rng, n_weights)
            for kind, text in example.mistakes():
                mistakes.add(i, f"{kind}{text}", kind)
            for kind, text in example.remarks.items():
                remarks.add(i, text, kind)
        except CompilationError:
            raise
        except Exception as error:
            mistakes.add_error(i, described(error), error)
    _raise(name, mistakes.lines())
    if isinstance(bound, CompiledModel):
        _try_all(bound, packed)
    return [*_remarks_on_class(model, packed), *remarks.lines()]


def _bound_and_packed(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """The model bound to all examples and, if it is a :class:`CompiledModel`, these packed."""
    try:
        bound = bound_copy(model, X, y, None)
        return bound, checked_pack(bound, X, y) if isinstance(bound, CompiledModel) else None
    except BcfwError:
        raise
    except Exception as error:
        raise ModelError(f"{type(model).__name__}: {described(error)}") from error


def _raise(name: str, mistakes: list[str]) -> None:
    """Raise if there are mistakes."""
    if mistakes:
        raise ModelError(f"{name}:\n  " + "\n  ".join(mistakes))


def _try_all(model: CompiledModel, data: Any) -> None:
    """Raise unless the compiled kernels work on all examples, as training will ask."""
    form = CompiledForm(model)
    try:
        try_examples(form, data, form.kernels.checked)
    except OracleError as error:
        raise ModelError(f"{form.name}:\n  {error}") from error


def _remarks_on_class(model: Any, packed: Any) -> Iterator[str]:
    """Remarks on a model as a whole."""
    for name in hidden_hooks(model):
        yield f"{name} is a hook of bcfw.Model, but here no method of the class; what it holds is never read"
    if packed is not None and np.any(packed.y < 0):
        yield f"pack gives negative labels, such as {packed.y.min()}; as indices they would count from the end"


# --- kernels, interpreted


def _mistakes_in_kernels(model: Any, X: Any, y: Any, chosen: np.ndarray) -> Findings:
    """What a user's kernels raise on some examples, run as plain Python, and where they contradict each other."""
    mistakes = Findings()
    compiled, own = isinstance(model, CompiledModel), not type(model).__module__.startswith("bcfw.")
    if not compiled and not (own and isinstance(model, KernelModel)):
        return mistakes
    form = CompiledForm(model) if compiled else KernelForm(model)
    for i in chosen:
        try:
            with np.errstate(all="ignore"):
                for kind, text in _try_kernels(form, X[int(i)], y[int(i)]):
                    mistakes.add(i, f"{kind}{text}", kind)
        except Exception as error:
            mistakes.add_error(i, kernel_error(form, error), error)
    return mistakes


def _try_kernels(form: Any, x: Any, y_true: Any) -> Iterator[tuple[str, str]]:
    """Run every kernel of a user's on one example; where those of a :class:`KernelModel` contradict its methods."""
    model, kernels = form.model, form.kernels.interpreted()
    compiled = isinstance(model, CompiledModel)
    data = checked_pack(model, [x], [y_true]) if compiled else type(model).pack(model, [x], [y_true])
    if compiled:
        loss_of(model, x, y_true, y_true)  # refuses a complex one
    for w in trial_weights(form):
        try_at(form, data, kernels, w, 0.0)
        labelings, out = try_at(form, data, kernels, w)
        if compiled:
            continue
        ways = np.zeros((DIRECTION_SIZE, 1))
        mu, work, room = form.initial_mu(data), form.make_work(data), form.make_labelings(data, 2)
        kernels.entry(direction_pass)(tuple(data), tuple(work), tuple(mu), w, room, ways, np.zeros(1, np.int64))
        y = model.output(data, labelings)[0]
        loss = loss_on(model, x, y_true, y)
        value = loss + float(w @ (_features(model, x, y) - _features(model, x, y_true)))
        found = {"argmax": out[VALUE, 0]} | dict(
            zip(("its direction", "labeling_value", "difference"), ways[:, 0], strict=True)
        )
        if abs(out[OUTPUT_LOSS, 0] - loss) > TOLERANCE * (1.0 + loss):
            yield (
                "the kernel loss and loss(y_true, y) differ",
                f": {out[OUTPUT_LOSS, 0]:.6g} and {loss:.6g} for {shown(y)}",
            )
        for way, number in found.items():
            if not abs(number - value) <= TOLERANCE * (1.0 + abs(value)):
                yield (
                    f"the value of an output by {way} is not that of loss and features",
                    f": {number:.6g} and {value:.6g} for {shown(y)}",
                )


# --- methods


def loss_of(model: Any, x: Any, y_true: Any, y: Any) -> float:
    """The loss that training uses: for a :class:`CompiledModel` that of its kernel, run as plain Python."""
    if isinstance(model, CompiledModel):
        labeling_loss = source(type(model).labeling_loss)
        return real_loss(labeling_loss(checked_pack(model, [x], [y_true]), 0, checked_pack(model, [x], [y]).y))
    return loss_on(model, x, y_true, y)


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


def _losses_of_truths(model: Any, X: Any, y: Any) -> Findings:
    """The truths whose loss is not zero."""
    mistakes = Findings()
    for i in range(len(y)):
        try:
            zero = loss_of(model, X[i], y[i], y[i])
            if not abs(zero) <= ROUNDING:
                mistakes.add(i, f"loss(y, y) = {zero:.6g} on the truth; it must be 0")
        except Exception as error:
            mistakes.add_error(i, described(error), error)
    return mistakes


def _features(model: Any, x: Any, y: Any) -> np.ndarray:
    """The features of an output as a checked array."""
    given = model.features(x, y)
    if np.iscomplexobj(given):
        raise ModelError("features(x, y) are complex; only real features are supported")
    vector = given.toarray().ravel() if sp.issparse(given) else np.asarray(given, dtype=float).ravel()
    if vector.shape != (model.dim,):
        raise ModelError(f"features(x, y) has {vector.size} numbers, but dim = {model.dim}")
    if not np.all(np.isfinite(vector)):
        raise ModelError("features(x, y) holds a NaN or an infinity")
    return vector


class _Example:
    """One example under test: candidate labelings, and what is wrong."""

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
        """The nearest weights within the model's bounds."""
        box = join_bounds(self.model.dim, hook(self.model, "bounds")())
        return w if box is None else np.clip(w, *box)

    def features(self, y: Any) -> np.ndarray:
        return _features(self.model, self.x, y)

    def mistakes(self) -> Iterator[tuple[str, str]]:
        """Kinds of mistakes, and what is added to them for this example."""
        augmented = [self.model.oracle(w, self.x, self.y_true) for w in self.weights]
        plain = [self.model.oracle(w, self.x) for w in self.weights]
        outputs = _distinct([*augmented, *plain])
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
        """The first output for which a compiled model's kernel and its method ``loss``, if it has one, differ."""
        if not isinstance(self.model, CompiledModel) or type(self.model).loss is CompiledModel.loss:
            return
        for y in outputs:
            kernel, method = self.loss(y), loss_between(self.model, self.y_true, y)
            if abs(kernel - method) > TOLERANCE * (1.0 + abs(method)):
                yield "labeling_loss gives ", f"{kernel:.6g} and loss(y_true, y) {method:.6g} for y = {shown(y)}"
                return

    def value(self, w: np.ndarray, y: Any, y_true: Any) -> float:
        """What the oracle has to maximise; with slack rescaling relative to the truth."""
        score, loss = float(self.features(y) @ w), 0.0 if y_true is None else self.loss(y)
        if y_true is None or not self.model._rescales_slack:
            return loss + score
        return loss * (1.0 + score - float(self.features(y_true) @ w))

    def not_maximal(self, answers: list[Any], outputs: list[Any], y_true: Any) -> Iterator[tuple[str, str]]:
        """The first weights for which an answer is beaten by another output.

        Beaten by the truth, or by a labeling that may not be a possible output, is only a remark.
        """
        call = "oracle(w, x)" if y_true is None else "oracle(w, x, y_true)"
        for w, answer in zip(self.weights, answers, strict=True):
            reached = self.value(w, answer, y_true)
            slack = TOLERANCE * (1.0 + abs(reached) + float(np.abs(self.features(answer)) @ np.abs(w)))
            for other in itertools.chain([self.y_true], self.comparable(answer, outputs)):
                value = self.value(w, other, y_true)
                if value <= reached + slack:
                    continue
                found = f"it returned {shown(answer)} with value {reached:.6g}, but {shown(other)} has {value:.6g}"
                if any(same_output(other, output) for output in outputs) or self.can_return(other, answer, w):
                    yield f"{call} is not maximal: ", found
                    return
                if same_output(other, self.y_true):
                    self.remarks[f"truth: {call}"] = (
                        f"the truth is not among the oracle's outputs, although it is better: in {call} {found}; "
                        "training counts it as one"
                    )
                else:
                    self.remarks[f"changed: {call}"] = (
                        f"{call} is not maximal if its outputs include a changed entry: {found}"
                    )
                    break

    def comparable(self, y: Any, outputs: list[Any]) -> Iterator[Any]:
        """The outputs, and neighbours of one of them, that have labels where it has."""
        missing = self.model._unlabelled
        possible = filter(self.is_possible, _neighbours(y, outputs))
        for other in itertools.chain(outputs, possible):
            if missing is None or np.array_equal(np.asarray(other) == missing, np.asarray(y) == missing):
                yield other

    def is_possible(self, y: Any) -> bool:
        """Whether loss and features take a labeling that the oracle has not returned: it may well be no output."""
        try:
            self.loss(y)
            self.features(y)
        except Exception:
            return False
        return True

    def bound_too_low(self, outputs: list[Any]) -> Iterator[tuple[str, str]]:
        """The first weights for which an output has a larger value than ``upper_bound`` allows."""
        for w in self.weights:
            bound = float(hook(self.model, "upper_bound")(w, self.x, self.y_true))
            for y in [self.y_true, *outputs]:
                value = self.value(w, y, self.y_true)
                if not value <= bound + TOLERANCE * (1.0 + abs(bound)):
                    yield "upper_bound(w, x, y_true) ", f"= {bound:.6g}, but {shown(y)} has the value {value:.6g}"
                    return

    def can_return(self, y: Any, answer: Any, w: np.ndarray) -> bool:
        """Whether weights that favour ``y`` make the oracle return it, which proves that it is a possible output."""
        towards = self.features(y) - self.features(answer)
        size = max(1e-12, float(np.linalg.norm(towards)))
        favouring = (self.allowed(w + t / size * towards) for t in (1.0, 10.0, 1e3, 1e5))
        return any(same_output(self.model.oracle(weights, self.x), y) for weights in favouring)


def _distinct(labelings: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for y in labelings:
        if not any(same_output(y, other) for other in kept):
            kept.append(y)
    return kept


def _neighbours(y: Any, outputs: list[Any]) -> Iterator[Any]:
    """Integer labelings of the same type that differ from ``y`` in one entry, with values seen in the outputs."""
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
    """A list, tuple or 1-D array of whole numbers as an array; None for other outputs."""
    if type(y) in (list, tuple) and not all(isinstance(entry, int | np.integer) for entry in y):
        return None
    if type(y) not in (list, tuple, np.ndarray):
        return None
    array = np.asarray(y)
    return array if array.ndim == 1 and array.dtype.kind in "iu" else None
