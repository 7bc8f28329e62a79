"""``bcfw.check_model``: check a user's own model for the usual mistakes before training."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bcfw.errors import BcfwError, ModelError, OracleError
from bcfw.inputs.examples import check_same_length, indexable_examples
from bcfw.models.base.compiled import CompiledAdapter, CompiledModel, checked_pack
from bcfw.models.base.hooks import bound_copy, hidden_hooks
from bcfw.models.base.kernel_model import BuiltinAdapter, KernelModel
from bcfw.models.base.model import require_methods, require_model
from bcfw.models.check.failures import CompilationError, described
from bcfw.models.check.findings import TOLERANCE, Findings
from bcfw.models.check.outputs import shown
from bcfw.models.check.trial import routine_error, trial_weights, try_at, try_examples
from bcfw.models.check.trial_passes import DIRECTION_SIZE, OUTPUT_LOSS, VALUE, direction_pass
from bcfw.models.check.tried_example import TriedExample, features_of, loss_of
from bcfw.models.joint_kernel.joint_kernel_model import JointKernelModel
from bcfw.models.joint_kernel.kernel_check import try_kernel
from bcfw.models.python.python_routines import ROUNDING, loss_on
from bcfw.options import Count
from bcfw.storage.objects import MODELS


def check_model(model: Any, X: Any, y: Any, n_examples: int = 10, n_weights: int = 5, seed: int = 0) -> list[str]:
    """Check a model's methods against each other on a few examples.

    For random weights w, the check compares the output of ``oracle(w, x, y_true)`` with other outputs: the outputs
    that the oracle returns for other weights, and integer labelings with one entry changed that the oracle returns for
    some weights. The oracle's output must have the largest ``loss(y_true, y) + <w, features(x, y)>`` among them (with
    slack rescaling, the largest product of the loss and one plus the score difference to the truth). If the oracle is
    a heuristic, no output may exceed ``upper_bound(w, x, y_true)`` instead. Losses must be >= 0, and zero on the truth.
    Features must be finite and have one size.

    Compiled routines are first run as plain Python, so that an error names the line that failed. The routines of a
    :class:`bcfw.CompiledModel` are then compiled and tried on all examples. If you write the routines of a
    :class:`bcfw.models.KernelModel` yourself, they must agree with each other and with ``loss`` and ``features``.

    The kernel of a :class:`bcfw.JointKernelModel` must be symmetric and positive semidefinite on truths and outputs of
    the examples. The random weights are then random combinations of the features of these pairs.

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
        Remarks that are not errors: a truth that the oracle never returns, a better labeling that may not be a
        possible output, negative labels of a compiled model, or an attribute that has the name of a hook but is not a
        method and is therefore ignored.

    Raises
    ------
    ModelError
        If there are mistakes. The message lists every kind of mistake, the examples that have it, and the line of your
        code that raised an exception.
    """
    require_model(model)
    Count(10).check("check_model", "n_examples", n_examples)
    Count(5).check("check_model", "n_weights", n_weights)
    Count(0, least=0).check("check_model", "seed", seed)
    X, y = indexable_examples(X), indexable_examples(y)
    name = type(model).__name__
    check_same_length(X, y, name)
    require_methods(model)
    bound, packed = _bound_and_packed(model, X, y)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(len(y))[:n_examples])
    _raise(name, _mistakes_in_routines(bound, X, y, chosen).lines())
    mistakes, remarks = _losses_of_truths(bound, X, y), Findings()
    if isinstance(bound, JointKernelModel):
        tried = try_kernel(bound, X, y, chosen, rng, n_weights)
    else:
        tried = functools.partial(TriedExample, bound, rng=rng, n_weights=n_weights)
    for i in chosen:
        try:
            example = tried(X[int(i)], y[int(i)])
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
    """Return the model bound to all examples and the packed examples (None unless it is a :class:`CompiledModel`)."""
    try:
        bound = bound_copy(model, X, y, None)
        return bound, checked_pack(bound, X, y) if isinstance(bound, CompiledModel) else None
    except BcfwError:
        raise
    except Exception as error:
        raise ModelError(f"{type(model).__name__}: {described(error)}") from error


def _raise(name: str, mistakes: list[str]) -> None:
    """Raise a :class:`ModelError` that lists the mistakes, if there are any."""
    if mistakes:
        raise ModelError(f"{name}:\n  " + "\n  ".join(mistakes))


def _try_all(model: CompiledModel, data: Any) -> None:
    """Raise unless the compiled routines, with index checks, work on all examples."""
    adapter = CompiledAdapter(model)
    try:
        try_examples(adapter, data, adapter.routines.checked)
    except OracleError as error:
        raise ModelError(f"{adapter.name}:\n  {error}") from error


def _remarks_on_class(model: Any, packed: Any) -> Iterator[str]:
    """Yield remarks that concern the model as a whole."""
    for name in hidden_hooks(model):
        yield f"{name} is a hook of bcfw.Model, but here no method of the class; what it holds is never read"
    if packed is not None and np.any(packed.y < 0):
        yield f"pack gives negative labels, such as {packed.y.min()}; as indices they would count from the end"


# --- routines, interpreted


def _mistakes_in_routines(model: Any, X: Any, y: Any, chosen: np.ndarray) -> Findings:
    """Run a user's routines as plain Python on the chosen examples; return their errors and contradictions."""
    mistakes = Findings()
    compiled, own = isinstance(model, CompiledModel), type(model) not in MODELS.values()
    if not compiled and not (own and isinstance(model, KernelModel)):
        return mistakes
    adapter = CompiledAdapter(model) if compiled else BuiltinAdapter(model)
    for i in chosen:
        try:
            with np.errstate(all="ignore"):
                for kind, text in _try_routines(adapter, X[int(i)], y[int(i)]):
                    mistakes.add(i, f"{kind}{text}", kind)
        except Exception as error:
            mistakes.add_error(i, routine_error(adapter, error), error)
    return mistakes


def _try_routines(adapter: Any, x: Any, y_true: Any) -> Iterator[tuple[str, str]]:
    """Run all routines of a user's model on one example.

    Yield the contradictions between the routines and the methods of a :class:`KernelModel`.
    """
    model, routines = adapter.model, adapter.routines.interpreted()
    compiled = isinstance(model, CompiledModel)
    data = checked_pack(model, [x], [y_true]) if compiled else type(model).pack(model, [x], [y_true])
    if compiled:
        loss_of(model, x, y_true, y_true)  # raises if the loss is complex
    for w in trial_weights(adapter):
        try_at(adapter, data, routines, w, 0.0)
        labelings, out = try_at(adapter, data, routines, w)
        if compiled:
            continue
        ways = np.zeros((DIRECTION_SIZE, 1))
        mu, work, room = adapter.initial_mu(data), adapter.make_work(data), adapter.make_labelings(data, 2)
        routines.compiled_pass(direction_pass)(
            tuple(data), tuple(work), tuple(mu), w, room, ways, np.zeros(1, np.int64)
        )
        y = model.output(data, labelings)[0]
        loss = loss_on(model, x, y_true, y)
        value = loss + float(w @ (features_of(model, x, y) - features_of(model, x, y_true)))
        found = {"argmax": out[VALUE, 0]} | dict(
            zip(("its direction", "labeling_value", "difference"), ways[:, 0], strict=True)
        )
        if abs(out[OUTPUT_LOSS, 0] - loss) > TOLERANCE * (1.0 + loss):
            yield (
                "the routine loss and loss(y_true, y) differ",
                f": {out[OUTPUT_LOSS, 0]:.6g} and {loss:.6g} for {shown(y)}",
            )
        for way, number in found.items():
            if not abs(number - value) <= TOLERANCE * (1.0 + abs(value)):
                yield (
                    f"the value of an output by {way} is not that of loss and features",
                    f": {number:.6g} and {value:.6g} for {shown(y)}",
                )


# --- methods in Python


def loss_that_was_missed(model: Any, X: Any, y: Any, examples: Sequence[int], n_weights: int = 3) -> OracleError | None:
    """Return an error if an oracle that found no loss at w = 0 has missed an output with a loss; else None.

    The oracle of the bound model decodes the given examples with random weights. Any output with a loss > 0 proves that
    the oracle missed the largest loss at w = 0.
    """
    rng = np.random.default_rng(0)
    for i in examples:
        for _ in range(n_weights):
            output = model._random_output(X, y, i, rng)
            loss = loss_of(model, X[i], y[i], output)
            if loss > 0.0:
                return OracleError(
                    f"example {i}: at w = 0 the oracle returned an output without loss, but {output!r:.200} has the "
                    f"loss {loss:.6g}; with y_true it must maximise loss plus score (is the sign of the loss right?)",
                    i,
                )
    return None


def _losses_of_truths(model: Any, X: Any, y: Any) -> Findings:
    """Return the truths whose loss is not zero, as mistakes."""
    mistakes = Findings()
    for i in range(len(y)):
        try:
            zero = loss_of(model, X[i], y[i], y[i])
            if not abs(zero) <= ROUNDING:
                mistakes.add(i, f"loss(y, y) = {zero:.6g} on the truth; it must be 0")
        except Exception as error:
            mistakes.add_error(i, described(error), error)
    return mistakes
