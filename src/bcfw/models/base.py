"""What a model is: the user's three methods, and the form in which solvers see any model."""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from bcfw.errors import InputError, ModelError, OptionError
from bcfw.kernels import KernelSet
from bcfw.models import black_box, feature_space
from bcfw.models.contract import Data, kernel_set
from bcfw.models.decoding import decode_pass
from bcfw.models.feature_space import FeatureWork, add_features, labeling_loss
from bcfw.models.inputs import check_same_length, example_count, read_weights
from bcfw.models.labelings import keep_labeling, same_labeling


class Model:
    """Base class for a structure of your own: write three methods in plain Python.

    ``phi = features(x, y)`` maps a pair to R^d (dense array, or scipy-sparse row, column or 1-D),
    ``loss(y_true, y) >= 0`` is zero on the truth, and ``oracle(w, x, y_true)`` returns
    ``argmax_y loss(y_true, y) + <w, features(x, y)>``, or the plain argmax of ``<w, features(x, y)>`` when
    ``y_true`` is None. Set ``dim`` (d) if the first example's features do not tell it.

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

    #: The kernels that passes are specialised to.
    kernels: ClassVar[KernelSet] = black_box.BLACK_BOX_KERNELS

    #: Whether the oracle finds a maximum. With False it is taken as a heuristic: steps work as before, the gap is only
    #: an estimate, and a result counts as certified only if ``upper_bound`` closes the gap.
    exact_oracle: ClassVar[bool] = True

    #: Whether block averages mean the same for other inputs, so that a state can be taken over to changed data.
    in_part_space: ClassVar[bool] = False

    #: What stands in a truth for an entry that is neither right nor wrong.
    unlabelled: ClassVar[int | None] = None

    #: Whether ``bind`` takes the sample weights too, because what the data determine depends on them.
    binds_weights: ClassVar[bool] = False

    #: Whether kept labelings are one plain array, which can be saved.
    saves_labelings: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.kernels.bindings.get("EXACT", True) != cls.exact_oracle:
            cls.kernels = cls.kernels.rebound(EXACT=cls.exact_oracle)

    def features(self, x: Any, y: Any) -> Any:
        """Joint features phi(x, y) in R^d."""
        raise ModelError(f"{type(self).__name__} needs a method features(self, x, y)")

    def loss(self, y_true: Any, y: Any) -> float:
        """Loss of predicting y for y_true; zero for y = y_true, never negative."""
        raise ModelError(f"{type(self).__name__} needs a method loss(self, y_true, y)")

    def oracle(self, w: np.ndarray, x: Any, y_true: Any = None) -> Any:
        """``argmax_y loss(y_true, y) + <w, features(x, y)>``; without y_true the plain argmax."""
        raise ModelError(f"{type(self).__name__} needs a method oracle(self, w, x, y_true=None)")

    def upper_bound(self, w: np.ndarray, x: Any, y_true: Any) -> float:
        """At least ``max_y loss(y_true, y) + <w, features(x, y)>``; for models with ``exact_oracle = False``.

        A relaxation's value, for example; infinity, if nothing is known.
        """
        return np.inf

    def bind(self, X: Any, y: Any) -> Model:
        """A copy of the model with everything set that the data determine (here ``dim``)."""
        check_same_length(X, y, type(self).__name__)
        bound = copy.copy(self)
        if bound.dim is None:
            bound.dim = int(np.prod(np.shape(black_box.first_features(bound, X, y))))
        check_dim(bound)
        return bound

    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Box that the oracle needs w to lie in, as (lower, upper) of shape (dim,); None for no limits."""
        return None

    def oracle_operations(self, data: Any) -> float | None:
        """Additions that the oracle takes for all examples of ``data`` together; None if they cannot be counted.

        ``solver="auto"`` reads the clock instead; with a count of cheap calls, the seed alone decides.
        """
        return None

    def predict(self, w: np.ndarray, X: Any) -> Any:
        """Plain decoding of every input: a list."""
        return [self.oracle(w, x) for x in X]

    # The form solvers see; the contract is documented in bcfw.models.contract.

    def pack(self, X: Any, y: Any = None) -> Any:
        """All examples as the record that kernels read."""
        return black_box.pack(self, X, y)

    def make_work(self, data: Any) -> Any:
        """Scratch of one thread."""
        return black_box.make_work()

    def make_labelings(self, data: Any, slots: int = 1) -> Any:
        """Room for some labelings per block, with the truth in every slot."""
        return [[(truth, 0.0)] * slots for truth in data.truths]

    def initial_mu(self, data: Any) -> tuple[Any, ...]:
        """Averaged parts of all blocks at the start, ``mu_i = z(y_i)``."""
        return black_box.initial_mu(data)

    def enlarge_mu(self, mu: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same averages with more room; called when the kernel ``reserve`` has returned False."""
        return mu

    def export_mu(self, data: Any, mu: tuple[Any, ...]) -> list[np.ndarray]:
        """The block averages as plain arrays, to save."""
        averages, losses = mu
        return [losses, *data.vectors.stack(averages)]

    def data_arrays(self, data: Any) -> list[np.ndarray]:
        """Arrays that tell the packed data from others."""
        return data.vectors.stack(data.truths)

    def fingerprint(self, data: Any) -> str:
        """Hash of what loss, features and oracle depend on besides :meth:`data_arrays`: attributes, inputs, outputs.

        A state is only taken over where it is the same. Write your own if the model changes attributes that do not
        matter, such as a cache that its copies share.
        """
        return content_hash(*vars(self).items(), data.X, data.y)

    def import_mu(self, data: Any, arrays: list[np.ndarray]) -> tuple[Any, ...]:
        """Inverse of :meth:`export_mu`."""
        return data.vectors.unstack(arrays[1:]), np.array(arrays[0])


class KernelModel(Model):
    """A model with integer labelings whose kernels are compiled; built-in models derive from it.

    A subclass sets ``kernels`` (all names of :data:`bcfw.models.contract.KERNEL_NAMES`) and writes ``pack``,
    ``make_work`` and ``initial_mu``. Its data must have the fields ``y`` (flat labels) and ``y_off`` (offsets).
    """

    saves_labelings = True

    def data_arrays(self, data: Any) -> list[np.ndarray]:
        return [np.asarray(field) for field in data]

    def fingerprint(self, data: Any) -> str:
        return "" if self.in_part_space else content_hash(*vars(self).items())

    def make_labelings(self, data: Any, slots: int = 1) -> np.ndarray:
        lengths = np.diff(data.y_off)
        block = np.repeat(np.arange(len(lengths)), slots * lengths)
        inside = np.arange(len(block)) - slots * data.y_off[block]
        return data.y[data.y_off[block] + inside % lengths[block]].astype(np.int32)

    def export_mu(self, data: Any, mu: tuple[Any, ...]) -> list[np.ndarray]:
        return list(mu)

    def import_mu(self, data: Any, arrays: list[np.ndarray]) -> tuple[Any, ...]:
        expected = [array.shape for array in self.initial_mu(data)]
        if [array.shape for array in arrays] != expected:
            raise InputError(f"{type(self).__name__}: the saved state belongs to other data (other sizes)")
        return tuple(np.array(array) for array in arrays)

    def predict(self, w: np.ndarray, X: Any) -> Any:
        data = self.pack(X)
        return self.output(data, self._decode(w, data, 0.0))

    def oracle(self, w: np.ndarray, x: Any, y_true: Any = None) -> Any:
        """``argmax_y loss(y_true, y) + <w, features(x, y)>``; without y_true the plain argmax."""
        data = self.pack([x]) if y_true is None else self.pack([x], [y_true])
        return self.output(data, self._decode(w, data, float(y_true is not None)))[0]

    def output(self, data: Any, labelings: np.ndarray) -> Any:
        """Flat labelings as the outputs users see: a list of int arrays."""
        return [labelings[a:b].astype(np.int64) for a, b in itertools.pairwise(data.y_off)]

    def _decode(self, w: np.ndarray, data: Any, loss_weight: float) -> np.ndarray:
        labelings = self.make_labelings(data)
        weights = read_weights(w, self.dim, type(self).__name__)
        run = self.kernels.entry(decode_pass)
        run(tuple(data), tuple(self.make_work(data)), weights, loss_weight, labelings)
        return labelings


class CompiledModel(KernelModel):
    """A structure of your own in compiled code: three static kernels and a ``pack`` method.

    Labelings are int64 arrays. The kernels are plain Python functions in numba's subset (no decorator needed); the
    whole training pass is compiled around them. Each block stores d + 1 numbers, so this form suits d up to some
    thousands; for a part-space model write the full set of :mod:`bcfw.models.contract`.

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
        super().__init_subclass__(**kwargs)
        own = {name: getattr(cls, name, None) for name in ("Data", "decode", "labeling_loss", "add_features")}
        missing = [name for name, value in own.items() if value is None]
        if missing:
            raise ModelError(f"{cls.__name__} must define {', '.join(missing)} (see bcfw.CompiledModel)")
        if hasattr(cls, "decode_bound"):
            own["decode_bound"] = cls.decode_bound
        more = {"Work": FeatureWork, "keep_labeling": keep_labeling, "same_labeling": same_labeling, **own}
        more["EXACT"] = cls.exact_oracle
        cls.kernels = kernel_set(feature_space, more, allocates=True)
        if "pack" in vars(cls):
            cls.pack = checked_pack(cls.pack)  # type: ignore[method-assign]

    def bind(self, X: Any, y: Any) -> CompiledModel:
        check_same_length(X, y, type(self).__name__)
        if self.dim is None:
            raise OptionError(f"{type(self).__name__}: set dim, the number of weights (in __init__ or bind)")
        check_dim(self)
        return copy.copy(self)

    def make_work(self, data: Any) -> FeatureWork:
        longest = int(np.max(np.diff(data.y_off)))
        size = int(self.dim or 0) + 1
        return FeatureWork(np.zeros(longest, np.int64), np.zeros(size), np.zeros(size), np.zeros(1))

    def initial_mu(self, data: Any) -> tuple[np.ndarray]:
        losses = np.zeros(len(data.y_off) - 1)
        self.kernels.entry(_truth_losses)(tuple(data), losses)
        for i in np.flatnonzero(losses != 0.0)[:1]:
            raise ModelError(f"example {i}: labeling_loss is {losses[i]:.6g} on the truth; it must be 0")
        return (np.zeros((len(data.y_off) - 1, int(self.dim or 0) + 1)),)

    def features(self, x: Any, y: Any) -> np.ndarray:
        """Joint features phi(x, y): the kernel applied to one packed example."""
        data = self.pack([x], [y])
        out = np.zeros(int(self.dim or 0))
        self.kernels.entry(_one_features)(tuple(data), data.y, out)
        return out

    def upper_bound(self, w: np.ndarray, x: Any, y_true: Any) -> float:
        """The kernel ``decode_bound`` applied to one packed example; infinity without one."""
        bound: Any = getattr(type(self), "decode_bound", lambda data, i, w: np.inf)
        return float(bound(self.pack([x], [y_true]), 0, np.array(w, dtype=np.float64)))

    def loss(self, y_true: Any, y: Any) -> float:
        raise ModelError(
            f"{type(self).__name__}: write loss(self, y_true, y) in Python to use it outside training; "
            "the compiled kernel needs a packed example"
        )


def _one_features(data_fields: Any, y: np.ndarray, out: np.ndarray) -> None:
    """Template: features of one labeling of the only packed example."""
    add_features(Data(*data_fields), 0, y, 1.0, out)


def _truth_losses(data_fields: Any, out: np.ndarray) -> None:
    """Template: the loss of every packed truth."""
    data = Data(*data_fields)
    for i in range(out.shape[0]):
        out[i] = labeling_loss(data, i, data.y[data.y_off[i] : data.y_off[i + 1]])


def require_model(model: Any, owner: str = "") -> None:
    """Raise unless ``model`` is an instance of a Model; ``owner`` begins the message."""
    if not isinstance(model, Model):
        example = "such as bcfw.models.Chain()"
        raise OptionError(f"{owner}model must be an instance of a bcfw.Model, {example}, got {model!r}")


def check_dim(model: Model) -> None:
    if not isinstance(model.dim, Integral) or model.dim < 1:
        raise ModelError(f"{type(model).__name__}: dim must be a whole number >= 1, got {model.dim!r}")


def checked_pack(pack: Callable[..., Any]) -> Callable[..., Any]:
    """A user's ``pack``, whose result is checked: compiled code would read whatever lies behind wrong offsets."""

    @functools.wraps(pack)
    def checked(self: Any, X: Any, *more: Any, **named: Any) -> Any:
        data = pack(self, X, *more, **named)
        owner = f"{type(self).__name__}.pack"
        if not isinstance(data, self.Data):
            raise ModelError(f"{owner} must return a {self.Data.__name__}, got {type(data).__name__}")
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

    return checked


def content_hash(*parts: Any) -> str:
    """Hash of the parts' content; what cannot be pickled counts by its type."""
    import joblib

    def one(part: Any) -> str:
        try:
            return str(joblib.hash(part))
        except Exception:
            return type(part).__qualname__

    return " ".join(map(one, parts))
