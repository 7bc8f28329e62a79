"""The live display: plain lines, a bar in a terminal, quiet by default, and closed after errors."""

from __future__ import annotations

import io
import logging
import pickle
import re
import sys
import time
import types

import numba
import numpy as np
import pytest
from sklearn.base import clone

import bcfw
from bcfw.compile.timing import CompileLines, compile_seconds, when_compiling
from bcfw.progress import Progress, TimeLeft
from bcfw.solvers import PassInfo

X = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0], [0.2, 0.9]])
Y = [0, 1, 2, 1]


@pytest.fixture(autouse=True)
def redrawing_terminal(monkeypatch):
    """Whatever runs the tests, the terminals below can redraw a line."""
    monkeypatch.setenv("TERM", "xterm")


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
def test_compiling_is_announced_only_during_the_run(live):
    show = Progress(live=live, file=Terminal())
    show.start()
    for step in (1, 2):
        numba.njit(lambda x, step=step: x + step)(1)
        show(info())
    show.finish(None)
    shown = show.file.getvalue()
    assert "compiling <lambda>" in shown
    assert live or shown.count("compiling") == 1
    numba.njit(lambda x: x + 3)(1)
    assert show.file.getvalue() == shown


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


def trend(*certificates, **changes):
    """A trend that has seen certificates (seconds, gap), with the target 0.01, and what it was given last."""
    seen = TimeLeft()
    for passes, (seconds, gap) in enumerate(certificates, start=1):
        last = info(passes=passes, done=passes, seconds=seconds, gap=gap, **changes)
        seen.note(last)
    return seen, last


def left(*certificates, **changes):
    seen, last = trend(*certificates, **changes)
    return seen.seconds_left(last)


def test_no_time_left_without_evidence():
    assert left((1.0, 0.5)) is None  # one certificate of a moved point
    assert left((1.0, 0.5), (2.0, 0.5)) is None  # nothing falls
    assert left((1.0, 0.5), (2.0, 0.6)) is None
    seen = TimeLeft()
    for done in range(1, 5):  # the certificate of the start counts for nothing
        seen.note(info(passes=0, done=done, seconds=float(done)))
    assert seen.seconds_left(info(passes=0)) is None


def test_time_left_follows_the_recent_certificates():
    # The logarithm of gap / 0.01 falls by log 10 for each unit of the cube root of the time: 0 at 3**3 = 27 s.
    assert left((1.0, 1.0), (8.0, 0.1)) == pytest.approx(19.0)
    # A slow beginning is forgotten after a few certificates.
    slow = [(float(t), 10.0) for t in range(1, 100)]
    fast = [(float(t**3), 10.0 ** (-t + 11)) for t in range(10, 15)]
    assert left(*slow, *fast, gap_target=1e-5) == pytest.approx(16.0**3 - 14.0**3)
    # Time goes on between certificates.
    seen, _ = trend((1.0, 1.0), (8.0, 0.1))
    assert seen.seconds_left(info(passes=2, done=3, seconds=20.0, gap=0.1)) == pytest.approx(7.0)
    assert seen.seconds_left(info(passes=2, done=9, seconds=60.0, gap=0.1)) == 0.0


def test_time_left_ends_at_limits():
    assert left((1.0, 1.0), (4.0, 0.1), max_seconds=6.0) == pytest.approx(2.0)
    assert left((1.0, 1.0), (4.0, 0.1), limit=3) == pytest.approx(2.0)  # 2 s per pass
    assert left((1.0, 1.0), (4.0, 0.1), gap_target=0.0, limit=3) == pytest.approx(2.0)
    assert left((1.0, 1.0), (4.0, 0.1), gap_target=0.0, limit=np.inf) is None


def test_compilation_is_no_time_of_training():
    quick, compiled = (trend((1.0 + late, 1.0), (4.0 + late, 0.1), compile_seconds=late) for late in (0.0, 30.0))
    assert compiled[0].seconds_left(compiled[1]) == pytest.approx(quick[0].seconds_left(quick[1]))
    assert ", 4.0 s" in Progress(live=False).line(compiled[1])


def test_a_real_run_is_predicted_within_a_factor():
    """Gaps that fall like one over the time, and geometrically: at the middle of the run the truth is not far."""
    for gap in (lambda t: 1.0 / t, lambda t: 0.5**t):
        end = next(t for t in np.arange(1.0, 200.0, 0.5) if gap(t) <= 0.01)
        half = [(t, gap(t)) for t in np.linspace(1.0, end / 2, 10)]
        assert 0.4 < left(*half) / (end / 2) < 2.5


def test_a_gap_that_falls_in_steps_is_predicted_within_a_factor():
    """The best gap stands still for eight certificates at a time; five of them would say that it never ends."""
    certificates = [(float(t), 0.7 ** (float(t // 8))) for t in range(1, 105)]
    for now in range(40, 90):
        assert 0.3 < left(*certificates[:now]) / (104 - now) < 6.0


def test_numbers_are_marked_with_the_pass_they_belong_to():
    show = Progress(live=False)
    assert "as of" not in show.line(info())
    assert show.line(info(done=14)).startswith("pass 14: primal 0.5, dual 0.4, gap 0.1 (target 0.01; as of pass 10), ")
    bar = Progress(live=True, file=Terminal())
    bar(info(done=14))
    bar.finish(None)
    assert "as of pass 10" in bar.file.getvalue()


# --- compilation -------------------------------------------------------------------------------------------------


def compile_something(seconds=0.0):
    """Compile a function that numba has never seen; that takes some seconds more."""

    def stub(x):
        """Its type is found slowly."""

    @numba.extending.overload(stub)
    def slow(x):
        time.sleep(seconds)
        return lambda x: x

    numba.njit(lambda x: stub(x) + 1.0)(1.0)


def test_the_clock_counts_compilation_only():
    before = compile_seconds()
    compile_something(0.1)
    taken = compile_seconds() - before
    assert taken >= 0.1
    time.sleep(0.05)
    assert compile_seconds() - before == taken


def test_long_compilations_give_signs_of_life(monkeypatch):
    from bcfw.compile import numba_internals, timing

    monkeypatch.setattr(numba_internals, "NOTICE_SECONDS", 0.02)
    monkeypatch.setattr(timing, "LINE_SECONDS", 0.1)
    lines = []
    with when_compiling(CompileLines(lines.append)):
        compile_something(0.5)
    assert lines[0].startswith("compiling <lambda>: the first use")
    assert len(lines) >= 3
    assert all(re.fullmatch(r"compiling <lambda>, \d+ s so far", line) for line in lines[1:])
    told = len(lines)
    compile_something()
    assert len(lines) == told


@pytest.fixture
def uncompiled(monkeypatch, tmp_path):
    """A model with routines that no process has compiled."""
    monkeypatch.setenv("BCFW_CACHE_DIR", str(tmp_path))

    class Fresh(bcfw.models.Multiclass):
        routines = bcfw.models.Multiclass.routines.rebound(FRESH=1.0)

    return Fresh()


def test_a_result_tells_compilation_from_training(uncompiled, caplog, capsys):
    caplog.set_level(logging.INFO, logger="bcfw")
    first = bcfw.train(uncompiled, X, Y, lam=0.1, solver="bcfw")
    again = bcfw.train(uncompiled, X, Y, lam=0.1, solver="bcfw")
    assert first.compile_seconds > 0.05
    assert 0.0 < first.training_seconds < first.seconds
    assert again.compile_seconds == 0.0
    assert again.training_seconds == pytest.approx(again.seconds, abs=0.05)
    assert f"s (and {first.compile_seconds:.1f} s of compilation): primal" in first.summary()
    assert "compil" not in again.summary()
    said = [record.getMessage() for record in caplog.records if record.name == "bcfw"]
    assert said[0].startswith("compiling ")
    assert said[-2:] == [first.summary(), again.summary()]
    assert capsys.readouterr() == ("", "")


# --- where it is shown -------------------------------------------------------------------------------------------


@pytest.fixture
def notebook(monkeypatch):
    """What a kernel of Jupyter looks like from inside."""
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))


def test_a_notebook_without_widgets_gets_plain_lines(notebook, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    bcfw.train(bcfw.models.Multiclass(), X, Y, lam=0.1, verbose=1)
    out, err = capsys.readouterr()
    assert out.startswith("pass 1: ")
    assert err == ""
    assert "\x1b" not in out


def test_a_notebook_with_widgets_gets_a_bar(notebook, monkeypatch):
    from bcfw import progress

    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert progress._can_redraw(io.StringIO())


def test_a_terminal_that_cannot_redraw_gets_plain_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    show = Progress(file=Terminal())
    bcfw.train(bcfw.models.Multiclass(), X, Y, lam=0.1, callbacks=[show])
    assert show.live is False
    assert "\x1b" not in show.file.getvalue()


def test_ipython_in_a_terminal_is_no_notebook(monkeypatch):
    from bcfw import progress

    shell = types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert not progress.in_notebook()
    assert progress._can_redraw(Terminal())


def test_the_display_is_not_redrawn_at_every_iteration(monkeypatch):
    show = Progress(live=True, file=Terminal())
    updates = []
    monkeypatch.setattr(show, "_update", lambda text, fraction: updates.append(text))
    start = time.perf_counter()
    for done in range(1, 2001):
        show(info(done=done, passes=1))
    assert 1 <= len(updates) <= 2 + (time.perf_counter() - start) / 0.1


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
