"""Passes that call a model's routines on some blocks and write their results, so that checks can compare them."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcfw.passes.contract import (
    EXACT,
    Data,
    Work,
    advance,
    apply,
    argmax,
    difference,
    direction_from_average,
    direction_scores,
    keep_labeling,
    labeling_scores,
    labeling_value,
    load_labeling,
    load_truth,
    loss,
    reserve,
    same_labeling,
    scores,
    slope,
    slot_value,
    sqnorm,
    start_parts,
    truth_value,
    upper_bound,
)

#: Rows of the array that :func:`trial_pass` writes: the loss of the truth, the loss of the oracle's output, the
#: output's value minus the truth's, and whether the output is equal to its stored copy.
TRUTH_LOSS, OUTPUT_LOSS, VALUE, KEPT = range(4)
TRIAL_SIZE = 4

#: Rows of the array that :func:`direction_pass` writes: the output's value minus the truth's, computed in the three
#: ways of training: by the direction from the average, by a stored labeling, and by the difference of two labelings.
BY_AVERAGE, BY_LABELING, BY_DIFFERENCE = range(3)
DIRECTION_SIZE = 3


def trial_pass(
    data_fields: Any,
    work_fields: Any,
    w: np.ndarray,
    loss_weight: float,
    blocks: np.ndarray,
    labelings: Any,
    out: np.ndarray,
    at: np.ndarray,
) -> None:
    """Template: call the oracle on some blocks, and compute the losses of their truths and of its outputs.

    Parameters
    ----------
    labelings : one slot per block, which holds the truth before the pass and the oracle's output after it
    out : (TRIAL_SIZE, n) array, with one column per block
    at : (1,) array, the block that is being tried; if a routine raises an exception, the caller reads the block here
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    for j in range(blocks.shape[0]):
        i = blocks[j]
        at[0] = i
        load_labeling(data, i, 0, labelings, work)
        out[TRUTH_LOSS, i] = loss(data, i, work)
        scores(data, i, w, loss_weight, work)
        value = argmax(data, i, w, work)
        out[VALUE, i] = value - truth_value(data, i, w, work)
        out[OUTPUT_LOSS, i] = loss(data, i, work)
        if not EXACT:
            upper_bound(data, i, w, work)
        keep_labeling(data, i, 0, work, labelings)
        out[KEPT, i] = same_labeling(data, i, 0, labelings, work)


def direction_pass(
    data_fields: Any,
    work_fields: Any,
    mu: Any,
    w: np.ndarray,
    labelings: Any,
    out: np.ndarray,
    at: np.ndarray,
) -> None:
    """Template: call the routines for directions, steps and the store once per block.

    Parameters
    ----------
    mu : averages of the blocks, equal to the truths
    labelings : two slots per block, with the truth in the first
    out : (DIRECTION_SIZE, n) array, whose rows are equal if the routines agree
    at : (1,) array, the block that is being tried
    """
    data = Data(*data_fields)
    work = Work(*work_fields)
    moved = w.copy()
    for i in range(out.shape[1]):
        at[0] = i
        scores(data, i, w, 1.0, work)
        argmax(data, i, w, work)
        keep_labeling(data, i, 1, work, labelings)
        direction_from_average(data, i, mu, work)
        out[BY_AVERAGE, i] = slope(data, i, w, work)
        sqnorm(data, i, work)
        apply(data, i, 1.0, work, moved)
        start_parts(data, i, w, work)
        load_truth(data, i, work)
        labeling_scores(data, i, w, work)
        of_truth = labeling_value(data, i, w, work)
        out[BY_LABELING, i] = slot_value(data, i, 1, labelings, True, w, work) - of_truth
        difference(data, i, 1, 0, labelings, work)
        direction_scores(data, i, w, work)
        out[BY_DIFFERENCE, i] = slope(data, i, w, work)
        load_labeling(data, i, 1, labelings, work)
        direction_from_average(data, i, mu, work)
        if reserve(data, i, mu, work):
            advance(data, i, 0.5, work, mu)
