"""``bcfw train`` that is killed at random moments and resumed: it must end at the same model, and lose one leg.

    nice python benchmarks/campaign_resumes.py [--count 20] [--log FILE]

Each problem draws data, a solver and how often a checkpoint is written, and trains once without interruption. Then
processes are stopped by SIGKILL or Ctrl-C, each after a random part of the time that training took, and the next one
resumes, until one of them ends by itself. Checked are:

- the model at the end is the same, bit by bit, with the same certificate and counts;
- after each stop the checkpoint, if there is one, is readable and lies at most one leg behind the last pass that the
  process has shown; a process stopped by Ctrl-C while it trains ends with exit code 130 and without a traceback;
- no temporary file is left at the end.
"""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import campaign
from bcfw.storage import checkpoints
from bcfw.text.tagger import Tagger
from campaign import Outcome

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "commands")]

from test_text_commands import text_of  # noqa: E402

#: Formats and solvers, with options of train.
RUNS = [
    ("conll", ["--solver", "bcfw"]),
    ("conll", ["--attributes", "chunking-base"]),
    ("crfsuite", ["--min-count", "2"]),
    ("libsvm", ["--solver", "bcfw", "--normalize"]),
    ("csv", ["--sequence", "sentence", "--encoding", "BIO"]),
    ("conll", ["--solver", "bcfw", "--hash", "256"]),
]

#: Most stops of one run.
MOST = 5


class Run(NamedTuple):
    """A training run: its folder, the options, passes between two saves, how many examples."""

    folder: Path
    options: list[str]
    every: int
    n: int

    def command(self, name: str, *more: str) -> list[str]:
        paths = ["--model", self.folder / f"{name}.model", "--checkpoint", self.folder / f"{name}.npz"]
        words = ["train", self.folder / "train.txt", *paths, "--every", self.every, "--lam", 1e-5, "--tol", 1e-12]
        return [sys.executable, "-m", "bcfw", *map(str, words), "--passes", "300", *self.options, *more]

    def model(self, name: str) -> tuple[object, ...]:
        """All of a model that may not depend on the clock."""
        tagger = Tagger.load(self.folder / f"{name}.model")
        numbers = {key: value for key, value in tagger.certificate.items() if key != "seconds"}
        return str(numbers), tagger.places.tobytes(), tagger.values.tobytes(), tuple(tagger.vocabulary.names)

    def saved_passes(self) -> float:
        """How many passes the checkpoint has; none without one."""
        path = self.folder / "stopped.npz"
        return float(checkpoints.read(path)["legs_calls"]) / self.n if path.exists() else 0.0


def stopped(run: Run, number: signal.Signals, after: float) -> tuple[bool, list[str]]:
    """Whether a process that resumes was stopped some seconds after training began; and what is wrong."""
    shown = run.folder / "shown"
    with shown.open("wb") as file:
        process = subprocess.Popen(run.command("stopped", "--resume"), stderr=file)
        while process.poll() is None and b"training with lam" not in shown.read_bytes():
            time.sleep(0.02)
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        process.wait()
    text = shown.read_text(errors="replace")
    if process.returncode == 0:
        return False, []
    # Python may end by the signal itself, which is 130 for the shell, too
    expected = (-signal.SIGKILL,) if number == signal.SIGKILL else (130, -signal.SIGINT)
    wrong = []
    if process.returncode not in expected or "Traceback" in text:
        wrong.append(f"{number.name} ended with {process.returncode}: {text[-300:]!r}")
    passes = re.findall(r"^pass (\d+):", text, re.M)
    behind = float(passes[-1]) - run.saved_passes() if passes else 0.0
    if behind > run.every:
        wrong.append(f"the checkpoint was {behind:g} passes behind")
    return True, wrong


def one_problem(number: int, seed: int) -> Outcome:
    rng = random.Random(f"{seed} {number}")
    name, options = RUNS[number % len(RUNS)]
    with tempfile.TemporaryDirectory() as folder:
        text = text_of(name, rng.randrange(10**6), n=rng.choice([300, 1000]))
        (Path(folder) / "train.txt").write_text(text)
        run = Run(Path(folder), ["-f", name, *options], rng.choice([1, 2, 7]), 0)
        whole = subprocess.run(run.command("whole"), check=True, stderr=subprocess.PIPE, text=True).stderr
        run = run._replace(n=int(re.findall(r": (\d+) (?:sequences|examples)", whole)[0]))
        seconds = float(re.findall(r"passes and ([0-9.]+) s", whole)[0])
        wrong, stops, goes_on = [], 0, True
        while goes_on:
            kind = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT])
            goes_on, found = stopped(run, kind, seconds * rng.uniform(0.0, 1.2) if stops < MOST else 1e9)
            stops += goes_on
            wrong += found
        if run.model("stopped") != run.model("whole"):
            wrong.append("the model is another than that of the whole run")
        wrong += [f"left behind: {path.name}" for path in run.folder.glob("*.part")]
    kind, about = f"stopped and resumed: {name} {' '.join(options)}", f"every {run.every}, {run.n} examples"
    return Outcome(kind, f"{stops} stops", wrong, about)


if __name__ == "__main__":
    sys.exit(campaign.main(__doc__, one_problem, count=20))
