"""A user's structure in compiled code: three kernels, and the form of it that solvers see."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from bcfw.errors import ModelError, OptionError
from bcfw.inputs.examples import check_same_length, example_count
from bcfw.models.form import Form
from bcfw.models.hooks import bound_copy, checked_dim
from bcfw.models.kernels import feature_space
from bcfw.models.kernels.feature_space import FeatureWork, features_pass, truth_losses_pass
from bcfw.models.kernels.labelings import keep_labeling, same_labeling
from bcfw.models.labelings import IntegerLabelings
from bcfw.models.model import Model
from bcfw.models.python_form import content_hash
from bcfw.models.user_form import UserForm
from bcfw.passes.contract import kernel_set


class CompiledModel(Model):
    """A structure of your own in compiled code: three static kernels and a ``pack`` method.

    Labelings are int64 arrays. The kernels are plain Python functions in numba's subset (no decorator needed); the
    whole training pass is compiled around them. Each block stores d + 1 numbers, so this form suits d up to some
    thousands; for a part-space model write the full set of :mod:`bcfw.passes.contract`.

    Attributes to define in the subclass
    ------------------------------------
    Data : named-tuple class with the fields ``y`` (flat labels), ``y_off`` (n + 1 offsets) and what you need
    decode(data, i, w, loss_weight, y) : write ``argmax_y loss_weight L_i(y) + <w, phi(x_i, y)>`` to ``y``
    labeling_loss(data, i, y) : return ``L_i(y)``
    add_features(data, i, y, s, out) : ``out += s phi(x_i, y)``
    pack(self, X, y=None) : return a ``Data``; without y, labels of the right sizes with any values. Refuse labels that
        the kernels cannot read: compiled code does not check its indices
    dim : number of weights (attribute, or set on the copy that ``bind`` returns)

    With ``exact_oracle = False`` (``decode`` is a heuristic) also, if there is one,

    decode_bound(data, i, w) : return at least ``max_y L_i(y) + <w, phi(x_i, y)>``
    """

    Data: ClassVar[Any]
    decode: ClassVar[Callable[..., None]]
    labeling_loss: ClassVar[Callable[..., float]]
    add_features: ClassVar[Callable[..., None]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        own = {name: getattr(cls, name, None) for name in ("Data", "decode", "labeling_loss", "add_features")}
        missing = [name for name, value in own.items() if value is None]
        if missing:
            raise ModelError(f"{cls.__name__} must define {', '.join(missing)} (see bcfw.CompiledModel)")
        if hasattr(cls, "decode_bound"):
            own["decode_bound"] = cls.decode_bound
        more = {"Work": FeatureWork, "keep_labeling": keep_labeling, "same_labeling": same_labeling, **own}
        cls._kernels = kernel_set(feature_space, {**more, "EXACT": cls.exact_oracle}, allocates=True)
        super().__init_subclass__(**kwargs)

    def pack(self, X: Any, y: Any = None) -> Any:
        """All examples as the record ``Data``, which the kernels read."""
        raise ModelError(f"{type(self).__name__} needs a method pack(self, X, y=None)")

    def bind(self, X: Any, y: Any) -> Model:
        check_same_length(X, y, type(self).__name__)
        if self.dim is None:
            raise OptionError(f"{type(self).__name__}: set dim, the number of weights (in __init__ or bind)")
        checked_dim(self)
        return copy.copy(self)

    def predict(self, w: np.ndarray, X: Any) -> list[np.ndarray]:
        """The best labeling of every input: a list of int64 arrays."""
        form, data = CompiledForm(self), checked_pack(self, X)
        return form.output(data, form.decoded(w, data, 0.0))  # type: ignore[no-any-return]

    def oracle(self, w: np.ndarray, x: Any, y_true: Any = None) -> Any:
        """``argmax_y loss(y_true, y) + <w, features(x, y)>``; without y_true the plain argmax."""
        form = CompiledForm(self)
        data = checked_pack(self, [x]) if y_true is None else checked_pack(self, [x], [y_true])
        return form.output(data, form.decoded(w, data, float(y_true is not None)))[0]

    def features(self, x: Any, y: Any) -> np.ndarray:
        """Joint features phi(x, y): the kernel applied to one packed example."""
        data = checked_pack(self, [x], [y])
        out = np.zeros(int(self.dim or 0))
        self._kernels.entry(features_pass)(tuple(data), data.y, out)
        return out

    def upper_bound(self, w: np.ndarray, x: Any, y_true: Any) -> float:
        """The kernel ``decode_bound`` applied to one packed example; infinity without one."""
        kernel: Any = getattr(type(self), "decode_bound", lambda data, i, w: np.inf)
        return float(kernel(checked_pack(self, [x], [y_true]), 0, np.array(w, dtype=np.float64)))

    def loss(self, y_true: Any, y: Any) -> float:
        raise ModelError(
            f"{type(self).__name__}: write loss(self, y_true, y) in Python to use it outside training; "
            "the compiled kernel needs a packed example"
        )

    def fingerprint(self, data: Any) -> str:
        return content_hash(*vars(self).items())

    def _open(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> tuple[Form, Any]:
        return type(self)._open_bound(bound_copy(self, X, y, sample_weight), X, y)

    def _open_bound(self, X: Any, y: Any) -> tuple[Form, Any]:
        return CompiledForm(self), checked_pack(self, X, y)


class CompiledForm(IntegerLabelings, UserForm):
    """Blocks in feature space: ``z(y) = phi(x_i, y) - phi(x_i, y_i)`` joined with the loss, d + 1 numbers each."""

    saves_labelings = True

    @property
    def _owner(self) -> str:
        return self.name

    @property
    def has_upper_bound(self) -> bool:
        return hasattr(type(self.model), "decode_bound")

    def make_work(self, data: Any) -> FeatureWork:
        longest = int(np.max(np.diff(data.y_off)))
        return FeatureWork(np.zeros(longest, np.int64), np.zeros(self.dim + 1), np.zeros(self.dim + 1), np.zeros(1))

    def initial_mu(self, data: Any) -> tuple[np.ndarray]:
        losses = np.zeros(len(data.y_off) - 1)
        self.kernels.entry(truth_losses_pass)(tuple(data), losses)
        for i in np.flatnonzero(losses != 0.0)[:1]:
            raise ModelError(f"example {i}: labeling_loss is {losses[i]:.6g} on the truth; it must be 0")
        return (np.zeros((len(losses), self.dim + 1)),)


def checked_pack(model: CompiledModel, X: Any, *y: Any) -> Any:
    """What a user's ``pack`` returns, checked: compiled code would read whatever lies behind wrong offsets."""
    data = model.pack(X, *y)
    owner = f"{type(model).__name__}.pack"
    if not isinstance(data, model.Data):
        raise ModelError(f"{owner} must return a {model.Data.__name__}, got {type(data).__name__}")
    for name in ("y", "y_off"):
        field = getattr(data, name)
        if not isinstance(field, np.ndarray) or field.ndim != 1 or field.dtype.kind not in "iu":
            raise ModelError(f"{owner}: the field {name} must be a 1-D array of whole numbers, got {field!r:.200}")
    n, off = example_count(X), data.y_off
    if len(off) != n + 1 or off[0] != 0 or np.any(np.diff(off) < 0) or off[-1] != len(data.y):
        raise ModelError(
            f"{owner}: y_off must hold n + 1 = {n + 1} offsets that rise from 0 to len(y) = {len(data.y)}, got "
            f"{len(off)}: {off!r:.200}"
        )
    return data
