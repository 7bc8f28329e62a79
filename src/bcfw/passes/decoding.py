"""The decoding pass: the best output of many inputs at fixed weights, with or without the loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.passes.contract import Data, Work, argmax, keep_labeling, scores


def decode_pass(data_fields: Any, work_fields: Any, w: np.ndarray, loss_weight: float, labelings: Any) -> None:
    """Template: write ``argmax_y loss_weight L_i(y) + <w, phi(x_i, y)>`` of every block to ``labelings``."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    for i in range(data.y_off.shape[0] - 1):
        scores(data, i, w, loss_weight, work)
        argmax(data, i, w, work)
        keep_labeling(data, i, 0, work, labelings)
