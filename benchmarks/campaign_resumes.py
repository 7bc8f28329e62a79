"""``bcfw train`` that is killed at random moments and resumed: it must end at the same certificate, and lose one leg.

    BCFW_DATA=... python benchmarks/campaign_resumes.py [--kills 20] [--sentences 1500] [--seed 0]

Chunks of CoNLL-2000 are trained with a checkpoint after every second pass, once without interruption. Then processes
are killed with SIGKILL, each after a random part of the time that the whole run took, and the next one resumes, until
one of them ends by itself; that begins anew until there were so many kills. Of each it is checked that

- the model at the end is the same, bit by bit, with the same certificate and counts;
- after each kill the checkpoint, if there is one, is readable and lies at most one leg behind the last pass that the
  process has shown.

Prints counts and every failure; the exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import gzip
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bcfw.datasets.conll2000 import SOURCE
from bcfw.dual import snapshots
from bcfw.text.tagger import Tagger

EVERY = 2


def command(folder: Path, name: str, *more: str) -> list[str]:
    words = ["train", folder / "train.txt", "--model", folder / f"{name}.model", "--checkpoint", folder / f"{name}.npz"]
    settings = ["--every", EVERY, "--attributes", "chunking-base", "--lam", 1e-4, "--tol", 1e-5, "--passes", 24]
    return [sys.executable, "-m", "bcfw", *map(str, words + settings), *more]


def outcome(path: Path) -> tuple[object, ...]:
    """All of a model that may not depend on the clock."""
    tagger = Tagger.load(path)
    numbers = {key: value for key, value in tagger.certificate.items() if key != "seconds"}
    return numbers, tagger.places.tobytes(), tagger.values.tobytes(), tuple(tagger.vocabulary.names)


def killed(folder: Path, after: float) -> tuple[bool, float]:
    """Whether a resumed process was killed after some seconds, before it ended; the last pass that it has shown."""
    with (folder / "shown").open("wb") as shown:
        process = subprocess.Popen(command(folder, "killed", "--resume"), stderr=shown)
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.kill()
        process.wait()
    passes = re.findall(r"^pass (\d+):", (folder / "shown").read_text(errors="replace"), re.M)
    return process.returncode != 0, float(passes[-1]) if passes else 0.0


def saved_passes(path: Path, n: int) -> float:
    """How many passes a checkpoint has; none without one."""
    return float(snapshots.read(path)["legs_calls"]) / n if path.exists() else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--sentences", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    failures = kills = runs = 0
    lost = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = gzip.decompress(SOURCE.locate()[0].read_bytes()).decode().split("\n\n")[: options.sentences]
        (folder / "train.txt").write_text("\n\n".join(text) + "\n")
        start = time.monotonic()
        subprocess.run(command(folder, "whole"), check=True, stderr=subprocess.DEVNULL)
        whole, seconds = outcome(folder / "whole.model"), time.monotonic() - start
        while kills < options.kills:
            for path in folder.glob("killed.*"):
                path.unlink()
            was_killed = True
            while was_killed:
                was_killed, shown = killed(folder, seconds * rng.uniform(0.2, 0.9))
                kills += was_killed
                behind = shown - saved_passes(folder / "killed.npz", len(text))
                lost = max(lost, behind if was_killed else 0.0)
                if was_killed and behind > EVERY:
                    failures += 1
                    print(f"after kill {kills} the checkpoint was {behind:g} passes behind", flush=True)
            runs += 1
            if outcome(folder / "killed.model") != whole:
                failures += 1
                print(f"run {runs} ended at another model than the whole one", flush=True)
    print(
        f"{kills} kills in {runs} runs of {whole[0]['passes']:g} passes (seed {options.seed}), at most {lost:g} passes "  # type: ignore[index]
        f"lost: {failures} failures"
    )
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
