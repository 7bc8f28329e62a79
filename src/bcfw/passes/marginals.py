"""The sum-product pass: expectations over the outputs of many inputs at fixed weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.passes.contract import Data, Work, expected_parts, part_scores, scores, truth_value
from bcfw.records import Expectations


def expectations_pass(
    data_fields: Any,
    work_fields: Any,
    w: np.ndarray,
    loss_weight: float,
    sharpness: float,
    expectations_fields: Any,
) -> None:
    """Template: sum over all outputs of every block, each output weighted by ``P(y) = exp(sharpness s(y)) / Z``.

    The score is ``s(y) = loss_weight L_i(y) + <w, phi(x_i, y)>``, up to a constant per block (the loss of the parts,
    ``l_i'z(y)``, differs from ``L_i(y)`` by ``l_i'z(y_i)``). :class:`bcfw.records.Expectations` lists the sums that are
    written.
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    sums = Expectations(*expectations_fields)
    for i in range(sums.truth.shape[0]):
        size = sums.offsets[i + 1] - sums.offsets[i]
        theta, scaled = sums.theta[:size], sums.scaled[:size]
        parts = sums.parts[sums.first[i] : sums.first[i] + size]
        scores(data, i, w, loss_weight, work)
        sums.truth[i] = truth_value(data, i, w, work)
        part_scores(data, i, w, work, theta)
        for part in range(size):
            scaled[part] = sharpness * theta[part]
        sums.log_partition[i] = expected_parts(data, i, scaled, work, parts)
        mean = 0.0
        for part in range(size):
            mean += theta[part] * parts[part]
        sums.mean[i] = mean
