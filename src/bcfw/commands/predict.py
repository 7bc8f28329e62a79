"""``bcfw predict``: a text file in, the same with predicted labels out, as fast as it comes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from bcfw.commands.failures import told

#: Examples that are labelled at once, at most: more would not be faster, but answered later.
AT_ONCE = 200


@click.command()
@click.argument("model")
@click.argument("data", default="-")
@click.option("--out", "-o", metavar="FILE", help="Where to write; by default standard output.")
def predict(model: str, data: str, out: str | None) -> None:
    """Label the examples of DATA (standard input by default) with a MODEL that bcfw train has written.

    The file may have labels or not. Columns get one more, with the predicted labels; in other formats the labels are
    replaced; tables also get one more column. What comes through a pipe is answered sentence by sentence.
    """
    from bcfw.files import replacing
    from bcfw.text.tagger import Tagger

    with told():
        tagger = Tagger.load(model)
        if out not in (None, "-"):
            with replacing(out, "w") as file:
                file.writelines(answers(tagger, data))
            return
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        for text in answers(tagger, data):
            sys.stdout.write(text)
            sys.stdout.flush()


def answers(tagger: Any, data: str) -> Iterator[str]:
    """Texts with predictions, each as soon as its examples are complete and no more are waiting."""
    from bcfw.formats import open_lines

    format, batch = tagger.source.format, []
    with open_lines(data) as lines:
        for example in format.examples(lines, lines.source):
            batch.append(example)
            if len(batch) == AT_ONCE or not format.ready(lines):
                yield labelled(tagger, batch)
                batch = []
    if batch:
        yield labelled(tagger, batch)


def labelled(tagger: Any, batch: list[Any]) -> str:
    return "".join(map(tagger.source.format.text, batch, tagger.tag_examples(batch)))
