"""IntegerLabelings: methods for models whose stored labelings are one flat array and whose decoding is compiled."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np

from bcfw.errors import InputError, ModelError
from bcfw.inputs.numbers import weight_vector
from bcfw.kernels import KernelSet
from bcfw.passes.decoding import decode_pass


class IntegerLabelings:
    """Mixin for adapters and models whose data have the fields ``y`` (flat true labels) and ``y_off`` (offsets)."""

    dim: Any
    kernels: KernelSet

    #: The dtype of labels in stored labelings.
    label_type: ClassVar[Any] = np.int32

    @property
    def _owner(self) -> str:
        """The name of the model in messages."""
        return type(self).__name__

    def _to_write(self, method: str) -> ModelError:
        return ModelError(f"{self._owner} needs a method {method} (see bcfw.models.KernelModel)")

    def make_work(self, data: Any) -> Any:
        """Return the scratch arrays of one thread."""
        raise self._to_write("make_work")

    def initial_mu(self, data: Any) -> tuple[Any, ...]:
        """Return the initial averaged parts of all blocks, ``mu_i = z(y_i)``."""
        raise self._to_write("initial_mu")

    def data_arrays(self, data: Any) -> list[np.ndarray]:
        """Return arrays that identify the packed data; float32 arrays are converted to float64."""
        fields = [np.asarray(field) for field in data]
        return [one.astype(np.float64) if one.dtype == np.float32 else one for one in fields]

    def make_labelings(self, data: Any, slots: int = 1) -> np.ndarray:
        """Return storage with ``slots`` labelings per block; slot 0 holds the truth.

        The other slots are zeros that are never written here, so unused slots take no physical memory.
        """
        labelings = np.zeros(slots * len(data.y), type(self).label_type)
        starts = data.y_off[:-1]
        labelings[np.arange(len(data.y)) + np.repeat((slots - 1) * starts, np.diff(data.y_off))] = data.y
        return labelings

    def keeps_truths(self, data: Any, labelings: np.ndarray) -> bool:
        """Return whether the first slot of every block holds its truth."""
        starts, slots = np.repeat(data.y_off[:-1], np.diff(data.y_off)), len(labelings) // max(len(data.y), 1)
        first = (slots - 1) * starts + np.arange(len(data.y))  # the slots of a block are contiguous
        return bool(np.array_equal(labelings[first], data.y))

    def export_mu(self, data: Any, mu: tuple[Any, ...]) -> list[np.ndarray]:
        """Return the block averages as plain arrays, which can be saved."""
        return list(mu)

    def import_mu(self, data: Any, arrays: list[np.ndarray]) -> tuple[Any, ...]:
        """Return the block averages from the arrays of :meth:`export_mu`. Raise if the shapes do not fit the data."""
        expected = [array.shape for array in self.initial_mu(data)]
        if [array.shape for array in arrays] != expected:
            raise InputError(f"{self._owner}: the saved state belongs to other data (other sizes)")
        return tuple(np.array(array) for array in arrays)

    def _decoding(self, loss_weight: float) -> KernelSet:
        """Return the routines that find outputs; with loss weight 0 they must not use the truth."""
        return self.kernels

    def decoded(self, w: np.ndarray, data: Any, loss_weight: float) -> np.ndarray:
        """Return the flat labelings ``argmax_y loss_weight L_i(y) + <w, phi(x_i, y)>`` of all packed examples."""
        labelings = self.make_labelings(data)
        weights = weight_vector(w, self.dim, self._owner)
        self._decoding(loss_weight).entry(decode_pass)(
            tuple(data), tuple(self.make_work(data)), weights, loss_weight, labelings
        )
        return labelings

    def output(self, data: Any, labelings: np.ndarray) -> Any:
        """Return flat labelings in the form that users see: a list of int arrays."""
        return [labelings[a:b].astype(np.int64) for a, b in itertools.pairwise(data.y_off)]
