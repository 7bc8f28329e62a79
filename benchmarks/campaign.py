"""What all campaigns share: numbered random problems, a log that a later run continues, counts, and reproductions.

A campaign is a script ``campaign_NAME.py`` with a function ``one_problem(number, seed) -> Outcome`` that draws problem
``number`` from the seed alone, solves it with the library and lists what is wrong. Its last lines are::

    if __name__ == "__main__":
        sys.exit(campaign.main(__doc__, one_problem))

Every campaign then has one command line::

    nice python benchmarks/campaign_NAME.py [--count 2000] [--first 0] [--seed 0] [--log FILE] [--seconds LIMIT]
    nice python benchmarks/campaign_NAME.py [--seed 0] --only NUMBER

With ``--log``, one line of JSON per problem is appended to the file, and a later run with this file skips the problems
that it has. Every failure is printed with the command that repeats it; the exit code is 1 if there is a failure.

    python benchmarks/campaign.py LOG [LOG ...]

prints the table of all logs, as it stands in docs/reliability.md.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

#: A problem that takes more than this many seconds of processor time counts as a failure.
PATIENCE = 300

#: The status of a mistake that no test along one line can find.
UNSEEN = "not to be seen"

#: So many times longer by the clock on the wall, on a machine that has other things to do.
WALL = 4


@dataclasses.dataclass
class Outcome:
    """What became of one problem.

    Attributes
    ----------
    kind : str
        What was tried, in the words of the table: the model, domain, format or command.
    status : str
        How the run ended: the status of the result, or "refused" for an error that is one of the package's.
    wrong : list of str
        What is wrong, a few words each; empty if nothing is.
    about : str
        Options and result in one line, for somebody who looks at a failure.
    """

    kind: str
    status: str
    wrong: list[str] = dataclasses.field(default_factory=list)
    about: str = ""


Problem = Callable[[int, int], Outcome]

#: What the problem that runs now is about; see :func:`trying`.
_kind = "unknown"


def trying(kind: str) -> None:
    """Say what a problem is about before it is solved, so that an error that leaves it is counted in that row."""
    global _kind
    _kind = kind


class TooLong(BaseException):
    """A problem has used up its patience; not an Exception, so that nothing below catches it."""


def main(description: str | None, one_problem: Problem, count: int = 2000, patience: int = PATIENCE) -> int:
    """Run the campaign as its command line says; returns the exit code."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=count, help="how many problems")
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path, help="file of outcomes; problems that it has are skipped")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no problem after this time")
    parser.add_argument("--only", type=int, help="number of a single problem, with the traceback of its error")
    options = parser.parse_args()
    numbers: Iterable[int] = range(options.first, options.first + options.count)
    outcomes = []
    if options.only is not None:
        numbers = [options.only]
    elif options.log is not None:
        outcomes = read_log(options.log, options.seed)
        done = {number for number, _ in outcomes}
        numbers = [number for number in numbers if number not in done]
    end = time.monotonic() + options.seconds
    for number in numbers:
        if time.monotonic() > end:
            break
        outcome = guarded(one_problem, number, options.seed, patience, show=options.only is not None)
        outcomes.append((number, outcome))
        if outcome.wrong:
            again = f"python {sys.argv[0]} --seed {options.seed} --only {number}"
            print(f"{outcome.kind}: {', '.join(outcome.wrong)} ({outcome.about})\n    {again}", flush=True)
        elif options.only is not None:
            print(outcome)
        if options.log is not None and options.only is None:
            with options.log.open("a") as log:
                log.write(json.dumps(log_line(number, options.seed, outcome)) + "\n")
    print_counts([outcome for _, outcome in outcomes], options.seed)
    return int(any(outcome.wrong for _, outcome in outcomes))


def guarded(one_problem: Problem, number: int, seed: int, patience: int, show: bool) -> Outcome:
    """The outcome of a problem; an error that leaves it is a failure, and so is a run without end."""

    def give_up(*_: Any) -> None:
        raise TooLong

    trying("unknown")
    signal.signal(signal.SIGALRM, give_up)
    signal.signal(signal.SIGPROF, give_up)
    signal.alarm(WALL * patience)
    signal.setitimer(signal.ITIMER_PROF, patience)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return one_problem(number, seed)
    except TooLong:
        return Outcome(_kind, "exception", [f"took more than {patience} s"])
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        if show:
            traceback.print_exc()
        place = traceback.extract_tb(error.__traceback__)[-1]
        about = f"{type(error).__name__}: {error}"[:300]
        return Outcome(_kind, "exception", ["exception"], f"{about} at {Path(place.filename).name}:{place.lineno}")
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)


def log_line(number: int, seed: int, outcome: Outcome) -> dict[str, Any]:
    line = {"campaign": Path(sys.argv[0]).stem, "seed": seed, "number": number, "day": time.strftime("%Y-%m-%d")}
    line |= {"kind": outcome.kind, "status": outcome.status}
    return line | ({"wrong": outcome.wrong, "about": outcome.about} if outcome.wrong else {})


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a log; a line that was cut off when its run was killed is left out."""
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


def read_log(path: Path, seed: int) -> list[tuple[int, Outcome]]:
    """Numbers and outcomes of the problems in a log, which must belong to this campaign and seed."""
    found = []
    for line in lines_of(path):
        if (line["campaign"], line["seed"]) != (Path(sys.argv[0]).stem, seed):
            sys.exit(f"{path} is the log of {line['campaign']} with seed {line['seed']}; choose another file")
        outcome = Outcome(line["kind"], line["status"], line.get("wrong", []), line.get("about", ""))
        found.append((line["number"], outcome))
    return found


def print_counts(outcomes: list[Outcome], seed: int) -> None:
    """How many problems of every kind there were, how they ended, and how many failed."""
    for kind in sorted({outcome.kind for outcome in outcomes}):
        some = [outcome for outcome in outcomes if outcome.kind == kind]
        statuses = collections.Counter(outcome.status for outcome in some)
        counts = ", ".join(f"{status} {count}" for status, count in statuses.most_common())
        print(f"{kind:32s} {len(some):6d} tried, {sum(bool(o.wrong) for o in some)} failed; {counts}")
    failures = collections.Counter(word for outcome in outcomes for word in outcome.wrong)
    print(f"{len(outcomes)} problems (seed {seed}); failures: {dict(failures) or 'none'}")


def print_table(paths: list[str]) -> None:
    """A row per campaign and group of kinds, with counts, as Markdown; a problem that is logged twice counts once.

    The group of a kind is what stands before its colon: "sets: Box" and "sets: Simplex" share a row that lists both.
    """
    logged = [line for path in paths for line in lines_of(Path(path))]
    lines = {(line["campaign"], line["seed"], line["number"]): line for line in logged}
    rows: dict[tuple[str, str], list[dict[str, Any]]] = collections.defaultdict(list)
    for line in lines.values():
        rows[line["campaign"], line["kind"].partition(": ")[0]].append(line)
    days = sorted({line["day"] for line in lines.values() if "day" in line})
    seeds = ", ".join(map(str, sorted({line["seed"] for line in lines.values()})))
    print(f"Run on {' to '.join(sorted({days[0], days[-1]})) if days else 'an unknown day'}, seed {seeds}.\n")
    print("| campaign | what | problems | failed |\n|---|---|---|---|")
    for (name, group), some in sorted(rows.items()):
        kinds = sorted({line["kind"].partition(": ")[2] for line in some} - {""})
        what = f"{group}: {'; '.join(kinds)}" if kinds else group
        print(f"| `{name}` | {what} | {len(some):,} | {failures_of(some)} |")
    print(f"| all | | {len(lines):,} | {failures_of(lines.values())} |")
    if unseen := sum(line["status"] == UNSEEN for line in lines.values()):
        print(f"\nOf the wrong gradients, {unseen:,} had the right slope along the line that was tested ({UNSEEN!r}).")


def failures_of(lines: Iterable[dict[str, Any]]) -> int:
    return sum("wrong" in line for line in lines)


if __name__ == "__main__":
    print_table(sys.argv[1:])
