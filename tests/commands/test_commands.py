"""The command line: the demonstration with its pictures, the cache, converters, and what they import."""

from __future__ import annotations

import dataclasses
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

import bcfw
from bcfw.commands import main
from bcfw.commands.demo import run_demo, times
from bcfw.datasets import CONVERTERS

PACKAGE = Path(bcfw.__file__).parent
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


def test_demo_tells_compilation_from_training(demo):
    facts, _, text = demo
    result = facts["chain"].result_
    assert times(result) in " ".join(text.split())  # however lines are broken
    assert times(result).endswith(f"rained in {result.training_seconds:.2g} s.")
    result = dataclasses.replace(result, compile_seconds=8.24, training_seconds=0.567)
    assert times(result) == "Compiled in 8.2 s (once: the code is kept), trained in 0.57 s."
    result = dataclasses.replace(result, compile_seconds=0.0)
    assert times(result) == "Trained in 0.57 s."


def test_demo_points_to_what_is_installed(demo):
    """A wheel has neither pages nor examples."""
    _, _, text = demo
    named = re.findall(r"help\((bcfw\.\w+)\)", text)
    assert len(named) >= 4
    for name in named:
        assert len(getattr(bcfw, name.removeprefix("bcfw.")).__doc__) > 50


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: file.relative_to(PACKAGE).as_posix())
def test_the_package_names_no_file_that_is_not_installed(file):
    elsewhere = r"\b(?:docs|examples|benchmarks|tests)/\w+|\b(?:README|CONTRIBUTING|CHANGELOG)\b"
    assert not re.findall(elsewhere, file.read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("words", [["--seed", "-1"], ["--out", "FILE/pictures"]], ids=" ".join)
def test_demo_refuses_before_it_trains(words, tmp_path, monkeypatch):
    monkeypatch.setattr("bcfw.datasets.load_digit_words", lambda **options: pytest.fail("too late"))
    (tmp_path / "FILE").write_text("not a folder")
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(main, ["demo", *words])
    assert answer.exit_code in (1, 2)
    assert "Error" in answer.output
    assert isinstance(answer.exception, SystemExit)


def test_help_and_version_and_unknown_command():
    assert "demo" in CliRunner().invoke(main, ["--help"]).output
    assert bcfw.__version__ in CliRunner().invoke(main, ["--version"]).output
    assert CliRunner().invoke(main, ["dmo"]).exit_code == 2


def process(code, *arguments):
    return subprocess.run([sys.executable, *code, *arguments], capture_output=True, text=True, check=False, timeout=120)


def test_python_m_bcfw_is_the_same_command():
    done = process(["-m", "bcfw"], "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert bcfw.__version__ in done.stdout


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], {"numba", "scipy", "sklearn", "rich", "matplotlib"}),
        (["demo", "--help"], {"numba", "scipy", "sklearn", "rich", "matplotlib"}),
        (["cache", "--help"], {"numba", "scipy", "sklearn", "rich", "matplotlib"}),
        (["convert", "--help"], {"numba", "sklearn.cluster", "PIL", "matplotlib"}),
    ],
    ids=lambda words: " ".join(sorted(words)),
)
def test_help_loads_nothing_heavy(arguments, heavy):
    code = (
        "import sys; from bcfw.commands import main\nmain(standalone_mode=False)\nprint(*sys.modules, file=sys.stderr)"
    )
    done = process(["-c", code], *arguments)
    assert done.returncode == 0
    assert "Usage: " in done.stdout
    assert not set(done.stderr.split()) & heavy


# --- bcfw convert ------------------------------------------------------------------------------------------------


def convert(*arguments):
    return CliRunner().invoke(main, ["convert", *map(str, arguments)])


def test_convert_lists_every_converter():
    lines = convert("--help").output.splitlines()
    for name, converter in CONVERTERS.items():
        (line,) = (line for line in lines if line.split()[:1] == [name])
        assert all(original in line for original in converter.originals.values())


@pytest.mark.parametrize("name", CONVERTERS)
def test_convert_names_the_original_files_and_the_default_folder(name, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    originals = CONVERTERS[name].originals.values()
    text = convert(name, "--help").output
    assert f"{name} [OPTIONS] {' '.join(originals)}" in text
    assert str(tmp_path) in text.replace("\n", "").replace(" ", "")
    missing = convert(name)
    assert missing.exit_code == 2
    assert f"Missing argument '{next(iter(originals))}'" in missing.stderr


def test_convert_of_an_unknown_data_set():
    unknown = convert("orc", "letter.data")
    assert unknown.exit_code == 2
    assert "orc" in unknown.stderr


def test_convert_reports_errors_in_one_line(tmp_path):
    """A file that is not there, one of something else, and a folder that cannot be made."""
    other, good, in_the_way = (tmp_path / name for name in ("other.txt", "good.txt", "in_the_way"))
    other.write_text("not letters\n")
    good.write_text("He PRP B-NP\n")
    in_the_way.write_text("")
    for arguments, message in (
        (["ocr", tmp_path / "letter.data.gz"], "letter.data.gz"),
        (["ocr", other], f"{other}, line 1: expected id"),
        (["conll2000", good, good, "--out", in_the_way], f"cannot write to {in_the_way / 'conll2000'}"),
    ):
        done = convert(*arguments)
        assert done.exit_code == 1
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith("Error: ")
        assert message in line
    assert sorted(tmp_path.iterdir()) == sorted([other, good, in_the_way])
