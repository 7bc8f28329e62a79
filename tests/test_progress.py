"""The live display: plain lines, a bar in a terminal, quiet by default, and closed after errors."""

from __future__ import annotations

import io
import pickle

import numba
import numpy as np
import pytest
from sklearn.base import clone

import bcfw
from bcfw.progress import Progress, fraction_done, seconds_left
from bcfw.solvers import PassInfo

X = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0], [0.2, 0.9]])
Y = [0, 1, 2, 1]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def info(**changes):
    latest = {"passes": 10, "primal": 0.5, "dual": 0.4, "gap": 0.1}
    values = {
        "unit": "passes",
        "done": 10,
        "seconds": 2.0,
        "latest": {key: changes.pop(key, value) for key, value in latest.items()},
        "gap_target": 0.01,
        "limit": 1000,
        "max_seconds": None,
        "point": lambda: np.zeros(1),
    }
    return PassInfo(**{**values, **changes})


def test_quiet_by_default_and_plain_lines_on_request(capsys):
    bcfw.train(bcfw.models.Multiclass(), X, Y, lam=0.1)
    assert capsys.readouterr() == ("", "")
    result = bcfw.train(bcfw.models.Multiclass(), X, Y, lam=0.1, verbose=2)
    out, err = capsys.readouterr()
    assert out == ""
    first, *_, last = err.strip().splitlines()
    assert first.startswith("pass 1: primal")
    assert last.startswith(f"converged after {result.n_passes:g} passes")
    assert f"gap {result.gap:.3g} (certified)" in last


def test_a_log_gets_plain_lines_and_a_terminal_a_bar():
    for file, live in ((io.StringIO(), False), (Terminal(), True)):
        show = Progress(file=file)
        bcfw.train(bcfw.models.Multiclass(), X, Y, lam=0.1, callbacks=[show])
        assert show.live is live
        assert "converged" in file.getvalue()
        assert ("\x1b[" in file.getvalue()) is live


def test_one_display_serves_several_runs():
    show = Progress(live=False, file=io.StringIO())
    for _ in range(2):
        bcfw.train(bcfw.models.Multiclass(), X, Y, lam=0.1, callbacks=[show])
    assert show.file.getvalue().count("pass 1:") == 2


@pytest.mark.parametrize("live", [False, True])
def test_compiling_is_announced_once_and_only_during_the_run(live):
    show = Progress(live=live, file=Terminal())
    show.start()
    for step in (1, 2):
        numba.njit(lambda x, step=step: x + step)(1)
        show(info())
    show.finish(None)
    numba.njit(lambda x: x + 3)(1)
    assert show.file.getvalue().count("compiling") == 1


def test_the_display_can_be_cloned_and_pickled():
    svm = clone(bcfw.MulticlassSVM(callbacks=[Progress()])).fit(X, Y)
    assert pickle.loads(pickle.dumps(svm)).predict(X).shape == (4,)


def test_bad_data_close_the_display():
    show = Progress(live=True, file=Terminal())
    with pytest.raises(bcfw.InputError):
        bcfw.train(bcfw.models.Multiclass(), X, Y[:2], callbacks=[show])
    numba.njit(lambda x: x + 1)(1)
    assert show.file.getvalue() == ""


def test_the_display_is_closed_after_an_error():
    class Failing(bcfw.Model):
        calls = 0

        def features(self, x, y):
            return y * x

        def loss(self, y_true, y):
            return float(y != y_true)

        def oracle(self, w, x, y_true=None):
            Failing.calls += 1
            if Failing.calls > 12:
                raise RuntimeError("out of luck")
            return -1

    show = Progress(live=True, file=Terminal())
    with pytest.raises(bcfw.OracleError, match="out of luck"):
        bcfw.train(Failing(), X, [1, 1, 1, 1], lam=0.1, callbacks=[show])
    assert show._bar is None


def test_fraction_and_time_left():
    assert seconds_left(info()) == pytest.approx(18.0)  # the gap has to fall to a tenth: ten times the passes
    assert fraction_done(info()) == pytest.approx(0.1)
    assert seconds_left(info(max_seconds=4.0)) == pytest.approx(2.0)
    assert seconds_left(info(limit=50)) == pytest.approx(8.0)
    assert seconds_left(info(gap=0.001)) == 0.0
    assert seconds_left(info(passes=0)) is None
    assert seconds_left(info(gap_target=0.0, limit=np.inf)) is None
    assert fraction_done(info(passes=0)) == 0.0


def test_a_wrong_verbosity_is_named():
    with pytest.raises(bcfw.OptionError, match="verbose must be 0"):
        bcfw.train(bcfw.models.Multiclass(), X, Y, verbose=7)


def test_attributes_of_a_callback_that_are_no_methods_are_left_alone():
    class Stopwatch:
        start = finish = 0.0
        calls = 0

        def __call__(self, info):
            self.calls += 1

    watch = Stopwatch()
    bcfw.train(bcfw.models.Multiclass(), X, Y, lam=0.1, callbacks=[watch])
    assert watch.calls > 0
