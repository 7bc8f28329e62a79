"""Opening a problem: a model, examples, weights and bounds become one :class:`DualProblem`, each read once."""

from __future__ import annotations

from typing import Any

from bcfw.dual.problem import DualProblem
from bcfw.errors import OptionError
from bcfw.inputs.bounds import join_bounds
from bcfw.inputs.examples import by_position
from bcfw.inputs.sample_weights import block_shares, read_part_weight, read_sample_weight
from bcfw.models import Model
from bcfw.options import Positive


def open_problem(
    model: Model,
    X: Any,
    y: Any,
    lam: float,
    sample_weight: Any = None,
    bounds: Any = None,
    n_jobs: int = 1,
    total_weight: float | None = None,
) -> DualProblem:
    """Bind a model to its data, pack them, and set up the dual at w = 0.

    Parameters
    ----------
    model : Model
        It is not changed; the problem has a bound copy.
    X, y : sequences
        The examples, in the form the model takes.
    lam : float
        Regularisation, > 0.
    sample_weight : (n,) array or None
        Weights s_i, 1 for None.
    bounds : (lower, upper) or None
        Box constraints on w; joined with those that the model needs.
    n_jobs : int
        Threads of a certificate pass.
    total_weight : float or None
        Sum of the weights of all examples, if these are only some of them: the shares are then
        ``c_i = s_i / total_weight``, and sums over the blocks of all parts are those of the whole problem. The model
        must be bound to the whole data before, and is used as it is.

    Returns
    -------
    DualProblem
    """
    Positive(1.0).check("", "lam", lam)
    X, y = by_position(X), by_position(y)
    if total_weight is None:
        weight = None if sample_weight is None else read_sample_weight(sample_weight, len(y))
        form, data = type(model)._open(model, X, y, weight)
    else:
        if model.dim is None:
            raise OptionError("total_weight is given for a part of the examples; bind the model to all of them before")
        form, data = type(model)._open_bound(model, X, y)
        weight = read_part_weight(sample_weight, len(y), total_weight)
    box = join_bounds(form.dim, form.bounds(), bounds)
    return DualProblem(form, data, block_shares(weight, len(y), total_weight), lam, box, n_jobs)
