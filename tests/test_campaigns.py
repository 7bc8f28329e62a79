"""The campaigns of benchmarks/, for a few problems each that compile nothing, so that campaigns do not rot."""

from __future__ import annotations

import importlib
import sys
import warnings
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"

#: Numbers of quick problems, of models that are written in Python; others would need compiled kernels.
PROBLEMS = {
    "campaign_train": [2, 3, 4, 5, 6, 7, 10, 12, 18, 19, 22, 24],
    "campaign_minimize": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12],
    "campaign_paths": [3, 5, 8, 9, 10, 17, 20],
    "campaign_probabilities": [2, 5, 6, 7, 9, 10, 11, 12],
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_of_a_campaign(monkeypatch, name):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
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


def test_a_log_is_continued_and_becomes_a_table(monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    campaign = importlib.import_module("campaign")
    log, tried = tmp_path / "log.jsonl", []

    def one_problem(number, seed):
        tried.append(number)
        if number == 3:
            raise ZeroDivisionError
        return campaign.Outcome("odd" if number % 2 else "even", "converged", ["gap"] if number == 4 else [])

    for count, failed in ((3, 0), (5, 1)):
        monkeypatch.setattr(sys, "argv", ["campaign_x.py", "--count", str(count), "--log", str(log)])
        assert campaign.main("Tries.", one_problem) == failed
        log.write_text(log.read_text() + '{"cut off\n')
    assert tried == [0, 1, 2, 3, 4]
    assert "campaign_x.py --seed 0 --only 4" in capsys.readouterr().out
    campaign.print_table([str(log)])
    assert "| `campaign_x` | even | 3 | 1 |" in capsys.readouterr().out
