"""The function open_problem: it checks and packs a model's data and returns the :class:`DualProblem`."""

from __future__ import annotations

from typing import Any

from bcfw.dual.problem import DualProblem
from bcfw.errors import OptionError
from bcfw.inputs.bounds import join_bounds
from bcfw.inputs.examples import indexable_examples
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
    """Return the dual problem of a model and its examples, with all mass on the truths (v = 0).

    Parameters
    ----------
    model : Model
        The model does not change; the problem holds a copy that is bound to the data.
    X, y : sequences
        The inputs and true outputs of the examples, of the types that the model takes.
    lam : float
        Regularisation, > 0.
    sample_weight : (n,) array or None
        Weights s_i of the examples; None means that every weight is 1.
    bounds : (lower, upper) or None
        Box constraints on w; the bounds that the model itself needs are added.
    n_jobs : int
        The number of threads of a certificate pass.
    total_weight : float or None
        If X and y are only a part of all examples: the sum of the weights of all examples. The shares are then
        ``c_i = s_i / total_weight``, so that sums over the blocks of all parts are the sums of the whole problem. The
        model must already be bound to all examples, and is not copied.

    Returns
    -------
    DualProblem
    """
    Positive(1.0).check("", "lam", lam)
    X, y = indexable_examples(X), indexable_examples(y)
    if total_weight is None:
        weight = None if sample_weight is None else read_sample_weight(sample_weight, len(y))
        adapter, data = type(model)._open(model, X, y, weight)
    else:
        if model.dim is None:
            raise OptionError("total_weight is given for a part of the examples; bind the model to all of them before")
        adapter, data = type(model)._open_bound(model, X, y)
        weight = read_part_weight(sample_weight, len(y), total_weight)
    box = join_bounds(adapter.dim, adapter.bounds(), bounds)
    return DualProblem(adapter, data, block_shares(weight, len(y), total_weight), lam, box, n_jobs)
