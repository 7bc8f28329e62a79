"""How a run ends: limits, callbacks, Ctrl-C, threads, stalls; and when certificates are taken."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

import bcfw
from bcfw.run import Run
from bcfw.solvers import BCFW, BatchFW
from problems import CASES


def test_no_loss_at_all_is_converged_at_the_start():
    result = bcfw.train(bcfw.models.Multiclass(n_labels=1), np.ones((3, 2)), [0, 0, 0])
    assert (result.status, result.gap, result.n_passes) == ("converged", 0.0, 0)
    assert not result.w.any()


def test_a_run_that_needs_no_pass_leaves_its_checkpoint(tmp_path):
    path, data = tmp_path / "state.npz", (bcfw.models.Multiclass(n_labels=1), np.ones((3, 2)), [0, 0, 0])
    first = bcfw.train(*data, checkpoint=path)
    assert first.n_passes == 0
    assert bcfw.train(*data, warm_start=path).status == "converged"


@pytest.mark.parametrize(
    ("gap_every", "max_passes", "rows"), [(3, 7, [0, 3, 6, 7]), (3, 6, [0, 3, 6]), (10, 4, [0, 4]), (1, 2, [0, 1, 2])]
)
def test_certificates_come_every_gap_every_passes_and_at_exit(gap_every, max_passes, rows):
    for averaging in (False, True):
        solver = BCFW(gap_every=gap_every, averaging=averaging)
        with pytest.warns(bcfw.ConvergenceWarning, match="max_passes"):
            result = CASES["chain-cost"].train(solver=solver, tol=1e-6, max_passes=max_passes)
        assert result.history["passes"].tolist() == rows


def test_batch_certifies_every_pass():
    with pytest.warns(bcfw.ConvergenceWarning):
        result = CASES["multiclass-cost"].train(solver=BatchFW(), tol=1e-9, max_passes=5)
    assert result.history["passes"].tolist() == [0, 1, 2, 3, 4, 5]


def test_part_of_a_pass_is_a_limit_too():
    case = CASES["multiclass-wide"]
    with pytest.warns(bcfw.ConvergenceWarning, match="max_passes"):
        result = case.train(tol=1e-9, max_passes=0.1)
    assert 0 < result.n_passes <= 1 / len(case.y)


def test_long_runs_of_short_passes():
    """Calls grow with the speed of a pass, but never beyond a pass."""
    result = CASES["multiclass-cost"].few_passes(1500, solver=bcfw.solvers.BCFW(gap_every=500))
    assert result.n_passes == 1500


def test_callback_may_answer_with_numpys_true():
    """Comparisons of arrays give numpy's own True, as in ``np.linalg.norm(info.w) > 0``."""
    result = CASES["multiclass-cost"].train(tol=1e-3, callbacks=[lambda info: np.linalg.norm(info.w) > 0.0])
    assert result.status == "stopped"
    assert result.n_passes == 1


@pytest.mark.parametrize("answer", [1, "enough", np.array([True])])
def test_what_counts_as_true_stops(answer):
    assert CASES["multiclass-cost"].train(tol=1e-3, callbacks=[lambda info: answer]).status == "stopped"


def test_an_answer_that_is_neither_true_nor_false():
    with pytest.raises(bcfw.OptionError, match="a callback must return True to stop"):
        CASES["multiclass-cost"].train(callbacks=[lambda info: info.w > 0.0])


@pytest.mark.parametrize("answer", [None, False, np.False_, 0])
def test_other_answers_of_a_callback_go_on(answer):
    result = CASES["multiclass-cost"].train(tol=0.1, callbacks=[lambda info: answer])
    assert result.status == "converged"


def test_callback_sees_the_point_that_would_be_returned():
    """The weights of the last call are those of the result, averaged or not, and are the caller's own copy."""
    for averaging in (False, True):
        seen = []

        def look(info, seen=seen):
            seen.append(info.w)
            info.w[:] = np.nan
            return len(seen) == 4

        solver = BCFW(averaging=averaging)
        result = CASES["chain-cost"].train(solver=solver, tol=1e-9, callbacks=[look])
        np.testing.assert_array_equal(seen[-1], result.w)


def test_second_ctrl_c_raises():
    def insist(info):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        CASES["multiclass-cost"].train(tol=1e-12, callbacks=[insist])
    assert signal.getsignal(signal.SIGINT) is handler


def test_training_works_outside_the_main_thread():
    results = []
    thread = threading.Thread(target=lambda: results.append(CASES["multiclass-cost"].train(tol=0.1)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(results[0].w, CASES["multiclass-cost"].train(tol=0.1).w)


@pytest.mark.parametrize("sampling", ["permuted", "uniform", "cyclic"])
def test_a_run_to_rounding_is_silent(sampling, recwarn):
    """Pairwise steps reach a gap of about 1e-16, where no step changes the dual any more."""
    result = CASES["multiclass-cost"].train(tol=0.0, max_passes=1e5, solver=BCFW(step="pairwise", sampling=sampling))
    assert result.status == "rounding"
    assert "converged to rounding after" in result.summary()
    assert 0 <= result.gap < 1e-12
    assert not [warning for warning in recwarn if issubclass(warning.category, bcfw.ConvergenceWarning)]


def test_limit_holds_when_a_run_ends_at_rounding():
    """The last passes of a run only find out that no step gains anything."""
    solver = BCFW(step="pairwise", sampling="uniform")
    passes = CASES["multiclass-cost"].train(tol=0.0, max_passes=1e5, solver=solver).n_passes
    with pytest.warns(bcfw.ConvergenceWarning, match="max_passes"):
        result = CASES["multiclass-cost"].train(tol=0.0, max_passes=passes - 0.5, solver=solver)
    assert passes - 1 <= result.n_passes <= passes - 0.5


@pytest.mark.parametrize(
    ("row", "status"),
    [
        ({"gap": 1e-10}, "rounding"),
        ({"gap": 1e-8}, "stalled"),
        ({"gap": 1e-10, "gap_bound": 1e-10}, "rounding"),
        ({"gap": 1e-10, "gap_bound": np.inf}, "stalled"),  # an estimate of a heuristic oracle proves nothing
    ],
)
def test_a_stall_with_a_gap_above_rounding_has_another_status(row, status):
    run = Run(0.0, 100)
    run.record(False, passes=1, **row)
    run.stall(1.0)
    assert run.status == status


def test_converged_and_stopped_runs_are_silent(recwarn):
    CASES["multiclass-cost"].train(tol=0.1)
    CASES["multiclass-cost"].train(tol=1e-12, callbacks=[lambda info: True])
    assert not [warning for warning in recwarn if issubclass(warning.category, bcfw.ConvergenceWarning)]
