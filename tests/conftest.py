"""Settings of the whole suite: deterministic hypothesis, every case and solver variant as a fixture, real data.

Which combinations run
----------------------
A test with the fixtures ``case`` and ``solver`` meets every pair of a case and a solver variant that matches it. There
are hundreds of pairs, so that most of these tests take a part of them only, and say which:
``@pytest.mark.part(3, of=16)`` takes the pairs whose number leaves the remainder 3 when it is divided by 16. The number
of a pair is the place of the case in ``CASES`` plus the place of the variant in ``VARIANTS``: each part has every
variant with one case or more, and every case with one variant or more. Tests of one family take different parts, and
all parts are taken, so that every pair is run by one of them or more:

- parts of 4: that the optimum is reached;
- parts of 16: certificates, ends of runs, warm starts, reproducibility, sample weights, compiled against interpreted;
- parts of 4 of the variants alone: faulty oracles.

Values of other parameters that are given by ``in_turn`` take one part after the other, beginning with the test's own.
The first variant of each solver, its defaults, meets all cases in all tests. Without the mark a test meets all pairs.
Tests of dual values and of ends by the gap have the mark ``certified``: solvers without a dual point are not for them;
tests of warm starts have the mark ``continued``: solvers that only begin from nothing are not for them. A test without
a case that needs solvers with bounds, say, has the mark ``handles("bounds")``.
Names of tests, files and folders play no role. With the environment variable ``BCFW_TEST_ALL=1`` every test meets all
pairs, and a combination that is asked for by its own name is always run.

What is compiled
----------------
Compilation is most of the time of a suite that finds nothing compiled. A pass is compiled once for every set of
routines. So the passes that "auto" does not use (``SELDOM``) are compiled for three models only, and interpreted for
all others: the code is the same, and every solver still meets every model. ``BCFW_TEST_ALL=1`` compiles everything.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import bcfw
from bcfw import run
from bcfw.compile import RoutineSet
from bcfw.datasets import cache_folder
from bcfw.dual.batch import batch_oracle_pass, batch_step_pass
from bcfw.dual.rebuild import shrink_pass, store_shrink_pass
from bcfw.passes.contract import with_bounds
from bcfw.passes.store_visits import pairwise_pass, store_pass
from bcfw.solvers import Solver, auto
from bcfw.solvers.baselines.adaptive_pass import group_pass
from bcfw.solvers.baselines.exponentiated_pass import exponent_pass, loss_parts_pass
from bcfw.solvers.baselines.plane_pass import plane_pass
from bcfw.solvers.baselines.subgradient_pass import subgradient_pass
from problems import CASES, COMPILED_CASES, EXACT_VARIANTS, VARIANTS, WITH_WEIGHTS, Case, matches, routines_of

#: Whether all combinations are run, and everything is compiled that users compile.
EVERYTHING = os.environ.get("BCFW_TEST_ALL", "") not in ("", "0")

# Compilation happens inside the first example, so times say nothing; a failing example must come back in every run.
settings.register_profile(
    "bcfw",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=int(os.environ.get("BCFW_TEST_EXAMPLES", "60")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("bcfw")


# --- cases and solvers -------------------------------------------------------------------------------------------


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request):
    """A small random problem, of every model in turn."""
    return request.param


@pytest.fixture(params=COMPILED_CASES.values(), ids=COMPILED_CASES.keys())
def compiled_case(request):
    """The cases whose routines are compiled."""
    return request.param


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def solver(request):
    """Every solver with every combination of its options in turn."""
    return request.param


@pytest.fixture(params=EXACT_VARIANTS.values(), ids=EXACT_VARIANTS.keys())
def exact_solver(request):
    """The variants whose dual can never decrease."""
    return request.param


#: Names of the first variant of each solver, its defaults.
FIRST_VARIANTS = {next(name for name, one in VARIANTS.items() if type(one) is kind) for kind in WITH_WEIGHTS}


def in_its_part(item, case, variant):
    """Whether a test takes the pair of a case, which may be None, and a variant, given by their names."""
    marks = list(item.iter_markers("part"))
    if not marks or variant in FIRST_VARIANTS:
        return True
    n_parts = next(mark.kwargs["of"] for mark in marks if "of" in mark.kwargs)
    number = list(VARIANTS).index(variant) + (0 if case is None else list(CASES).index(case))
    return (number - sum(mark.args[0] for mark in marks)) % n_parts == 0


def runs(item, everything):
    """Whether a test is run: its solver matches its case, or any where it has none, and it takes the pair."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    case = params.get("case", params.get("compiled_case"))
    solver = params.get("solver", params.get("exact_solver"))
    if isinstance(solver, Solver) and not solver.certifies and list(item.iter_markers("certified")):
        return False
    if isinstance(solver, Solver) and not solver.can_resume and list(item.iter_markers("continued")):
        return False
    needed = {word for mark in item.iter_markers("handles") for word in mark.args}
    if isinstance(solver, Solver) and not needed <= solver.handles:
        return False
    if isinstance(solver, Solver) and not (matches(solver, case) if case is not None else not solver.needs):
        return False
    return everything or solver is None or in_its_part(item, case and case.name, repr(solver))


def pytest_collection_modifyitems(config, items):
    """Draw the combinations, and order them for two processes, of which the second begins at the end.

    One begins with the tests of the models in ``FIRST``, the other with those of all others, so that neither compiles
    routines of a model that the other has compiled. By the time that they meet nearly everything is on disk.
    """
    everything = EVERYTHING or any("[" in asked for asked in config.args)
    kept, left_out = [], []
    for item in items:
        (kept if runs(item, everything) else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    kept.sort(key=place)
    half = len(kept) // 2
    items[:] = kept[:half] + kept[half:][::-1]


def place(item):
    """At the beginning, in the middle or at the end: tests of the models in ``FIRST``, without a model, of others."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    case = params.get("case", params.get("compiled_case"))
    if not isinstance(case, Case) or not routines_of(case.model).compiled:
        return 0
    return -1 if type(case.model) in FIRST else 1


# --- compilation -------------------------------------------------------------------------------------------------

#: Passes of solvers that "auto" does not choose, and of paths.
SELDOM = {batch_oracle_pass, batch_step_pass, exponent_pass, group_pass, loss_parts_pass, plane_pass, subgradient_pass}
SELDOM |= {store_pass, pairwise_pass, shrink_pass, store_shrink_pass}

#: Routines for which these are compiled, too. As Python, those of the third take longer to run than to compile.
MODELS = bcfw.models.Multiclass, bcfw.models.Chain, bcfw.models.PictorialTree
WHOLLY_COMPILED = MODELS[0].routines, MODELS[1].routines, with_bounds(MODELS[2].routines)

#: The models whose tests one process begins with.
FIRST = MODELS[:2]


@pytest.fixture(autouse=True, scope="session")
def _interpreted_passes():
    """Leave passes that are seldom used as Python for all models but some, unless everything is asked for."""
    make = RoutineSet._make_pass

    def make_entry(routines, template):
        if routines.compiled and template in SELDOM and routines not in WHOLLY_COMPILED:
            return routines._passes.setdefault(template, routines.interpreted().compiled_pass(template))
        return make(routines, template)

    with pytest.MonkeyPatch.context() as patch:
        if not EVERYTHING:
            patch.setattr(RoutineSet, "_make_pass", make_entry)
        yield


# --- the clock ---------------------------------------------------------------------------------------------------


@pytest.fixture
def steady_stopwatch(monkeypatch):
    """Whatever ``auto`` measures takes a microsecond: what it chooses does not depend on how busy the machine is.

    For tests that compare runs of ``solver="auto"`` on models that do not count their operations.
    """
    monkeypatch.setattr(auto, "oracle_seconds", lambda problem: 1e-6)
    monkeypatch.setattr(auto, "visit_seconds", lambda timings: 1e-6)


class Clock:
    """A clock that moves when it is told to, and not by itself."""

    seconds = 0.0

    def advance(self, seconds):
        self.seconds += seconds


@pytest.fixture
def clock(monkeypatch):
    """The clock of runs and of their passes, and of nothing else in the process."""
    clock = Clock()
    monkeypatch.setattr(run, "now", lambda: clock.seconds)
    return clock


# --- real data ---------------------------------------------------------------------------------------------------

#: Why a test without its data is skipped.
NO_DATA = "no real data: BCFW_DATA names no folder that has them"

#: The folder that the environment named when the suite began; empty if there is none.
DATA_FOLDER = os.environ.get("BCFW_DATA", "")


@pytest.fixture(autouse=True)
def _hidden_data(monkeypatch, tmp_path_factory):
    """Tests see no real data until they ask for them, so that all others do the same with data and without."""
    monkeypatch.delenv("BCFW_DATA", raising=False)
    if cache_folder().is_dir():  # which loaders read, too
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "no-cache"))


@pytest.fixture(scope="session")
def real_data():
    """Function that gives the files of a data set (a ``Source``) in the folder that ``BCFW_DATA`` names, or skips.

    Once it has been called, loaders find that folder, too, until the test ends.
    """

    def find(source):
        paths = [Path(DATA_FOLDER).expanduser() / name for name in source.files]
        if not DATA_FOLDER or not all(path.is_file() for path in paths):
            pytest.skip(NO_DATA)
        os.environ["BCFW_DATA"] = DATA_FOLDER
        return paths

    return find


def pytest_terminal_summary(terminalreporter):
    """Say how many tests were skipped for lack of data."""
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if NO_DATA in str(report.longrepr)]
    if skipped:
        message = f"{len(skipped)} tests were skipped for lack of data: set BCFW_DATA to the folder that has them"
        terminalreporter.write_line(message, yellow=True)
