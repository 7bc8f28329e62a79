"""numba's internals behind one guard: with them, without them, and when numba has changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import bcfw
from bcfw.compile import numba_guard
from problems import CASES

#: Counts squares with a template and an inner function; says what was used and what was kept on disk.
SQUARES = """
    import json, os, sys, warnings
    import numpy as np
    {before}
    from bcfw.compile import RoutineSet, numba_guard as guard

    def square(x):
        return x * x

    def squares(values):
        total = 0.0
        for j in range(values.shape[0]):
            total += square(values[j])
        return total

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        routines = RoutineSet({{}})
        found = [routines.compiled_pass(squares)(np.arange(4.0)) for _ in range(2)]
        other = RoutineSet({{}}).compiled_pass(squares)(np.arange(3.0))
    print(json.dumps(dict(
        found=found,
        other=other,
        used=guard.internals() is not None,
        kept=len(os.listdir(os.environ["BCFW_CACHE_DIR"])),
        warnings=[str(one.message) for one in caught if "numba" in str(one.message)],
    )))
"""


def run(tmp_path, before="", **environment):
    code = textwrap.dedent(SQUARES.format(before=before))
    cache = tmp_path / "cache"
    cache.mkdir()
    env = {**os.environ, "BCFW_CACHE_DIR": str(cache), **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["found"], facts["other"]) == ([14.0, 14.0], 5.0)
    return facts


def test_internals_are_used_and_code_is_kept(tmp_path):
    facts = run(tmp_path)
    assert facts["used"]
    assert facts["kept"] > 0
    assert facts["warnings"] == []


def test_they_can_be_switched_off(tmp_path):
    facts = run(tmp_path, BCFW_PLAIN_NUMBA="1")
    assert not facts["used"]
    assert facts["kept"] == 0
    assert facts["warnings"] == []


@pytest.mark.parametrize(
    "before",
    [
        "import numba.core.codegen as c; del c.JITCodeLibrary",
        "import numba.core.caching as c; del c.CompileResultCacheImpl",
        "import numba, numba.core.compiler as c; numba.__version__ = '9.1'; plain = c.Compiler.__init__; "
        "c.Compiler = type('Compiler', (c.Compiler,), {'__init__': lambda self, **named: plain(self, **named)})",
    ],
    ids=["a class is gone", "another is gone", "a newer release works otherwise"],
)
def test_a_changed_numba_gives_one_warning_and_the_same_results(tmp_path, before):
    facts = run(tmp_path, before)
    assert not facts["used"]
    (warning,) = facts["warnings"]
    assert re.search(r"release of numba \(.*\) differs .* tested ones \(0\.61 to 0\.\d+\).*BCFW_PLAIN_NUMBA=1", warning)


def test_a_newer_release_that_works_alike_is_used(tmp_path):
    facts = run(tmp_path, "import numba; numba.__version__ = '9.1'")
    assert facts["used"]
    assert facts["warnings"] == []


def test_training_without_the_internals_gives_the_same_result():
    code = """
        import sys
        sys.path.insert(0, {tests!r})
        import numpy as np
        from problems import CASES
        result = CASES["multiclass-cost"].few_passes(3, solver="bcfw")
        print(*result.w.tolist())
    """
    code = textwrap.dedent(code).format(tests=str(Path(__file__).resolve().parents[1]))
    env = {**os.environ, "BCFW_PLAIN_NUMBA": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=300
    )
    expected = CASES["multiclass-cost"].few_passes(3, solver="bcfw").w
    np.testing.assert_allclose(np.array(done.stdout.split(), float), expected, rtol=0, atol=1e-13)


def test_only_one_module_touches_the_internals():
    """Imports of numba's private parts, and of llvmlite, stand in one file."""
    package = Path(bcfw.__file__).parent
    private = re.compile(r"^\s*(from|import) (numba\.|llvmlite)", flags=re.MULTILINE)
    found = [path.name for path in package.rglob("*.py") if private.search(path.read_text())]
    assert found == ["numba_internals.py"]


def test_the_tested_range_is_the_documented_one():
    root = Path(__file__).resolve().parents[2]
    oldest, newest = (".".join(map(str, version)) for version in numba_guard.TESTED)
    assert f'"numba>={oldest},' in (root / "pyproject.toml").read_text()
    assert f"NUMBA_RELEASES := {oldest}.* {newest}.*" in (root / "Makefile").read_text()
    assert numba_guard.TESTED[0] <= numba_guard.numba_version()
