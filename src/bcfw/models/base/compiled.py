"""CompiledModel, a user's model with three compiled routines, and the adapter through which solvers see it."""

from __future__ import annotations

import copy
import inspect
import types
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from bcfw.compile import RoutineSet
from bcfw.compile.specialise import source
from bcfw.errors import BcfwError, ModelError, OptionError
from bcfw.inputs.examples import check_same_length, example_count
from bcfw.inputs.numbers import weight_vector
from bcfw.models.base.adapter import ModelAdapter, UserAdapter
from bcfw.models.base.hooks import bound_copy, checked_dim
from bcfw.models.base.model import Model, refuse_slack
from bcfw.models.check.failures import is_from_numba
from bcfw.models.check.trial import chunks, require_zero_losses, run_routines, try_at, try_examples
from bcfw.models.python.python_adapter import content_hash
from bcfw.models.shared import feature_space
from bcfw.models.shared.feature_space import FeatureWork, features_pass, outputs_pass, truth_losses_pass
from bcfw.models.shared.labelings import IntegerLabelings, keep_labeling, same_labeling
from bcfw.options import Flag
from bcfw.passes.contract import routine_set

#: The attributes that a user's class must define.
PARTS = ("Data", "decode", "labeling_loss", "add_features")


class CompiledModel(Model):
    """Base class for a model of your own with compiled routines: three static methods and ``pack``.

    Labelings are int64 arrays. The routines are plain Python functions in numba's subset (no decorator needed); numba
    compiles the whole training pass together with them. Each block stores d + 1 numbers, so this class suits d up to
    some thousands; for a part-space model write the full set of routines in :mod:`bcfw.passes.contract`.

    Attributes to define in the subclass
    ------------------------------------
    Data : named-tuple class with the fields ``y`` (flat labels), ``y_off`` (n + 1 offsets) and any fields you need
    decode(data, i, w, loss_weight, y) : write ``argmax_y loss_weight L_i(y) + <w, phi(x_i, y)>`` to ``y``
    labeling_loss(data, i, y) : return ``L_i(y)``
    add_features(data, i, y, s, out) : ``out += s phi(x_i, y)``
    pack(self, X, y=None) : return a ``Data``; without y, fill in labels of the right sizes, for example zeros. Raise
        for inputs of the wrong width and for invalid labels
    dim : number of weights (attribute, or set on the copy that ``bind`` returns)
    checked : whether the routines are run with index checks: once on every example before training, and in each
        prediction (default True). With False, an index outside its array reads or writes arbitrary memory

    With ``exact_oracle = False`` (``decode`` is a heuristic) you may also define an upper bound:

    decode_bound(data, i, w) : return at least ``max_y L_i(y) + <w, phi(x_i, y)>``
    """

    #: Whether the routines are run with index checks, once before training and in each prediction.
    checked: ClassVar[bool] = True

    Data: ClassVar[Any]
    decode: ClassVar[Callable[..., None]]
    labeling_loss: ClassVar[Callable[..., float]]
    add_features: ClassVar[Callable[..., None]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        own = {name: getattr(cls, name, None) for name in PARTS}
        missing = [name for name, value in own.items() if value is None]
        if missing:
            raise ModelError(f"{cls.__name__} must define {', '.join(missing)} (see bcfw.CompiledModel)")
        if hasattr(cls, "decode_bound"):
            own["decode_bound"] = cls.decode_bound
        for name in own.keys() - {"Data"}:
            require_routine(cls, name)
        Flag(True).check(cls.__name__, "checked", cls.checked)
        Flag(True).check(cls.__name__, "exact_oracle", cls.exact_oracle)
        more = {"Work": FeatureWork, "keep_labeling": keep_labeling, "same_labeling": same_labeling, **own}
        cls._routines = routine_set(feature_space, {**more, "EXACT": cls.exact_oracle}, allocates=True)
        super().__init_subclass__(**kwargs)
        refuse_slack(cls)

    def pack(self, X: Any, y: Any = None) -> Any:
        """Return all examples as the record ``Data``, which the routines read."""
        raise ModelError(f"{type(self).__name__} needs a method pack(self, X, y=None)")

    def bind(self, X: Any, y: Any) -> Model:
        check_same_length(X, y, type(self).__name__)
        if self.dim is None:
            raise OptionError(f"{type(self).__name__}: set dim, the number of weights (in __init__ or bind)")
        checked_dim(self)
        return copy.copy(self)

    def predict(self, w: np.ndarray, X: Any) -> list[np.ndarray]:
        """Return the best labeling of every input: a list of int64 arrays."""
        adapter, data = CompiledAdapter(self), checked_pack(self, X)
        return adapter.output(data, adapter.decoded(w, data, 0.0))  # type: ignore[no-any-return]

    def oracle(self, w: np.ndarray, x: Any, y_true: Any = None) -> Any:
        """Return ``argmax_y loss(y_true, y) + <w, features(x, y)>``; without y_true the loss is left out."""
        adapter = CompiledAdapter(self)
        data = checked_pack(self, [x]) if y_true is None else checked_pack(self, [x], [y_true])
        return adapter.output(data, adapter.decoded(w, data, float(y_true is not None)))[0]

    def features(self, x: Any, y: Any) -> np.ndarray:
        """Return the joint features phi(x, y), which ``add_features`` computes for one packed example."""
        adapter, data = CompiledAdapter(self), checked_pack(self, [x], [y])
        out = np.zeros(adapter.dim)
        run_routines(adapter, adapter.trial_routines, features_pass, data, data.y, out)
        return out

    def upper_bound(self, w: np.ndarray, x: Any, y_true: Any) -> float:
        """Return ``decode_bound`` for one packed example; infinity if the class does not define ``decode_bound``."""
        routine: Any = getattr(type(self), "decode_bound", lambda data, i, w: np.inf)
        return float(source(routine)(checked_pack(self, [x], [y_true]), 0, np.array(w, dtype=np.float64)))

    def loss(self, y_true: Any, y: Any) -> float:
        raise ModelError(
            f"{type(self).__name__}: write loss(self, y_true, y) in Python to use it outside training; "
            "the compiled routine needs a packed example"
        )

    def fingerprint(self, data: Any) -> str:
        return content_hash(*vars(self).items())

    def _open(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> tuple[ModelAdapter, Any]:
        return type(self)._open_bound(bound_copy(self, X, y, sample_weight), X, y)

    def _open_bound(self, X: Any, y: Any) -> tuple[ModelAdapter, Any]:
        adapter, data = CompiledAdapter(self), checked_pack(self, X, y)
        if type(self).checked:
            try_examples(adapter, data, adapter.trial_routines)
        else:
            require_no_loss_of_truths(adapter, data)
        return adapter, data


class CompiledAdapter(IntegerLabelings, UserAdapter):
    """Adapter for a :class:`CompiledModel`: blocks in feature space.

    The parts z(y) of a block are ``phi(x_i, y) - phi(x_i, y_i)`` and the loss: d + 1 numbers.
    """

    saves_labelings = True

    @property
    def _owner(self) -> str:
        return self.name

    @property
    def has_upper_bound(self) -> bool:
        return hasattr(type(self.model), "decode_bound")

    @property
    def trial_routines(self) -> RoutineSet:
        """The routines for trial runs and for predictions: with index checks if the class has ``checked = True``."""
        return self.routines.checked if type(self.model).checked else self.routines

    def decoded(self, w: np.ndarray, data: Any, loss_weight: float) -> np.ndarray:
        labelings = np.zeros(len(data.y), np.int64)
        weights = weight_vector(w, self.dim, self._owner)
        for blocks in chunks(len(data.y_off) - 1):
            run_routines(self, self.trial_routines, outputs_pass, data, weights, loss_weight, blocks, labelings)
        return labelings

    def located(self, error: Exception, data: Any, w: np.ndarray) -> Exception:
        if not is_from_numba(error):
            try:
                try_at(self, data, self.trial_routines, w)
            except BcfwError as found:
                return found
        return error

    def make_work(self, data: Any) -> FeatureWork:
        longest = int(np.max(np.diff(data.y_off)))
        return FeatureWork(np.zeros(longest, np.int64), np.zeros(self.dim + 1), np.zeros(self.dim + 1), np.zeros(1))

    def initial_mu(self, data: Any) -> tuple[np.ndarray]:
        return (np.zeros((len(data.y_off) - 1, self.dim + 1)),)


def require_routine(cls: type, name: str) -> None:
    """Raise unless the routine of that name is a static method of the class with the right arguments."""
    if isinstance(inspect.getattr_static(cls, name), types.FunctionType):
        raise ModelError(f"{cls.__name__}.{name} is a routine: write @staticmethod above it, and no self")
    expected = list(inspect.signature(getattr(feature_space, name)).parameters)
    given = inspect.signature(source(getattr(cls, name)))
    try:
        given.bind(*expected)
    except TypeError as error:
        raise ModelError(f"{cls.__name__}.{name} must take ({', '.join(expected)}), not {given}") from error


def checked_pack(model: CompiledModel, X: Any, *y: Any) -> Any:
    """Return the result of a user's ``pack`` after checking it, with offsets as int64."""
    data = model.pack(X, *y)
    owner = f"{type(model).__name__}.pack"
    if not isinstance(data, model.Data):
        raise ModelError(f"{owner} must return a {model.Data.__name__}, got {type(data).__name__}")
    for name in ("y", "y_off"):
        if name not in getattr(data, "_fields", ()):
            raise ModelError(
                f"{owner}: {model.Data.__name__} has no field {name}; make it a named tuple with y, the labels of all "
                "examples one after the other, and y_off, the n + 1 offsets of the examples"
            )
        field = getattr(data, name)
        if not isinstance(field, np.ndarray) or field.ndim != 1 or field.dtype.kind not in "iu":
            raise ModelError(f"{owner}: the field {name} must be a 1-D array of whole numbers, got {field!r:.200}")
    for name, field in zip(data._fields, data, strict=True):
        require_readable(field, f"{owner}: the field {name}")
    n, off = example_count(X), data.y_off
    if len(off) != n + 1 or off[0] != 0 or np.any(off[1:] < off[:-1]) or off[-1] != len(data.y):
        raise ModelError(
            f"{owner}: y_off must hold n + 1 = {n + 1} offsets that rise from 0 to len(y) = {len(data.y)}, got "
            f"{len(off)}: {off!r:.200}"
        )
    require_small_labels(data, owner)
    return data._replace(y_off=off.astype(np.int64, copy=False))


def require_readable(field: Any, what: str) -> None:
    """Raise unless numba supports the type of a packed field."""
    import numba

    if isinstance(field, np.ndarray) and field.dtype.hasobject:
        raise ModelError(
            f"{what} is an array of Python objects, which numba cannot read; pack numbers (rows of different lengths "
            "one after the other, with offsets)"
        )
    try:
        numba.typeof(field)
    except ValueError as error:
        raise ModelError(f"{what} is nothing that numba can read ({error}); pack arrays and numbers") from error


def require_small_labels(data: Any, owner: str) -> None:
    """Raise unless all labels fit into 32 bits, because labelings are stored as int32."""
    limits = np.iinfo(np.int32)
    for place in np.flatnonzero((data.y < limits.min) | (data.y > limits.max))[:1]:
        i = np.searchsorted(data.y_off, place, side="right") - 1
        raise ModelError(f"{owner}: example {i}: the label {data.y[place]} does not fit into 32 bits")


def require_no_loss_of_truths(adapter: CompiledAdapter, data: Any) -> None:
    """Raise unless ``labeling_loss`` is zero on every truth; the error names the first truth with a loss."""
    losses = np.zeros(len(data.y_off) - 1)
    adapter.routines.compiled_pass(truth_losses_pass)(tuple(data), losses)
    require_zero_losses(losses)
