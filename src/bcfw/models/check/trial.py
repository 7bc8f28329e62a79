"""Trial runs of a model's compiled routines before training: on every example, with index checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.compile import RoutineSet
from bcfw.errors import ModelError, OracleError
from bcfw.inputs.bounds import join_bounds
from bcfw.models.base.adapter import ModelAdapter
from bcfw.models.check.failures import cannot_compile, described, is_from_numba
from bcfw.models.check.trial_passes import KEPT, OUTPUT_LOSS, TRIAL_SIZE, TRUTH_LOSS, VALUE, trial_pass
from bcfw.models.python.python_routines import ROUNDING

#: Number of examples per call of compiled code; between two calls, Python reacts to Ctrl-C.
CHUNK = 100


def try_examples(adapter: ModelAdapter, data: Any, routines: RoutineSet) -> None:
    """Raise unless the routines give valid results on every example, at w = 0 and at random weights."""
    for w in trial_weights(adapter):
        for loss_weight in (1.0, 0.0):
            require_sound(try_at(adapter, data, routines, w, loss_weight)[1])


def trial_weights(adapter: ModelAdapter) -> list[np.ndarray]:
    """Return two weight vectors, zeros and random numbers, clipped to the model's bounds."""
    box = join_bounds(adapter.dim, adapter.bounds())
    weights = [np.zeros(adapter.dim), np.random.default_rng(0).standard_normal(adapter.dim)]
    return weights if box is None else [np.clip(w, *box) for w in weights]


def try_at(
    adapter: ModelAdapter, data: Any, routines: RoutineSet, w: np.ndarray, loss_weight: float = 1.0
) -> tuple[Any, Any]:
    """Run the routines on every example; return the oracle's labelings and the table that :func:`trial_pass` writes."""
    n = len(data.y_off) - 1
    labelings, out = adapter.make_labelings(data), np.zeros((TRIAL_SIZE, n))
    work = tuple(adapter.make_work(data))
    for blocks in chunks(n):
        run_routines(adapter, routines, trial_pass, data, work, w, loss_weight, blocks, labelings, out)
    return labelings, out


def chunks(n: int) -> list[np.ndarray]:
    """Return the numbers 0 .. n - 1 of n examples, split into arrays of at most ``CHUNK`` numbers."""
    return np.array_split(np.arange(n), max(1, -(-n // CHUNK)))


def run_routines(adapter: ModelAdapter, routines: RoutineSet, template: Any, data: Any, *args: Any) -> None:
    """Run a template on the data; if a routine raises, raise an error that names the example.

    The last argument of the template is an array in which it stores the current example. An error of compiled code
    shows neither the wrong index nor the line. Therefore the template is then run again as plain Python, whose error
    shows both.
    """
    at = np.zeros(1, np.int64)
    try:
        routines.compiled_pass(template)(tuple(data), *args, at)
    except Exception as error:
        if not routines.compiled:
            raise
        if is_from_numba(error):
            raise cannot_compile(adapter.name, error) from None
        i = int(at[0])
        told = _interpreted_error(routines, template, data, args, i) or error
        raise OracleError(f"example {i}: {routine_error(adapter, told)}", i) from error


def _interpreted_error(routines: RoutineSet, template: Any, data: Any, args: Any, i: int) -> Exception | None:
    """Run the template as plain Python; return its error if it fails at example i, else None."""
    at = np.zeros(1, np.int64)
    try:
        with np.errstate(all="ignore"):
            routines.interpreted().compiled_pass(template)(tuple(data), *args, at)
    except Exception as error:
        return error if at[0] == i else None
    return None


def routine_error(adapter: ModelAdapter, error: Exception) -> str:
    """Return the description of an error of a routine; for an index error, with advice."""
    if not isinstance(error, IndexError):
        return described(error)
    return (
        f"{described(error)}; compiled code would read or write outside an array here: check the labels and sizes that "
        f"pack gives the routines, and dim = {adapter.dim}"
    )


def require_zero_losses(losses: np.ndarray) -> None:
    """Raise unless all losses of truths are zero; the error names the first example with another loss."""
    for i in np.flatnonzero(~(np.abs(losses) <= ROUNDING))[:1]:
        raise ModelError(f"example {i}: labeling_loss is {losses[i]:.6g} on the truth; it must be 0")


def require_sound(out: np.ndarray) -> None:
    """Raise if ``out``, a table of :func:`trial_pass`, has an invalid loss, value or label; name the first example."""
    found, value = out[OUTPUT_LOSS], out[VALUE]
    require_zero_losses(out[TRUTH_LOSS])
    for i in np.flatnonzero(~((found >= -ROUNDING) & (found < np.inf)))[:1]:
        raise OracleError(
            f"example {i}: labeling_loss is {found[i]:.6g} on the oracle's output; it must be finite and >= 0", i
        )
    for i in np.flatnonzero(~np.isfinite(value))[:1]:
        raise OracleError(f"example {i}: add_features gives a NaN or an infinity", i)
    for i in np.flatnonzero(out[KEPT] == 0.0)[:1]:
        raise OracleError(f"example {i}: decode gives a label that does not fit into 32 bits", i)
