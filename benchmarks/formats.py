"""Text files: lines per second of every reader, and tokens per second of every attribute set.

    BCFW_DATA=... python benchmarks/formats.py

The sentences are those of CoNLL-2000; the other formats have 20 attributes, features or cells in a line. Seconds are
of the processor, the best of three runs. "First" is the first run, when no word has been met yet.
"""

from __future__ import annotations

import io
import random
import time
from collections.abc import Callable, Iterable

from bcfw.datasets import conll2000
from bcfw.formats import ATTRIBUTE_SETS, FORMATS, Columns, Lines, Templates, open_lines

TEMPLATES = "\n".join(f"U{row}{column}:%x[{row},{column}]" for row in range(-2, 3) for column in (0, 1))


def seconds(work: Callable[[], object], runs: int = 3) -> list[float]:
    """Processor seconds of every run."""
    taken = []
    for _ in range(runs):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return taken


def exhaust(items: Iterable[object]) -> None:
    for _ in items:
        pass


def reading(name: str, line: str, n_lines: int = 40_000) -> None:
    content = ("\n".join(([line] * 25 + [""]) * (n_lines // 25))).encode()

    def read() -> None:
        exhaust(FORMATS[name]().examples(Lines(io.BytesIO(content), name), name, labelled=True))

    print(f"{name:10} {n_lines / min(seconds(read)):10,.0f} lines/s of {len(line)} characters")


def main() -> None:
    rng = random.Random(0)
    numbers = [f"{rng.random():.4f}" for _ in range(20)]
    reading("conll", "Confidence NN B-NP")
    reading("crfsuite", "\t".join(["B-NP", *(f"w[{k}]={rng.getrandbits(40)}" for k in range(20))]))
    reading("libsvm", " ".join(["+1", *(f"{k + 1}:{number}" for k, number in enumerate(numbers))]))
    reading("csv", ",".join([*numbers, "yes"]))
    path = conll2000.SOURCE.locate()[0]
    with open_lines(path) as lines:
        sentences = [example.x for example in Columns().examples(lines, lines.source)]
    n_tokens = sum(map(len, sentences))
    for attributes in (*ATTRIBUTE_SETS.values(), Templates(TEMPLATES)):
        taken = seconds(lambda attributes=attributes: exhaust(map(attributes, sentences)))  # type: ignore[misc]
        first, best = n_tokens / taken[0], n_tokens / min(taken)
        mean = sum(len(row) for sentence in sentences[:500] for row in attributes(sentence)) / sum(
            map(len, sentences[:500])
        )
        print(f"{attributes.name:14} {best:10,.0f} tokens/s (first {first:,.0f}), {mean:.0f} attributes each")


if __name__ == "__main__":
    main()
