"""Models and data that no memory could hold are refused with their numbers; what limits a process is read."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import bcfw
from bcfw.commands import main
from bcfw.inputs import memory
from bcfw.models import Chain, Multiclass, PairwiseGraph
from bcfw.solvers import BCFW, ExponentiatedGradient
from small_data import CHAINS, LABELS, X2, Y2


@pytest.fixture
def ten_megabytes(monkeypatch):
    monkeypatch.setattr(memory, "_limits", lambda: iter([(10**7, "this machine")]))


LARGE = {
    "labels": (
        Multiclass(10**9),
        X2,
        Y2,
        {},
        r"4 examples, 2 features, 1,000,000,000 labels needs 32 GB .* fewer labels",
    ),
    "features": (Multiclass(), sp.csr_array((4, 10**8)), Y2, {}, r"100,000,000 features, 2 labels .* fewer features"),
    "transitions": (
        Chain(10**5),
        CHAINS,
        LABELS,
        {},
        r"100,000 labels needs 160 GB .*160 GB for weights.* fewer labels",
    ),
    "few other weights": (
        Chain(),
        [sp.csr_array((len(one), 10**8)) for one in LABELS],
        LABELS,
        {},
        "100,000,000 features, 2 labels .* fewer features",
    ),
    "costs": (
        Multiclass(10**5, np.broadcast_to(0.0, (10**5,) * 2)),
        X2,
        Y2,
        {},
        "100,000 labels needs 80 GB .*80 GB for costs",
    ),
    "costs of a graph": (
        PairwiseGraph(10**5),
        [(X2, np.zeros((0, 2)), None)],
        [Y2],
        {},
        r"100,000 labels .*\(80 GB for costs\)",
    ),
    "distributions": (
        Multiclass(2 * 10**5),
        X2,
        Y2,
        {"solver": ExponentiatedGradient()},
        "200,000 labels needs .*exponents, losses and averages of all parts of every example.* other solvers",
    ),
    "running average": (Multiclass(3 * 10**5), X2, Y2, {"solver": BCFW(averaging=True)}, "running averages"),
}


@pytest.mark.parametrize("name", LARGE)
def test_what_is_too_large_is_refused_with_its_numbers(name, ten_megabytes):
    model, X, y, options, message = LARGE[name]
    with pytest.raises(bcfw.TooLargeError, match=message) as refused:
        bcfw.train(model, X, y, **options)
    assert isinstance(refused.value, bcfw.BcfwError | MemoryError)
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


def test_paths_are_refused_too(ten_megabytes):
    with pytest.raises(bcfw.TooLargeError, match="1,000,000,000 labels"):
        bcfw.regularization_path(Multiclass(10**9), X2, Y2)


def test_memory_that_the_system_refuses_in_the_middle_of_a_run_is_named(monkeypatch):
    def refuse(*args):
        raise MemoryError("Unable to allocate 9 GiB")

    monkeypatch.setattr(BCFW, "solve", refuse)
    with pytest.raises(
        bcfw.TooLargeError, match=r"4 examples, 2 features, 2 labels needs .*\(Unable to allocate 9 GiB\)"
    ):
        bcfw.train(Multiclass(), X2, Y2, solver="bcfw")
    monkeypatch.setattr(Multiclass, "_packed", refuse)
    with pytest.raises(bcfw.TooLargeError, match=r"Multiclass needs .* fewer labels or fewer features"):
        bcfw.train(Multiclass(), X2, Y2)


@pytest.mark.parametrize(
    ("rows", "remedy", "other"),
    [
        ("\n".join(f"w L{k}" for k in range(200)), "use fewer labels", "--min-count"),
        (
            "\n".join(f"w{k}\tL{k % 2}" for k in range(500)),
            "fewer features (of attributes: --min-count, --hash)",
            "labels,",
        ),
    ],
)
def test_a_command_says_what_would_help(rows, remedy, other, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_limits", lambda: iter([(10_000, "this machine")]))
    (tmp_path / "data").write_text(rows + "\n")
    done = CliRunner().invoke(main, ["train", str(tmp_path / "data"), "-m", str(tmp_path / "model")])
    assert done.exit_code == 2
    assert remedy in done.output.splitlines()[-1]
    assert other not in done.output.splitlines()[-1].split(";")[-1]


def test_what_limits_a_process_is_the_least_of_its_limits(tmp_path, monkeypatch):
    groups, own = tmp_path / "groups", tmp_path / "own"
    for folder, name, text in (
        ("pods/one", "memory.max", "max"),
        ("pods", "memory.max", "3000000"),
        ("memory/old", "memory.limit_in_bytes", "2000000"),
    ):
        (groups / folder).mkdir(parents=True, exist_ok=True)
        (groups / folder / name).write_text(text + "\n")
    monkeypatch.setattr(memory, "OWN_GROUPS", own)
    monkeypatch.setattr(memory, "GROUPS", groups)
    machine = memory.available()
    assert machine[0] > 10**8
    own.write_text("0::/pods/one\n5:cpu:/old\n")
    assert memory.available() == (3_000_000, "the control group (container)")
    own.write_text("4:cpu,memory:/old/gone\n")
    (groups / "cpu,memory").symlink_to(groups / "memory")
    assert memory.available() == (2_000_000, "the control group (container)")


def test_a_limit_of_the_address_space_counts(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (10**6, 10**6))
    assert memory.available() == (0, "the limit of its address space (ulimit -v)")


def test_bytes_are_shown_in_three_digits():
    assert [memory.shown(size) for size in (5, 2_345_678, 96 * 10**9, 80 * 10**15)] == [
        "5 bytes",
        "2.35 MB",
        "96 GB",
        "80,000 TB",
    ]
