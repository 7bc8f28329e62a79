"""Base of the models that bring kernels of their own: what a user sees and what solvers see in one class."""

from __future__ import annotations

import itertools
from typing import Any, Self

import numpy as np

from bcfw.errors import OptionError
from bcfw.kernels import KernelSet
from bcfw.models.labelings import IntegerLabelings
from bcfw.models.model import Model
from bcfw.models.python_form import content_hash


class KernelModel(IntegerLabelings, Model):
    """A model with integer labelings whose kernels are compiled; most built-in models derive from it.

    A subclass sets ``kernels`` (the names of :data:`bcfw.passes.contract.KERNEL_NAMES`) and writes three steps of
    reading data, ``_read``, ``_bound_to`` and ``_packed``, besides ``make_work`` and ``initial_mu``. Its data must have
    the fields ``y`` (flat labels) and ``y_off`` (offsets).
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        kernels: KernelSet | None = getattr(cls, "kernels", None)  # a base in between may have none yet
        if kernels is not None and kernels.bindings.get("EXACT", True) != cls.exact_oracle:
            cls.kernels = kernels.rebound(EXACT=cls.exact_oracle)

    @property
    def model(self) -> Self:  # type: ignore[override]
        """The model itself."""
        return self

    def _read(self, X: Any, y: Any = None) -> Any:
        """The examples as checked arrays, each read once; without y, what prediction needs."""
        raise NotImplementedError

    def _bound_to(self, examples: Any, sample_weight: np.ndarray | None) -> Self:
        """A copy with everything set that the examples, and where it matters their weights, determine."""
        raise NotImplementedError

    def _packed(self, examples: Any) -> Any:
        """The record that kernels read, of examples that fit the sizes this model is bound to."""
        raise NotImplementedError

    def bind(self, X: Any, y: Any, sample_weight: np.ndarray | None = None) -> Self:
        """A copy with everything set that the data determine."""
        return self._bound_to(self._read(X, y), sample_weight)

    def pack(self, X: Any, y: Any = None) -> Any:
        """All examples as the record that kernels read."""
        self._check_bound()
        return self._packed(self._read(X, y))

    def _open(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> tuple[Self, Any]:
        examples = self._read(X, y)
        bound = self._bound_to(examples, sample_weight)
        return bound, bound._packed(examples)

    def fingerprint(self, data: Any) -> str:
        return "" if self.in_part_space else content_hash(*vars(self).items())

    @property
    def offers(self) -> frozenset[str]:
        return super().offers | {"operation count"}

    def predict(self, w: np.ndarray, X: Any) -> Any:
        """The best output of every input."""
        data = self.pack(X)
        return self.output(data, self.decoded(w, data, 0.0))

    def oracle(self, w: np.ndarray, x: Any, y_true: Any = None) -> Any:
        """``argmax_y loss(y_true, y) + <w, features(x, y)>``; without y_true the plain argmax."""
        data = self.pack([x]) if y_true is None else self.pack([x], [y_true])
        return self.output(data, self.decoded(w, data, float(y_true is not None)))[0]

    def output(self, data: Any, labelings: np.ndarray) -> Any:
        """Flat labelings as the outputs users see: a list of int arrays."""
        return [labelings[a:b].astype(np.int64) for a, b in itertools.pairwise(data.y_off)]

    def _check_bound(self) -> None:
        if self.dim is None:
            raise OptionError(f"{self.name}: call bind(X, y) first, or train; the sizes are not known yet")
