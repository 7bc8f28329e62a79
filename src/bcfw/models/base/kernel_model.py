"""KernelModel, base class of the models with compiled routines in part space, and its adapter for solvers."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np

from bcfw.compile import RoutineSet
from bcfw.errors import OptionError
from bcfw.models.base.adapter import ModelAdapter, UserAdapter
from bcfw.models.base.hooks import bound_copy
from bcfw.models.base.model import Model, refuse_slack
from bcfw.models.python.python_adapter import content_hash
from bcfw.models.shared.feature_rows import FeatureRows, KernelInputs
from bcfw.models.shared.labelings import IntegerLabelings


class KernelModel(IntegerLabelings, Model):
    """Base class of models with integer labelings and compiled routines.

    All built-in models but :class:`bcfw.models.Matching` derive from it. A subclass has

    - ``routines``, the set that :func:`bcfw.passes.contract.routine_set` makes of its own and of shared
      routines (a class may also call it ``kernels``, its former name);
    - ``_read``, ``_bound_to`` (which sets ``dim``) and ``_packed``, the three steps of reading data. The packed record
      has the fields ``y`` (flat labels) and ``y_off`` (offsets). A subclass may define ``bind`` and ``pack`` instead,
      which then read the data twice;
    - ``make_work`` and ``initial_mu``, the arrays that its routines work on;
    - ``features`` and ``loss`` of single outputs, and ``output`` unless users see outputs as a list of arrays;
    - ``_example_of_sizes``, the smallest data that bind the model to given sizes; loading a saved model uses it;
    - ``label_limits``, the smallest and the largest label; loading a saved state checks its labels against them;
    - ``in_part_space = True`` if averaged parts stay valid for other inputs with equal sizes; warm starts may then
      change the features;
    - ``oracle_operations`` if the operations of its oracle can be counted;
    - ``solves_blocks = True`` if it has the routines of exact block solves and all blocks have equal parts;
    - ``part_offsets`` if it has the routines of marginals and its data have no field ``part_off``.
    """

    #: Whether block averages stay valid when the inputs change.
    in_part_space: bool = False

    #: Whether the best average of a block, with all other blocks fixed, has a closed form.
    solves_blocks: Any = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        refuse_slack(cls)
        if isinstance(old := vars(cls).get("kernels"), RoutineSet) and "routines" not in vars(cls):
            cls.routines = old  # ``kernels`` is the former name of the attribute
        routines: RoutineSet | None = getattr(cls, "routines", None)  # None in an intermediate base class
        if routines is not None and routines.bindings.get("EXACT", True) != cls.exact_oracle:
            cls.routines = routines.rebound(EXACT=cls.exact_oracle)

    def _read(self, X: Any, y: Any = None) -> Any:
        """Return the examples as checked arrays, and read X and y only once; without y, for prediction."""
        raise self._to_write("_read")

    def _bound_to(self, examples: Any, sample_weight: np.ndarray | None) -> Self:
        """Return a copy with all attributes set that depend on the examples and perhaps on their weights."""
        raise self._to_write("_bound_to")

    def _packed(self, examples: Any) -> Any:
        """Return the record that the routines read. Raise unless the examples fit the sizes of this bound model."""
        raise self._to_write("_packed")

    def enlarge_mu(self, mu: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the averages with more capacity; called when the routine ``reserve`` has returned False."""
        return mu

    def label_limits(self, data: Any) -> tuple[int, int] | None:
        """Return the smallest and the largest number in a labeling; None if the model does not say."""
        return None

    def part_offsets(self, data: Any) -> np.ndarray:
        """Return the (n + 1,) offsets of the blocks in the vector of all parts."""
        return data.part_off  # type: ignore[no-any-return]

    def bind(self, X: Any, y: Any, sample_weight: np.ndarray | None = None) -> Self:
        """Return a copy with all attributes set that depend on the data."""
        return self._bound_to(self._read(X, y), sample_weight)

    def pack(self, X: Any, y: Any = None) -> Any:
        """Return all examples as the record that the routines read."""
        self._check_bound()
        return self._packed(self._read(X, y))

    def _open(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> tuple[ModelAdapter, Any]:
        if type(self).bind is not KernelModel.bind or type(self).pack is not KernelModel.pack:
            return type(self)._open_bound(bound_copy(self, X, y, sample_weight), X, y)
        examples = self._read(X, y)
        bound = self._bound_to(examples, sample_weight)
        return BuiltinAdapter(bound), bound._packed(examples)

    def _open_bound(self, X: Any, y: Any) -> tuple[ModelAdapter, Any]:
        return BuiltinAdapter(self), type(self).pack(self, X, y)

    def fingerprint(self, data: Any) -> str:
        return "" if type(self).in_part_space else content_hash(*vars(self).items())

    def predict(self, w: np.ndarray, X: Any) -> Any:
        """Return the best output of every input."""
        data = self.pack(X)
        return self.output(data, self.decoded(w, data, 0.0))

    def oracle(self, w: np.ndarray, x: Any, y_true: Any = None) -> Any:
        """Return ``argmax_y loss(y_true, y) + <w, features(x, y)>``; without y_true the loss is left out."""
        data = self.pack([x]) if y_true is None else self.pack([x], [y_true])
        return self.output(data, self.decoded(w, data, float(y_true is not None)))[0]

    def _check_bound(self) -> None:
        if self.dim is None:
            raise OptionError(f"{self._owner}: call bind(X, y) first, or train; the sizes are not known yet")


def class_method(name: str) -> Callable[..., Any]:
    """Return a method that calls the model class's method of that name and ignores attributes of the instance."""

    def call(adapter: Any, *args: Any) -> Any:
        return getattr(type(adapter.model), name)(adapter.model, *args)

    return call


class BuiltinAdapter(UserAdapter):
    """Adapter for a bound :class:`KernelModel`."""

    saves_labelings = True
    weighs_loss = True

    def __init__(self, model: KernelModel) -> None:
        super().__init__(model, model.routines)
        # With slack rescaling, the vectors that are averaged depend on the costs.
        self.in_part_space = type(model).in_part_space and not model._rescales_slack

    @property
    def offers(self) -> frozenset[str]:
        rows = {"feature rows"} if isinstance(self.model, FeatureRows) else set()
        solves = {"block solves"} if self.model.solves_blocks and self.routines.bindings.get("EXACT", True) else set()
        marginals = {"marginals"} if "expected_parts" in self.routines.bindings else set()
        by_products = not self.model._rescales_slack and isinstance(self.model, KernelInputs)
        inputs = {"input kernel"} if by_products else set()
        return super().offers | rows | solves | marginals | inputs

    def sizes(self) -> dict[str, int]:
        found = {word: getattr(self.model, f"n_{word}", None) for word in ("features", "labels")}
        return {name: int(size) for name, size in found.items() if isinstance(size, Integral)} or super().sizes()

    make_work = class_method("make_work")
    make_labelings = class_method("make_labelings")
    label_limits = class_method("label_limits")
    keeps_truths = class_method("keeps_truths")
    initial_mu = class_method("initial_mu")
    enlarge_mu = class_method("enlarge_mu")
    export_mu = class_method("export_mu")
    import_mu = class_method("import_mu")
    data_arrays = class_method("data_arrays")
    part_offsets = class_method("part_offsets")
    feature_sizes = class_method("feature_sizes")
    mean_sqnorm = class_method("mean_sqnorm")
    rescaled = class_method("rescaled")
