"""Shared routines of models whose labelings are integer arrays y: loading, storing, comparing, values, directions.

The model's data must have the fields ``y`` (flat true labels) and ``y_off`` (n + 1 offsets), and its scratch the field
``y`` (the current labeling). Stored labelings are one flat array.

``LABELING_ROUTINES`` load, store and compare labelings. ``LABELING_VALUE_ROUTINES`` compute values, scores and
directions of the truth, the current labeling and stored labelings; a model that uses them writes :func:`value_of`,
:func:`add_parts` and :func:`score_labeling` for any labeling y. If a model has a faster routine (for example for two
labelings that differ in few places), it binds its own.
"""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np

from bcfw.compile import RoutineSet
from bcfw.errors import InputError, ModelError
from bcfw.inputs.numbers import weight_vector
from bcfw.passes.inference import decode_pass


def value_of(data: Any, i: int, y: np.ndarray, w: np.ndarray, work: Any) -> float:
    """Return ``theta_i'z(y)``, with theta_i known at the parts of y (written by the model)."""
    return 0.0


def add_parts(data: Any, i: int, s: float, y: np.ndarray, work: Any) -> None:
    """Add ``s z(y)`` to d (written by the model)."""


def score_labeling(data: Any, i: int, y: np.ndarray, w: np.ndarray, work: Any) -> None:
    """Compute theta_i, loss included, at the parts of y where it is still unknown (written by the model)."""


def load_truth(data, i, work):
    """Make y_i the current labeling."""
    start = data.y_off[i]
    for t in range(data.y_off[i + 1] - start):
        work.y[t] = data.y[start + t]


def slot_offset(data, i, slot, labelings):
    """Return where a slot of block i begins; the array holds the blocks in order, each with all its slots."""
    slots = labelings.shape[0] // data.y.shape[0]
    return slots * data.y_off[i] + slot * (data.y_off[i + 1] - data.y_off[i])


def load_labeling(data, i, slot, labelings, work):
    """Make the labeling in the slot the current labeling."""
    start = slot_offset(data, i, slot, labelings)
    for t in range(data.y_off[i + 1] - data.y_off[i]):
        work.y[t] = labelings[start + t]


def keep_labeling(data, i, slot, work, labelings):
    """Copy the current labeling to the slot."""
    start = slot_offset(data, i, slot, labelings)
    for t in range(data.y_off[i + 1] - data.y_off[i]):
        labelings[start + t] = work.y[t]


def same_labeling(data, i, slot, labelings, work):
    """Return whether the slot holds the current labeling."""
    start = slot_offset(data, i, slot, labelings)
    T = data.y_off[i + 1] - data.y_off[i]
    t = 0
    while t < T and labelings[start + t] == work.y[t]:
        t += 1
    return t == T


def truth_value(data, i, w, work):
    """Return ``theta_i'z(y_i)``."""
    return value_of(data, i, data.y[data.y_off[i] : data.y_off[i + 1]], w, work)


def labeling_value(data, i, w, work):
    """Return ``theta_i'z(y)`` of the current labeling y."""
    return value_of(data, i, work.y[: data.y_off[i + 1] - data.y_off[i]], w, work)


def slot_value(data, i, slot, labelings, by_parts, w, work):
    """Return ``theta_i'z(y)`` of a stored labeling, which is read in its slot and not copied."""
    begin = slot_offset(data, i, slot, labelings)
    y = labelings[begin : begin + data.y_off[i + 1] - data.y_off[i]]
    if by_parts:
        score_labeling(data, i, y, w, work)
    return value_of(data, i, y, w, work)


def labeling_scores(data, i, w, work):
    """Compute theta_i at the parts of the current labeling."""
    score_labeling(data, i, work.y[: data.y_off[i + 1] - data.y_off[i]], w, work)


def add_labeling(data, i, s, work):
    """Add ``s z(y)`` of the current labeling y to d."""
    add_parts(data, i, s, work.y[: data.y_off[i + 1] - data.y_off[i]], work)


#: To be added to a model's routines: loading, storing and comparing labelings.
LABELING_ROUTINES = {
    "load_truth": load_truth,
    "load_labeling": load_labeling,
    "keep_labeling": keep_labeling,
    "same_labeling": same_labeling,
}


#: To be added to a model's routines: values, scores and directions of labelings; the model must write the routines that
#: are None here.
LABELING_VALUE_ROUTINES = {
    "value_of": None,
    "add_parts": None,
    "score_labeling": None,
    "truth_value": truth_value,
    "labeling_value": labeling_value,
    "slot_value": slot_value,
    "labeling_scores": labeling_scores,
    "add_labeling": add_labeling,
}


class IntegerLabelings:
    """Mixin for adapters and models whose data have the fields ``y`` (flat true labels) and ``y_off`` (offsets)."""

    dim: Any
    routines: RoutineSet

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

    def _decoding(self, loss_weight: float) -> RoutineSet:
        """Return the routines that find outputs; with loss weight 0 they must not use the truth."""
        return self.routines

    def decoded(self, w: np.ndarray, data: Any, loss_weight: float) -> np.ndarray:
        """Return the flat labelings ``argmax_y loss_weight L_i(y) + <w, phi(x_i, y)>`` of all packed examples."""
        labelings = self.make_labelings(data)
        weights = weight_vector(w, self.dim, self._owner)
        self._decoding(loss_weight).compiled_pass(decode_pass)(
            tuple(data), tuple(self.make_work(data)), weights, loss_weight, labelings
        )
        return labelings

    def output(self, data: Any, labelings: np.ndarray) -> Any:
        """Return flat labelings in the form that users see: a list of int arrays."""
        return [labelings[a:b].astype(np.int64) for a, b in itertools.pairwise(data.y_off)]
