"""The line that a process says when it has to compile: once, late enough, and only where somebody sees it."""

from __future__ import annotations

import io
import logging
import sys
import types

import pytest

from bcfw.compile import disk_cache, timing
from bcfw.passes.visits import block_pass


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def heard(monkeypatch, tmp_path):
    """Function that lets a new notice hear of a function after some seconds of compilation: what was printed."""
    monkeypatch.setenv("BCFW_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("BCFW_COMPILE_NOTICE", raising=False)
    clock = types.SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(timing, "compile_seconds", lambda: clock.seconds)

    def hear(seconds=1.5, function=block_pass, shown=False, stream=Terminal):
        out, err = io.StringIO(), stream()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        clock.seconds = 0.0
        notice = timing.FirstNotice()
        notice.shown = shown
        for clock.seconds in (0.0, seconds, 2.0 * seconds):
            notice(function)
        return out.getvalue(), err.getvalue()

    return hear


def test_a_terminal_gets_one_line_that_names_the_folder(heard, tmp_path):
    out, err = heard()
    assert out == ""
    assert err.startswith("bcfw: compiling code for this model and solver")
    assert err.endswith(f"it is kept in {tmp_path}\n")
    assert err.count("\n") == 1


def test_short_compilations_and_those_of_other_code_are_silent(heard):
    assert heard(seconds=0.4) == ("", "")
    assert heard(function=test_short_compilations_and_those_of_other_code_are_silent) == ("", "")


def test_a_display_that_has_told_is_enough(heard):
    assert heard(shown=True) == ("", "")


def test_logs_and_pipes_stay_empty_unless_they_are_asked_for(heard, monkeypatch):
    assert heard(stream=io.StringIO) == ("", "")
    monkeypatch.setattr(sys, "stderr", None)  # as under pythonw
    assert not timing.is_watched()
    monkeypatch.setenv("BCFW_COMPILE_NOTICE", "1")
    assert heard(stream=io.StringIO)[1].startswith("bcfw: compiling")
    monkeypatch.setenv("BCFW_COMPILE_NOTICE", "0")
    assert heard() == ("", "")


def test_a_notebook_gets_it_as_output(heard, monkeypatch):
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    out, err = heard(stream=io.StringIO)
    assert out.startswith("bcfw: compiling")
    assert err == ""


@pytest.mark.parametrize("shown", [False, True])
def test_where_no_folder_can_be_written_to_the_log_says_why(heard, shown, monkeypatch, tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("BCFW_CACHE_DIR", str(tmp_path / "file"))
    caplog.set_level(logging.WARNING, logger="bcfw")
    assert heard(shown=shown, stream=io.StringIO) == ("", "")
    (record,) = caplog.records
    assert "bcfw compiles in every process" in record.getMessage()
    assert f"{tmp_path / 'file'}: File exists" in record.getMessage()
    assert "set BCFW_CACHE_DIR" in record.getMessage()


def test_the_first_routine_that_may_be_compiled_installs_it():
    assert timing.first_notice() is timing.first_notice()
    assert timing.first_notice() in disk_cache.internals().compile_clock().notices
