"""Base of the models that bring kernels of their own, and the form of them that solvers see."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np

from bcfw.errors import OptionError
from bcfw.kernels import KernelSet
from bcfw.models.feature_rows import FeatureRows
from bcfw.models.form import Form
from bcfw.models.hooks import bound_copy
from bcfw.models.input_kernel import KernelInputs
from bcfw.models.labelings import IntegerLabelings
from bcfw.models.model import Model, refuse_slack
from bcfw.models.python_form import content_hash
from bcfw.models.user_form import UserForm


class KernelModel(IntegerLabelings, Model):
    """A model with integer labelings whose kernels are compiled; most built-in models derive from it.

    A subclass has

    - ``kernels``, made by :func:`bcfw.passes.contract.kernel_set` out of its own and shared kernels;
    - three steps of reading data: ``_read``, ``_bound_to`` (which sets ``dim``) and ``_packed``, whose record has the
      fields ``y`` (flat labels) and ``y_off`` (offsets); or ``bind`` and ``pack``, which then read the data twice;
    - ``make_work`` and ``initial_mu``, the arrays that its kernels work on;
    - ``features`` and ``loss`` of single outputs, and ``output``, if users see something else than a list of arrays;
    - ``_example_of_sizes``, the smallest data that bind it to given sizes: saved models are made anew by it;
    - ``label_limits``, the smallest and the largest label: saved states are checked by it;
    - ``in_part_space = True``, if averaged parts of one set of inputs are averages for any other of the same sizes:
      warm starts may then change the features;
    - ``oracle_operations``, if they can be counted;
    - ``solves_blocks = True``, if it has the kernels of exact block solves, and all blocks have the same parts;
    - ``part_offsets``, if it has the kernels of marginals and its data have no field ``part_off``.
    """

    #: Whether block averages mean the same for other inputs.
    in_part_space: bool = False

    #: Whether the best average of a block, with all others fixed, has a closed form.
    solves_blocks: Any = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        refuse_slack(cls)
        kernels: KernelSet | None = getattr(cls, "kernels", None)  # a base in between may have none yet
        if kernels is not None and kernels.bindings.get("EXACT", True) != cls.exact_oracle:
            cls.kernels = kernels.rebound(EXACT=cls.exact_oracle)

    def _read(self, X: Any, y: Any = None) -> Any:
        """The examples as checked arrays, each read once; without y, what prediction needs."""
        raise self._to_write("_read")

    def _bound_to(self, examples: Any, sample_weight: np.ndarray | None) -> Self:
        """A copy with everything set that the examples, and where it matters their weights, determine."""
        raise self._to_write("_bound_to")

    def _packed(self, examples: Any) -> Any:
        """The record that kernels read, of examples that fit the sizes this model is bound to."""
        raise self._to_write("_packed")

    def enlarge_mu(self, mu: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same averages with more room; called when the kernel ``reserve`` has returned False."""
        return mu

    def label_limits(self, data: Any) -> tuple[int, int] | None:
        """The smallest and the largest number in a labeling; None if the model does not say."""
        return None

    def part_offsets(self, data: Any) -> np.ndarray:
        """(n + 1,) offsets of the blocks' parts, where they are one vector."""
        return data.part_off  # type: ignore[no-any-return]

    def bind(self, X: Any, y: Any, sample_weight: np.ndarray | None = None) -> Self:
        """A copy with everything set that the data determine."""
        return self._bound_to(self._read(X, y), sample_weight)

    def pack(self, X: Any, y: Any = None) -> Any:
        """All examples as the record that kernels read."""
        self._check_bound()
        return self._packed(self._read(X, y))

    def _open(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> tuple[Form, Any]:
        if type(self).bind is not KernelModel.bind or type(self).pack is not KernelModel.pack:
            return type(self)._open_bound(bound_copy(self, X, y, sample_weight), X, y)
        examples = self._read(X, y)
        bound = self._bound_to(examples, sample_weight)
        return KernelForm(bound), bound._packed(examples)

    def _open_bound(self, X: Any, y: Any) -> tuple[Form, Any]:
        return KernelForm(self), type(self).pack(self, X, y)

    def fingerprint(self, data: Any) -> str:
        return "" if type(self).in_part_space else content_hash(*vars(self).items())

    def predict(self, w: np.ndarray, X: Any) -> Any:
        """The best output of every input."""
        data = self.pack(X)
        return self.output(data, self.decoded(w, data, 0.0))

    def oracle(self, w: np.ndarray, x: Any, y_true: Any = None) -> Any:
        """``argmax_y loss(y_true, y) + <w, features(x, y)>``; without y_true the plain argmax."""
        data = self.pack([x]) if y_true is None else self.pack([x], [y_true])
        return self.output(data, self.decoded(w, data, float(y_true is not None)))[0]

    def _check_bound(self) -> None:
        if self.dim is None:
            raise OptionError(f"{self._owner}: call bind(X, y) first, or train; the sizes are not known yet")


def _of_the_class(name: str) -> Callable[..., Any]:
    """A method of a form that calls the method of that name of the model's class, whatever the instance keeps there."""

    def call(form: Any, *args: Any) -> Any:
        return getattr(type(form.model), name)(form.model, *args)

    return call


class KernelForm(UserForm):
    """A bound :class:`KernelModel` as solvers see it."""

    saves_labelings = True
    weighs_loss = True

    def __init__(self, model: KernelModel) -> None:
        super().__init__(model, model.kernels)
        # Corners of rescaled slacks would change with the costs.
        self.in_part_space = type(model).in_part_space and not model._rescales_slack

    @property
    def offers(self) -> frozenset[str]:
        rows = {"feature rows"} if isinstance(self.model, FeatureRows) else set()
        solves = {"block solves"} if self.model.solves_blocks and self.kernels.bindings.get("EXACT", True) else set()
        marginals = {"marginals"} if "expected_parts" in self.kernels.bindings else set()
        by_products = not self.model._rescales_slack and isinstance(self.model, KernelInputs)
        inputs = {"input kernel"} if by_products else set()
        return super().offers | rows | solves | marginals | inputs

    def sizes(self) -> dict[str, int]:
        found = {word: getattr(self.model, f"n_{word}", None) for word in ("features", "labels")}
        return {name: int(size) for name, size in found.items() if isinstance(size, Integral)} or super().sizes()

    make_work = _of_the_class("make_work")
    make_labelings = _of_the_class("make_labelings")
    label_limits = _of_the_class("label_limits")
    keeps_truths = _of_the_class("keeps_truths")
    initial_mu = _of_the_class("initial_mu")
    enlarge_mu = _of_the_class("enlarge_mu")
    export_mu = _of_the_class("export_mu")
    import_mu = _of_the_class("import_mu")
    data_arrays = _of_the_class("data_arrays")
    part_offsets = _of_the_class("part_offsets")
    feature_sizes = _of_the_class("feature_sizes")
    mean_sqnorm = _of_the_class("mean_sqnorm")
    rescaled = _of_the_class("rescaled")
