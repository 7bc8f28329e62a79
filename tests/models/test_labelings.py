"""Room for kept labelings."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from bcfw.models import KernelModel
from problems import CASES, COMPILED_CASES


@pytest.mark.parametrize("name", [name for name, case in COMPILED_CASES.items() if isinstance(case.model, KernelModel)])
def test_the_truth_is_in_slot_0(name):
    case = CASES[name]
    model = case.model.bind(case.X, case.y)
    data = model.pack(case.X, case.y)
    kept = model.make_labelings(data, slots=3)
    for i in range(len(case.y)):
        start, length = 3 * data.y_off[i], data.y_off[i + 1] - data.y_off[i]
        np.testing.assert_array_equal(kept[start : start + length], data.y[data.y_off[i] : data.y_off[i + 1]])


def test_making_room_takes_no_more_than_the_room():
    case = CASES["multilabel-tree"]
    model = case.model.bind(case.X, case.y)
    data = model.pack(case.X, case.y)
    tracemalloc.start()
    kept = model.make_labelings(data, slots=20_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert kept.itemsize == 1
    assert peak < 1.5 * kept.nbytes
