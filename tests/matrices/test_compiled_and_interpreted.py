"""Compiled passes do what the same templates do interpreted."""

from __future__ import annotations

import numpy as np
import pytest

from problems import interpreted, repeats_visits, routines_of, without_repeats


@pytest.mark.part(4, of=16)
def test_compiled_runs_as_interpreted(compiled_case, solver):
    case = compiled_case
    solver = without_repeats(solver)
    compiled = case.few_passes(3, solver=solver)
    python = interpreted(case).few_passes(3, solver=solver)
    assert not routines_of(python.model).compiled
    if repeats_visits(solver) or (case.name == "user-compiled" and solver.uses_store):  # independent bits make ties too
        assert abs(compiled.primal - python.primal) <= max(compiled.gap, python.gap) + 1e-12
        return
    np.testing.assert_allclose(compiled.w, python.w, rtol=0, atol=1e-12)
    for key in ("primal", "dual", "gap"):
        np.testing.assert_allclose(compiled.history[key], python.history[key], rtol=0, atol=1e-12)
    for a, b in zip(compiled.predict(case.X), python.predict(case.X), strict=True):
        np.testing.assert_array_equal(a, b)
