"""Model, base class of all models: the three methods that a user's class defines and the hooks it may override."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from numbers import Integral, Number
from typing import Any, ClassVar

import numpy as np

from bcfw.compile import RoutineSet
from bcfw.errors import ModelError, OptionError
from bcfw.inputs.bounds import join_bounds
from bcfw.inputs.examples import check_same_length
from bcfw.models.base.adapter import ModelAdapter
from bcfw.models.base.hooks import DEFAULTS, HOOKS, checked_dim, hook
from bcfw.models.python.python_adapter import PythonAdapter, content_hash, feature_count, first_features
from bcfw.models.python.python_routines import BLACK_BOX_ROUTINES
from bcfw.options import Flag, as_call
from bcfw.storage.objects import MODELS

#: The methods that a user's class must define.
METHODS = {
    "features": "features(self, x, y)",
    "loss": "loss(self, y_true, y)",
    "oracle": "oracle(self, w, x, y_true=None)",
}


#: Attributes that hold sizes, in the order in which the repr of a model shows them.
SIZES = ("n_labels", "n_features", "n_edge_features", "dim")


class Model:
    """Base class for a model of your own: write three methods in plain Python.

    ``phi = features(x, y)`` maps a pair to R^d (dense array, or scipy-sparse row, column or 1-D),
    ``loss(y_true, y) >= 0`` is zero on the truth, and ``oracle(w, x, y_true)`` returns
    ``argmax_y loss(y_true, y) + <w, features(x, y)>``, or ``argmax_y <w, features(x, y)>`` if ``y_true`` is None. The
    number of weights d is the size of the first example's features, unless you set ``dim``.

    An output y may be any object, for example an array, a string, a tuple of arrays or a dict.

    The other methods are hooks: they have defaults, and a class may override them. Attributes of your own may have any
    name: a hook is only looked up among the methods of the class.

    Examples
    --------
    >>> import numpy as np, bcfw
    >>> class Sign(bcfw.Model):
    ...     def features(self, x, y):
    ...         return y * x / 2
    ...     def loss(self, y_true, y):
    ...         return float(y != y_true)
    ...     def oracle(self, w, x, y_true=None):
    ...         def value(y):
    ...             return w @ self.features(x, y) + (0 if y_true is None else self.loss(y_true, y))
    ...         return max((-1, 1), key=value)
    >>> X, y = np.array([[1.0, 2.0], [-1.0, -1.0]]), [1, -1]
    >>> bcfw.train(Sign(), X, y, lam=0.1).predict(X)
    [1, -1]
    """

    #: Number of weights; None until ``bind`` has seen data.
    dim: int | None = None

    #: Whether the oracle always finds a maximum. With False the oracle is a heuristic: steps do not change, but the gap
    #: is only an estimate, and a result counts as certified only if ``upper_bound`` closes the gap.
    exact_oracle: ClassVar[bool] = True

    #: Whether training rescales the slack instead of the margin. The oracle with ``y_true`` must then return
    #: ``argmax_y loss(y_true, y) (1 + <w, features(x, y) - features(x, y_true)>)``; without ``y_true`` nothing changes.
    slack_rescaling: ClassVar[bool] = False

    #: The value of an unlabelled entry of y; None if the model does not support unlabelled entries.
    _unlabelled: ClassVar[int | None] = None

    #: The routines to which passes are specialised.
    _routines: ClassVar[RoutineSet] = BLACK_BOX_ROUTINES

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Flag(True).check(cls.__name__, "exact_oracle", cls.exact_oracle)
        Flag(False).check(cls.__name__, "slack_rescaling", cls.slack_rescaling)
        if cls._routines.bindings.get("EXACT", True) != cls.exact_oracle:
            cls._routines = cls._routines.rebound(EXACT=cls.exact_oracle)
        if cls._routines.bindings.get("SLACK", False) != cls.slack_rescaling:
            cls._routines = cls._routines.rebound(SLACK=cls.slack_rescaling)

    def __repr__(self) -> str:
        return as_call(type(self).__name__, {**given_options(self), **self._known_sizes()})

    def features(self, x: Any, y: Any) -> Any:
        """Return the joint features phi(x, y) in R^d."""
        raise missing_method(self, "features")

    def loss(self, y_true: Any, y: Any) -> float:
        """Return the loss >= 0 of predicting y if the truth is y_true; zero for y = y_true."""
        raise missing_method(self, "loss")

    def oracle(self, w: np.ndarray, x: Any, y_true: Any = None) -> Any:
        """Return ``argmax_y loss(y_true, y) + <w, features(x, y)>``; without y_true the loss is left out."""
        raise missing_method(self, "oracle")

    def bind(self, X: Any, y: Any) -> Model:
        """Hook: return a copy of the model with all attributes set that depend on the data (here ``dim``)."""
        check_same_length(X, y, type(self).__name__)
        bound = copy.copy(self)
        if bound.dim is None:
            bound.dim = feature_count(first_features(bound, X, y))
        checked_dim(bound)
        return bound

    def predict(self, w: np.ndarray, X: Any) -> Any:
        """Hook: return the list of the best outputs of all inputs."""
        return [self.oracle(w, x) for x in X]

    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Hook: return the bounds on w that the oracle needs, (lower, upper) of shape (dim,); None for no bounds."""
        return None

    def upper_bound(self, w: np.ndarray, x: Any, y_true: Any) -> float:
        """Hook for ``exact_oracle = False``: return at least ``max_y loss(y_true, y) + <w, features(x, y)>``.

        The value of a relaxation is such a bound; infinity if no bound is known. With ``slack_rescaling``, return at
        least the maximum of the objective that the oracle then maximises.
        """
        return np.inf

    def oracle_operations(self, data: Any) -> float | None:
        """Hook: return the number of additions of one oracle call for every example together; None if it is unknown.

        Without a count, ``solver="auto"`` measures the time of oracle calls. If the count is small, the choices of
        ``solver="auto"`` do not depend on measured times, and results depend on the seed alone. ``data`` has the fields
        ``X`` and ``y``; for a compiled model it is the packed record.
        """
        return None

    def fingerprint(self, data: Any) -> str:
        """Hook: return a hash of everything that loss, features and oracle depend on: attributes, inputs, outputs.

        A state is only used for a problem with an equal fingerprint. Override this hook if the model changes attributes
        that do not matter, for example a cache that its copies share. ``data`` is as in :meth:`oracle_operations`.
        """
        return content_hash(*vars(self).items(), data.X, data.y)

    @property
    def _rescales_slack(self) -> bool:
        return type(self).slack_rescaling

    def _loss_of(self, x: Any, y_true: Any, y: Any) -> float:
        """Return the loss of an output of x; a built-in model whose loss depends on the input overrides this method."""
        return self.loss(y_true, y)

    def _known_sizes(self) -> dict[str, int]:
        """Return the sizes that are known: from the constructor, the class, or the data that the model is bound to."""
        kept = {**vars(type(self)), **vars(self)}
        return {name: int(kept[name]) for name in SIZES if isinstance(kept.get(name), Integral)}

    def _with_sizes(self, sizes: Mapping[str, Any]) -> Any:
        """Return a copy of the model, bound to data of the given sizes.

        For a user's class, the copy only gets ``dim``, unless the model is bound already.
        """
        bound: Any = copy.copy(self)
        built_in = isinstance(self, tuple(MODELS.values()))
        if built_in and (self.dim is None or type(self) in MODELS.values()):
            if getattr(bound, "n_labels", 0) is None:  # the example has too few labels to tell
                bound.n_labels = sizes["n_labels"]
            return hook(bound, "bind")(*bound._example_of_sizes(sizes))
        if bound.dim is None:
            bound.dim = sizes["dim"]
        checked_dim(bound)
        return bound

    def _example_of_sizes(self, sizes: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the smallest X and y that bind a built-in model to the sizes of a saved model."""
        raise NotImplementedError

    def _random_output(self, X: Any, y: Any, i: int, rng: np.random.Generator) -> Any:
        """Return the oracle's output for example i with random weights; the model must be bound."""
        w, box = rng.standard_normal(self.dim), join_bounds(checked_dim(self), hook(self, "bounds")())
        return self.oracle(w if box is None else np.clip(w, *box), X[i])

    def _open(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> tuple[ModelAdapter, Any]:
        """Bind the model to the data; return the adapter for solvers and the packed data."""
        return PythonAdapter.open(self, X, y, sample_weight)

    def _open_bound(self, X: Any, y: Any) -> tuple[ModelAdapter, Any]:
        """Return the adapter and the packed data of a bound model; it may be bound to more data than X and y."""
        return PythonAdapter.open_bound(self, X, y)


def given_options(model: Any) -> dict[str, Any]:
    """Return the constructor arguments that the model stores under their own names and that are not the defaults."""
    kept = vars(model)
    named = inspect.signature(type(model)).parameters.values()
    return {one.name: kept[one.name] for one in named if one.name in kept and not _is_same(kept[one.name], one.default)}


def _is_same(value: Any, default: Any) -> bool:
    """Return whether a value is the default: strings and numbers are compared, other objects by identity."""
    return value is default or (isinstance(value, str | Number) and type(value) is type(default) and value == default)


DEFAULTS |= {name: vars(Model)[name] for name in HOOKS}


def missing_method(model: Model, name: str) -> ModelError:
    """Return the error for a class that does not define one of the required methods."""
    return ModelError(f"{type(model).__name__} needs a method {METHODS[name]}")


def refuse_slack(cls: Any) -> None:
    """Raise if a class asks for slack rescaling although its routines maximise a sum over parts."""
    if cls.slack_rescaling:
        raise ModelError(
            f"{cls.__name__}: slack_rescaling is for models with an oracle in Python (bcfw.Model); compiled ones add "
            "up losses and scores of parts, but loss(y) (1 - <w, psi(y)>) is a product, which has no parts "
            "(bcfw.models.Multiclass, whose outputs can be tried one by one, has the option rescale='slack')"
        )


def require_methods(model: Model) -> None:
    """Raise unless the class of a model defines all required methods."""
    for name in METHODS:
        if getattr(type(model), name) is getattr(Model, name):
            raise missing_method(model, name)


def require_model(model: Any, owner: str = "") -> None:
    """Raise unless ``model`` is an instance of :class:`Model`; ``owner`` begins the message."""
    if not isinstance(model, Model):
        example = "such as bcfw.models.Chain()"
        raise OptionError(f"{owner}model must be an instance of a bcfw.Model, {example}, got {model!r}")
