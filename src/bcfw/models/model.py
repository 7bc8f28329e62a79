"""What a user writes: a class with three methods, and a few hooks that it may override."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from numbers import Integral, Number
from typing import Any, ClassVar

import numpy as np

from bcfw.errors import ModelError, OptionError
from bcfw.inputs.bounds import join_bounds
from bcfw.inputs.examples import check_same_length
from bcfw.kernels import KernelSet
from bcfw.models.form import Form
from bcfw.models.hooks import DEFAULTS, HOOKS, checked_dim, hook
from bcfw.models.kernels.black_box import BLACK_BOX_KERNELS
from bcfw.models.python_form import PythonForm, content_hash, feature_count, first_features
from bcfw.options import Flag, as_call
from bcfw.saved_objects import MODELS

#: The methods that a user writes.
METHODS = {
    "features": "features(self, x, y)",
    "loss": "loss(self, y_true, y)",
    "oracle": "oracle(self, w, x, y_true=None)",
}


#: Attributes that hold sizes, in the order in which a model shows them.
SIZES = ("n_labels", "n_features", "n_edge_features", "dim")


class Model:
    """Base class for a structure of your own: write three methods in plain Python.

    ``phi = features(x, y)`` maps a pair to R^d (dense array, or scipy-sparse row, column or 1-D),
    ``loss(y_true, y) >= 0`` is zero on the truth, and ``oracle(w, x, y_true)`` returns
    ``argmax_y loss(y_true, y) + <w, features(x, y)>``, or the plain argmax of ``<w, features(x, y)>`` when
    ``y_true`` is None. Set ``dim`` (d) if the first example's features do not tell it.

    An output y may be of any kind, such as an array, a string, a tuple of arrays or a dict.

    The other methods are hooks: they work as they are, and a class may override them. Attributes of your own may have
    any name: what is no method of the class is not read.

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

    #: Whether the oracle finds a maximum. With False it is taken as a heuristic: steps work as before, the gap is only
    #: an estimate, and a result counts as certified only if ``upper_bound`` closes the gap.
    exact_oracle: ClassVar[bool] = True

    #: Whether training rescales the slack instead of the margin. The oracle with ``y_true`` then has to return
    #: ``argmax_y loss(y_true, y) (1 + <w, features(x, y) - features(x, y_true)>)``; plain decoding stays as it is.
    slack_rescaling: ClassVar[bool] = False

    #: Marks an unlabelled entry of y; None if the model has none.
    _unlabelled: ClassVar[int | None] = None

    #: The kernels that passes are specialised to.
    _kernels: ClassVar[KernelSet] = BLACK_BOX_KERNELS

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Flag(True).check(cls.__name__, "exact_oracle", cls.exact_oracle)
        Flag(False).check(cls.__name__, "slack_rescaling", cls.slack_rescaling)
        if cls._kernels.bindings.get("EXACT", True) != cls.exact_oracle:
            cls._kernels = cls._kernels.rebound(EXACT=cls.exact_oracle)
        if cls._kernels.bindings.get("SLACK", False) != cls.slack_rescaling:
            cls._kernels = cls._kernels.rebound(SLACK=cls.slack_rescaling)

    def __repr__(self) -> str:
        return as_call(type(self).__name__, {**given_options(self), **self._known_sizes()})

    def features(self, x: Any, y: Any) -> Any:
        """Joint features phi(x, y) in R^d."""
        raise missing_method(self, "features")

    def loss(self, y_true: Any, y: Any) -> float:
        """Loss of predicting y for y_true; zero for y = y_true, never negative."""
        raise missing_method(self, "loss")

    def oracle(self, w: np.ndarray, x: Any, y_true: Any = None) -> Any:
        """``argmax_y loss(y_true, y) + <w, features(x, y)>``; without y_true the plain argmax."""
        raise missing_method(self, "oracle")

    def bind(self, X: Any, y: Any) -> Model:
        """Hook: a copy of the model with everything set that the data determine (here ``dim``)."""
        check_same_length(X, y, type(self).__name__)
        bound = copy.copy(self)
        if bound.dim is None:
            bound.dim = feature_count(first_features(bound, X, y))
        checked_dim(bound)
        return bound

    def predict(self, w: np.ndarray, X: Any) -> Any:
        """Hook: plain decoding of every input; a list."""
        return [self.oracle(w, x) for x in X]

    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Hook: the box that the oracle needs w to lie in, (lower, upper) of shape (dim,); None for no limits."""
        return None

    def upper_bound(self, w: np.ndarray, x: Any, y_true: Any) -> float:
        """Hook of models with ``exact_oracle = False``: at least ``max_y loss(y_true, y) + <w, features(x, y)>``.

        A relaxation's value, for example; infinity, if nothing is known. With ``slack_rescaling``: at least what the
        oracle then maximises.
        """
        return np.inf

    def oracle_operations(self, data: Any) -> float | None:
        """Hook: additions that the oracle takes for all examples of ``data`` together; None if they are not counted.

        ``solver="auto"`` reads the clock instead; with a count of cheap calls, the seed alone decides. ``data`` has the
        fields ``X`` and ``y``; for a compiled model it is the packed record.
        """
        return None

    def fingerprint(self, data: Any) -> str:
        """Hook: hash of what loss, features and oracle depend on: attributes, inputs, outputs.

        A state is only taken over where it is the same. Write your own if the model changes attributes that do not
        matter, such as a cache that its copies share. ``data`` is as in :meth:`oracle_operations`.
        """
        return content_hash(*vars(self).items(), data.X, data.y)

    @property
    def _rescales_slack(self) -> bool:
        return type(self).slack_rescaling

    def _loss_of(self, x: Any, y_true: Any, y: Any) -> float:
        """The loss of an output of x; a built-in model whose loss depends on the input has its own."""
        return self.loss(y_true, y)

    def _known_sizes(self) -> dict[str, int]:
        """The sizes that the model has by now: given to it, of its class, or of the data that it is bound to."""
        kept = {**vars(type(self)), **vars(self)}
        return {name: int(kept[name]) for name in SIZES if isinstance(kept.get(name), Integral)}

    def _with_sizes(self, sizes: Mapping[str, Any]) -> Any:
        """A copy of the model, bound to data of the given sizes.

        A user's model that is bound already stays as it is; an unbound one learns only how many weights there are.
        """
        bound: Any = copy.copy(self)
        built_in = isinstance(self, tuple(MODELS.values()))
        if built_in and (self.dim is None or type(self) in MODELS.values()):
            if getattr(bound, "n_labels", 0) is None:  # the labels of one example would not tell it
                bound.n_labels = sizes["n_labels"]
            return hook(bound, "bind")(*bound._example_of_sizes(sizes))
        if bound.dim is None:
            bound.dim = sizes["dim"]
        checked_dim(bound)
        return bound

    def _example_of_sizes(self, sizes: Mapping[str, Any]) -> tuple[Any, Any]:
        """X and y, as small as can be, that bind a built-in model to the sizes of a saved one."""
        raise NotImplementedError

    def _random_output(self, X: Any, y: Any, i: int, rng: np.random.Generator) -> Any:
        """What a bound model decodes for example i with random weights."""
        w, box = rng.standard_normal(self.dim), join_bounds(checked_dim(self), hook(self, "bounds")())
        return self.oracle(w if box is None else np.clip(w, *box), X[i])

    def _open(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> tuple[Form, Any]:
        """The model bound to the data, in the form that solvers see, and the packed data."""
        return PythonForm.open(self, X, y, sample_weight)

    def _open_bound(self, X: Any, y: Any) -> tuple[Form, Any]:
        """The same for a model that is bound already, to more data than these."""
        return PythonForm.open_bound(self, X, y)


def given_options(model: Any) -> dict[str, Any]:
    """The arguments of a model's constructor that differ from their defaults, where it keeps them by their names."""
    kept = vars(model)
    named = inspect.signature(type(model)).parameters.values()
    return {one.name: kept[one.name] for one in named if one.name in kept and not _is_same(kept[one.name], one.default)}


def _is_same(value: Any, default: Any) -> bool:
    """Whether it is the default; of what cannot be compared, an array for example, by identity."""
    return value is default or (isinstance(value, str | Number) and type(value) is type(default) and value == default)


DEFAULTS |= {name: vars(Model)[name] for name in HOOKS}


def missing_method(model: Model, name: str) -> ModelError:
    """The error for a class that lacks one of the methods that a user writes."""
    return ModelError(f"{type(model).__name__} needs a method {METHODS[name]}")


def refuse_slack(cls: Any) -> None:
    """Raise if a class whose kernels find outputs by sums over their parts asks for slack rescaling."""
    if cls.slack_rescaling:
        raise ModelError(
            f"{cls.__name__}: slack_rescaling is for models with an oracle in Python (bcfw.Model); compiled ones add "
            "up losses and scores of parts, but loss(y) (1 - <w, psi(y)>) is a product, which has no parts "
            "(bcfw.models.Multiclass, whose outputs can be tried one by one, has the option rescale='slack')"
        )


def require_methods(model: Model) -> None:
    """Raise unless a class has all methods that a user writes."""
    for name in METHODS:
        if getattr(type(model), name) is getattr(Model, name):
            raise missing_method(model, name)


def require_model(model: Any, owner: str = "") -> None:
    """Raise unless ``model`` is an instance of a Model; ``owner`` begins the message."""
    if not isinstance(model, Model):
        example = "such as bcfw.models.Chain()"
        raise OptionError(f"{owner}model must be an instance of a bcfw.Model, {example}, got {model!r}")
