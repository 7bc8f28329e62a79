"""Marginals by sum-product against sums over all outputs, for scores of any size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from bcfw.passes.contract import (
    Data,
    Work,
    add_expected,
    add_labeling,
    apply,
    end_direction,
    expected_parts,
    load_truth,
    part_scores,
    scores,
    start_direction,
    truth_value,
)
from problems import CASES, interpreted, label_graph_cases

#: Also graphs with cycles, and with nodes that have no label.
ALL_CASES = {**CASES, **{case.name: case for case in label_graph_cases()}}

OFFERING = [name for name, case in ALL_CASES.items() if "marginals" in case.problem().adapter.offers]


def expected_psi_pass(data_fields, work_fields, i, w, scale, u, parts, out):
    """``out = sum_y P(y) (phi(y) - phi(y_i))`` with ``P(y) = exp(scale H_i(y; w)) / Z``; returns ``log Z``."""
    data = Data(*data_fields)
    work = Work(*work_fields)
    scores(data, i, w, 1.0, work)
    truth = scale * truth_value(data, i, w, work)
    part_scores(data, i, w, work, u)
    for part in range(u.shape[0]):
        u[part] *= scale
    log_z = expected_parts(data, i, u, work, parts)
    start_direction(data, i, work)
    add_expected(data, i, 1.0, parts, work)
    load_truth(data, i, work)
    add_labeling(data, i, -1.0, work)
    end_direction(data, i, work)
    apply(data, i, 1.0, work, out)
    return log_z - truth


def test_models_with_sums_over_all_outputs_offer_marginals_and_graphs_with_cycles_do_not():
    kinds = {type(ALL_CASES[name].model).__name__ for name in OFFERING}
    assert {"Multiclass", "Chain", "Multilabel", "Tree"} <= kinds
    assert not {"BinaryGraph", "PairwiseGraph", "PottsGraph"} & kinds


@pytest.mark.parametrize("scale", [0.0, 1.0, -3.0, 1e3, 1e6])
@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("name", OFFERING)
def test_expected_parts_are_sums_over_all_outputs(name, compiled, scale):
    case = ALL_CASES[name] if compiled else interpreted(ALL_CASES[name])
    problem, objective = case.problem(), case.enumerated()
    adapter, data = problem.adapter, problem.data
    offsets = adapter.part_offsets(data)
    w = np.random.default_rng(0).standard_normal(case.dim)
    for i in range(len(case.y)):
        size = offsets[i + 1] - offsets[i]
        u, parts, out = np.zeros(size), np.zeros(size), np.zeros(case.dim)
        run = adapter.routines.compiled_pass(expected_psi_pass)
        log_z = run(tuple(data), tuple(adapter.make_work(data)), i, w, scale, u, parts, out)
        psi, loss = objective.psi[i][:-1], objective.loss[i][:-1]  # the truth comes once more at the end
        values = scale * (loss - psi @ w)
        P = np.exp(values - logsumexp(values))
        rounding = 1e-13 * (1.0 + abs(scale) * np.max(np.abs(values / scale) if scale else 1.0))
        assert log_z == pytest.approx(logsumexp(values), abs=10 * rounding)
        np.testing.assert_allclose(out, -P @ psi, rtol=0, atol=100 * rounding)
        assert parts.min() >= 0.0
