"""The campaigns of benchmarks/, for a few problems each that compile nothing, so that campaigns do not rot."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import bcfw

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"

#: Numbers of quick problems, of models that are written in Python; others would need compiled routines.
PROBLEMS = {
    "campaign_train": [2, 3, 4, 5, 6, 7, 10, 12, 18, 19, 22, 24],
    "campaign_minimize": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12],
    "campaign_paths": [3, 5, 8, 9, 10, 17, 20],
    "campaign_probabilities": [2, 5, 6, 7, 9, 10, 11, 12],
}

#: Numbers of problems about files that train nothing which must be compiled.
FILE_PROBLEMS = {
    "campaign_model_files": [0, 4, 8, 48],
    "campaign_text_files": [0, 1, 2, 3, 5],
    "campaign_damage": [0, 1],
}

needs_forks = pytest.mark.skipif(sys.platform == "win32", reason="these campaigns need forks and limits of memory")


@pytest.fixture(autouse=True)
def _campaigns_can_be_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_of_a_campaign(monkeypatch, name):
    campaign = importlib.import_module(name)
    cases = importlib.import_module("random_cases")
    in_python = {kind: of for kind, of in cases.KINDS.items() if kind.startswith("Python")}
    monkeypatch.setattr(cases, "KINDS", in_python)
    monkeypatch.setattr(campaign, "NAMES", list(in_python), raising=False)
    for number in PROBLEMS[name]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = campaign.one_problem(number, 0)
        assert not outcome.wrong, f"{number}: {outcome}"


@needs_forks
@pytest.mark.parametrize("name", FILE_PROBLEMS)
def test_problems_about_files(name, monkeypatch, tmp_path):
    campaign = importlib.import_module(name)
    for module in ("campaign_model_files", name):
        monkeypatch.setattr(importlib.import_module(module), "FOLDER", tmp_path)
    outcomes = [campaign.one_problem(number, 0) for number in FILE_PROBLEMS[name]]
    assert [one for one in outcomes if one.wrong] == []
    assert {one.status for one in outcomes} <= {"read", "refused", "answered", "correct", "forged"}


@needs_forks
def test_a_worker_that_dies_is_started_again():
    """A problem that kills its process is a failure; the next one is solved."""
    campaign, worker = importlib.import_module("campaign"), importlib.import_module("worker")

    def one_problem(number, seed):
        if number == 1:
            os._exit(3)
        return campaign.Outcome("any", "done")

    solve = worker.isolated(one_problem)
    assert [solve(number, 0).status for number in range(3)] == ["done", "crash", "done"]


def classes_of(module, base):
    return {kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, base)}


def test_every_model_is_drawn():
    cases, rng = importlib.import_module("random_cases"), np.random.default_rng(0)
    drawn = {type(draw(rng, 1.0).model) for draw, _ in cases.KINDS.values()}
    assert drawn >= set(bcfw.models.MODELS.values())
    assert any(issubclass(kind, bcfw.CompiledModel) for kind in drawn - set(bcfw.models.MODELS.values()))


def test_every_solver_is_drawn():
    campaign, cases = (importlib.import_module(name) for name in ("campaign_train", "random_cases"))
    rng, drawn = np.random.default_rng(0), set()
    for _ in range(200):
        _, case = cases.draw(rng, 1.0, [kind for kind in cases.KINDS if kind.startswith("Multi")])
        drawn.add(type(campaign.draw_solver(rng, case)))
    assert drawn | {bcfw.solvers.KernelBCFW} == set(bcfw.solvers.SOLVERS.values())  # kernels have problems of their own


def test_every_set_rule_and_step_is_drawn():
    campaign, sets = importlib.import_module("campaign_minimize"), importlib.import_module("random_sets")
    rng, words = np.random.default_rng(0), set(bcfw.selection.RULES)
    domains = {type(draw(rng, 1.0).domain) for draw in sets.PLACES.values()}
    assert domains >= classes_of(bcfw.domains, bcfw.domains.Domain) - {bcfw.domains.Domain, bcfw.domains.Counted}
    rules = [campaign.draw_selection(rng, 4) for _ in range(400)]
    of_users = {bcfw.selection.Rule, bcfw.selection.Sized, bcfw.selection.Custom}
    assert {type(rule) for rule in rules} >= classes_of(bcfw.selection, bcfw.selection.Rule) - of_users
    assert {rule for rule in rules if isinstance(rule, str)} == words
    _, problem = campaign.draw_problem(rng)
    known = dataclasses.replace(problem, smoothness=True)
    steps = {type(campaign.draw_step(rng, known)) for _ in range(400)}
    assert steps >= {getattr(bcfw.steps, name) for name in bcfw.steps.__all__}


def test_every_model_file_format_and_attribute_set_is_tried():
    files, texts = (importlib.import_module(f"campaign_{name}") for name in ("model_files", "text_files"))
    assert {name for name, _ in files.ESTIMATORS.values()} == set(bcfw.estimators.ESTIMATORS)
    assert {f"result {name}" for name in bcfw.models.MODELS} <= set(files.RESULTS)
    formats = set(bcfw.formats.FORMATS)
    assert {name for name, *_ in files.TAGGERS.values()} == {name for name, *_ in texts.KINDS.values()} == formats
    chosen = {word for _, options, _ in texts.KINDS.values() for word in options}
    assert chosen >= set(bcfw.formats.ATTRIBUTE_SETS)


def test_a_log_is_continued_and_becomes_a_table(monkeypatch, tmp_path, capsys):
    campaign = importlib.import_module("campaign")
    log, tried = tmp_path / "log.jsonl", []

    def one_problem(number, seed):
        tried.append(number)
        if number == 3:
            raise ZeroDivisionError
        kind = "numbers: odd" if number % 2 else "numbers: even"
        return campaign.Outcome(kind, "converged", ["gap"] if number == 4 else [])

    for count, failed in ((3, 0), (5, 1)):
        monkeypatch.setattr(sys, "argv", ["campaign_x.py", "--count", str(count), "--log", str(log)])
        assert campaign.main("Tries.", one_problem) == failed
        log.write_text(log.read_text() + '{"cut off\n')
    assert tried == [0, 1, 2, 3, 4]
    assert "campaign_x.py --seed 0 --only 4" in capsys.readouterr().out
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    assert {line["day"] for line in lines} == {time.strftime("%Y-%m-%d")}
    campaign.print_table([str(log), str(log)])  # what is logged twice counts once
    table = capsys.readouterr().out
    assert table.startswith(f"Run on {lines[0]['day']}, seed 0.\n\n| campaign | what | problems | failed |\n")
    assert "| `campaign_x` | numbers: even; odd | 4 | 1 |" in table
    assert "| `campaign_x` | unknown | 1 | 1 |" in table
    assert "| all | | 5 | 2 |" in table
