"""``bcfw predict``: a text file in, the same with predicted labels out, as fast as it comes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from bcfw.commands.failures import told
from bcfw.commands.models import open_tagger
from bcfw.commands.options import format_options

#: Examples that are labelled at once, at most: more would not be faster, but answered later.
AT_ONCE = 200


@click.command()
@click.argument("model")
@click.argument("data", default="-")
@format_options
@click.option("--out", "-o", metavar="FILE", help="Where to write; by default standard output.")
def predict(model: str, data: str, out: str | None, **given: str | None) -> None:
    """Label the examples of DATA (standard input by default) with a MODEL.

    The file may have labels or not. Columns get one more, with the predicted labels; in other formats the labels are
    replaced; tables also get one more column. Every line of DATA is answered by one line. What comes through a pipe is
    answered sentence by sentence.

    MODEL is a file that bcfw train has written, which knows its format, or a ChainSVM or MulticlassSVM that Python has
    saved: only then the options say what DATA looks like. Attributes by name are read from the format crfsuite, or made
    of columns (--attributes, --template); features by number from libsvm or csv.
    """
    from bcfw.files import replacing

    with told():
        tagger = open_tagger(model, data, given)
        if out not in (None, "-"):
            with replacing(out, "w") as file:
                file.writelines(answers(tagger, data))
            return
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        for text in answers(tagger, data):
            sys.stdout.write(text)
            sys.stdout.flush()


def answers(tagger: Any, data: str) -> Iterator[str]:
    """Texts with predictions, each as soon as its examples are complete and no more are waiting.

    Together they have a line for every line of the data.
    """
    from bcfw.formats import open_lines

    format, batch = tagger.source.format, []
    with open_lines(data) as lines:
        for piece in format.pieces(lines, lines.source):
            batch.append(piece)
            if len(batch) == AT_ONCE or not format.ready(lines):
                yield labelled(tagger, batch)
                batch = []
    if batch:
        yield labelled(tagger, batch)


def labelled(tagger: Any, batch: list[Any]) -> str:
    """Examples with their predictions; a piece without positions is passed on."""
    predicted = iter(tagger.tag_examples(some) if (some := [piece for piece in batch if piece.x]) else [])
    return "".join(tagger.source.format.text(piece, next(predicted) if piece.x else []) for piece in batch)
