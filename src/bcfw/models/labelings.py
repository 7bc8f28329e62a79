"""What forms with integer labelings share: kept labelings are one flat array, and decoding is one compiled pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.errors import InputError
from bcfw.inputs.numbers import weight_vector
from bcfw.models.form import Form
from bcfw.passes.decoding import decode_pass


class IntegerLabelings(Form):
    """A form whose data have the fields ``y`` (flat true labels) and ``y_off`` (n + 1 offsets)."""

    saves_labelings = True

    def data_arrays(self, data: Any) -> list[np.ndarray]:
        return [np.asarray(field) for field in data]

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
            raise InputError(f"{self.name}: the saved state belongs to other data (other sizes)")
        return tuple(np.array(array) for array in arrays)

    def decoded(self, w: np.ndarray, data: Any, loss_weight: float) -> np.ndarray:
        """Flat labelings ``argmax_y loss_weight L_i(y) + <w, phi(x_i, y)>`` of all packed examples."""
        labelings = self.make_labelings(data)
        weights = weight_vector(w, self.dim, self.name)
        self.kernels.entry(decode_pass)(tuple(data), tuple(self.make_work(data)), weights, loss_weight, labelings)
        return labelings
