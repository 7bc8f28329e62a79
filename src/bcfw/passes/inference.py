"""Templates for many inputs at fixed weights: decoding, and expected parts of a distribution over outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bcfw.passes.contract import Data, Work, argmax, expected_parts, keep_labeling, part_scores, scores, truth_value


class Expectations(NamedTuple):
    """Sums over all outputs of every block, weighted by ``P(y) = exp(sharpness s(y)) / Z``.

    Attributes
    ----------
    offsets : (n + 1,) cumulative numbers of parts; block i has ``offsets[i + 1] - offsets[i]`` parts
    first : (n,) where the parts of each block begin in ``parts``; all 0 if the caller needs only the scalar sums
    parts : output, ``sum_y P(y) z(y)``
    truth : (n,) output, the score ``s(y_i)`` of the truth
    log_partition : (n,) output, ``log Z``
    mean : (n,) output, ``sum_y P(y) s(y)``
    theta, scaled : scratch for the block with the most parts
    """

    offsets: np.ndarray
    first: np.ndarray
    parts: np.ndarray
    truth: np.ndarray
    log_partition: np.ndarray
    mean: np.ndarray
    theta: np.ndarray
    scaled: np.ndarray


def decode_pass(data_fields: Any, work_fields: Any, w: np.ndarray, loss_weight: float, labelings: Any) -> None:
    """Template: write ``argmax_y loss_weight L_i(y) + <w, phi(x_i, y)>`` of every block to ``labelings``."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    for i in range(data.y_off.shape[0] - 1):
        scores(data, i, w, loss_weight, work)
        argmax(data, i, w, work)
        keep_labeling(data, i, 0, work, labelings)


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
    ``l_i'z(y)``, differs from ``L_i(y)`` by ``l_i'z(y_i)``). :class:`bcfw.passes.inference.Expectations` lists the sums
    that are written.
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
