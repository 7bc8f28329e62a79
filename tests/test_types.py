"""Public names have types, although they are loaded on first use: mypy finds mistakes in their use."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bcfw

#: Code of a user, and what mypy has to say about it.
WRONG = {
    "bcfw.ChainSVM(lamb=0.1)": 'Unexpected keyword argument "lamb" for "ChainSVM"',
    "bcfw.MulticlassSVMCV(lambdas=[0.1])": 'Unexpected keyword argument "lambdas" for "MulticlassSVMCV"',
    "bcfw.train(bcfw.models.Chain(), [], [], lam=0.1, n_job=3)": 'Unexpected keyword argument "n_job" for "train"',
    "bcfw.regularization_path(bcfw.models.Chain(), [], [], lam=0.1)": "Unexpected keyword argument",
    "bcfw.trian": 'Module has no attribute "trian"',
    "bcfw.solvers.BCWF()": 'Module has no attribute "BCWF"',
}
RIGHT = ["bcfw.ChainSVM(lam=0.1)", "bcfw.train(bcfw.models.Chain(), [], [], lam=0.1).gap", "bcfw.domains.Simplex(3)"]


def test_mypy_knows_the_types_of_public_names(tmp_path):
    pytest.importorskip("mypy")
    file = tmp_path / "of_a_user.py"
    file.write_text("\n".join(["import bcfw", *WRONG, *RIGHT, ""]))
    options = ["--ignore-missing-imports", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache")]
    command = [sys.executable, "-m", "mypy", *options, str(file)]
    source = {"MYPYPATH": str(Path(bcfw.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=os.environ | source, check=False)
    found = {int(line.split(":")[1]): line for line in done.stdout.splitlines() if ": error:" in line}
    for number, (code, expected) in enumerate(WRONG.items(), 2):
        assert expected in found.pop(number, ""), f"{code}: {done.stdout}{done.stderr}"
    assert not found


def test_type_checkers_are_told_of_every_public_name():
    """The imports that only type checkers read name what is loaded on first use, from the same modules."""
    tree = ast.parse(Path(bcfw.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    told = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        assert all(alias.asname == alias.name for alias in node.names), "only repeated names are re-exported"
        told |= {alias.name: node.module for alias in node.names}
    assert told == {**bcfw._HOMES, **dict.fromkeys(bcfw._MODULES, "bcfw")}
