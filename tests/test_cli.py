"""The command line: the demonstration with its pictures, and the cache."""

from __future__ import annotations

import io
import sys

import pytest
from click.testing import CliRunner
from rich.console import Console

import bcfw
from bcfw.cli import main
from bcfw.report.demo import run_demo

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    text = io.StringIO()
    return run_demo(out, verbose=0, console=Console(file=text, width=200)), out, text.getvalue()


def test_demo_beats_single_digits_with_a_certificate(demo):
    facts, _, text = demo
    assert facts["chain"].result_.status == "converged"
    assert facts["errors"]["chain"]["digits"] < 0.8 * facts["errors"]["single digits"]["digits"]
    assert facts["errors"]["chain"]["words"] < 0.8 * facts["errors"]["single digits"]["words"]
    for words in ("Certificate", "Test errors", "convergence.png", "What to do next"):
        assert words in text


def test_demo_draws_pictures(demo):
    _, out, _ = demo
    for name in ("convergence.png", "words.png"):
        assert (out / name).read_bytes().startswith(PNG)


def test_demo_without_matplotlib_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # makes its import fail
    text = io.StringIO()
    run_demo(tmp_path, verbose=0, console=Console(file=text, width=200))
    assert "pip install 'bcfw[plot]'" in text.getvalue()
    assert not list(tmp_path.glob("*.png"))


def test_cache_is_shown_and_cleared(monkeypatch, tmp_path):
    monkeypatch.setenv("BCFW_CACHE_DIR", str(tmp_path / "compiled"))
    (tmp_path / "compiled").mkdir()
    (tmp_path / "compiled" / "pass.nbc").write_bytes(b"x" * 1000)
    (tmp_path / "compiled" / "thesis.txt").write_text("not ours")
    shown = CliRunner().invoke(main, ["cache"])
    assert shown.exit_code == 0
    assert "1 files, 0.0 MB" in shown.output
    assert (tmp_path / "compiled" / "pass.nbc").exists()
    cleared = CliRunner().invoke(main, ["cache", "--clear"])
    assert "Cleared" in cleared.output
    assert not (tmp_path / "compiled" / "pass.nbc").exists()
    assert (tmp_path / "compiled" / "thesis.txt").exists()


def test_help_and_version_and_unknown_command():
    assert "demo" in CliRunner().invoke(main, ["--help"]).output
    assert bcfw.__version__ in CliRunner().invoke(main, ["--version"]).output
    assert CliRunner().invoke(main, ["dmo"]).exit_code == 2
